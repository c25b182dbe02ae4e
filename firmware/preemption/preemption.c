/* Shows that the NVIC schedules tasks as a preemptive kernel does, and that the kernel's figures add up.
 *
 *   tick        1  from the timer; pends middle and background
 *   urgent      2  pended by middle, in its midst
 *   middle      3  preempts long
 *   long        4  runs until three ticks have come
 *   background  5  pended while long runs, and has to wait for it
 *
 * The first start writes the trace and overflows the stack; the second, after the fault, hangs in a task that holds
 * the lock; the third, after the watchdog, ends the emulator. Every task computes with floats and checks its result.
 */
#include <stdbool.h>
#include <stdint.h>

#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "port.h"
#include "semihosting.h"

enum { TICK, URGENT, MIDDLE, LONG, BACKGROUND, HANG, COUNT };
enum { THREAD = COUNT, MOST_RECORDS = 64, TICKS = 3, TICK_US = 2000, WATCHDOG_US = 20000 };

static void run_tick(void);
static void run_urgent(void);
static void run_middle(void);
static void run_long(void);
static void run_background(void);
static void run_hang(void);

const kernel_task_t kernel_tasks[] = {
    [TICK] = {"tick", 1, TICK_US, run_tick},
    [URGENT] = {"urgent", 2, 0, run_urgent},
    [MIDDLE] = {"middle", 3, 0, run_middle},
    [LONG] = {"long", 4, 0, run_long},
    [BACKGROUND] = {"background", 5, 0, run_background},
    [HANG] = {"hang", 6, 0, run_hang},
};
const unsigned kernel_task_count = COUNT;

static struct {
    uint8_t task;
    bool begins;
    uint32_t ticks;
} records[MOST_RECORDS];
static volatile unsigned record_count;
static volatile unsigned ticks_seen;
static volatile bool background_waits_for_long, background_done;
static float expected[COUNT + 1];
static volatile unsigned wrong_results;
static uint64_t latest_busy_ticks;
static volatile unsigned busy_went_back;

static void print(const char *text) { semihosting_call(SYS_WRITE0, text); }

static void print_number(uint64_t number)
{
    char digits[24];
    char *at = digits + sizeof digits - 1;
    *at = 0;
    do {
        *--at = (char)('0' + number % 10u);
        number /= 10u;
    } while (number > 0);
    print(" ");
    print(at);
}

/* Fills the floating-point registers: eight sums that only a preemption could mix up. */
__attribute__((noinline)) static float compute(unsigned task)
{
    float seed = 1.0f + (float)task;
    float a = seed, b = seed + 0.5f, c = seed * 2.0f, d = seed / 3.0f, e = -seed, f = seed * seed, g = 0.25f, h = d + e;
    for (int i = 0; i < 200; i++) {
        a = a * 0.99f + b * 0.01f;
        b = b * 0.98f + c * 0.02f;
        c = c * 0.97f + d * 0.03f;
        d = d * 0.96f + e * 0.04f;
        e = e * 0.95f + f * 0.05f;
        f = f * 0.94f + g * 0.06f;
        g = g * 0.93f + h * 0.07f;
        h = h * 0.92f + a * 0.08f;
    }
    return a + b + c + d + e + f + g + h;
}

static void check(unsigned task)
{
    if (compute(task) != expected[task])
        wrong_results++;
}

static void record(unsigned task, bool begins)
{
    uint32_t state = hal_lock();
    if (record_count < MOST_RECORDS) {
        records[record_count].task = (uint8_t)task;
        records[record_count].begins = begins;
        records[record_count].ticks = hal_ticks();
        record_count++;
    }
    uint64_t busy_ticks = kernel_busy_ticks();
    if (busy_ticks < latest_busy_ticks)
        busy_went_back++;
    latest_busy_ticks = busy_ticks;
    hal_unlock(state);
}

static void timer(void) { kernel_pend(TICK); }

static void run_tick(void)
{
    if (ticks_seen == TICKS)
        return;
    record(TICK, true);
    check(TICK);
    kernel_pend(MIDDLE);
    kernel_pend(BACKGROUND);
    ticks_seen++;
    record(TICK, false);
}

static void run_urgent(void)
{
    record(URGENT, true);
    check(URGENT);
    record(URGENT, false);
}

static void run_middle(void)
{
    record(MIDDLE, true);
    check(MIDDLE);
    kernel_pend(URGENT);
    check(MIDDLE);
    record(MIDDLE, false);
}

static void run_long(void)
{
    record(LONG, true);
    do
        check(LONG);
    while (ticks_seen < TICKS);
    background_waits_for_long = kernel_active(BACKGROUND) && kernel_active(LONG) && !kernel_active(MIDDLE);
    record(LONG, false);
}

static void run_background(void)
{
    record(BACKGROUND, true);
    check(BACKGROUND);
    background_done = true;
    record(BACKGROUND, false);
}

static void run_hang(void)
{
    hal_lock();
    for (;;) {
    }
}

__attribute__((noinline)) static int overflow(volatile int depth)
{
    return depth == 0 ? 0 : 1 + overflow(depth + 1) * depth;
}

static void print_trace(void)
{
    for (unsigned i = 0; i < record_count; i++) {
        print(records[i].begins ? "trace begin " : "trace end ");
        print(kernel_tasks[records[i].task].name);
        print("\n");
    }
    for (unsigned i = 0; i < record_count; i++) {
        print("time");
        print_number(records[i].ticks - records[0].ticks);
        print("\n");
    }
}

static void print_statistics(uint64_t window_ticks)
{
    kernel_statistics_t sample;
    kernel_sample(&sample);
    for (unsigned task = 0; task < HANG; task++) {
        print("task ");
        print(kernel_tasks[task].name);
        print_number(sample.task[task].exec_ticks);
        print_number(sample.task[task].worst_ticks);
        print_number(sample.task[task].runs);
        print("\n");
    }
    print("kernel");
    print_number(window_ticks);
    print_number(sample.busy_ticks);
    print_number(sample.switches);
    print("\nchecks");
    print_number(wrong_results);
    print_number(busy_went_back);
    print_number(background_waits_for_long);
    print("\nstack");
    print_number(hal_stack_used());
    print_number(hal_stack_size());
    print("\n");
}

static void first_start(void)
{
    for (unsigned task = 0; task <= THREAD; task++)
        expected[task] = compute(task);
    uint32_t began_ticks = hal_ticks();
    hal_tick_start(TICK_US, timer);
    kernel_pend(LONG);
    while (!background_done)
        check(THREAD);
    uint32_t window_ticks = hal_ticks() - began_ticks;
    hal_lock();
    print_trace();
    print_statistics(window_ticks);
    overflow(1);
}

void port_run(void)
{
    uint8_t cause = hal_init();
    kernel_start();
    print("start");
    print_number(cause);
    print("\n");
    if (cause == RESET_CAUSE_POWER_ON)
        first_start();
    if (cause == RESET_CAUSE_FAULT) {
        hal_watchdog_start(WATCHDOG_US);
        kernel_pend(HANG);
    }
    semihosting_exit(SEMIHOSTING_DONE);
}
