/* The application as the port sees it. */
#include "wing.h"

#include "budget.h"
#include "comm.h"
#include "events.h"
#include "follow.h"
#include "framing.h"
#include "handshake.h"
#include "kernel.h"
#include "operator.h"
#include "plan.h"
#include "telemetry.h"

void budget_greet(uint8_t reset_cause, uint32_t uptime_ms)
{
    uint8_t data[START_SIZE];
    put_start(data, reset_cause, uptime_ms);
    uint8_t frame[LONGEST_FRAME];
    budget_send(LINE_HILS, frame, frame_encode(data, sizeof data, frame));
}

void budget_begun(uint8_t reset_cause)
{
    events_init();
    telemetry_init();
    hils_init();
    comm_init();
    operator_init();
    fly_init();
    follow_init();
    plan_init();
    budget_greet(reset_cause, 0);
}

void budget_received(unsigned line) { kernel_pend(line == LINE_HILS ? TASK_HILS_RX : TASK_COMM_RX); }

void budget_hang(void) { fly_hang(); }

uint32_t budget_refused(void) { return hils_refused() + comm_refused(); }

bool budget_heard(void) { return hils_heard(); }

/* Planning may take as many periods as it likes. */
bool budget_sound(void) { return hils_idle(); }
