/* The application on a serial line: a physical board, or the emulator in real time. */
#include "budget.h"
#include "config.h"
#include "events.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "port.h"
#ifdef FRONT_END
#include "pose_config.h"
#endif
#include "values.h"

#define FRAME_END 0x7Eu
#define START_PERIOD_NS 100000000ull
#define ABANDONED_NS 2000000000ull

/* An image with a second line to the simulator has it on the other USART. */
#ifdef FRONT_END
static unsigned wire(unsigned line) { return line == LINE_COMM ? HAL_LINE_REFERENCE : HAL_LINE_BOARD; }

static void poses_received(void) {} /* read at the beginning of a control period */

static void open_second(void) { hal_line_open(HAL_LINE_REFERENCE, POSE_BAUD, 0, poses_received); }
#else
static unsigned wire(unsigned line)
{
    (void)line;
    return HAL_LINE_BOARD;
}

static void open_second(void) {}
#endif

static void tick(void) {} /* wakes the thread */

static void line_received(void) { kernel_pend(TASK_RECEIVE); }

uint64_t port_now_ns(void) { return hal_now_ns(); }

/* A period begins when its values arrive. */
uint64_t budget_period_ns(void) { return hal_now_ns(); }

size_t port_read(unsigned line, uint8_t *bytes, size_t room)
{
    return hal_line_read(wire(line), bytes, room);
}

/* What does not fit on the line is lost; the plant counts it. */
bool budget_send(unsigned line, const uint8_t *frame, size_t count)
{
    return hal_line_write(wire(line), frame, count);
}

/* Repeated until the plant answers with values. */
static void greet(uint8_t reset_cause)
{
    static uint64_t next_ns;
    if (values_heard() || hal_now_ns() < next_ns)
        return;
    next_ns = hal_now_ns() + START_PERIOD_NS;
    values_start(reset_cause, (uint32_t)(hal_now_ns() / 1000000u));
}

/* Without values for this long the flight has ended; a restart makes the board ready for the next one. */
static bool abandoned(void)
{
    uint64_t heard_ns = values_heard_ns(); /* read before the clock: values may arrive in between */
    return values_heard() && hal_now_ns() - heard_ns > ABANDONED_NS;
}

/* The thread runs when no task does: a task that never ends is the watchdog's. */
void port_run(void)
{
    uint8_t reset_cause = hal_init();
    events_init();
    tell_init();
    values_init();
    kernel_start();
    hal_line_open(HAL_LINE_BOARD, LINE_BAUD, FRAME_END, line_received);
    open_second();
    hal_watchdog_start(WATCHDOG_PERIODS * CONTROL_PERIOD_US);
    hal_tick_start(CONTROL_PERIOD_US, tick);
    for (;;) {
        hal_watchdog_kick();
        greet(reset_cause);
        if (abandoned())
            hal_reset(RESET_CAUSE_ABANDONED);
        hal_sleep();
    }
}
