#include "follow.h"

#include <math.h>
#include <string.h>

#include "config.h"
#include "events.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "operator.h"
#include "plan.h"
#include "wing.h"

enum { S, LAG }; /* of PFOL's state */
enum { ROLL_COMMAND, ALONG, CROSS };

/* PMAN, which hands the reference over, is less urgent: it does so under the lock. CNTR is more urgent, and reads one
   word. */
static struct {
    bool has_reference;
    mission_reference_t reference;
    uint8_t step;
    uint16_t path;
    float state[PFOL_STATE];
    float s; /* of `point` */
    mission_point_t point;
    float guidance[PFOL_GUIDANCE];
} follow;

void follow_init(void)
{
    memset(&follow, 0, sizeof follow);
    follow.state[LAG] = ROLL_LAG_S;
}

float follow_roll_command(void) { return follow.guidance[ROLL_COMMAND]; }

float follow_s(void) { return follow.state[S]; }

void follow_switch(const mission_reference_t *reference, float moved, uint8_t step, uint16_t path)
{
    uint32_t state = hal_lock();
    follow.reference = *reference;
    follow.state[S] += moved;
    follow.step = step;
    follow.path = path;
    follow.has_reference = true;
    hal_unlock(state);
}

void follow_guidance(float row[FOLLOW_GUIDANCE])
{
    const mission_point_t *point = &follow.point;
    const float now[FOLLOW_GUIDANCE] = {(float)follow.step,
                                        (float)follow.path,
                                        follow.s,
                                        point->x,
                                        point->y,
                                        point->psi,
                                        point->kappa,
                                        follow.guidance[ALONG],
                                        follow.guidance[CROSS],
                                        follow.guidance[ROLL_COMMAND],
                                        follow.state[LAG]};
    memcpy(row, now, sizeof now);
}

/* The law returned NaN or infinity, also in values that it limits: these make its roll setpoint infinite, see
   control/clipping.py. It restarts where it is, with wings level. The event's element is the one after the servos. */
static void restart(void)
{
    event_say(EVENT_LAW_NOT_FINITE, (float)(CNTR_COMMAND + ROLL_COMMAND));
    memset(follow.guidance, 0, sizeof follow.guidance);
    memset(follow.state, 0, sizeof follow.state);
    follow.state[S] = follow.s;
    follow.state[LAG] = ROLL_LAG_S;
}

static void step(void)
{
    if (!follow.has_reference)
        plan_begin();
    const float *estimate = fly_estimate();
    const float flight[] = {estimate[EST_X], estimate[EST_Y], estimate[EST_COURSE], estimate[EST_GROUND_SPEED],
                            estimate[EST_ROLL]};
    follow.s = follow.state[S];
    mission_point(&follow.reference, follow.s, &follow.point);
    const float point[] = {follow.point.x, follow.point.y, follow.point.psi, follow.point.kappa};
    const float roll_most[1] = {operator_value(BOARD_PARAMETER_ROLL_LIMIT)};
    float tuning[OPERATOR_TUNING];
    operator_tuning(tuning);
    pfol_run(follow.state, flight, point, roll_most, tuning, follow.guidance, follow.state);
    if (!isfinite(follow.guidance[ROLL_COMMAND]) || !isfinite(follow.state[S]))
        restart();
}

void wing_pfol(void)
{
    if (fly_ready())
        step();
    kernel_pend(TASK_COMM_TX);
    kernel_pend(TASK_PMAN);
    kernel_pend(TASK_STAT);
}
