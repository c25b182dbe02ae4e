#include "pgen.h"

#include <math.h>
#include <stddef.h>

#include "country.h"
#include "pathgen.h"
#include "transient.h"

#define MOST_CELLS 128 /* of a channel */
#define CHANNEL_SLOTS 2
#define TRANSIENT_SLOTS 3 /* the ending of the channel that is flown, that of the next, and the way from the circle */
#define HAVEN_RADIUS (19.0f / 30.0f)
#define HAVEN_AHEAD 0.6f
#define HAVEN_ASIDE 0.6f
#define HAVEN_ANGLE_RAD 0.174532925f /* 10 degrees */
#define ROOM_M 100.0f
#define WITHIN 0.95f
#define APPROACH_M 500.0f
#define STITCH_BEFORE (1.0f / 3.0f)
#define STITCH_AFTER 1.0f
#define TURN 6.283185307f

typedef enum { AT_CELLS, AT_CHANNEL, AT_LEAVE, AT_ACROSS, AT_ARRIVAL, AT_HAVEN, AT_HAVEN_WAY, AT_END } phase_t;

typedef struct {
    mission_point_t points[PATHGEN_MOST_POINTS];
    mission_node_t nodes[PATHGEN_MOST_NODES];
    uint8_t nodes_count;
} channel_slot_t;

static struct {
    pgen_settings_t settings;
    float least_radius; /* of transients, by the settings */
    float next_radius;  /* of the goal's circle, for the next order */
    const mission_t *mission;
    mission_order_t order;
    const planner_t *planner;
    phase_t phase;
    bool left; /* way round the goal's circle that is tried */
    planner_cell_t cells[MOST_CELLS], way[MISSION_MOST_CELLS];
    uint16_t cells_count;
    country_part_t part; /* of the country that a transient may use */
    channel_slot_t *channel;
    float from_s; /* where the channel is joined */
    pathgen_t path;
    transient_t transient;
    mission_reference_t goal;
    uint8_t tried; /* havens: two at each node, from the last one on backwards */
    float haven_leave_s;
    mission_reference_t haven;
    mission_result_t result;
} pgen;

static channel_slot_t channels[CHANNEL_SLOTS];
static mission_point_t transients[TRANSIENT_SLOTS][TRANSIENT_MOST_POINTS];

void pgen_open(const pgen_settings_t *settings) {
    pgen.settings = *settings;
    pgen.least_radius = settings->joining.least_radius;
    pgen.next_radius = settings->radius;
}

void pgen_radius(float radius) { pgen.next_radius = radius; }

/* A transient ends with the circle's curvature, so a small circle has to be within its limit. */
static void use_radius(float radius) {
    pgen.settings.radius = radius;
    pgen.settings.joining.least_radius = fminf(pgen.least_radius, WITHIN * radius);
}

mission_result_t *pgen_result(void) { return &pgen.result; }

/* A slot that nothing leads to: neither the mission nor what is in the making. */
static mission_point_t *free_transient(void) {
    for (unsigned i = 0; i < TRANSIENT_SLOTS; i++) {
        mission_point_t *points = transients[i];
        bool mine = pgen.result.legs_count > 0 && pgen.result.legs[0].reference.points == points;
        if (!mine && !mission_uses(pgen.mission, points))
            return points;
    }
    return NULL;
}

static channel_slot_t *free_channel(void) {
    for (unsigned i = 0; i < CHANNEL_SLOTS; i++)
        if (!mission_uses(pgen.mission, channels[i].points))
            return &channels[i];
    return NULL;
}

static bool failed(void) {
    pgen.result.status = PLAN_NO_PATH;
    pgen.result.legs_count = pgen.result.ending_count = 0;
    pgen.phase = AT_END;
    return true;
}

static bool finished(void) {
    pgen.result.status = PLAN_FOUND;
    pgen.result.nodes = pgen.channel->nodes;
    pgen.result.nodes_count = pgen.channel->nodes_count;
    pgen.phase = AT_END;
    return true;
}

