/* Step packets that grant processor time: lockstep for a board whose speed counts. Little-endian.
 *
 *   bench -> board   u8 kind 1, u8 flags, u16 n_hils, u16 n_comm, u16 0, u64 t_ns, the bytes
 *                    flags: 2 hang, 4 reset. t_ns: when this control period begins
 *   board -> bench   u8 kind, u8 flags, u16 n_hils, u16 n_comm, u16 0, u32 busy_ns, u32 spent_ns, u32 refused, the bytes
 *                    kind 1, a reply; flag 1: the period was spent and there is more to do
 *                    refused: frames since the start that were no good, on both lines
 *                    kind 2, the board has started; flags: why. Its start message is among the bytes
 *
 * A period ends when nothing is left to do, in thread mode, or when its time is spent: then the timer's interrupt stops
 * whatever runs, exchanges packets inside, and lets it go on in the next period, below what the new bytes woke. What
 * runs over while interrupts are masked counts for the next period, so that time never stands still nor jumps. The
 * exchange itself takes no time that anybody is charged for.
 */
#include "budget.h"

#include <string.h>

#include "bytes.h"
#include "config.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "lockstep_io.h"
#include "port.h"

enum { STEP = 1, REPLY = 1, BOOT = 2 };
enum { STEP_HANG = 2, STEP_RESET = 4, STEP_FLAGS = 6 };
enum { REPLY_SPENT = 1 };
enum { STEP_HEADER = 16, REPLY_HEADER = 20, MOST_IN = 512, RING_SIZE = 1024, MOST_HILS = 256, MOST_COMM = 2048 };

_Static_assert((RING_SIZE & (RING_SIZE - 1)) == 0, "counters of a ring run freely and are masked");

typedef struct {
    uint8_t flags;
    uint16_t count[LINE_COUNT];
    uint64_t t_ns;
} step_t;

static uint8_t packet[STEP_HEADER + LINE_COUNT * MOST_IN];
static size_t packet_count; /* bytes of it that have come */

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
    uint8_t *at = put_u8(begin, kind);
    at = put_u8(at, flags);
    at = put_u16(at, n_hils);
    at = put_u16(at, n_comm);
    at = put_u16(at, 0);
    at = put_u32(at, busy_ns);
    at = put_u32(at, spent_ns);
    put_u32(at, budget_refused());
    lockstep_write(begin, REPLY_HEADER + (size_t)n_hils + n_comm);
    lines[LINE_HILS].n_out = lines[LINE_COMM].n_out = 0;
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
        .flags = packet[1], .count = {get_u16(packet + 2), get_u16(packet + 4)}, .t_ns = get_u64(packet + 8)};
    bool legal = packet[0] == STEP && (step.flags & ~STEP_FLAGS) == 0 && get_u16(packet + 6) == 0;
    if (!legal || step.count[LINE_HILS] > MOST_IN || step.count[LINE_COMM] > MOST_IN)
        hal_reset(RESET_CAUSE_FAULT); /* there is no telling where the next packet begins */
    await(STEP_HEADER + (size_t)step.count[LINE_HILS] + step.count[LINE_COMM]);
    return step;
}

static void drop_step(const step_t *step)
{
    size_t used = STEP_HEADER + (size_t)step->count[LINE_HILS] + step->count[LINE_COMM];
    packet_count -= used;
    memmove(packet, packet + used, packet_count);
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
    step_t step = next_step();
    if (step.flags & STEP_RESET)
        hal_reset(RESET_CAUSE_COMMANDED);
    if (step.flags & STEP_HANG)
        budget_hang();
    receive(LINE_HILS, packet + STEP_HEADER, step.count[LINE_HILS]);
    receive(LINE_COMM, packet + STEP_HEADER + step.count[LINE_HILS], step.count[LINE_COMM]);
    drop_step(&step);
    period_ns = step.t_ns;
    began_ticks = hal_ticks() - overrun_ticks;
    kernel_forget();
    hal_tick_start((budget_left_ticks() + hal_ticks_per_us - 1u) / hal_ticks_per_us, spent);
}

static uint32_t nanoseconds(uint64_t ticks)
{
    uint64_t ns = ticks * 1000u / hal_ticks_per_us;
    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

static void exchange(bool more)
{
    if (budget_sound())
        hal_watchdog_kick();
    uint64_t busy_ticks = kernel_busy_ticks(); /* looked at before what was spent, of which it is a part */
    uint32_t spent_ticks = budget_spent_ticks();
    answer(REPLY, more ? REPLY_SPENT : 0, nanoseconds(busy_ticks - busy_before_ticks), nanoseconds(spent_ticks));
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
    answer(BOOT, reset_cause, 0, 0);
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
