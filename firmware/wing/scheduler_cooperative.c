/* The cooperative scheduler of the paper's Figure 6: costates in one loop, and a slice of a period for planning.
 *
 *   while (1) { costate { HILS_Rx, ESTI, CNTR, HILS_Tx } ... if (idle > slice) slice(PPLAN) }
 *
 * The same tasks as under the preemptive one, in the order of their priorities, but nothing interrupts them except the
 * devices: who is woken waits until the one at work has ended. Planner and path generation give way when their slice is
 * over, and get one a period, if what is left of it is longer.
 */
#include "scheduler.h"

#include "budget.h"
#include "config.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"

static uint32_t slice_began_ticks;
static uint64_t sliced_period_ns = UINT64_MAX;

static uint32_t slice_ticks(void) { return SLICE_US * hal_ticks_per_us; }

static bool sliced(unsigned task) { return task == TASK_PPLAN || task == TASK_PGEN; }

void scheduler_start(void) {}

bool scheduler_goes_on(void) { return hal_ticks() - slice_began_ticks < slice_ticks(); }

/* The most urgent costate that has something to do; none when they all wait. */
static bool costate(unsigned *found)
{
    for (unsigned task = 0; task < kernel_task_count; task++) {
        if (!sliced(task) && kernel_active(task)) {
            *found = task;
            return true;
        }
    }
    return false;
}

bool scheduler_idle(void)
{
    unsigned task;
    return !costate(&task);
}

static void costates(void)
{
    unsigned task;
    while (costate(&task))
        kernel_dispatch(task);
}

/* What is left to plan: paths of cells that are found first. */
static bool planning(unsigned *found)
{
    *found = kernel_active(TASK_PGEN) ? TASK_PGEN : TASK_PPLAN;
    return kernel_active(*found);
}

/* Either runs until its time is over; an unfinished one has woken itself again, for the next slice. False where there
   is none in this period, or no longer. */
static bool slice(void)
{
    unsigned task;
    if (!planning(&task) || budget_period_ns() == sliced_period_ns || budget_left_ticks() <= slice_ticks())
        return false;
    sliced_period_ns = budget_period_ns();
    slice_began_ticks = hal_ticks();
    while (planning(&task) && scheduler_goes_on())
        kernel_dispatch(task);
    return true;
}

/* A slice may run into the next period, which then has one of its own. */
void scheduler_work(void)
{
    do
        costates();
    while (slice());
}
