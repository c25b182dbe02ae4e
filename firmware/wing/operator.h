/* USER and PARAM: what an operator commands in flight, checked, executed and answered. The paper's cooperative loop has
 * both beside COMM, its table of the kernel's tasks has neither: here they are the beginning of PMAN, so that a command
 * never meets a step of the mission half done. The same as aeroloop.families.fixedwing.user_task. */
#ifndef OPERATOR_H
#define OPERATOR_H

#include "mission.h"

#define OPERATOR_TUNING 5 /* gains that PFOL takes */

typedef struct {
    uint8_t number, command, parameter;
    float x, y;
} operator_message_t;

void operator_init(void);
void operator_command(const operator_message_t *message); /* COMM_Proc: PMAN hears of it in its next run */

/* PMAN, before the mission's step; NULL while there is no mission yet. */
void operator_step(mission_t *mission);

float operator_value(unsigned parameter);
void operator_tuning(float tuning[OPERATOR_TUNING]);

#endif
