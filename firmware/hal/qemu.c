/* QEMU's netduinoplus2: clocks that are always on, timers that count 1 GHz, no independent watchdog. */
#include "hal.h"
#include "interface.h"
#include "irq.h"
#include "target.h"

#define TIMER_HZ 1000000000u
#define CORE_HZ 168000000u

/* SysTick alone keeps its period there (TIM2 to TIM5 add the time since power-on to theirs), so it serves both as the
   tick and as the watchdog, at a priority that nothing masks. */
static uint32_t systick_us, last_ticks;
static bool ticking;
static uint32_t watchdog_us;
static volatile uint32_t unkicked_us;

target_clocks_t target_start_clocks(void)
{
    return (target_clocks_t){.clock = HAL_CLOCK_CRYSTAL, .timer_hz = TIMER_HZ, .usart_hz = 42000000u};
}

void target_connect_pins(unsigned line) { (void)line; }

/* The emulator has no reset flags: only the cause stored by hal_reset is known. */
uint8_t target_reset_cause(int remembered) { return remembered < 0 ? RESET_CAUSE_POWER_ON : (uint8_t)remembered; }

static void start_systick(uint32_t microseconds)
{
    systick_us = microseconds;
    last_ticks = hal_ticks();
    SYSTICK->RVR = CORE_HZ / 1000000u * microseconds - 1u;
    SYSTICK->CVR = 0;
    SCB_SHPR_SYSTICK = PRIORITY_BITS(LEVEL_WATCHDOG);
    SYSTICK->CSR = SYSTICK_CSR_ENABLE | SYSTICK_CSR_TICKINT | SYSTICK_CSR_CORE_CLOCK;
}

void target_tick_start(uint32_t period_us)
{
    ticking = true;
    start_systick(period_us);
}

void target_watchdog_start(uint32_t timeout_us)
{
    watchdog_us = timeout_us;
    unkicked_us = 0;
    if (!ticking)
        start_systick(timeout_us / 4u);
}

void target_watchdog_kick(void) { unkicked_us = 0; }

void target_systick_irq(void)
{
    /* A host that stood still makes up for lost time in a burst. To the board that time never was: it neither brings
       the watchdog closer nor gives ticks. */
    uint32_t now_ticks = hal_ticks();
    bool made_up = now_ticks - last_ticks < systick_us * (TIMER_HZ / 1000000u) / 4u;
    if (made_up)
        return;
    last_ticks = now_ticks;
    unkicked_us += systick_us;
    if (watchdog_us != 0 && unkicked_us > watchdog_us)
        hal_reset(RESET_CAUSE_WATCHDOG);
    if (ticking)
        irq_pend(IRQ_TIM3);
}
