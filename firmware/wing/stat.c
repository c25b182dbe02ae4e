/* STAT: once a second, what the processor was busy with; COMM_Tx sends it.
 *
 * Busy time against granted time: in lockstep idle time is skipped, but it is there on the clock of the port.
 */
#include "config.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "port.h"
#include "telemetry.h"
#include "wing.h"

#define SAMPLE_PERIODS (1000000u / CONTROL_PERIOD_US)
#define NS_PER_S 1e9f

static struct {
    unsigned periods;
    uint64_t sampled_at_ns;
    bool planning;
    uint64_t plan_at_ns, plan_at_ticks; /* time, and busy time, up to which planning is summed up */
    uint64_t planning_ns, planning_ticks;
} stat;

static float seconds(uint64_t ticks) { return (float)ticks / ((float)hal_ticks_per_us * 1e6f); }

static float percent(float part, float whole) { return whole > 0.0f ? 100.0f * part / whole : 0.0f; }

/* Sums up to now; under the lock, since more than one task begins and ends plans. */
static void sum_up_planning(void)
{
    uint64_t now_ns = port_now_ns(), busy_ticks = kernel_busy_ticks();
    if (stat.planning) {
        stat.planning_ns += now_ns - stat.plan_at_ns;
        stat.planning_ticks += busy_ticks - stat.plan_at_ticks;
    }
    stat.plan_at_ns = now_ns;
    stat.plan_at_ticks = busy_ticks;
}

void stat_planning(bool on)
{
    uint32_t state = hal_lock();
    sum_up_planning();
    stat.planning = on;
    hal_unlock(state);
}

static void tell_task(unsigned task, const kernel_statistics_t *kernel, float periods)
{
    const kernel_task_statistics_t *own = &kernel->task[task];
    const float row[] = {
        (float)task,
        seconds(own->exec_ticks) / periods,
        percent((float)own->exec_ticks, (float)kernel->busy_ticks),
        seconds(own->worst_ticks),
        (float)own->runs,
    };
    telemetry_row(MESSAGE_TASK, row, sizeof row / sizeof *row);
}

static void sample(void)
{
    static kernel_statistics_t kernel;
    uint32_t state = hal_lock();
    uint64_t now_ns = port_now_ns();
    kernel_sample(&kernel);
    sum_up_planning();
    float planning_s = (float)stat.planning_ns / NS_PER_S, planning_busy_s = seconds(stat.planning_ticks);
    stat.planning_ns = stat.planning_ticks = 0;
    hal_unlock(state);

    float window_s = (float)(now_ns - stat.sampled_at_ns) / NS_PER_S;
    stat.sampled_at_ns = now_ns;
    const float row[] = {
        percent(seconds(kernel.busy_ticks), window_s),
        (float)kernel.switches / window_s,
        (float)hal_stack_used(),
        (float)hal_stack_size(),
        (float)hils_missed(),
        hils_worst_latency_s(),
        planning_s,
        percent(planning_busy_s, planning_s),
    };
    telemetry_row(MESSAGE_CPU, row, sizeof row / sizeof *row);
    for (unsigned task = 0; task < TASK_COUNT; task++)
        tell_task(task, &kernel, window_s / ((float)CONTROL_PERIOD_US * 1e-6f));
}

void wing_stat(void)
{
    if (stat.periods == 0 && stat.sampled_at_ns == 0)
        stat.sampled_at_ns = port_now_ns(); /* the first window begins with the first sensors */
    if (++stat.periods < SAMPLE_PERIODS)
        return;
    stat.periods = 0;
    sample();
}
