/* The four activities and the cycle that starts them.
 *
 * Without sensors, the last command is held for SENSOR_HOLD_NS, then the safe one is sent. Without references,
 * the last one is held, without its rates. Each is reported as an event.
 *
 * Who may change what: `cycle` waits for `get sensors`, and is skipped while `control` or `send actuators` is at work, so
 * those never see mode, command or cycle change under them. The reference alone is shared between tasks that do preempt
 * each other.
 */
#include "board.h"

#include <math.h>
#include <string.h>

#include "app.h"
#include "config.h"
#include "events.h"
#include "hal.h"
#include "kernel.h"
#include "law.h"
#include "link.h"
#include "port.h"
#include "reference.h"

#define NS_PER_S 1e9f
#define LARGEST_SENT 3.4e38f
#define MEMORY_SIZE (LAW_MEMORY > 0 ? LAW_MEMORY : 1)

enum { X, Y, Z, YAW, FIRST_RATE, SENSOR_YAW = 5 };

static const float hover_command[COMMAND_COUNT] = HOVER_COMMAND;
static const float safe_command[COMMAND_COUNT] = SAFE_COMMAND;

static struct {
    uint8_t reset_cause;
    volatile uint8_t mode;
    volatile bool answered; /* this cycle's sensors have arrived */
    volatile bool receiving; /* `get sensors` is at work */
    volatile bool tick_waits; /* a tick occurred meanwhile */
    bool hang;
    bool has_time;
    int32_t cycle;
    int64_t begun_ns; /* the first time the port gave */
    int64_t sensors_at_ns;
    float sensors[SENSOR_COUNT];
    float memory[MEMORY_SIZE];
    float command[COMMAND_COUNT];
#ifdef LAW_STATUS
    float fallback; /* of a law that may find no solution: 0 while it has one */
#endif
#ifdef REDUNDANT
    float computed_with[ALIGNED_ROOM]; /* the integrators of the last command */
    bool law_failed;
#endif
    uint64_t cycle_begun_ticks; /* of busy time */
    uint64_t worst_cycle_ticks;
    uint32_t overruns;

    bool has_reference;
    bool reference_lost;
    int64_t reference_at_ns;
    float reference[REFERENCE_COUNT];
} board;

/* Signed, so that times can be subtracted in any order. */
static int64_t current_ns(void)
{
    int64_t now_ns = (int64_t)port_now_ns();
    if (!board.has_time) {
        /* For a board that restarts in flight, the time without references does not start with the flight. */
        board.begun_ns = board.reference_at_ns = now_ns;
        board.has_time = true;
    }
    return now_ns;
}

static float seconds(int64_t time_ns) { return (float)time_ns / NS_PER_S; }

static void note_reference(const float newest[REFERENCE_COUNT])
{
    int64_t now_ns = current_ns();
    uint32_t state = hal_lock();
    if (board.reference_lost)
        event_say(EVENT_REFERENCE_BACK, seconds(now_ns - board.reference_at_ns));
    memcpy(board.reference, newest, sizeof board.reference);
    board.has_reference = true;
    board.reference_lost = false;
    board.reference_at_ns = now_ns;
    hal_unlock(state);
}

/* A reference by the board link: `get sensors` reads it, and `get references` must not interrupt that. */
static void refer(const uint8_t data[REFERENCE_SIZE])
{
    float newest[REFERENCE_COUNT];
    uint32_t state = hal_lock();
    if (reference_accept(data, newest))
        note_reference(newest);
    hal_unlock(state);
}

void app_init(uint8_t reset_cause)
{
    memset(&board, 0, sizeof board);
    board.reset_cause = reset_cause;
    board.mode = MODE_WAITING;
    board.answered = true; /* there is no cycle yet that lacks its answer */
    board.cycle = -1;
    memcpy(board.command, hover_command, sizeof board.command);
    link_init(refer);
    reference_init();
    events_init();
}

uint8_t app_mode(void) { return board.mode; }

bool app_answered(void) { return board.answered; }

void app_hang(void) { board.hang = true; }

int64_t board_uptime_ns(void)
{
    int64_t now_ns = current_ns();
    return now_ns > board.begun_ns ? now_ns - board.begun_ns : 0;
}

uint32_t board_uptime_ms(void) { return (uint32_t)(board_uptime_ns() / 1000000); }

uint32_t board_overruns(void) { return board.overruns; }

float board_ticks_s(uint64_t ticks) { return (float)ticks / ((float)hal_ticks_per_us * 1e6f); }

float board_worst_cycle_s(void) { return board_ticks_s(board.worst_cycle_ticks); }

static void watch_references(int64_t now_ns)
{
    int64_t silent_ns = now_ns - board.reference_at_ns;
    if (silent_ns <= (int64_t)REFERENCE_TIMEOUT_NS || board.reference_lost)
        return;
    board.reference_lost = true;
    /* Velocity feed-forward of a reference that no longer moves would drag the aircraft along. */
    for (unsigned i = FIRST_RATE; i < REFERENCE_COUNT; i++)
        board.reference[i] = 0.0f;
    event_say(EVENT_REFERENCE_LOST, seconds(silent_ns));
}

/* The command that ends a cycle without sensors. */
static const float *without_sensors(int64_t now_ns)
{
    int64_t silent_ns = now_ns - board.sensors_at_ns;
    if (board.mode == MODE_FLYING) {
        event_say(EVENT_SENSORS_LOST, (float)board.cycle);
        board.mode = MODE_HOLDING;
    }
    if (board.mode == MODE_HOLDING && silent_ns > (int64_t)SENSOR_HOLD_NS) {
        event_say(EVENT_SAFE_COMMAND, seconds(silent_ns));
        board.mode = MODE_SAFE;
        memcpy(board.command, safe_command, sizeof board.command);
    }
    return board.command;
}

