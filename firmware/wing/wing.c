/* The application as the port sees it. */
#include "wing.h"

#include "budget.h"
#include "comm.h"
#include "events.h"
#include "follow.h"
#include "interface.h"
#include "kernel.h"
#include "plan.h"
#include "telemetry.h"

void budget_begun(uint8_t reset_cause)
{
    events_init();
    telemetry_init();
    hils_init();
    comm_init();
    fly_init();
    follow_init();
    plan_init();
    if (reset_cause != RESET_CAUSE_POWER_ON)
        event_say(EVENT_BOARD_RESTARTED, (float)reset_cause);
}

void budget_received(unsigned line) { kernel_pend(line == LINE_HILS ? TASK_HILS_RX : TASK_COMM_RX); }

void budget_hang(void) { fly_hang(); }

uint32_t budget_refused(void) { return hils_refused() + comm_refused(); }

/* Planning may take as many periods as it likes. */
bool budget_sound(void) { return hils_idle(); }
