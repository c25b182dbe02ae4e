/* The application on serial lines and a timer. */
#include "app.h"
#include "config.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "port.h"

#define FRAME_END 0x7Eu
#define ABANDONED_NS 2000000000ull

_Static_assert(CONTROL_PERIOD_US <= 65000, "the tick's timer counts 16 bits of microseconds");

static void tick(void) { kernel_pend(TASK_CYCLE); }

static void board_line_received(void) { kernel_pend(TASK_GET_SENSORS); }

static void reference_line_received(void) { kernel_pend(TASK_GET_REFERENCES); }

uint64_t port_now_ns(void) { return hal_now_ns(); }

size_t port_read(unsigned line, uint8_t *bytes, size_t room) { return hal_line_read(line, bytes, room); }

bool port_send(const uint8_t *frame, size_t count, bool opens)
{
    (void)opens;
    return hal_line_write(HAL_LINE_BOARD, frame, count);
}

/* After this long in safe mode the flight has ended; a restart makes the board ready for the next one. */
static bool abandoned(void)
{
    static uint64_t sound_ns;
    uint64_t now_ns = hal_now_ns();
    if (app_mode() != MODE_SAFE)
        sound_ns = now_ns;
    return now_ns - sound_ns > ABANDONED_NS;
}

void port_run(void)
{
    app_init(hal_init());
    kernel_start();
    hal_line_open(HAL_LINE_BOARD, LINE_BAUD, FRAME_END, board_line_received);
    hal_line_open(HAL_LINE_REFERENCE, LINE_BAUD, FRAME_END, reference_line_received);
    hal_watchdog_start(WATCHDOG_PERIODS * CONTROL_PERIOD_US);
    hal_tick_start(CONTROL_PERIOD_US, tick);
    for (;;) {
        if (abandoned())
            hal_reset(RESET_CAUSE_ABANDONED);
        hal_sleep();
    }
}
