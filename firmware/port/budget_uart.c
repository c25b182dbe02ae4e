/* The budgeted application on a serial line, in its processor's own time: a physical board, or the emulator in real
 * time. A control period begins with the sensors; unfinished work continues at a lower priority than the next ones.
 *
 * One line carries the messages of the simulator and the ground, distinguished by a frame's first byte. The clock is
 * set by the time in the sensors, so that the mission's telemetry has the flight's time. Until sensors arrive the board
 * repeats its start message; without sensors for a time the flight has ended, and the board restarts. */
#include "budget.h"

#include "bytes.h"
#include "config.h"
#include "framing.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "port.h"

#define FRAME_END 0x7Eu
#define ABANDONED_NS 2000000000ull
/* The watchdog is kicked when no routine task is running. More than once a period: sensors may come with every tick. */
#define TICKS_A_PERIOD 3u
enum { COMM_ROOM = 64 };

_Static_assert(CONTROL_PERIOD_US <= 65000, "the tick's timer counts 16 bits of microseconds");
_Static_assert((COMM_ROOM & (COMM_ROOM - 1)) == 0, "counters of a ring run freely and are masked");
_Static_assert(COMM_ROOM > 2 * (GOAL_SIZE + USER_SIZE + 4) + 2, "a goal and a command fit, whatever is escaped in them");

/* Bytes of the ground that HILS_Rx, which reads the line, has received for COMM_Rx, which has a lower priority. */
static struct {
    uint8_t bytes[COMM_ROOM];
    volatile uint32_t head, tail;
} comm;

/* Used by HILS_Rx only: position in the current frame, and its time. */
static bool inside, for_comm;
static deframer_t deframer;
static counters_t counters; /* not used: HILS_Rx has its own */

/* By the processor's clock, and how far the flight's is ahead of it. Under the lock. */
static uint64_t received_ns; /* time of the last end of a frame */
static uint64_t sensors_ns;  /* when it last brought sensors */
static uint64_t ahead_ns;    /* modulo 2^64 */
static uint8_t reset_cause;

static uint32_t period_ticks(void) { return CONTROL_PERIOD_US * hal_ticks_per_us; }

uint64_t port_now_ns(void)
{
    uint32_t state = hal_lock();
    uint64_t now_ns = hal_now_ns() + ahead_ns;
    hal_unlock(state);
    return now_ns;
}

uint64_t budget_period_ns(void)
{
    uint32_t state = hal_lock();
    uint64_t began_ns = sensors_ns + ahead_ns;
    hal_unlock(state);
    return began_ns;
}

static uint64_t since_sensors_ns(void)
{
    uint32_t state = hal_lock();
    uint64_t spent_ns = hal_now_ns() - sensors_ns;
    hal_unlock(state);
    return spent_ns;
}

uint32_t budget_spent_ticks(void)
{
    uint64_t ticks = since_sensors_ns() * hal_ticks_per_us / 1000u;
    return ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX;
}

uint32_t budget_left_ticks(void)
{
    uint32_t spent_ticks = budget_spent_ticks();
    return spent_ticks < period_ticks() ? period_ticks() - spent_ticks : 0;
}

bool budget_send(unsigned line, const uint8_t *frame, size_t count)
{
    (void)line;
    return hal_line_write(HAL_LINE_BOARD, frame, count);
}

static void begin_period(uint32_t t_ms)
{
    uint32_t state = hal_lock();
    sensors_ns = received_ns;
    ahead_ns = (uint64_t)t_ms * 1000000u - received_ns;
    hal_unlock(state);
}

static void keep_for_comm(uint8_t byte)
{
    if (comm.head - comm.tail == COMM_ROOM)
        return; /* the frame that is cut here is refused and counted */
    comm.bytes[comm.head % COMM_ROOM] = byte;
    comm.head++;
}

/* True for a byte of the simulator's. */
static bool sorted(uint8_t byte)
{
    bool end = byte == FRAME_END && inside;
    if (byte != FRAME_END && !inside)
        for_comm = byte == MESSAGE_GOAL || byte == MESSAGE_USER;
    inside = byte != FRAME_END;
    if (!for_comm) {
        if (deframer_take(&deframer, byte, &counters) == SENSORS_SIZE && deframer.data[0] == MESSAGE_SENSORS)
            begin_period(get_u32(deframer.data + 3));
        return true;
    }
    keep_for_comm(byte);
    if (end) {
        for_comm = false;
        budget_received(LINE_COMM);
    }
    return false;
}

static size_t read_comm(uint8_t *bytes, size_t room)
{
    size_t count = 0;
    while (count < room && comm.tail != comm.head) {
        bytes[count++] = comm.bytes[comm.tail % COMM_ROOM];
        comm.tail++;
    }
    return count;
}

size_t port_read(unsigned line, uint8_t *bytes, size_t room)
{
    if (line == LINE_COMM)
        return read_comm(bytes, room);
    size_t count = 0;
    uint8_t byte;
    while (count < room && hal_line_read(HAL_LINE_BOARD, &byte, 1) == 1)
        if (sorted(byte))
            bytes[count++] = byte;
    return count;
}

static void line_received(void)
{
    uint32_t state = hal_lock();
    received_ns = hal_now_ns();
    hal_unlock(state);
    budget_received(LINE_HILS);
}

static void tick(void)
{
    static unsigned ticks;
    if (budget_sound())
        hal_watchdog_kick();
    if (++ticks % TICKS_A_PERIOD == 0 && !budget_heard())
        budget_greet(reset_cause, (uint32_t)(hal_now_ns() / 1000000u));
}

static bool abandoned(void) { return budget_heard() && since_sensors_ns() > ABANDONED_NS; }

void port_run(void)
{
    reset_cause = hal_init();
    deframer_init(&deframer, SENSORS_SIZE);
    hal_line_open(HAL_LINE_BOARD, LINE_BAUD, FRAME_END, line_received);
    budget_begun(reset_cause);
    scheduler_start();
    hal_watchdog_start(WATCHDOG_PERIODS * CONTROL_PERIOD_US);
    hal_tick_start(CONTROL_PERIOD_US / TICKS_A_PERIOD, tick);
    for (;;) {
        scheduler_work();
        if (abandoned())
            hal_reset(RESET_CAUSE_ABANDONED);
        if (scheduler_idle())
            hal_sleep();
    }
}
