/* PMAN, PPLAN and PGEN: the mission, the search and the path, and the mailboxes between them. */
#ifndef PLAN_H
#define PLAN_H

void plan_init(void);
void plan_begin(void); /* the mission, where the first estimate finds the aircraft */
void plan_command(float x_m, float y_m); /* a goal of the ground's; the mission hears of it in its next period */

#endif
