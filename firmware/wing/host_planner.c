/* The planner for this machine, and what tests and benchmarks ask of it besides. */
#include "planner.c"

uint32_t host_planner_bytes(void);
uint32_t host_planner_bytes(void) {
    return sizeof(planner_t);
}

uint32_t host_index_bytes(void);
uint32_t host_index_bytes(void) {
    return sizeof(planner_index_t);
}

void host_lift(planner_t *planner);
void host_lift(planner_t *planner) {
    while (planner->levels_to_lift > 0) lift_row(planner);
}

/* A whole search; `ends` are the start's and the goal's x and y. */
void host_run(planner_t *planner, const int32_t *ends, int8_t direction, int8_t last_turn);
void host_run(planner_t *planner, const int32_t *ends, int8_t direction, int8_t last_turn) {
    planner_begin(planner, ends[0], ends[1], ends[2], ends[3], direction, last_turn);
    while (!planner_step(planner)) {
    }
}

/* Every approximation of a level, as the search reads them. */
void host_values(const planner_t *planner, uint32_t level, int32_t *to);
void host_values(const planner_t *planner, uint32_t level, int32_t *to) {
    for (uint32_t row = 0; row < 1u << level; row++) {
        for (uint32_t col = 0; col < 1u << level; col++) to[(row << level) + col] = value_of(planner, level, col, row);
    }
}
