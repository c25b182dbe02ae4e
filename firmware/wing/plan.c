/* Who waits for whom: PMAN orders a way, PPLAN searches its cells, PGEN makes a path of them, PMAN takes it.
 *
 *   PMAN 21 ── order ──▶ PPLAN 23 ── cells ──▶ PGEN 20 ── result ──▶ PMAN 21 ── reference ──▶ PFOL 18
 *
 * PPLAN is the least urgent task of all, so PMAN may order anew while it searches: then what it found is dropped. PGEN
 * is more urgent than PMAN, and none of them ever sees another's work half done.
 */
#include "plan.h"

#include <math.h>
#include <string.h>

#include "budget.h"
#include "config.h"
#include "follow.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "mission.h"
#include "operator.h"
#include "pgen.h"
#include "planner.h"
#include "port.h"
#include "scheduler.h"
#include "telemetry.h"
#include "wing.h"

#define PI 3.14159265f
#define SUB 16.0f /* parts of a unit that the planner counts in */

static const planner_settings_t planner_settings = PLANNER_SETTINGS;
static const mission_settings_t mission_settings = MISSION_SETTINGS;
static const pgen_settings_t pgen_settings = PGEN_SETTINGS;

_Static_assert(MISSION_MOST_VALUES <= MOST_TOLD_VALUES, "a row of the mission's is one of the interface's");

static int16_t approximations[PLANNER_APPROXIMATIONS];
static planner_index_t to_go[PLANNER_LEAVES];
static uint32_t cost[PLANNER_STATES];
static planner_index_t from[PLANNER_STATES], place[PLANNER_STATES], open[PLANNER_STATES];
static uint8_t times[PLANNER_TIMES];

/* COMM_Proc -> PMAN: under the lock. */
static struct {
    bool full;
    float x_m, y_m;
} goal_box;

/* PMAN -> PPLAN: under the lock; the flags are single bytes. */
static struct {
    volatile bool wanted; /* some result is waited for */
    volatile bool fresh;  /* the order has not been taken up */
    mission_order_t order;
} order_box;

/* PGEN -> PMAN. */
static volatile bool result_ready;

static mission_t mission;
static bool mission_begun;

static planner_t planner;
static mission_order_t order; /* that PPLAN and PGEN work on */
static bool searching, generating;
static uint64_t work_before_ticks;

void plan_init(void)
{
    const planner_memory_t memory = {
        .approximations = approximations,
        .to_go = to_go,
        .cost = cost,
        .from = from,
        .place = place,
        .open = open,
        .times = times,
        .sizes = {PLANNER_APPROXIMATIONS, PLANNER_LEAVES, PLANNER_STATES, PLANNER_TIMES},
    };
    if (!planner_open(&planner, &planner_settings, &memory))
        hal_reset(RESET_CAUSE_FAULT); /* the image was generated for other settings than it holds */
    pgen_open(&pgen_settings);
}

void plan_command(float x_m, float y_m)
{
    uint32_t state = hal_lock();
    goal_box.x_m = x_m;
    goal_box.y_m = y_m;
    goal_box.full = true;
    hal_unlock(state);
}

static void take_goal(void)
{
    uint32_t state = hal_lock();
    bool full = goal_box.full;
    float x_m = goal_box.x_m, y_m = goal_box.y_m;
    goal_box.full = false;
    hal_unlock(state);
    if (full)
        mission_command(&mission, x_m, y_m);
}

/* The first circle touches the aircraft's course on its left. PFOL calls this, before PMAN has anything to do. */
void plan_begin(void)
{
    const float *estimate = fly_estimate();
    float psi = estimate[EST_COURSE];
    float radius = operator_value(BOARD_PARAMETER_LOITER_RADIUS);
    mission_init(&mission, &mission_settings, estimate[EST_X] - radius * sinf(psi),
                 estimate[EST_Y] + radius * cosf(psi), radius, true);
    float angle = psi - PI / 2.0f;
    if (angle < 0.0f)
        angle += 2.0f * PI;
    follow_switch(&mission.reference, angle * radius - follow_s(), (uint8_t)mission.state,
                  mission.path_number);
    mission_begun = true;
}

