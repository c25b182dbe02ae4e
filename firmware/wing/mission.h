/* PMAN: which step of the flight we are in, what is to be computed, and which path is followed: the same machine, table
 * for table, as aeroloop.planning.mission, from which mission_table.h is generated. It computes no way itself:
 *
 *     PMAN -- order --> PPLAN -- plan --> PGEN -- result --> PMAN -- reference, s --> PFOL
 *
 * For the tasks:
 *   COMM_Proc  mission_command() with a goal of the ground. Only sets a mailbox that the next mission_step() reads.
 *   PFOL       mission_point(&m->reference, s, &p) gives the point of the path at its s; it moves s on.
 *   PMAN       every cycle, after PFOL: in.now_s, in.s = PFOL's s, in.result = PGEN's when it is ready, else NULL;
 *              mission_step(m, &in, &out); then PFOL goes on with m->reference and m->s (they change together: PFOL has
 *              the higher priority, so hand them over in one critical section); out.rows go to COMM_Tx.
 *   PPLAN      m->ordered and m->order.number say whether and what to plan. When the number changes or `ordered` is
 *              false what it works on is worthless: begin anew, or stop. start and goal are in metres. The cells that
 *              were flown over go to the planner right before the search begins, never during it.
 *   PGEN       from the order and the planner's result makes a mission_result_t with the order's number. A plan that
 *              failed goes to PMAN as well, with its status. Points live in PGEN's slots; a slot may be written again
 *              once mission_uses() says no.
 * A result that nobody waits for any more is passed over. There is a reference at every moment. */
#ifndef MISSION_H
#define MISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "mission_table.h"
#include "planner.h"

#ifndef STITCH_TRANSIENT /* mission_table.h defines it for a scenario with planner.stitch = "transient" */
#define STITCH_TRANSIENT 0
#endif

#define MISSION_MOST_CELLS 160 /* on a way that is told */
#define MISSION_MOST_ROWS 16   /* that one step tells */
#define MISSION_MOST_VALUES 14 /* of a row that it tells */
#define MISSION_TELLINGS 8     /* paths and plans that wait to be told */
#define MISSION_MOST_FLOWN 16  /* cells that are remembered from order to order */

typedef struct {
    float x, y, psi, kappa;
} mission_point_t;

/* What is followed: a circle, or points at even distances. */
typedef struct {
    bool closed;
    float length;
    float x, y, radius; /* of a circle; s = 0 lies east of its centre */
    bool left;
    const mission_point_t *points;
    uint16_t count;
} mission_reference_t;

/* A point of a channel's path from which another plan may go on. */
typedef struct {
    float s;
    float beyond_x, beyond_y; /* centre of the cell that the next plan starts in */
    int8_t direction, last_turn;
    bool diagonal;          /* a node of kind D */
    uint8_t kept_count;
    planner_cell_t kept[2]; /* cells from the node to the next plan's start: its channel begins with them */
} mission_node_t;

typedef struct {
    float leave_s; /* of the reference before */
    float enter_s; /* of this one */
    uint8_t kind;
    mission_reference_t reference;
} mission_leg_t;

typedef struct {
    uint16_t number;
    float began_s;
    float start_x, start_y, goal_x, goal_y;
    bool from_node;
    mission_node_t node;           /* then: where the path must begin, on `from` */
    mission_reference_t from;      /* the channel, or the circle */
    float circle_s;                /* where on the circle the aircraft is */
    bool fresh;                    /* for a new goal: planner_forget() first, */
    uint8_t flown_count;           /* then planner_flown() for each of these, then planner_begin() */
    planner_cell_t flown[MISSION_MOST_FLOWN];
} mission_order_t;

typedef struct {
    uint16_t number;
    uint8_t status;
    bool planned; /* the plan's numbers below are there */
    uint32_t leaves, expanded, cost;
    float work_s;
    uint16_t cells, fine;
    bool reaches_goal;
    const planner_cell_t *way; /* `cells` of them, as far as MISSION_MOST_CELLS; copied */
    mission_leg_t legs[2];     /* onto the channel */
    uint8_t legs_count;
    const mission_node_t *nodes;
    uint8_t nodes_count;
    mission_leg_t ending[2]; /* from the channel onto a circle */
    uint8_t ending_count;
    bool arrives; /* which is the goal's */
} mission_result_t;

typedef struct {
    float budget_s, speed, margin, replan_after, again_after_s, told_every;
    uint8_t told_at_once;
    float side;     /* of the map */
    uint8_t finest; /* level of its fine cells */
} mission_settings_t;

typedef struct {
    float now_s;
    float s;
    const mission_result_t *result; /* NULL without one */
} mission_input_t;

/* A row of a stream, without its time: the values in the order of the interface's table. */
enum { ROW_STEP, ROW_PLAN, ROW_CELL, ROW_PATH };
typedef struct {
    uint8_t stream;
    uint8_t count;
    float values[MISSION_MOST_VALUES];
} mission_row_t;

typedef struct {
    mission_row_t rows[MISSION_MOST_ROWS];
    uint8_t count;
} mission_output_t;

typedef struct {
    uint8_t what; /* ROW_CELL or ROW_PATH */
    uint8_t kind;
    uint16_t number, next, count;
    mission_reference_t reference;
} mission_telling_t;

typedef struct {
    mission_settings_t settings;
    mission_state_t state;
    mission_reference_t reference; /* what PFOL follows, */
    float s;                       /* and where on it the virtual point is */
    bool ordered;
    mission_order_t order;
    uint16_t path_number; /* of the reference */
    uint8_t kind;         /* of the reference */

    uint16_t paths, orders; /* so far */
    float radius;
    mission_leg_t legs[2];
    uint8_t legs_count;
    bool has_next;
    mission_result_t next; /* whose channel the legs lead to */
    const mission_node_t *nodes;
    uint8_t nodes_count;
    mission_leg_t ending[2];
    uint8_t ending_count;
    float from_s, joined_s, round_since_s;
    bool started, goal_new, has_goal;
    float goal_x, goal_y;
    float home_x, home_y; /* centre of the first circle */
    planner_cell_t cell, flown[MISSION_MOST_FLOWN];
    uint8_t flown_count;
    planner_cell_t way[MISSION_MOST_CELLS];
    mission_telling_t tellings[MISSION_TELLINGS];
    uint8_t telling_first, telling_count;
    mission_output_t *out;
} mission_t;

void mission_init(mission_t *mission, const mission_settings_t *settings, float x, float y, float radius, bool left);
void mission_command(mission_t *mission, float x, float y);
void mission_step(mission_t *mission, const mission_input_t *in, mission_output_t *out);

/* Leaves the path at mission->s for a circle that touches it and is free, or stays on the circle that is flown; false if
   none is free. The goal waits for mission_resume(), which is false without one and in any other step. */
bool mission_loiter(mission_t *mission, bool (*free)(const mission_reference_t *circle));
bool mission_resume(mission_t *mission);

void mission_point(const mission_reference_t *reference, float s, mission_point_t *point);

/* Whether the points of a slot are still followed, or will be. */
bool mission_uses(const mission_t *mission, const mission_point_t *points);

#endif
