#include "planner.h"

#include <stddef.h>
#include <string.h>

#define SUB 16
#define FULL_RISK 256
#define COARSE_RISK (16 * FULL_RISK) /* the most that a coarse cell's may be */
#define BLOCKED 0u
#define AGAIN 1024 /* what flying over a cell once more adds to its factor */
#define MOST_COST INT32_MAX /* a way that costs more counts as none: half a million units */
#define UNSEEN ((planner_index_t)-1)
#define CLOSED ((planner_index_t)-2)
#define NOWHERE ((planner_index_t)-1)
#define TURNS 3

/* East, north, west, south. */
static const int8_t STEP_COL[4] = {1, 0, -1, 0};
static const int8_t STEP_ROW[4] = {0, 1, 0, -1};

static int32_t smaller(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* Halved and rounded down, also below zero. */
static int32_t half(int32_t value) {
    return (value - (value & 1)) / 2;
}

static int32_t floor_div(int32_t value, int32_t by) {
    return value >= 0 ? value / by : -((-value + by - 1) / by);
}

/* Of a cell, in 1/16 units. */
static int32_t side_of(const planner_settings_t *settings, uint32_t level) {
    return SUB << (settings->order - level);
}

/* The root, rounded down. Nearly always 32 bits are enough, and on a small processor far quicker. */
static uint32_t root(uint64_t of) {
    uint32_t found = 0;
    if (of <= UINT32_MAX) {
        uint32_t rest = (uint32_t)of, bit = UINT32_C(1) << 30;
        while (bit > rest) bit >>= 2;
        for (; bit != 0; bit >>= 2) {
            if (rest >= found + bit) {
                rest -= found + bit;
                found = (found >> 1) + bit;
            } else {
                found >>= 1;
            }
        }
        return found;
    }
    for (uint32_t bit = UINT32_C(1) << 31; bit != 0; bit >>= 1) {
        uint64_t tried = (uint64_t)(found | bit);
        if (tried * tried <= of) found |= bit;
    }
    return found;
}

/* Approximations. Those of a level just above the map follow from it at once; the others are kept. */

static uint32_t kept_before(const planner_settings_t *settings, uint32_t level) {
    return ((UINT32_C(1) << (2 * level)) - (UINT32_C(1) << (2 * settings->coarsest))) / 3;
}

static int32_t value_of(const planner_t *planner, uint32_t level, uint32_t col, uint32_t row);

/* What a cell counts as in the mean of the four: obstacles are raised. */
static int32_t raised(const planner_t *planner, uint32_t level, uint32_t col, uint32_t row) {
    const planner_settings_t *settings = &planner->settings;
    int32_t value = value_of(planner, level, col, row);
    if (level != settings->finest || value <= settings->blocked_above) return value;
    return smaller(value + settings->obstacle, INT16_MAX);
}

/* Two by two cells of a level as one of the level below: a = x + floor((y - x) / 2) along the rows, then the column. */
static int32_t lifted(const planner_t *planner, uint32_t level, uint32_t col, uint32_t row) {
    int32_t sw = raised(planner, level, col, row), se = raised(planner, level, col + 1, row);
    int32_t nw = raised(planner, level, col, row + 1), ne = raised(planner, level, col + 1, row + 1);
    int32_t south = sw + half(se - sw), north = nw + half(ne - nw);
    return south + half(north - south);
}

static int32_t value_of(const planner_t *planner, uint32_t level, uint32_t col, uint32_t row) {
    const planner_settings_t *settings = &planner->settings;
    if (level == settings->order) return settings->map[(row << level) + col];
    if (level + 1 == settings->order) return lifted(planner, level + 1, 2 * col, 2 * row);
    return planner->memory.approximations[kept_before(settings, level) + (row << level) + col];
}

static void lift_row(planner_t *planner) {
    uint32_t level = planner->settings.coarsest + planner->levels_to_lift - 1u, row = planner->lift_row, side = UINT32_C(1) << level;
    int16_t *to = planner->memory.approximations + kept_before(&planner->settings, level) + (row << level);
    for (uint32_t col = 0; col < side; col++) to[col] = (int16_t)lifted(planner, level + 1, 2 * col, 2 * row);
    if (++planner->lift_row == side) {
        planner->lift_row = 0;
        planner->levels_to_lift--;
    }
}

static bool blocked(const planner_t *planner, const planner_cell_t *cell) {
    return cell->level == planner->settings.finest &&
           value_of(planner, cell->level, cell->col, cell->row) > planner->settings.blocked_above;
}

/* What a way into a cell costs for each 1/16 unit of length, or BLOCKED. */
static uint32_t factor_of(const planner_t *planner, const planner_cell_t *cell, uint32_t slot) {
    const planner_settings_t *settings = &planner->settings;
    if (slot != planner->start_slot && slot != planner->goal_slot && blocked(planner, cell)) return BLOCKED;
    int32_t value = value_of(planner, cell->level, cell->col, cell->row);
    int32_t risk = 0, most = cell->level == settings->finest ? FULL_RISK : COARSE_RISK;
    if (value > settings->safe) {
        risk = smaller((value - settings->safe) * FULL_RISK / (settings->highest - settings->safe), most);
    }
    uint32_t factor = FULL_RISK + ((settings->weight * (uint32_t)risk) >> 8);
    if (planner->memory.times != NULL) {
        uint32_t at = kept_before(settings, cell->level) + ((uint32_t)cell->row << cell->level) + cell->col;
        factor += AGAIN * ((uint32_t)planner->memory.times[at] >> (settings->finest - cell->level));
    }
    return factor;
}

/* Leaves: see aeroloop/planning/cells.py. */

static uint32_t box_width(const planner_box_t *box) {
    return (uint32_t)box->col1 - box->col0;
}

static uint32_t box_cells(const planner_box_t *box) {
    return box_width(box) * ((uint32_t)box->row1 - box->row0);
}

static bool box_holds(const planner_box_t *box, uint32_t col, uint32_t row) {
    return box->col0 <= col && col < box->col1 && box->row0 <= row && row < box->row1;
}

static planner_box_t window(const planner_box_t *there, int32_t side, int32_t x, int32_t y, int32_t radius) {
    planner_box_t nothing = {0, 0, 0, 0};
    if (radius == 0) return nothing;
    int32_t col0 = larger(there->col0, floor_div(x - radius, side));
    int32_t row0 = larger(there->row0, floor_div(y - radius, side));
    int32_t col1 = smaller(there->col1, floor_div(x + radius + side - 1, side));
    int32_t row1 = smaller(there->row1, floor_div(y + radius + side - 1, side));
    if (col0 >= col1 || row0 >= row1) return nothing;
    return (planner_box_t){(uint16_t)col0, (uint16_t)col1, (uint16_t)row0, (uint16_t)row1};
}

static void divide(planner_t *planner, int32_t x, int32_t y) {
    const planner_settings_t *settings = &planner->settings;
    uint16_t side = (uint16_t)(1u << settings->coarsest);
    planner_box_t there = {0, side, 0, side};
    planner->slots = 0;
    planner->result.leaves = 0;
    for (uint32_t level = settings->coarsest; level <= settings->finest; level++) {
        int32_t radius = level < settings->finest ? settings->radii[level - settings->coarsest] * SUB : 0;
        planner_box_t kept = window(&there, side_of(settings, level), x, y, radius);
        planner->there[level] = there;
        planner->bases[level] = planner->slots;
        planner->slots += box_cells(&there);
        planner->result.leaves += box_cells(&there) - box_cells(&kept);
        there = (planner_box_t){(uint16_t)(2 * kept.col0), (uint16_t)(2 * kept.col1), (uint16_t)(2 * kept.row0),
                                (uint16_t)(2 * kept.row1)};
    }
    planner->fine_base = planner->bases[settings->finest];
    planner->headings = settings->turn_rule ? PLANNER_HEADINGS : 1;
    planner->free_state = planner->fine_base + (planner->slots - planner->fine_base) * planner->headings;
}

static uint32_t slot_of(const planner_t *planner, const planner_cell_t *leaf) {
    const planner_box_t *there = &planner->there[leaf->level];
    return planner->bases[leaf->level] + ((uint32_t)leaf->row - there->row0) * box_width(there) + leaf->col -
           there->col0;
}

static planner_cell_t cell_of(const planner_t *planner, uint32_t slot) {
    uint32_t level = planner->settings.finest;
    while (planner->bases[level] > slot) level--;
    const planner_box_t *there = &planner->there[level];
    uint32_t local = slot - planner->bases[level], width = box_width(there);
    return (planner_cell_t){(uint8_t)level, (uint16_t)(there->col0 + local % width),
                            (uint16_t)(there->row0 + local / width)};
}

/* The leaf that covers a cell of the finest level: the deepest one there is. */
static planner_cell_t leaf_at(const planner_t *planner, uint32_t col, uint32_t row) {
    uint32_t level = planner->settings.finest;
    while (level > planner->settings.coarsest && !box_holds(&planner->there[level], col, row)) {
        level--;
        col >>= 1;
        row >>= 1;
    }
    return (planner_cell_t){(uint8_t)level, (uint16_t)col, (uint16_t)row};
}

static uint64_t squared(const planner_t *planner, const planner_cell_t *one, const planner_cell_t *other) {
    int32_t half_one = side_of(&planner->settings, one->level) / 2;
    int32_t half_other = side_of(&planner->settings, other->level) / 2;
    int64_t x = (2 * one->col + 1) * half_one - (2 * other->col + 1) * half_other;
    int64_t y = (2 * one->row + 1) * half_one - (2 * other->row + 1) * half_other;
    return (uint64_t)(x * x + y * y);
}

/* Between the centres of two cells, rounded up. */
static uint32_t length_of(const planner_t *planner, const planner_cell_t *one, const planner_cell_t *other) {
    if (one->level == other->level) return (uint32_t)side_of(&planner->settings, one->level);
    return root(squared(planner, one, other) - 1) + 1;
}

/* States and the heap of those that are open: lowest sum first, then nearest to the goal, then lowest number. */

static uint32_t state_of(const planner_t *planner, uint32_t slot, uint32_t direction, uint32_t turn) {
    if (slot < planner->fine_base || planner->headings == 1) return slot;
    return planner->fine_base + (slot - planner->fine_base) * PLANNER_HEADINGS + direction * TURNS + turn;
}

static uint32_t slot_in(const planner_t *planner, uint32_t state) {
    if (state < planner->fine_base || planner->headings == 1) return state;
    if (state == planner->free_state) return planner->start_slot;
    return planner->fine_base + (state - planner->fine_base) / PLANNER_HEADINGS;
}

static bool before(const planner_t *planner, uint32_t one, uint32_t other) {
    uint32_t to_go_one = planner->memory.to_go[slot_in(planner, one)];
    uint32_t to_go_other = planner->memory.to_go[slot_in(planner, other)];
    uint32_t sum_one = planner->memory.cost[one] + (to_go_one << 8);
    uint32_t sum_other = planner->memory.cost[other] + (to_go_other << 8);
    if (sum_one != sum_other) return sum_one < sum_other;
    if (to_go_one != to_go_other) return to_go_one < to_go_other;
    return one < other;
}

static void put(planner_t *planner, uint32_t place, uint32_t state) {
    planner->memory.open[place] = (planner_index_t)state;
    planner->memory.place[state] = (planner_index_t)place;
}

static void rise(planner_t *planner, uint32_t place, uint32_t state) {
    while (place > 0) {
        uint32_t above = planner->memory.open[(place - 1) / 2];
        if (!before(planner, state, above)) break;
        put(planner, place, above);
        place = (place - 1) / 2;
    }
    put(planner, place, state);
}

static uint32_t take_first(planner_t *planner) {
    uint32_t first = planner->memory.open[0];
    uint32_t count = --planner->opened;
    planner->memory.place[first] = CLOSED;
    if (count == 0) return first;
    uint32_t state = planner->memory.open[count], place = 0;
    for (;;) {
        uint32_t below = 2 * place + 1;
        if (below >= count) break;
        if (below + 1 < count && before(planner, planner->memory.open[below + 1], planner->memory.open[below])) below++;
        if (!before(planner, planner->memory.open[below], state)) break;
        put(planner, place, planner->memory.open[below]);
        place = below;
    }
    put(planner, place, state);
    return first;
}

static void reach(planner_t *planner, uint32_t state, uint64_t cost, planner_index_t from) {
    planner_index_t place = planner->memory.place[state];
    if (place == CLOSED || cost > MOST_COST || (place != UNSEEN && cost >= planner->memory.cost[state])) return;
    planner->memory.cost[state] = (uint32_t)cost;
    planner->memory.from[state] = from;
    rise(planner, place == UNSEEN ? planner->opened++ : place, state);
}

/* The search */

static uint32_t first_state(const planner_t *planner) {
    if (planner->start_slot < planner->fine_base || planner->headings == 1) return planner->start_slot;
    if (planner->direction == PLANNER_FREE) return planner->free_state;
    return state_of(planner, planner->start_slot, (uint32_t)planner->direction, (uint32_t)planner->last_turn);
}

static void prepare(planner_t *planner) {
    uint32_t end = planner->prepared + PLANNER_AT_ONCE;
    if (end > planner->slots) end = planner->slots;
    for (uint32_t slot = planner->prepared; slot < end; slot++) {
        planner_cell_t cell = cell_of(planner, slot);
        planner->memory.to_go[slot] = (planner_index_t)root(squared(planner, &cell, &planner->goal));
        uint32_t state = state_of(planner, slot, 0, 0);
        uint32_t states = slot < planner->fine_base ? 1 : planner->headings;
        for (uint32_t index = 0; index < states; index++) planner->memory.place[state + index] = UNSEEN;
    }
    planner->prepared = end;
    if (end == planner->slots) {
        planner->memory.place[planner->free_state] = UNSEEN;
        planner->result.start_blocked = blocked(planner, &planner->fine_start);
        planner->result.goal_blocked = blocked(planner, &planner->fine_goal);
        reach(planner, first_state(planner), 0, NOWHERE);
    }
}

static void follow(planner_t *planner, uint32_t state, uint32_t direction, const planner_cell_t *leaf,
                   const planner_cell_t *beyond) {
    uint32_t turn = PLANNER_STRAIGHT;
    if (planner->headings > 1 && state >= planner->fine_base && state != planner->free_state) {
        static const uint8_t turns[4] = {PLANNER_STRAIGHT, PLANNER_LEFT, TURNS, PLANNER_RIGHT};
        uint32_t heading = (state - planner->fine_base) % PLANNER_HEADINGS;
        turn = turns[(direction + 4 - heading / TURNS) % 4];
        if (turn == TURNS || (turn != PLANNER_STRAIGHT && turn == heading % TURNS)) return;
    }
    uint32_t slot = slot_of(planner, beyond);
    uint32_t next = state_of(planner, slot, direction, turn);
    if (planner->memory.place[next] == CLOSED) return;
    uint32_t factor = factor_of(planner, beyond, slot);
    if (factor == BLOCKED) return;
    reach(planner, next, planner->memory.cost[state] + (uint64_t)length_of(planner, leaf, beyond) * factor,
          (planner_index_t)state);
}

static void expand(planner_t *planner, uint32_t state, const planner_cell_t *leaf) {
    uint32_t shift = (uint32_t)planner->settings.finest - leaf->level;
    int32_t span = (int32_t)(UINT32_C(1) << shift), side = (int32_t)(UINT32_C(1) << planner->settings.finest);
    for (uint32_t direction = 0; direction < 4; direction++) {
        int32_t step_col = STEP_COL[direction], step_row = STEP_ROW[direction];
        /* The first cell of the finest level beyond the edge; then along the edge, leaf by leaf. */
        int32_t col = (int32_t)((uint32_t)leaf->col << shift) + (step_col > 0 ? span : step_col);
        int32_t row = (int32_t)((uint32_t)leaf->row << shift) + (step_row > 0 ? span : step_row);
        if (col < 0 || col >= side || row < 0 || row >= side) continue;
        for (int32_t done = 0; done < span;) {
            planner_cell_t beyond = leaf_at(planner, (uint32_t)(step_col != 0 ? col : col + done),
                                            (uint32_t)(step_row != 0 ? row : row + done));
            follow(planner, state, direction, leaf, &beyond);
            done += (int32_t)(UINT32_C(1) << (planner->settings.finest - beyond.level));
        }
    }
}

static void arrive(planner_t *planner, uint32_t state) {
    planner_result_t *result = &planner->result;
    planner->last = state;
    result->status = PLANNER_FOUND;
    result->cost = planner->memory.cost[state];
    for (uint32_t at = state; at != NOWHERE; at = planner->memory.from[at]) {
        result->cells++;
        result->fine = slot_in(planner, at) >= planner->fine_base ? result->fine + 1 : 0;
    }
}

bool planner_needs(const planner_settings_t *settings, planner_sizes_t *sizes) {
    if (settings->order > PLANNER_MOST_ORDER || settings->finest > settings->order ||
        settings->coarsest > settings->finest || settings->highest <= settings->safe || settings->weight > 64 * 256) {
        return false;
    }
    uint32_t width = UINT32_C(1) << settings->coarsest;
    sizes->leaves = 0;
    sizes->approximations = 0;
    if (settings->coarsest + 2 <= settings->order) {
        sizes->approximations = kept_before(settings, (uint32_t)settings->order - 1);
    }
    for (uint32_t level = settings->coarsest; level < settings->finest; level++) {
        uint32_t side = UINT32_C(1) << (settings->order - level), radius = settings->radii[level - settings->coarsest];
        sizes->leaves += width * width;
        uint32_t split = radius == 0 ? 0 : (2 * radius + side - 1) / side + 1;
        width = 2 * (split < width ? split : width);
    }
    sizes->states = sizes->leaves + width * width * (settings->turn_rule ? PLANNER_HEADINGS : 1) + 1;
    sizes->leaves += width * width;
    sizes->times = kept_before(settings, settings->finest + 1u);
    uint32_t longest = 3 * (uint32_t)side_of(settings, 0) / 2; /* more than the diagonal */
    return sizes->states < CLOSED && longest < NOWHERE;
}

bool planner_open(planner_t *planner, const planner_settings_t *settings, const planner_memory_t *memory) {
    planner_sizes_t needed;
    if (!planner_needs(settings, &needed) || memory->sizes.approximations < needed.approximations ||
        memory->sizes.leaves < needed.leaves || memory->sizes.states < needed.states ||
        (memory->times != NULL && memory->sizes.times < needed.times)) {
        return false;
    }
    planner->settings = *settings;
    planner->memory = *memory;
    planner->levels_to_lift = 0;
    if (settings->coarsest + 2 <= settings->order) {
        planner->levels_to_lift = (uint8_t)(settings->order - 1 - settings->coarsest);
    }
    planner->lift_row = 0;
    planner->result = (planner_result_t){.status = PLANNER_UNREACHABLE};
    planner_forget(planner);
    return true;
}

void planner_flown(planner_t *planner, uint16_t col, uint16_t row) {
    const planner_settings_t *settings = &planner->settings;
    if (planner->memory.times == NULL || (col | row) >> settings->finest != 0) return;
    for (uint32_t level = settings->coarsest; level <= settings->finest; level++) {
        uint32_t shift = settings->finest - level;
        uint8_t *times = planner->memory.times + kept_before(settings, level) + ((row >> shift) << level) + (col >> shift);
        if (*times < UINT8_MAX) (*times)++;
    }
}

void planner_forget(planner_t *planner) {
    if (planner->memory.times == NULL) return;
    memset(planner->memory.times, 0, kept_before(&planner->settings, planner->settings.finest + 1u));
}

void planner_begin(planner_t *planner, int32_t start_x, int32_t start_y, int32_t goal_x, int32_t goal_y,
                   int8_t direction, int8_t last_turn) {
    const planner_settings_t *settings = &planner->settings;
    int32_t side = side_of(settings, 0);
    planner->result = (planner_result_t){.status = PLANNER_BUSY};
    if (start_x < 0 || start_x >= side || start_y < 0 || start_y >= side) {
        planner->result.status = PLANNER_START_OUTSIDE;
        return;
    }
    if (goal_x < 0 || goal_x >= side || goal_y < 0 || goal_y >= side) {
        planner->result.status = PLANNER_GOAL_OUTSIDE;
        return;
    }
    divide(planner, start_x, start_y);
    planner->prepared = 0;
    planner->opened = 0;
    bool heading = 0 <= direction && direction < 4 && 0 <= last_turn && last_turn < TURNS;
    planner->direction = heading ? direction : PLANNER_FREE;
    planner->last_turn = heading ? last_turn : PLANNER_STRAIGHT;
    int32_t fine = side_of(settings, settings->finest);
    planner->fine_start = (planner_cell_t){settings->finest, (uint16_t)(start_x / fine), (uint16_t)(start_y / fine)};
    planner->fine_goal = (planner_cell_t){settings->finest, (uint16_t)(goal_x / fine), (uint16_t)(goal_y / fine)};
    planner_cell_t start = leaf_at(planner, planner->fine_start.col, planner->fine_start.row);
    planner->goal = leaf_at(planner, planner->fine_goal.col, planner->fine_goal.row);
    planner->start_slot = slot_of(planner, &start);
    planner->goal_slot = slot_of(planner, &planner->goal);
}

bool planner_step(planner_t *planner) {
    planner_result_t *result = &planner->result;
    if (result->status != PLANNER_BUSY) return true;
    if (planner->levels_to_lift > 0) {
        lift_row(planner);
        return false;
    }
    result->pieces++;
    if (planner->prepared < planner->slots) {
        prepare(planner);
    } else if (planner->opened == 0) {
        result->status = PLANNER_UNREACHABLE;
    } else {
        uint32_t state = take_first(planner), slot = slot_in(planner, state);
        result->expanded++;
        if (slot == planner->goal_slot) {
            arrive(planner, state);
        } else {
            planner_cell_t leaf = cell_of(planner, slot);
            expand(planner, state, &leaf);
        }
    }
    return result->status != PLANNER_BUSY;
}

const planner_result_t *planner_result(const planner_t *planner) {
    return &planner->result;
}

uint32_t planner_way(const planner_t *planner, planner_cell_t *cells, uint32_t most) {
    if (planner->result.status != PLANNER_FOUND) return 0;
    uint32_t index = planner->result.cells;
    for (uint32_t at = planner->last; at != NOWHERE; at = planner->memory.from[at]) {
        if (--index < most) cells[index] = cell_of(planner, slot_in(planner, at));
    }
    return planner->result.cells < most ? planner->result.cells : most;
}
