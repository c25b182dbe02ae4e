/* Lockstep for a board whose speed counts: each step packet (packet.h) grants a control period of processor time.
 *
 * A period ends when nothing is left to do, in thread mode, or when its time is spent: then the timer's interrupt stops
 * whatever runs, exchanges packets inside, and lets it go on in the next period, below what the new bytes woke. What
 * runs over while interrupts are masked counts for the next period, so that time never stands still nor jumps. The
 * exchange itself takes no time that anybody is charged for.
 */
#include "budget.h"

#include <string.h>

#include "config.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "lockstep_io.h"
#include "packet.h"
#include "port.h"

/* An image with two lines to the simulator sends its telemetry on the first. */
#ifdef FRONT_END
enum { MOST_IN = 512, RING_SIZE = 1024, MOST_HILS = 2048, MOST_COMM = 256 };
#else
enum { MOST_IN = 512, RING_SIZE = 1024, MOST_HILS = 256, MOST_COMM = 2048 };
#endif

_Static_assert((RING_SIZE & (RING_SIZE - 1)) == 0, "counters of a ring run freely and are masked");

static uint8_t step_bytes[STEP_HEADER + LINE_COUNT * MOST_IN];
static packet_t packet = {.bytes = step_bytes, .room = sizeof step_bytes};

static struct {
    uint8_t in[RING_SIZE];
    volatile uint32_t head; /* of the exchange, which writes */
    volatile uint32_t tail; /* of the task that reads */
    uint16_t n_out;
} lines[LINE_COUNT];

/* What is sent, where it is collected: only the simulator's few bytes are moved, up to the ground's. */
static struct {
    uint8_t header[REPLY_HEADER], hils[MOST_HILS], comm[MOST_COMM];
} record;
static uint8_t *const out[LINE_COUNT] = {[LINE_HILS] = record.hils, [LINE_COMM] = record.comm};
static const uint16_t most_out[LINE_COUNT] = {[LINE_HILS] = MOST_HILS, [LINE_COMM] = MOST_COMM};

static uint64_t period_ns;
static uint32_t began_ticks;
static uint64_t busy_before_ticks;

static uint32_t budget_ticks(void) { return CONTROL_PERIOD_US * hal_ticks_per_us; }

/* No task comes between a period's beginning and what was spent of it. */
uint64_t port_now_ns(void)
{
    uint32_t state = hal_lock();
    uint64_t now_ns = period_ns + (uint64_t)(hal_ticks() - began_ticks) * 1000u / hal_ticks_per_us;
    hal_unlock(state);
    return now_ns;
}

uint64_t budget_period_ns(void)
{
    uint32_t state = hal_lock();
    uint64_t began_ns = period_ns;
    hal_unlock(state);
    return began_ns;
}

uint32_t budget_spent_ticks(void)
{
    uint32_t state = hal_lock();
    uint32_t spent_ticks = hal_ticks() - began_ticks;
    hal_unlock(state);
    return spent_ticks;
}

uint32_t budget_left_ticks(void)
{
    uint32_t spent_ticks = budget_spent_ticks();
    return spent_ticks < budget_ticks() ? budget_ticks() - spent_ticks : 0;
}

size_t port_read(unsigned line, uint8_t *bytes, size_t room)
{
    size_t count = 0;
    while (count < room && lines[line].tail != lines[line].head) {
        bytes[count++] = lines[line].in[lines[line].tail % RING_SIZE];
        lines[line].tail++;
    }
    return count;
}

bool budget_send(unsigned line, const uint8_t *frame, size_t count)
{
    uint32_t state = hal_lock();
    bool fits = count <= (size_t)most_out[line] - lines[line].n_out;
    if (fits) {
        memcpy(out[line] + lines[line].n_out, frame, count);
        lines[line].n_out = (uint16_t)(lines[line].n_out + count);
    }
    hal_unlock(state);
    return fits;
}

static void answer(uint8_t kind, uint8_t flags, uint32_t busy_ns, uint32_t spent_ns)
{
    uint16_t n_hils = lines[LINE_HILS].n_out, n_comm = lines[LINE_COMM].n_out;
    uint8_t *hils = record.comm - n_hils, *begin = hils - REPLY_HEADER;
    memmove(hils, record.hils, n_hils);
    const reply_t reply = {.kind = kind,
                           .flags = flags,
                           .n_first = n_hils,
                           .n_second = n_comm,
                           .busy_ns = busy_ns,
                           .spent_ns = spent_ns,
                           .refused = budget_refused()};
    packet_reply(begin, &reply);
    lockstep_write(begin, REPLY_HEADER + (size_t)n_hils + n_comm);
    lines[LINE_HILS].n_out = lines[LINE_COMM].n_out = 0;
}

static void receive(unsigned line, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (lines[line].head - lines[line].tail == RING_SIZE)
            break; /* the frame that is cut here is refused and counted */
        lines[line].in[lines[line].head % RING_SIZE] = bytes[i];
        lines[line].head++;
    }
    if (count > 0)
        budget_received(line);
}

static void spent(void);

/* The next period, with no task between: its bytes are on the lines before its time runs. The timer is set after the
   look at the clock, so that it never comes early. */
static void begin(uint32_t overrun_ticks)
{
    step_t step = packet_await(&packet, true);
    if (step.flags & STEP_RESET)
        hal_reset(RESET_CAUSE_COMMANDED);
    if (step.flags & STEP_HANG)
        budget_hang();
    receive(LINE_HILS, step.link, step.n_link);
    receive(LINE_COMM, step.ground, step.n_ground);
    packet_drop(&packet, &step);
    period_ns = step.t_ns;
    began_ticks = hal_ticks() - overrun_ticks;
    kernel_forget();
    hal_tick_start((budget_left_ticks() + hal_ticks_per_us - 1u) / hal_ticks_per_us, spent);
}

static void exchange(bool more)
{
    if (budget_sound())
        hal_watchdog_kick();
    uint64_t busy_ticks = kernel_busy_ticks(); /* looked at before what was spent, of which it is a part */
    uint32_t spent_ticks = budget_spent_ticks();
    answer(PACKET_REPLY, more ? REPLY_SPENT : 0, packet_ns(busy_ticks - busy_before_ticks), packet_ns(spent_ticks));
    busy_before_ticks = busy_ticks;
    uint32_t overrun_ticks = spent_ticks > budget_ticks() ? spent_ticks - budget_ticks() : 0;
    begin(overrun_ticks < budget_ticks() ? overrun_ticks : 0);
}

/* The timer of a period that ended early may still come: then this one is not spent yet. */
static void spent(void)
{
    if (budget_spent_ticks() >= budget_ticks())
        exchange(true);
}

void port_run(void)
{
    uint8_t reset_cause = hal_init();
    budget_begun(reset_cause);
    scheduler_start();
    hal_watchdog_start(WATCHDOG_PERIODS * CONTROL_PERIOD_US);
    answer(PACKET_BOOT, reset_cause, 0, 0);
    uint32_t state = hal_lock();
    begin(0);
    hal_unlock(state); /* what the first bytes woke runs here */
    for (;;) {
        scheduler_work();
        state = hal_lock();
        if (scheduler_idle())
            exchange(false);
        hal_unlock(state);
    }
}
