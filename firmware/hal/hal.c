/* The hardware layer that both targets share. */
#include "hal.h"

#include "interface.h"
#include "irq.h"
#include "kernel.h"
#include "target.h"

#define CAUSE_MAGIC 0xCA05E000u

uint32_t hal_ticks_per_us;

target_clocks_t target_clocks;

static void (*tick)(void);

/* Neither zeroed nor set at start-up: it keeps the cause of the last reset. */
__attribute__((section(".noinit"))) static uint32_t cause_left_behind;

uint8_t hal_init(void)
{
    bool remembered = (cause_left_behind & ~0xFFu) == CAUSE_MAGIC;
    uint8_t cause = target_reset_cause(remembered ? (int)(cause_left_behind & 0xFFu) : -1);
    cause_left_behind = CAUSE_MAGIC | RESET_CAUSE_COMMANDED; /* default for a reset without a recorded cause */

    target_clocks = target_start_clocks();
    hal_ticks_per_us = target_clocks.timer_hz / 1000000u;

    RCC->APB1ENR |= RCC_APB1ENR_TIM2;
    TIM2->PSC = 0;
    TIM2->ARR = 0xFFFFFFFFu;
    TIM2->EGR = TIM_EGR_UG;
    TIM2->CR1 = TIM_CR1_CEN;
    return cause;
}

uint8_t hal_clock(void) { return target_clocks.clock; }

uint32_t hal_ticks(void) { return TIM2->CNT; }

uint64_t hal_now_ns(void)
{
    static uint64_t total_ticks;
    uint32_t state = hal_lock();
    total_ticks += (uint32_t)(hal_ticks() - (uint32_t)total_ticks);
    uint64_t ticks = total_ticks;
    hal_unlock(state);
    return ticks * 1000u / hal_ticks_per_us;
}

void hal_tick_start(uint32_t period_us, void (*call)(void))
{
    tick = call;
    irq_enable(IRQ_TIM3, LEVEL_DEVICES);
    target_tick_start(period_us);
}

void hal_tick_irq(void)
{
    TIM3->SR = 0;
    (void)hal_now_ns(); /* keeps the 64-bit time whole */
    tick();
}

void hal_watchdog_start(uint32_t timeout_us) { target_watchdog_start(timeout_us); }

void hal_watchdog_kick(void) { target_watchdog_kick(); }

void hal_reset(uint8_t cause)
{
    cause_left_behind = CAUSE_MAGIC | cause;
    cpu_barrier();
    SCB_AIRCR = SCB_AIRCR_KEY | SCB_AIRCR_SYSRESETREQ;
    cpu_barrier();
    for (;;) { /* the reset takes a few cycles */
    }
}

void hal_fault_irq(void) { hal_reset(RESET_CAUSE_FAULT); }

#define SLOT_IRQ(slot, irq) [slot] = irq,
static const uint8_t task_irqs[KERNEL_MOST_TASKS] = {TASK_SLOTS(SLOT_IRQ)};

#define SLOT_HANDLER(slot, irq) void hal_task_irq_##slot(void) { kernel_dispatch(slot); }
TASK_SLOTS(SLOT_HANDLER)

void hal_task_enable(unsigned slot, uint8_t priority) { irq_enable(task_irqs[slot], LEVEL_TASKS - 1u + priority); }

void hal_task_pend(unsigned slot) { irq_pend(task_irqs[slot]); }