static bool search(transient_search_t wanted, phase_t phase) {
    mission_point_t *points = free_transient();
    if (points == NULL)
        return false;
    pgen.part.cells = pgen.cells;
    pgen.part.cells_count = pgen.cells_count;
    wanted.allowed = country_allowed;
    wanted.context = &pgen.part;
    transient_begin(&pgen.transient, &wanted, points, TRANSIENT_MOST_POINTS);
    pgen.phase = phase;
    return true;
}

static void two_legs(mission_leg_t legs[2], const mission_reference_t *onto, uint8_t kind) {
    const transient_t *way = &pgen.transient;
    legs[0] = (mission_leg_t){.leave_s = way->begin_s, .kind = KIND_TRANSIENT, .reference = way->path};
    legs[1] = (mission_leg_t){
        .leave_s = way->path.length, .enter_s = way->join_s, .kind = kind, .reference = *onto};
}

static void goal_circle(bool left) {
    pgen.left = left;
    pgen.goal = (mission_reference_t){.closed = true,
                                      .length = TURN * pgen.settings.radius,
                                      .x = pgen.order.goal_x,
                                      .y = pgen.order.goal_y,
                                      .radius = pgen.settings.radius,
                                      .left = left};
}

static bool begin_leave(void) {
    pgen.part.around[0] = country_around(&pgen.part.country, &pgen.order.from, ROOM_M);
    pgen.part.around_count = 1;
    return search(transient_leave(&pgen.order.from, pgen.order.circle_s, &pgen.path.path, &pgen.settings.joining),
                  AT_LEAVE);
}

/* From circle to circle. */
static bool begin_across(void) {
    pgen.result.legs_count = pgen.result.ending_count = 0;
    goal_circle(true);
    pgen.part.around[0] = country_around(&pgen.part.country, &pgen.order.from, ROOM_M);
    pgen.part.around[1] = country_around(&pgen.part.country, &pgen.goal, ROOM_M);
    pgen.part.around_count = 2;
    if (!pgen.result.reaches_goal)
        return false;
    return search(transient_leave(&pgen.order.from, pgen.order.circle_s, &pgen.goal, &pgen.settings.joining),
                  AT_ACROSS);
}

static bool begin_arrival(bool left) {
    goal_circle(left);
    pgen.part.around[0] = country_around(&pgen.part.country, &pgen.goal, ROOM_M);
    pgen.part.around_count = 1;
    float first = fmaxf(pgen.from_s, pgen.path.path.length - APPROACH_M);
    return search(transient_enter(&pgen.path.path, first, &pgen.goal, &pgen.settings.joining), AT_ARRIVAL);
}

/* The channel is there, and the legs onto it: how it ends. */
static bool begin_ending(void) {
    if (pgen.result.reaches_goal)
        return begin_arrival(true);
    pgen.phase = AT_HAVEN;
    return true;
}

static bool square_free(const mission_point_t *at, int eighths, bool left) {
    static const int8_t COL[4] = {1, 0, -1, 0}, ROW[4] = {0, 1, 0, -1};
    int direction = (eighths / 2) & 3, aside = (direction + (left ? 1 : 3)) & 3;
    int32_t col = country_cell(&pgen.part.country, at->x), row = country_cell(&pgen.part.country, at->y);
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++)
            if (!country_free(&pgen.part.country, col + a * COL[direction] + b * COL[aside], row + a * ROW[direction] + b * ROW[aside]))
                return false;
    return true;
}

/* Begins the way onto a circle beside the path. */
static bool begin_haven(const mission_point_t *at, float leave_s, bool left) {
    float size = country_cell_m(&pgen.part.country), side = left ? 1.0f : -1.0f, radius = HAVEN_RADIUS * size;
    float c = cosf(at->psi), s = sinf(at->psi), ahead = HAVEN_AHEAD * size, aside = side * HAVEN_ASIDE * size;
    pgen.haven = (mission_reference_t){.closed = true,
                                       .length = TURN * radius,
                                       .x = at->x + c * ahead - s * aside,
                                       .y = at->y + s * ahead + c * aside,
                                       .radius = radius,
                                       .left = left};
    pgen.haven_leave_s = leave_s;
    float psi = at->psi + side * HAVEN_ANGLE_RAD;
    mission_point_t end = {pgen.haven.x + side * radius * sinf(psi), pgen.haven.y - side * radius * cosf(psi), psi,
                           side / radius};
    mission_point_t *points = free_transient();
    if (points == NULL)
        return false;
    transient_between(&pgen.transient, at, &end, points, TRANSIENT_MOST_POINTS);
    return true;
}

