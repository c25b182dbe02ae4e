/* PGEN's work, in bounded pieces: an order and the cells that the planner found -> what the mission follows. The same as
 * aeroloop.planning.mission_paths:
 *
 *   from a circle   circle -> transient -> channel; to a goal so near that no channel leads there, onto its circle
 *   from a node     channel, which continues the flown one exactly; or flown channel -> transient -> channel
 *   ending          channel -> transient -> circle: the goal's, or a haven */
#ifndef PGEN_H
#define PGEN_H

#include "mission.h"
#include "planner.h"
#include "transient.h"

typedef struct {
    float side;   /* of the map, m */
    float radius; /* of the circle round the goal, m */
    transient_joining_t joining;
} pgen_settings_t;

void pgen_open(const pgen_settings_t *settings);
void pgen_radius(float radius); /* of the goal's circle, from the next order on */

/* `mission` tells which paths are still followed, and so where a new one may be written; `planner` has finished. */
void pgen_begin(const mission_t *mission, const mission_order_t *order, const planner_t *planner);

/* One piece; true when it was the last. */
bool pgen_step(void);

/* Stays until the next begins, and its points as long as the mission uses them. */
mission_result_t *pgen_result(void);

#endif
