#include "pathgen.h"

#include <math.h>

#include "templates.h"

#define NO_TURN (-1)
#define EIGHTH 0.785398163f

static const int8_t STEP_COL[4] = {1, 0, -1, 0};
static const int8_t STEP_ROW[4] = {0, 1, 0, -1};

uint16_t pathgen_steps(float length) {
    float steps = ceilf(length / PATHGEN_LONGEST_STEP - 1e-3f);
    return steps > 1.0f ? (uint16_t)fminf(steps, 65535.0f) : 1;
}

/* From a cell to the next one of the channel, or NO_TURN where they share no edge. */
static int direction_from(const pathgen_t *gen, uint32_t index) {
    const planner_cell_t *here = &gen->cells[index], *there = here + 1;
    for (int direction = 0; direction < 4; direction++) {
        if (here->level == there->level && here->col + STEP_COL[direction] == there->col &&
            here->row + STEP_ROW[direction] == there->row)
            return direction;
    }
    return NO_TURN;
}

/* The ends of a channel count as straight. */
static int turn_in(const pathgen_t *gen, uint32_t index) {
    if (index == 0 || index + 1 >= gen->cells_count)
        return PLANNER_STRAIGHT;
    static const int8_t TURNS[4] = {PLANNER_STRAIGHT, PLANNER_LEFT, NO_TURN, PLANNER_RIGHT};
    return TURNS[(direction_from(gen, index) - direction_from(gen, index - 1)) & 3];
}

static int side_of(int turn) {
    return turn == PLANNER_LEFT ? 1 : -1;
}

static pathgen_status_t checked(const pathgen_t *gen, uint8_t begin) {
    if (gen->cells_count < 2)
        return PATHGEN_TOO_SHORT;
    for (uint32_t i = 0; i + 1 < gen->cells_count; i++) {
        if (direction_from(gen, i) == NO_TURN)
            return PATHGEN_APART;
    }
    if (begin == PATHGEN_D && turn_in(gen, 1) == PLANNER_STRAIGHT)
        return PATHGEN_NO_DIAGONAL;
    int before = PLANNER_STRAIGHT;
    for (uint32_t i = 1; i + 1 < gen->cells_count; i++) {
        int turn = turn_in(gen, i);
        if (turn == NO_TURN)
            return PATHGEN_TURNS_BACK;
        if (turn != PLANNER_STRAIGHT && turn == before)
            return PATHGEN_U_TURN;
        before = turn;
    }
    return PATHGEN_BUSY;
}

static pathgen_node_t node_after(const pathgen_t *gen, const pathgen_node_t *here) {
    pathgen_node_t there = {.cell = (uint16_t)(here->cell + 1), .kind = PATHGEN_N, .eighths = here->eighths};
    int turn = turn_in(gen, here->cell + 1u), then = turn_in(gen, here->cell + 2u);
    if (turn != PLANNER_STRAIGHT) {
        int eighths = here->kind == PATHGEN_D ? 1 : 2;
        if (then == PLANNER_STRAIGHT) {
            there.cell++;
        } else {
            there.kind = PATHGEN_D;
            eighths--;
        }
        there.eighths = (int8_t)(here->eighths + side_of(turn) * eighths);
    }
    return there;
}

static const template_t *template_of(const pathgen_t *gen, const pathgen_node_t *here, const pathgen_node_t *there) {
    return &TEMPLATES[here->kind][turn_in(gen, here->cell + 1u) != PLANNER_STRAIGHT][there->kind];
}

/* As many as there is room for. */
static void find_nodes(pathgen_t *gen, uint8_t begin, uint16_t most_points) {
    int direction = direction_from(gen, 0);
    int eighths = 2 * direction + (begin == PATHGEN_D ? side_of(turn_in(gen, 1)) : 0);
    gen->nodes[0] = (pathgen_node_t){.kind = begin, .eighths = (int8_t)eighths};
    gen->nodes_count = 1;
    while (gen->nodes_count < PATHGEN_MOST_NODES) {
        const pathgen_node_t *here = &gen->nodes[gen->nodes_count - 1];
        if (here->cell + 1 >= gen->cells_count)
            return;
        pathgen_node_t there = node_after(gen, here);
        there.s = here->s + template_of(gen, here, &there)->length * gen->cell_m;
        if (pathgen_steps(there.s) >= most_points)
            return;
        gen->nodes[gen->nodes_count++] = there;
    }
}

