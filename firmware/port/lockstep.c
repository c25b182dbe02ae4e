/* Lockstep for a board whose speed does not matter: time advances when the bench requests it (packet.h).
 *
 * A pended task runs before the thread that pended it continues, so a step has ended when the last `pend` returns.
 */
#include <string.h>

#include "app.h"
#include "config.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "lockstep_io.h"
#include "packet.h"
#include "port.h"

enum { MOST_BYTES = 1024, MOST_OPENING = 64 };

static uint8_t step_bytes[STEP_HEADER + 2 * MOST_BYTES];
static packet_t packet = {.bytes = step_bytes, .room = sizeof step_bytes};

static uint64_t now_ns;
static struct {
    const uint8_t *bytes;
    size_t count;
} line_in[HAL_LINE_COUNT];
static uint8_t out_now[MOST_BYTES], out_opening[MOST_OPENING];
static uint16_t n_now, n_opening;

uint64_t port_now_ns(void) { return now_ns; }

size_t port_read(unsigned line, uint8_t *bytes, size_t room)
{
    size_t count = line_in[line].count < room ? line_in[line].count : room;
    if (count == 0)
        return 0;
    memcpy(bytes, line_in[line].bytes, count);
    line_in[line].bytes += count;
    line_in[line].count -= count;
    return count;
}

bool port_send(const uint8_t *frame, size_t count, bool opens)
{
    uint8_t *out = opens ? out_opening : out_now;
    uint16_t *used = opens ? &n_opening : &n_now;
    size_t room = opens ? sizeof out_opening : sizeof out_now;
    uint32_t state = hal_lock();
    bool fits = count <= room - *used;
    if (fits) {
        memcpy(out + *used, frame, count);
        *used = (uint16_t)(*used + count);
    }
    hal_unlock(state);
    return fits;
}

static void answer(uint8_t kind, uint8_t flags, uint32_t busy_ns)
{
    static uint8_t record[REPLY_HEADER + MOST_BYTES + MOST_OPENING];
    const reply_t reply = {
        .kind = kind, .flags = flags, .mode = app_mode(), .n_first = n_now, .n_second = n_opening, .busy_ns = busy_ns};
    uint8_t *at = packet_reply(record, &reply);
    memcpy(at, out_now, n_now);
    memcpy(at + n_now, out_opening, n_opening);
    lockstep_write(record, REPLY_HEADER + (size_t)n_now + n_opening);
    n_now = n_opening = 0;
}

static void pend_at(unsigned task, uint64_t t_ns)
{
    now_ns = t_ns;
    kernel_pend(task);
}

/* True when the sensors of this cycle have arrived and their command was sent. */
static bool do_step(const step_t *step)
{
    if (step->flags & STEP_RESET)
        hal_reset(RESET_CAUSE_COMMANDED);
    if (step->flags & STEP_HANG)
        app_hang();
    line_in[HAL_LINE_REFERENCE].bytes = step->ground;
    line_in[HAL_LINE_REFERENCE].count = step->n_ground;
    line_in[HAL_LINE_BOARD].bytes = step->link;
    line_in[HAL_LINE_BOARD].count = step->n_link;
    if (step->n_ground > 0)
        pend_at(TASK_GET_REFERENCES, step->t_ns);
    if (step->flags & STEP_TIMER)
        pend_at(TASK_CYCLE, step->timer_ns);
    bool answered_before = app_answered();
    if (step->n_link > 0)
        pend_at(TASK_GET_SENSORS, step->t_ns);
    return app_answered() && !answered_before;
}

void port_run(void)
{
    uint8_t reset_cause = hal_init();
    app_init(reset_cause);
    kernel_start();
    hal_watchdog_start(WATCHDOG_PERIODS * CONTROL_PERIOD_US);
    answer(PACKET_BOOT, reset_cause, 0);
    for (;;) {
        step_t step = packet_await(&packet, false);
        uint64_t began_ticks = kernel_busy_ticks();
        bool command = do_step(&step);
        answer(PACKET_REPLY, command ? REPLY_COMMAND : 0, packet_ns(kernel_busy_ticks() - began_ticks));
        packet_drop(&packet, &step);
    }
}
