/* The application as the budgeted lockstep port sees it: a control period of processor time with each step packet. */
#include "budget.h"
#include "events.h"
#include "interface.h"
#include "kernel.h"
#include "values.h"

/* The start message is sent with the record of the start, which cannot be lost: once is enough, and no
   time has passed. */
void budget_begun(uint8_t reset_cause)
{
    events_init();
    tell_init();
    values_init();
    values_start(reset_cause, 0);
}

void budget_received(unsigned line)
{
    if (line == LINE_HILS)
        kernel_pend(TASK_RECEIVE);
}

void budget_hang(void) { values_hang(); }

uint32_t budget_refused(void) { return values_refused(); }

bool budget_sound(void) { return values_idle(); }

void scheduler_start(void) { kernel_start(); }

void scheduler_work(void) {}

bool scheduler_idle(void) { return true; } /* or the thread would not run */
