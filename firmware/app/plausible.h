/* The barrier behind the checksum: values that are finite, within bounds, and not too far from the last ones. */
#ifndef PLAUSIBLE_H
#define PLAUSIBLE_H

#include <stdbool.h>
#include <stdint.h>

#define PLAUSIBLE_MOST 16

typedef struct {
    const float *low;
    const float *high;
    const float *step; /* most that a value may change in one cycle */
    uint32_t wraps;    /* bit i: value i is an angle that may jump by a full turn */
    unsigned count;
} bounds_t;

typedef struct {
    const bounds_t *bounds;
    bool has_last;
    uint32_t cycles; /* since the last accepted row: each allows one more step of change */
    float last[PLAUSIBLE_MOST];
} plausibility_t;

void plausibility_init(plausibility_t *plausibility, const bounds_t *bounds);
void plausibility_cycle(plausibility_t *plausibility);

/* Index of the first value that cannot be believed; -1 accepts the row. */
int plausibility_fault(plausibility_t *plausibility, const float *row);

#endif
