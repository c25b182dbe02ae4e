/* The board's end of the board link: it requests, the plant answers.
 *
 * There is no cycle number on the wire, so this end keeps count of what is due: an answer that arrives when none is due
 * is ignored, and counted as late where one was missed before, else as a duplicate.
 */
#ifndef LINK_H
#define LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "framing.h"

/* `refer` is called with the data of each reference received on this link instead of its own. */
void link_init(void (*refer)(const uint8_t data[REFERENCE_SIZE]));

/* True when these bytes complete the answer to this cycle's request; it is then in `sensors`. */
bool link_receive(const uint8_t *bytes, size_t count, float sensors[SENSOR_COUNT]);

void link_start(uint8_t reset_cause, uint32_t uptime_ms);
void link_request(void); /* a cycle begins */
void link_actuators(const float command[COMMAND_COUNT]);
void link_send(const uint8_t *data, size_t count, bool opens);

#ifdef REDUNDANT
#define ALIGNED_ROOM (ALIGNED_COUNT > 0 ? ALIGNED_COUNT : 1)

/* One of several boards. `computed_with` are the integrators at the beginning of the law's memory. */
void link_heartbeat(uint32_t cycle, uint8_t health, const float *computed_with);
void link_integrators(uint32_t cycle, const float *memory);
/* Overwrites the beginning of the memory with what the plant sent for this cycle, if it sent anything. */
void link_take(float *memory);
#endif

void link_counters(counters_t *counters);

#endif
