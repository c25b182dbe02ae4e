/* The preemptive scheduler: each task an interrupt, the NVIC decides. Nothing is left for the thread to do. */
#include "scheduler.h"

#include "budget.h"
#include "hal.h"
#include "kernel.h"

void scheduler_start(void) { kernel_start(); }

void scheduler_work(void) {}

bool scheduler_idle(void) { return true; } /* or the thread would not run */

/* Who is more urgent takes the processor without being asked. The look at the clock is where the host build, which has
   no interrupts, lets the timer in. */
bool scheduler_goes_on(void)
{
    (void)hal_ticks();
    return true;
}
