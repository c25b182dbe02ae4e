/* From reset to main: the vector table, the memory and the floating-point unit. */
#include <stdint.h>

#include "irq.h"

extern uint32_t stack_top[];
extern uint32_t data_source[], data_begin[], data_end[], bss_begin[], bss_end[];

int main(void);
void start_reset(void);

void start_reset(void)
{
    /* Tasks are interrupts and compute with floats: the FPU is on before anything else, and exceptions keep its
       registers, lazily: space is set aside, and filled only if the interrupting task touches them. */
    SCB_CPACR |= SCB_CPACR_FPU;
    FPU_FPCCR = FPU_FPCCR_ASPEN | FPU_FPCCR_LSPEN;
    FPU_FPDSCR = 0; /* round to nearest, denormals kept, as on the host */
    cpu_barrier();

    cpu_paint_stack();
    for (uint32_t *from = data_source, *to = data_begin; to < data_end;)
        *to++ = *from++;
    for (uint32_t *to = bss_begin; to < bss_end;)
        *to++ = 0;
    main();
    for (;;) {
    }
}

/* A fault may have left the stack pointer anywhere: begin at its top again. */
__attribute__((naked)) static void fault(void)
{
    __asm volatile("ldr r0, =stack_top\n\tmov sp, r0\n\tb hal_fault_irq");
}

/* The first is used only by the emulator, the others only by images with serial lines. */
__attribute__((weak, alias("fault"))) void target_systick_irq(void);
__attribute__((weak, alias("fault"))) void hal_line_board_irq(void);
__attribute__((weak, alias("fault"))) void hal_line_reference_irq(void);

typedef union {
    void (*handler)(void);
    uint32_t *stack;
} vector_t;

#define DEVICE(irq) [16 + (irq)]
#define TASK_VECTOR(slot, irq) DEVICE(irq).handler = hal_task_irq_##slot,

/* By default every interrupt is a fault; the expected ones replace it. */
#pragma GCC diagnostic ignored "-Woverride-init"
__attribute__((section(".vectors"), used)) const vector_t vectors[16 + IRQ_COUNT] = {
    [0].stack = stack_top,
    [1].handler = start_reset,
    [2 ... 15 + IRQ_COUNT].handler = fault,
    [15].handler = target_systick_irq,
    DEVICE(IRQ_TIM3).handler = hal_tick_irq,
    DEVICE(IRQ_USART2).handler = hal_line_board_irq,
    DEVICE(IRQ_USART3).handler = hal_line_reference_irq,
    TASK_SLOTS(TASK_VECTOR)
};
