/* What the board tells the ground: rows of streams, kept in a bounded queue until COMM_Tx sends them. */
#ifndef TELEMETRY_H
#define TELEMETRY_H

#include <stdint.h>

void telemetry_init(void);

/* Values in the order of the interface's table, without the running number. When there is no room the row is dropped,
   and its running number with it: the ground sees the gap. */
void telemetry_row(uint8_t message, const float *values, unsigned count);

#endif
