/* Step packets: time moves when the bench says so. Little-endian.
 *
 *   bench -> board   u8 kind 1, u8 flags, u16 n_reference, u16 n_link, u16 0, u64 t_ns, u64 timer_ns, the bytes
 *                    flags: 1 the timer is due at timer_ns, 2 hang, 4 reset
 *   board -> bench   u8 kind, u8 flags, u8 mode, u8 0, u16 n_now, u16 n_opening, u32 busy_ns, the bytes
 *                    kind 1, a reply; flag 1: a command for this cycle's sensors is among the bytes
 *                    kind 2, the board has started; flags: why
 *
 * A pended task runs before the thread that pended it goes on, so a step is over when the last `pend` returns.
 */
#include <string.h>

#include "app.h"
#include "bytes.h"
#include "config.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "lockstep_io.h"
#include "port.h"

enum { STEP = 1, REPLY = 1, BOOT = 2 };
enum { STEP_TIMER = 1, STEP_HANG = 2, STEP_RESET = 4, STEP_FLAGS = 7 };
enum { REPLY_COMMAND = 1 };
enum { STEP_HEADER = 24, REPLY_HEADER = 12, MOST_BYTES = 1024, MOST_OPENING = 64 };

typedef struct {
    uint8_t flags;
    uint16_t n_reference, n_link;
    uint64_t t_ns, timer_ns;
} step_t;

static uint8_t packet[STEP_HEADER + 2 * MOST_BYTES];
static size_t packet_count; /* bytes of it that have come */

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
    uint8_t *at = put_u8(record, kind);
    at = put_u8(at, flags);
    at = put_u8(at, app_mode());
    at = put_u8(at, 0);
    at = put_u16(at, n_now);
    at = put_u16(at, n_opening);
    at = put_u32(at, busy_ns);
    memcpy(at, out_now, n_now);
    memcpy(at + n_now, out_opening, n_opening);
    lockstep_write(record, REPLY_HEADER + (size_t)n_now + n_opening);
    n_now = n_opening = 0;
}

/* Reads on until that much of the packet has come. */
static void await(size_t count)
{
    while (packet_count < count)
        packet_count += lockstep_read(packet + packet_count, sizeof packet - packet_count);
}

static step_t next_step(void)
{
    await(STEP_HEADER);
    step_t step = {
        .flags = packet[1],
        .n_reference = get_u16(packet + 2),
        .n_link = get_u16(packet + 4),
        .t_ns = get_u64(packet + 8),
        .timer_ns = get_u64(packet + 16),
    };
    bool legal = packet[0] == STEP && (step.flags & ~STEP_FLAGS) == 0 && get_u16(packet + 6) == 0;
    if (!legal || step.n_reference > MOST_BYTES || step.n_link > MOST_BYTES)
        hal_reset(RESET_CAUSE_FAULT); /* there is no telling where the next packet begins */
    await(STEP_HEADER + (size_t)step.n_reference + step.n_link);
    return step;
}

static void drop_step(const step_t *step)
{
    size_t used = STEP_HEADER + (size_t)step->n_reference + step->n_link;
    packet_count -= used;
    memmove(packet, packet + used, packet_count);
}

static void pend_at(unsigned task, uint64_t t_ns)
{
    now_ns = t_ns;
    kernel_pend(task);
}

/* True when the sensors of this cycle came and their command went out. */
static bool do_step(const step_t *step)
{
    if (step->flags & STEP_RESET)
        hal_reset(RESET_CAUSE_COMMANDED);
    if (step->flags & STEP_HANG)
        app_hang();
    line_in[HAL_LINE_REFERENCE].bytes = packet + STEP_HEADER;
    line_in[HAL_LINE_REFERENCE].count = step->n_reference;
    line_in[HAL_LINE_BOARD].bytes = packet + STEP_HEADER + step->n_reference;
    line_in[HAL_LINE_BOARD].count = step->n_link;
    if (step->n_reference > 0)
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
    answer(BOOT, reset_cause, 0);
    for (;;) {
        step_t step = next_step();
        uint64_t began_ticks = kernel_busy_ticks();
        bool command = do_step(&step);
        uint64_t busy_ns = (kernel_busy_ticks() - began_ticks) * 1000u / hal_ticks_per_us;
        answer(REPLY, command ? REPLY_COMMAND : 0, busy_ns < UINT32_MAX ? (uint32_t)busy_ns : UINT32_MAX);
        drop_step(&step);
    }
}
