/* The interrupt controller. */
#ifndef IRQ_H
#define IRQ_H

#include "cpu.h"
#include "stm32f4.h"

static inline void irq_enable(unsigned irq, unsigned level)
{
    NVIC_IPR[irq] = PRIORITY_BITS(level);
    NVIC_ISER[irq / 32] = 1u << (irq % 32);
}

static inline void irq_pend(unsigned irq)
{
    NVIC_ISPR[irq / 32] = 1u << (irq % 32);
    cpu_barrier();
}

/* Handlers of the vector table. */
void hal_tick_irq(void);
void hal_fault_irq(void);
void hal_line_board_irq(void);
void hal_line_reference_irq(void);
void target_systick_irq(void);
#define TASK_HANDLER(slot, irq) void hal_task_irq_##slot(void);
TASK_SLOTS(TASK_HANDLER)
#undef TASK_HANDLER

#endif