void pathgen_begin(pathgen_t *gen, const planner_cell_t *cells, uint16_t count, uint8_t begin, float side_m,
                   mission_point_t *points, uint16_t most_points) {
    *gen = (pathgen_t){.cells = cells, .cells_count = count, .points = points};
    gen->status = checked(gen, begin);
    if (gen->status != PATHGEN_BUSY)
        return;
    gen->cell_m = side_m / (float)(1u << cells[0].level);
    gen->west = gen->south = 0.5f * (gen->cell_m - side_m);
    find_nodes(gen, begin, most_points);
    if (gen->nodes_count < 2) {
        gen->status = PATHGEN_NO_ROOM;
        return;
    }
    float length = gen->nodes[gen->nodes_count - 1].s;
    gen->path =
        (mission_reference_t){.length = length, .points = points, .count = (uint16_t)(pathgen_steps(length) + 1)};
}

bool pathgen_step(pathgen_t *gen) {
    if (gen->status != PATHGEN_BUSY)
        return true;
    const pathgen_node_t *here = &gen->nodes[gen->next], *there = here + 1;
    const template_t *template = template_of(gen, here, there);
    const planner_cell_t *cell = &gen->cells[here->cell];
    int direction = direction_from(gen, here->cell);
    float flip = turn_in(gen, here->cell + 1u) == PLANNER_RIGHT ? -1.0f : 1.0f;
    float c = STEP_COL[direction], s = STEP_ROW[direction];
    float half = here->kind == PATHGEN_D ? 0.5f : 0.0f;
    float x0 = gen->west + gen->cell_m * ((float)cell->col + half * c);
    float y0 = gen->south + gen->cell_m * ((float)cell->row + half * s);
    float psi0 = EIGHTH * (float)here->eighths;
    float per_sample = (float)(template->count - 1) / (template->length * gen->cell_m);
    float step = gen->path.length / (float)(gen->path.count - 1);
    bool last = gen->next + 2 == gen->nodes_count;
    for (unsigned made = 0; gen->written < gen->path.count; made++) {
        if (made == PATHGEN_AT_ONCE)
            return false;
        float along = step * (float)gen->written - here->s;
        if (!last && along >= there->s - here->s)
            break;
        float place = fminf(fmaxf(along * per_sample, 0.0f), (float)(template->count - 1));
        int index = (int)fminf(place, (float)(template->count - 2));
        float part = place - (float)index, values[4];
        for (int i = 0; i < 4; i++) {
            float before = template->samples[index][i];
            values[i] = before + part * (template->samples[index + 1][i] - before);
        }
        float x = values[0], y = flip * values[1];
        gen->points[gen->written++] = (mission_point_t){
            .x = x0 + gen->cell_m * (c * x - s * y),
            .y = y0 + gen->cell_m * (s * x + c * y),
            .psi = psi0 + flip * values[2],
            .kappa = flip * values[3] / gen->cell_m,
        };
    }
    gen->next++;
    if (last)
        gen->status = PATHGEN_DONE;
    return last;
}

bool pathgen_onward(const pathgen_t *gen, const pathgen_node_t *node, mission_node_t *onward) {
    uint32_t start = node->cell + (node->kind == PATHGEN_N ? 1u : 2u);
    if (start >= gen->cells_count)
        return false;
    *onward = (mission_node_t){
        .s = node->s,
        .beyond_x = gen->west + gen->cell_m * (float)gen->cells[start].col,
        .beyond_y = gen->south + gen->cell_m * (float)gen->cells[start].row,
        .direction = (int8_t)direction_from(gen, start - 1),
        .last_turn = (int8_t)(node->kind == PATHGEN_N ? PLANNER_STRAIGHT : turn_in(gen, start - 1)),
        .diagonal = node->kind == PATHGEN_D,
        .kept_count = (uint8_t)(start - node->cell),
    };
    for (uint32_t i = node->cell; i < start; i++) onward->kept[i - node->cell] = gen->cells[i];
    return true;
}