static bool try_haven(const pathgen_node_t *node, bool left) {
    if (node->kind != PATHGEN_N || node->s < pgen.from_s)
        return false;
    const planner_cell_t *cell = &pgen.cells[node->cell];
    mission_point_t at = {.x = pgen.path.west + pgen.path.cell_m * (float)cell->col,
                          .y = pgen.path.south + pgen.path.cell_m * (float)cell->row,
                          .psi = remainderf((float)node->eighths * (TURN / 8.0f), TURN)};
    return square_free(&at, node->eighths, left) && begin_haven(&at, node->s, left);
}

static void take_nodes(void) {
    channel_slot_t *slot = pgen.channel;
    slot->nodes_count = 0;
    for (unsigned i = 0; i < pgen.path.nodes_count; i++)
        if (pathgen_onward(&pgen.path, &pgen.path.nodes[i], &slot->nodes[slot->nodes_count]))
            slot->nodes_count++;
}

static bool from_node(void) {
    pgen.result.legs[0] = (mission_leg_t){
        .leave_s = pgen.order.node.s, .kind = KIND_CHANNEL, .reference = pgen.path.path};
    pgen.result.legs_count = 1;
    return begin_ending() ? false : failed();
}

/* From the flown channel, across the node, onto the new one. */
static bool begin_stitch(void) {
    float size = country_cell_m(&pgen.part.country);
    pgen.part.around_count = 0;
    return search(transient_stitch(&pgen.order.from, pgen.order.node.s - STITCH_BEFORE * size, &pgen.path.path,
                                   STITCH_AFTER * size, &pgen.settings.joining),
                  AT_LEAVE);
}

static bool channel_done(void) {
    if (pgen.path.status != PATHGEN_DONE)
        return pgen.order.from_node || !begin_across() ? failed() : false;
    take_nodes();
    if (!pgen.order.from_node)
        return begin_leave() ? false : failed();
    return STITCH_TRANSIENT && begin_stitch() ? false : from_node();
}

static bool leave_done(void) {
    if (STITCH_TRANSIENT && pgen.order.from_node && pgen.transient.status != TRANSIENT_FOUND)
        return from_node();
    if (pgen.transient.status != TRANSIENT_FOUND)
        return begin_across() ? false : failed();
    two_legs(pgen.result.legs, &pgen.path.path, KIND_CHANNEL);
    pgen.result.legs_count = 2;
    pgen.from_s = pgen.transient.join_s;
    return begin_ending() ? false : failed();
}

static bool across_done(void) {
    if (pgen.transient.status != TRANSIENT_FOUND)
        return failed();
    two_legs(pgen.result.legs, &pgen.goal, KIND_GOAL);
    pgen.result.legs_count = 2;
    pgen.channel->nodes_count = 0;
    return finished();
}

static bool arrival_done(void) {
    if (pgen.transient.status == TRANSIENT_FOUND) {
        two_legs(pgen.result.ending, &pgen.goal, KIND_GOAL);
        pgen.result.ending_count = 2;
        pgen.result.arrives = true;
        return finished();
    }
    if (pgen.left)
        return begin_arrival(false) ? false : failed();
    pgen.phase = AT_HAVEN;
    return false;
}

static bool no_haven(void) {
    if (STITCH_TRANSIENT && pgen.order.from_node && pgen.result.legs_count == 2) { /* there may be one before the joint */
        pgen.from_s = 0.0f;
        pgen.tried = 0;
        return from_node();
    }
    if (!pgen.result.reaches_goal)
        return finished();
    return !pgen.order.from_node && begin_across() ? false : failed();
}

static bool next_haven(void) {
    unsigned back = pgen.tried / 2u;
    if (back >= pgen.path.nodes_count)
        return no_haven();
    if (try_haven(&pgen.path.nodes[pgen.path.nodes_count - 1u - back], pgen.tried++ % 2 == 0))
        pgen.phase = AT_HAVEN_WAY;
    return false;
}

