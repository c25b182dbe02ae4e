/* The board's end of the reference link: keeps the newest plausible reference.
 *
 * Data: simulated time in ms, then x, y, z, yaw and their rates.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "framing.h"

void reference_init(void);

/* True when these bytes bring a newer reference; it is then in `reference`. */
bool reference_receive(const uint8_t *bytes, size_t count, float reference[REFERENCE_COUNT]);

/* The same for the data of one frame of REFERENCE_SIZE, on whichever link it was received. */
bool reference_accept(const uint8_t *data, float reference[REFERENCE_COUNT]);

void reference_counters(counters_t *counters);

#endif
