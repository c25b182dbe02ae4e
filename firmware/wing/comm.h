/* The ground's line, inwards. */
#ifndef COMM_H
#define COMM_H

#include <stdint.h>

void comm_init(void);
uint32_t comm_refused(void); /* frames that were no user command, or none that can be */

#endif
