/* The board's mission, planner and path generation as one thing that is stepped: what the tasks PMAN, PPLAN and PGEN do
 * in a control period, with so many pieces of planning. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mission.h"
#include "pgen.h"
#include "planner.h"

#define SUB 16.0f

static mission_t mission;
static planner_t planner;
static float side_m;
static bool searching, ready;
static mission_order_t order;
static int taken = -1; /* number of the order under way */
static mission_output_t out;

static int32_t subunits(float along) {
    return (int32_t)floorf((along / side_m + 0.5f) * (float)(1 << planner.settings.order) * SUB);
}

/* Numbers: side, radius, circle's x and y, then least_radius, bend_rate, leave_every, join_every, reach. */
bool host_open(const planner_settings_t *settings, const mission_settings_t *wanted, const float *numbers);
bool host_open(const planner_settings_t *settings, const mission_settings_t *wanted, const float *numbers) {
    planner_sizes_t sizes;
    if (!planner_needs(settings, &sizes))
        return false;
    planner_memory_t memory = {
        .approximations = calloc(sizes.approximations + 1, sizeof *memory.approximations),
        .to_go = calloc(sizes.leaves, sizeof *memory.to_go),
        .cost = calloc(sizes.states, sizeof *memory.cost),
        .from = calloc(sizes.states, sizeof *memory.from),
        .place = calloc(sizes.states, sizeof *memory.place),
        .open = calloc(sizes.states, sizeof *memory.open),
        .times = calloc(sizes.times, sizeof *memory.times),
        .sizes = sizes,
    };
    side_m = numbers[0];
    const pgen_settings_t paths = {numbers[0], numbers[1], {numbers[4], numbers[5], numbers[6], numbers[7], numbers[8]}};
    pgen_open(&paths);
    mission_init(&mission, wanted, numbers[2], numbers[3], numbers[1], true);
    searching = ready = false;
    taken = -1;
    if (!planner_open(&planner, settings, &memory))
        return false;
    /* The transform of the map is made by the first search: here it is made beforehand. */
    planner_begin(&planner, 0, 0, 0, 0, PLANNER_FREE, PLANNER_STRAIGHT);
    while (!planner_step(&planner)) {}
    return true;
}

void host_command(float x, float y);
void host_command(float x, float y) { mission_command(&mission, x, y); }

static void take_order(void) {
    searching = mission.ordered;
    taken = mission.ordered ? mission.order.number : -1;
    if (!mission.ordered)
        return;
    order = mission.order;
    if (order.fresh)
        planner_forget(&planner);
    for (unsigned i = 0; i < order.flown_count; i++)
        planner_flown(&planner, order.flown[i].col, order.flown[i].row);
    planner_begin(&planner, subunits(order.start_x), subunits(order.start_y), subunits(order.goal_x),
                  subunits(order.goal_y), order.from_node ? order.node.direction : PLANNER_FREE,
                  order.from_node ? order.node.last_turn : PLANNER_STRAIGHT);
}

static float sum_of(const mission_reference_t *reference) {
    float sum = 0.0f;
    for (unsigned i = 0; !reference->closed && i < reference->count; i++)
        sum += reference->points[i].x + reference->points[i].y;
    return sum;
}

/* Of all points that are followed or will be, as far as the mission knows. */
static float sum_of_used(void) {
    float sum = sum_of(&mission.reference);
    for (unsigned i = 0; i < mission.legs_count; i++) sum += sum_of(&mission.legs[i].reference);
    for (unsigned i = 0; i < mission.ending_count; i++) sum += sum_of(&mission.ending[i].reference);
    return sum;
}

/* A period. State: s, path's number, step, x, y, psi, kappa. Returns how many rows there are; less than 0 where path
   generation wrote over points that the mission uses. */
int host_step(float now_s, float s, int pieces, float *state, mission_row_t *rows);
int host_step(float now_s, float s, int pieces, float *state, mission_row_t *rows) {
    const mission_input_t in = {.now_s = now_s, .s = s, .result = ready ? pgen_result() : NULL};
    mission_step(&mission, &in, &out);
    ready = false;
    if (!mission.ordered || mission.order.number != taken)
        take_order();
    float before = sum_of_used();
    for (int i = 0; searching && i < pieces; i++) {
        if (planner_step(&planner)) {
            searching = false;
            pgen_begin(&mission, &order, &planner);
            while (!pgen_step()) {}
            ready = true;
        }
    }
    mission_point_t point;
    mission_point(&mission.reference, mission.s, &point);
    const float now[7] = {mission.s, (float)mission.path_number, (float)mission.state, point.x, point.y,
                          point.psi, point.kappa};
    memcpy(state, now, sizeof now);
    memcpy(rows, out.rows, out.count * sizeof *rows);
    return sum_of_used() == before ? out.count : -1;
}
