/* What the command line of the host build sets. */
#ifndef HOST_H
#define HOST_H

#include <stdint.h>

extern uint32_t host_ticks_a_look; /* how much time passes, in ns, whenever somebody looks at the counter */
extern uint32_t host_ticks_a_piece; /* the same for a task that works in pieces: what one of them takes */
extern uint8_t host_reset_cause;

#endif
