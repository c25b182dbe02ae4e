/* PFOL: the reference that is followed, and where on it. PMAN hands it over, path following moves the point on. */
#ifndef FOLLOW_H
#define FOLLOW_H

#include "mission.h"

#define FOLLOW_GUIDANCE 11 /* values of the message `guidance` */

void follow_init(void);
float follow_roll_command(void);
float follow_s(void);

/* What is followed from now on. `moved` is how far the point's arc length jumps because another reference counts its
   own; what path following moved it meanwhile stays. */
void follow_switch(const mission_reference_t *reference, float moved, uint8_t step, uint16_t path);

void follow_guidance(float row[FOLLOW_GUIDANCE]);

#endif
