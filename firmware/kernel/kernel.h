/* The kernel: run-to-completion tasks in one table, scheduled by the NVIC, and what they cost.
 *
 * A task is pended (by a timer, an interrupt or another task) and runs when none of higher priority is; it may be
 * preempted, never blocks, and has no stack of its own. Statistics follow the usual definitions of real-time kernels:
 * on every switch the time since the last one is added to the task that was running (TET).
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *name;
    uint8_t priority;    /* 1 is the most urgent; no two tasks share one */
    uint32_t period_us;  /* 0: runs when pended */
    void (*run)(void);
} kernel_task_t;

#define KERNEL_MOST_TASKS 16

/* The application's table. At most one task may have a period: it is the tick. */
extern const kernel_task_t kernel_tasks[];
extern const unsigned kernel_task_count;

typedef struct {
    uint64_t exec_ticks; /* since the last sample (TET) */
    uint32_t worst_ticks; /* longest single run since the start, without what preempted it */
    uint32_t runs;        /* since the last sample */
} kernel_task_statistics_t;

typedef struct {
    uint64_t busy_ticks; /* sum of exec_ticks */
    uint32_t switches;   /* since the last sample: into a task and out of it */
    kernel_task_statistics_t task[KERNEL_MOST_TASKS];
} kernel_statistics_t;

void kernel_start(void);
void kernel_pend(unsigned task);
bool kernel_active(unsigned task);   /* pended or begun, and not finished */
uint64_t kernel_busy_ticks(void);    /* execution time of all tasks since the start, up to now */
uint64_t kernel_task_ticks(unsigned task); /* execution time of one task since the start, up to now */
void kernel_sample(kernel_statistics_t *sample); /* since the last call; then restarts */
void kernel_forget(void); /* the time since the last clock read is charged to no task: it was spent outside the board */

/* Called by the hardware layer's task interrupt of this slot. */
void kernel_dispatch(unsigned task);

#endif
