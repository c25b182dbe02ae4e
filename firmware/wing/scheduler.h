/* What a long task asks its scheduler. Two are there, and an image is linked with one: `preemptive` or `cooperative`. */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include <stdbool.h>

/* Whether a task that works in pieces may do another. If not, it wakes itself again and returns. */
bool scheduler_goes_on(void);

#endif