#ifdef REDUNDANT
/* One of several boards: its heartbeat before the command, its integrators after it. */
static void end_cycle(const float *command)
{
    uint8_t health = board.law_failed ? HEALTH_LAW_FAILED : HEALTH_GOOD;
    if (board.mode != MODE_FLYING)
        health = HEALTH_NO_SENSORS;
    link_heartbeat((uint32_t)board.cycle, health, board.computed_with);
    link_actuators(command);
    link_integrators((uint32_t)board.cycle, board.memory);
}
#else
#define end_cycle link_actuators
#endif

void app_cycle(void)
{
    if (board.receiving) {
        board.tick_waits = true; /* unexpected bytes on the line must not cost a cycle */
        return;
    }
    if (kernel_active(TASK_CONTROL) || kernel_active(TASK_SEND_ACTUATORS)) {
        /* The last cycle still runs. A task that never ends causes a watchdog reset: it is not kicked here. */
        board.cycle++;
        return;
    }
    hal_watchdog_kick();
    board.cycle_begun_ticks = kernel_busy_ticks();
    int64_t now_ns = current_ns();
    if (!board.answered) {
        end_cycle(without_sensors(now_ns));
        kernel_pend(TASK_STATISTICS);
    }
    board.cycle++;
    board.answered = false;
    watch_references(now_ns);
    if (board.mode == MODE_WAITING)
        link_start(board.reset_cause, board_uptime_ms());
    link_request();
}

void app_get_references(void)
{
    uint8_t chunk[64];
    float newest[REFERENCE_COUNT];
    bool newer = false;
    size_t count;
    while ((count = port_read(HAL_LINE_REFERENCE, chunk, sizeof chunk)) > 0)
        newer = reference_receive(chunk, count, newest) || newer;
    if (newer)
        note_reference(newest);
}

static void note_sensors(int64_t now_ns)
{
    if (board.mode == MODE_WAITING)
        event_say(EVENT_STARTED, (float)board.cycle);
    else if (board.mode != MODE_FLYING)
        event_say(EVENT_SENSORS_BACK, seconds(now_ns - board.sensors_at_ns));
    board.mode = MODE_FLYING;
    board.sensors_at_ns = now_ns;
}

static void receive_sensors(void)
{
    uint8_t chunk[64];
    bool complete = false;
    size_t count;
    while ((count = port_read(HAL_LINE_BOARD, chunk, sizeof chunk)) > 0)
        complete = link_receive(chunk, count, board.sensors) || complete;
    if (!complete)
        return;
    board.answered = true;
    note_sensors(current_ns());
    kernel_pend(TASK_CONTROL);
}

void app_get_sensors(void)
{
    board.receiving = true;
    receive_sensors();
    board.receiving = false;
    if (board.tick_waits) {
        board.tick_waits = false;
        kernel_pend(TASK_CYCLE); /* runs at once, and leaves the cycle out if `control` has work now */
    }
}

static void current_reference(float reference[REFERENCE_COUNT])
{
    uint32_t state = hal_lock();
    if (!board.has_reference) {
        /* Until a reference is received, hold the position of the first sensors. */
        memcpy(board.reference, board.sensors, (Z + 1) * sizeof *board.reference);
        board.reference[YAW] = board.sensors[SENSOR_YAW];
        board.has_reference = true;
    }
    memcpy(reference, board.reference, sizeof board.reference);
    hal_unlock(state);
}

#ifdef LAW_STATUS
static void run_law(const float reference[REFERENCE_COUNT])
{
    float status[LAW_STATUS];
    law_run(board.sensors, reference, board.memory, board.command, board.memory, status);
    if (status[0] != board.fallback) {
        board.fallback = status[0];
        event_say(EVENT_LAW_FALLBACK, board.fallback);
    }
}
#else
static void run_law(const float reference[REFERENCE_COUNT])
{
    law_run(board.sensors, reference, board.memory, board.command, board.memory);
}
#endif

void app_control(void)
{
    while (board.hang)
        hal_sleep(); /* until the watchdog resets the board */
    float reference[REFERENCE_COUNT];
    current_reference(reference);
#ifdef REDUNDANT
    link_take(board.memory);
    memcpy(board.computed_with, board.memory, ALIGNED_COUNT * sizeof *board.memory);
    board.law_failed = false;
#endif
    run_law(reference);
    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        if (!(fabsf(board.command[i]) <= LARGEST_SENT)) { /* also catches NaN */
            event_say(EVENT_LAW_NOT_FINITE, (float)i);
            memcpy(board.command, safe_command, sizeof board.command);
#ifdef REDUNDANT
            board.law_failed = true;
#endif
            break;
        }
    }
    kernel_pend(TASK_SEND_ACTUATORS);
}

void app_send_actuators(void)
{
    end_cycle(board.command);
    uint64_t worked_ticks = kernel_busy_ticks() - board.cycle_begun_ticks;
    if (worked_ticks > board.worst_cycle_ticks)
        board.worst_cycle_ticks = worked_ticks;
    if (worked_ticks > (uint64_t)CONTROL_PERIOD_US * hal_ticks_per_us) {
        board.overruns++;
        event_say(EVENT_OVERRUN, board_ticks_s(worked_ticks));
    }
    kernel_pend(TASK_STATISTICS);
}