static bool haven_done(void) {
    if (pgen.transient.status != TRANSIENT_FOUND) {
        pgen.phase = AT_HAVEN;
        return false;
    }
    const mission_reference_t *way = &pgen.transient.path, *circle = &pgen.haven;
    const mission_point_t *end = &way->points[way->count - 1];
    float angle = atan2f(end->y - circle->y, end->x - circle->x) * (circle->left ? 1.0f : -1.0f);
    pgen.result.ending[0] = (mission_leg_t){.leave_s = pgen.haven_leave_s, .kind = KIND_TRANSIENT, .reference = *way};
    pgen.result.ending[1] = (mission_leg_t){.leave_s = way->length,
                                            .enter_s = (angle < 0.0f ? angle + TURN : angle) * circle->radius,
                                            .kind = KIND_START,
                                            .reference = *circle};
    pgen.result.ending_count = 2;
    return finished();
}

/* The planner's words and the mission's. */
static uint8_t status_of(planner_status_t status) {
    switch (status) {
    case PLANNER_FOUND:
        return PLAN_FOUND;
    case PLANNER_START_OUTSIDE:
        return PLAN_START_OUTSIDE;
    case PLANNER_GOAL_OUTSIDE:
        return PLAN_GOAL_OUTSIDE;
    default:
        return PLAN_UNREACHABLE;
    }
}

static void take_plan(const planner_result_t *plan) {
    pgen.result = (mission_result_t){
        .number = pgen.order.number,
        .status = status_of(plan->status),
        .planned = true,
        .leaves = plan->leaves,
        .expanded = plan->expanded,
        .cost = plan->cost,
        .cells = (uint16_t)plan->cells,
        .fine = (uint16_t)plan->fine,
        .reaches_goal = plan->cells > 0 && plan->fine == plan->cells,
        .way = pgen.way,
    };
    uint32_t told = plan->status == PLANNER_FOUND ? planner_way(pgen.planner, pgen.way, MISSION_MOST_CELLS) : 0;
    pgen.cells_count = 0;
    if (pgen.order.from_node)
        for (unsigned i = 0; i < pgen.order.node.kept_count; i++)
            pgen.cells[pgen.cells_count++] = pgen.order.node.kept[i];
    for (uint32_t i = 0; i < plan->fine && i < told && pgen.cells_count < MOST_CELLS; i++)
        pgen.cells[pgen.cells_count++] = pgen.way[i];
}

void pgen_begin(const mission_t *mission, const mission_order_t *order, const planner_t *planner) {
    pgen.mission = mission;
    pgen.order = *order;
    pgen.planner = planner;
    pgen.from_s = 0.0f;
    pgen.tried = 0;
    use_radius(pgen.next_radius);
    pgen.part.country = (country_t){&planner->settings, pgen.settings.side};
    take_plan(planner_result(planner));
    pgen.channel = free_channel();
    if (pgen.result.status != PLAN_FOUND) {
        pgen.phase = AT_END;
    } else if (pgen.channel == NULL) {
        failed();
    } else {
        pgen.phase = AT_CELLS;
    }
}

static void begin_channel(void) {
    uint8_t begin = pgen.order.from_node && pgen.order.node.diagonal ? PATHGEN_D : PATHGEN_N;
    pathgen_begin(&pgen.path, pgen.cells, pgen.cells_count, begin, pgen.settings.side, pgen.channel->points,
                  PATHGEN_MOST_POINTS);
    pgen.phase = AT_CHANNEL;
}

bool pgen_step(void) {
    switch (pgen.phase) {
    case AT_CELLS:
        begin_channel();
        return false;
    case AT_CHANNEL:
        return pathgen_step(&pgen.path) ? channel_done() : false;
    case AT_LEAVE:
        return transient_step(&pgen.transient) ? leave_done() : false;
    case AT_ACROSS:
        return transient_step(&pgen.transient) ? across_done() : false;
    case AT_ARRIVAL:
        return transient_step(&pgen.transient) ? arrival_done() : false;
    case AT_HAVEN:
        return next_haven();
    case AT_HAVEN_WAY:
        return transient_step(&pgen.transient) ? haven_done() : false;
    case AT_END:
        break;
    }
    return true;
}