/* What the mission wants of PPLAN. */
static void pass_order(void)
{
    bool same = order_box.wanted && mission.order.number == order_box.order.number;
    if (mission.ordered && !same) {
        uint32_t state = hal_lock();
        order_box.order = mission.order;
        order_box.wanted = order_box.fresh = true;
        hal_unlock(state);
        stat_planning(true);
        kernel_pend(TASK_PPLAN);
    } else if (!mission.ordered && order_box.wanted) {
        order_box.wanted = order_box.fresh = false;
        stat_planning(false);
    }
}

static void tell(const mission_output_t *out)
{
    static const uint8_t messages[] = {
        [ROW_STEP] = MESSAGE_STEP, [ROW_PLAN] = MESSAGE_PLAN, [ROW_CELL] = MESSAGE_CELL, [ROW_PATH] = MESSAGE_PATH};
    for (unsigned i = 0; i < out->count; i++)
        telemetry_row(messages[out->rows[i].stream], out->rows[i].values, out->rows[i].count);
}

void wing_pman(void)
{
    if (!mission_begun) {
        operator_step(NULL);
        return;
    }
    take_goal();
    static mission_output_t out;
    float flown_s = follow_s();
    mission.s = flown_s;
    operator_step(&mission);
    const mission_input_t in = {
        .now_s = (float)budget_period_ns() * 1e-9f,
        .s = mission.s,
        .result = result_ready ? pgen_result() : NULL,
    };
    mission_step(&mission, &in, &out);
    result_ready = false;
    follow_switch(&mission.reference, mission.s - flown_s, (uint8_t)mission.state, mission.path_number);
    pass_order();
    tell(&out);
}

/* Nobody waits for the order in the making any more. */
static bool stale(void) { return order_box.fresh || !order_box.wanted; }

static int32_t subunits(float along_m) { return (int32_t)floorf((along_m / MAP_UNIT_M + MAP_SIDE_UNITS / 2.0f) * SUB); }

static uint64_t work_ticks(void) { return kernel_task_ticks(TASK_PPLAN) + kernel_task_ticks(TASK_PGEN); }

static void begin_search(void)
{
    work_before_ticks = work_ticks();
    if (order.fresh)
        planner_forget(&planner);
    for (unsigned i = 0; i < order.flown_count; i++)
        planner_flown(&planner, order.flown[i].col, order.flown[i].row);
    planner_begin(&planner, subunits(order.start_x), subunits(order.start_y), subunits(order.goal_x),
                  subunits(order.goal_y), order.from_node ? order.node.direction : PLANNER_FREE,
                  order.from_node ? order.node.last_turn : PLANNER_STRAIGHT);
    searching = true;
}

static bool take_order(void)
{
    uint32_t state = hal_lock();
    bool fresh = order_box.fresh;
    if (fresh)
        order = order_box.order;
    order_box.fresh = false;
    hal_unlock(state);
    return fresh;
}

void wing_pplan(void)
{
    if (order_box.fresh || !searching) {
        if (!take_order())
            return;
        begin_search();
    }
    while (scheduler_goes_on()) {
        if (stale()) { /* woken again already, if for a new order */
            searching = false;
            return;
        }
        if (planner_step(&planner)) {
            searching = false;
            kernel_pend(TASK_PGEN);
            return;
        }
    }
    kernel_pend(TASK_PPLAN);
}

void wing_pgen(void)
{
    if (!generating)
        pgen_begin(&mission, &order, &planner);
    generating = true;
    while (scheduler_goes_on()) {
        if (stale()) {
            generating = false;
            return;
        }
        if (pgen_step()) {
            generating = false;
            pgen_result()->work_s = (float)(work_ticks() - work_before_ticks) / ((float)hal_ticks_per_us * 1e6f);
            result_ready = true;
            kernel_pend(TASK_PMAN);
            return;
        }
    }
    kernel_pend(TASK_PGEN);
}
