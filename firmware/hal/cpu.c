#include "cpu.h"

#include "hal.h"
#include "stm32f4.h"

#define PAINT 0xC5C5C5C5u
#define IN_USE_BYTES 128u /* of the stack, by the function that paints it */

extern uint32_t stack_bottom[], stack_top[];

void cpu_barrier(void) { __asm volatile("dsb\n\tisb" ::: "memory"); }

void hal_sleep(void) { __asm volatile("dsb\n\twfi" ::: "memory"); }

/* BASEPRI, not PRIMASK: the watchdog must bite also when a task hangs while it holds the lock. */
uint32_t hal_lock(void)
{
    uint32_t before;
    __asm volatile("mrs %0, basepri\n\tmsr basepri_max, %1\n\tisb"
                   : "=&r"(before)
                   : "r"((uint32_t)PRIORITY_BITS(LEVEL_DEVICES))
                   : "memory");
    return before;
}

void hal_unlock(uint32_t state) { __asm volatile("msr basepri, %0\n\tisb" ::"r"(state) : "memory"); }

void cpu_paint_stack(void)
{
    volatile uint32_t *word = stack_bottom;
    uint32_t *end = (uint32_t *)((uintptr_t)__builtin_frame_address(0) - IN_USE_BYTES);
    while (word < end)
        *word++ = PAINT;
}

size_t hal_stack_size(void) { return (size_t)((uintptr_t)stack_top - (uintptr_t)stack_bottom); }

size_t hal_stack_used(void)
{
    const volatile uint32_t *word = stack_bottom;
    while (word < stack_top && *word == PAINT)
        word++;
    return (size_t)((uintptr_t)stack_top - (uintptr_t)word);
}
