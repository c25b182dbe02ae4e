/* The hardware layer of the host build: a processor that does one thing at a time, as the NVIC would order it.
 *
 * A pended task runs at once unless a more urgent one, or the lock, stands before it. Time is made up: every look at
 * the counter moves it on, so that execution times repeat from run to run, and a board can be made slow. A task that
 * works in pieces looks outside the lock, before each piece: that look may cost more, and is what a piece takes. The
 * timer's interrupt comes at such a look, or at the end of the lock.
 */
#include "hal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host.h"
#include "interface.h"
#include "kernel.h"

#define LEAST_URGENT 255u

static uint8_t priorities[KERNEL_MOST_TASKS]; /* 0: not enabled, which pending alone does not change */
static bool pending[KERNEL_MOST_TASKS];
static unsigned level = LEAST_URGENT; /* priority of what is running */
static uint32_t locked;
static uint32_t ticks;
static void (*tick)(void);
static uint32_t tick_ticks, ticked_at;
static bool ticking; /* inside the timer's interrupt */

uint32_t hal_ticks_per_us = 1000;
uint32_t host_ticks_a_look = 1000, host_ticks_a_piece = 1000;
uint8_t host_reset_cause = RESET_CAUSE_POWER_ON;

uint8_t hal_init(void) { return host_reset_cause; }

void hal_task_enable(unsigned slot, uint8_t priority) { priorities[slot] = priority; }

static int most_urgent(void)
{
    int found = -1;
    unsigned best = level;
    for (unsigned slot = 0; slot < kernel_task_count; slot++) {
        if (pending[slot] && priorities[slot] != 0 && priorities[slot] < best) {
            best = priorities[slot];
            found = (int)slot;
        }
    }
    return found;
}

static void run_pending(void)
{
    int slot;
    while (!locked && (slot = most_urgent()) >= 0) {
        unsigned preempted = level;
        level = priorities[slot];
        pending[slot] = false;
        kernel_dispatch((unsigned)slot);
        level = preempted;
    }
}

static void tick_when_due(void)
{
    if (locked || ticking || tick == NULL || ticks - ticked_at < tick_ticks)
        return;
    ticked_at = ticks;
    unsigned interrupted = level;
    level = 0; /* above all tasks */
    ticking = true;
    tick();
    ticking = false;
    level = interrupted;
    run_pending();
}

uint32_t hal_ticks(void)
{
    ticks += locked || ticking ? host_ticks_a_look : host_ticks_a_piece;
    tick_when_due();
    return ticks;
}

void hal_tick_start(uint32_t period_us, void (*call)(void))
{
    tick = call;
    tick_ticks = period_us * hal_ticks_per_us;
    ticked_at = ticks;
}

void hal_task_pend(unsigned slot)
{
    pending[slot] = true;
    run_pending();
}

uint32_t hal_lock(void)
{
    uint32_t state = locked;
    locked = 1;
    return state;
}

void hal_unlock(uint32_t state)
{
    locked = state;
    tick_when_due();
    run_pending();
}

/* The program begins anew, as a board does: nothing is left but the reason. */
void hal_reset(uint8_t cause)
{
    char look_text[12], cause_text[4], piece_text[12];
    snprintf(look_text, sizeof look_text, "%u", (unsigned)host_ticks_a_look);
    snprintf(cause_text, sizeof cause_text, "%u", cause);
    snprintf(piece_text, sizeof piece_text, "%u", (unsigned)host_ticks_a_piece);
    execl("/proc/self/exe", "board", look_text, cause_text, piece_text, (char *)NULL);
    abort();
}

/* Who sleeps inside a task waits for a timer that cannot come here: all that is left is the watchdog. */
void hal_sleep(void) { hal_reset(RESET_CAUSE_WATCHDOG); }

void hal_watchdog_start(uint32_t timeout_us) { (void)timeout_us; }

void hal_watchdog_kick(void) {}

size_t hal_stack_size(void) { return 0; }

size_t hal_stack_used(void) { return 0; }
