/* What differs between the emulator and the Discovery board; one file implements it for each. */
#ifndef TARGET_H
#define TARGET_H

#include <stdint.h>

typedef struct {
    uint8_t clock; /* HAL_CLOCK_* */
    uint32_t timer_hz;
    uint32_t usart_hz;
} target_clocks_t;

extern target_clocks_t target_clocks; /* set by hal_init */

target_clocks_t target_start_clocks(void);
void target_connect_pins(unsigned line);

/* Reset cause from the hardware. `remembered` is the cause stored by hal_reset, or -1. */
uint8_t target_reset_cause(int remembered);

/* Raises TIM3's interrupt in every period. */
void target_tick_start(uint32_t period_us);
void target_watchdog_start(uint32_t timeout_us);
void target_watchdog_kick(void);

#endif
