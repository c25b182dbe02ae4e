/* The cells of a channel -> the points of a path, as aeroloop.planning.channel and .path do it: templates between the
 * channel's nodes, recalled from a table, mirrored, turned, scaled and sampled at even steps of 2 m at most. A
 * step is a few points of one template; no memory of its own. */
#ifndef PATHGEN_H
#define PATHGEN_H

#include <stdbool.h>
#include <stdint.h>

#include "mission.h"
#include "planner.h"

#define PATHGEN_MOST_POINTS 960 /* a longer channel is followed as far as that: to the last node that fits */
#define PATHGEN_MOST_NODES 64
#define PATHGEN_AT_ONCE 16 /* points of a step */
#define PATHGEN_LONGEST_STEP 2.0f

/* N: the centre of a cell that is passed straight. D: the edge between two cells that turn in opposite directions. */
enum { PATHGEN_N, PATHGEN_D };

typedef enum {
    PATHGEN_BUSY,
    PATHGEN_DONE,
    PATHGEN_TOO_SHORT,   /* fewer than two cells */
    PATHGEN_APART,       /* two cells that follow each other share no edge */
    PATHGEN_NO_DIAGONAL, /* begins at a D node, but the second cell does not turn */
    PATHGEN_TURNS_BACK,
    PATHGEN_U_TURN, /* two turns to one side in consecutive cells */
    PATHGEN_NO_ROOM,
} pathgen_status_t;

typedef struct {
    float s;
    uint16_t cell; /* its place in the channel; of a D node, the first of the two */
    uint8_t kind;
    int8_t eighths; /* heading in eighths of a turn from east; runs on past a whole one */
} pathgen_node_t;

typedef struct {
    const planner_cell_t *cells;
    uint16_t cells_count;
    float cell_m, west, south; /* side of a cell; centre of cell (0, 0) */
    mission_point_t *points;
    uint16_t written, next; /* points so far; template that comes next */
    pathgen_status_t status;
    mission_reference_t path; /* once done */
    pathgen_node_t nodes[PATHGEN_MOST_NODES];
    uint8_t nodes_count; /* the beginning and the end among them */
} pathgen_t;

/* `cells`, of a map of `side_m`, and `points` must stay. Refuses a channel that cannot be flown, see the status. */
void pathgen_begin(pathgen_t *gen, const planner_cell_t *cells, uint16_t count, uint8_t begin, float side_m,
                   mission_point_t *points, uint16_t most_points);

/* Some points; true when there is no more to do, then look at the status. */
bool pathgen_step(pathgen_t *gen);

/* How a new plan goes on from a node; false where the channel ends before it could start. */
bool pathgen_onward(const pathgen_t *gen, const pathgen_node_t *node, mission_node_t *onward);

/* How many points a path of this length has, less one. */
uint16_t pathgen_steps(float length);

#endif
