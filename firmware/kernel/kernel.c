#include "kernel.h"

#include <stddef.h>

#include "hal.h"

#define NOBODY KERNEL_MOST_TASKS

/* Shared by all tasks: only touched under the lock, except `pended` and `begun`, which are single bytes. */
static volatile bool pended[KERNEL_MOST_TASKS];
static volatile bool begun[KERNEL_MOST_TASKS];
static uint32_t run_ticks[KERNEL_MOST_TASKS]; /* of the run in progress */
static kernel_statistics_t since_sample;
static uint64_t busy_ticks;
static uint64_t task_ticks[KERNEL_MOST_TASKS];
static unsigned running = NOBODY;
static uint32_t switched_at;

/* Adds the time since the last switch to the task that was running. */
static void account(void)
{
    uint32_t now = hal_ticks();
    uint32_t spent = now - switched_at;
    switched_at = now;
    if (running == NOBODY)
        return;
    since_sample.task[running].exec_ticks += spent;
    since_sample.busy_ticks += spent;
    busy_ticks += spent;
    task_ticks[running] += spent;
    run_ticks[running] += spent;
}

static unsigned switch_to(unsigned task)
{
    account();
    unsigned before = running;
    running = task;
    since_sample.switches++;
    return before;
}

void kernel_start(void)
{
    for (unsigned task = 0; task < kernel_task_count; task++)
        hal_task_enable(task, kernel_tasks[task].priority);
}

void kernel_pend(unsigned task)
{
    pended[task] = true;
    hal_task_pend(task);
}

bool kernel_active(unsigned task) { return pended[task] || begun[task]; }

void kernel_dispatch(unsigned task)
{
    /* Pended after the last interrupt was taken but before its run began: that run has served this one too. */
    if (!pended[task])
        return;

    uint32_t state = hal_lock();
    begun[task] = true;
    pended[task] = false;
    run_ticks[task] = 0;
    unsigned preempted = switch_to(task);
    hal_unlock(state);

    kernel_tasks[task].run();

    state = hal_lock();
    switch_to(preempted);
    kernel_task_statistics_t *statistics = &since_sample.task[task];
    statistics->runs++;
    if (run_ticks[task] > statistics->worst_ticks)
        statistics->worst_ticks = run_ticks[task];
    begun[task] = false;
    hal_unlock(state);
}

uint64_t kernel_busy_ticks(void)
{
    uint32_t state = hal_lock();
    account();
    uint64_t ticks = busy_ticks;
    hal_unlock(state);
    return ticks;
}

uint64_t kernel_task_ticks(unsigned task)
{
    uint32_t state = hal_lock();
    account();
    uint64_t ticks = task_ticks[task];
    hal_unlock(state);
    return ticks;
}

void kernel_forget(void)
{
    uint32_t state = hal_lock();
    switched_at = hal_ticks();
    hal_unlock(state);
}

void kernel_sample(kernel_statistics_t *sample)
{
    uint32_t state = hal_lock();
    account();
    *sample = since_sample;
    since_sample.busy_ticks = 0;
    since_sample.switches = 0;
    for (unsigned task = 0; task < kernel_task_count; task++) {
        since_sample.task[task].exec_ticks = 0;
        since_sample.task[task].runs = 0;
    }
    hal_unlock(state);
}
