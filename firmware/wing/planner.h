/* The planner: elevations, where to start and where to go -> the cells on the way. It finds what aeroloop.planning
 * finds, cell for cell; the method is told there. Whole numbers only, no memory of its own, and work in bounded pieces.
 *
 * Positions and lengths are in 1/16 of a unit of the map, from its south-west corner; costs in 1/4096 of a unit. */
#ifndef PLANNER_H
#define PLANNER_H

#include <stdbool.h>
#include <stdint.h>

#define PLANNER_MOST_ORDER 12  /* a map has at most 2^12 units a side: costs then fit 32 bits */
#define PLANNER_HEADINGS 12    /* states of a fine cell: four directions in, three last turns */
#define PLANNER_AT_ONCE 16     /* leaves that one piece of preparing takes */

/* Numbers of leaves and states. 16 bits hold all that a slow computer plans on. */
#ifdef PLANNER_WIDE
typedef uint32_t planner_index_t;
#else
typedef uint16_t planner_index_t;
#endif

enum { PLANNER_EAST, PLANNER_NORTH, PLANNER_WEST, PLANNER_SOUTH };
enum { PLANNER_STRAIGHT, PLANNER_LEFT, PLANNER_RIGHT };
enum { PLANNER_FREE = -1 }; /* in place of a direction: the first cell is left in any */

typedef enum {
    PLANNER_BUSY,
    PLANNER_FOUND,
    PLANNER_UNREACHABLE,
    PLANNER_START_OUTSIDE,
    PLANNER_GOAL_OUTSIDE,
} planner_status_t;

typedef struct {
    const int16_t *map; /* elevations [row][column], row 0 south, column 0 west */
    uint8_t order;      /* the map has 2^order units a side */
    uint8_t coarsest, finest;
    uint16_t radii[PLANNER_MOST_ORDER]; /* in units, from the coarsest level on */
    int16_t safe, highest, blocked_above;
    int16_t obstacle; /* how much higher than it is a blocked cell counts in the mean of a coarse one */
    uint16_t weight; /* of the risk, in 1/256 */
    bool turn_rule;
} planner_settings_t;

/* How much the arrays below must hold, wherever the vehicle is. */
typedef struct {
    uint32_t approximations, leaves, states;
    uint32_t times; /* only where flown cells are to be remembered */
} planner_sizes_t;

typedef struct {
    int16_t *approximations;
    planner_index_t *to_go; /* by leaf: length to the goal */
    uint32_t *cost;         /* by state, as are the next three */
    planner_index_t *from, *place, *open;
    uint8_t *times; /* how often each cell was flown over, by level; NULL: nobody counts */
    planner_sizes_t sizes;
} planner_memory_t;

typedef struct {
    uint8_t level;
    uint16_t col, row;
} planner_cell_t;

/* Cells of one level: col0 <= col < col1, rows likewise. */
typedef struct {
    uint16_t col0, col1, row0, row1;
} planner_box_t;

typedef struct {
    planner_status_t status;
    uint32_t cost, expanded, pieces, leaves;
    uint32_t cells; /* on the way, the start's among them */
    uint32_t fine;  /* how many of them, from the start on, are fine */
    bool start_blocked, goal_blocked;
} planner_result_t;

typedef struct {
    planner_settings_t settings;
    planner_memory_t memory;
    uint8_t levels_to_lift; /* of approximations; the finest of them first, row by row */
    uint16_t lift_row;
    planner_box_t there[PLANNER_MOST_ORDER + 1]; /* cells that exist, leaves or split, by level */
    uint32_t bases[PLANNER_MOST_ORDER + 1];      /* number of the first of them */
    uint32_t slots, fine_base, headings, free_state;
    uint32_t prepared, opened; /* how many leaves, and how many states */
    uint32_t last;
    planner_cell_t fine_start, fine_goal, goal; /* `goal` is a leaf */
    uint32_t start_slot, goal_slot;
    int8_t direction, last_turn;
    planner_result_t result;
} planner_t;

/* False where the settings contradict themselves or need more than indices can count. */
bool planner_needs(const planner_settings_t *settings, planner_sizes_t *sizes);

/* Takes map and memory, which must stay. False where the memory is too small, or the settings are no good. */
bool planner_open(planner_t *planner, const planner_settings_t *settings, const planner_memory_t *memory);

/* A fine cell was flown over, which makes it dearer for all that follows; and: nothing was, for a new goal. */
void planner_flown(planner_t *planner, uint16_t col, uint16_t row);
void planner_forget(planner_t *planner);

/* A new search; the one before is forgotten. `direction` may be PLANNER_FREE. */
void planner_begin(planner_t *planner, int32_t start_x, int32_t start_y, int32_t goal_x, int32_t goal_y,
                   int8_t direction, int8_t last_turn);

/* One bounded piece: a row of approximations (once a map), some leaves prepared, or one state taken up. True when it
 * was the last. */
bool planner_step(planner_t *planner);

const planner_result_t *planner_result(const planner_t *planner);

/* The first cells of the way, at most `most`; returns how many. */
uint32_t planner_way(const planner_t *planner, planner_cell_t *cells, uint32_t most);

#endif
