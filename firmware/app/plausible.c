#include "plausible.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265f

void plausibility_init(plausibility_t *plausibility, const bounds_t *bounds)
{
    memset(plausibility, 0, sizeof *plausibility);
    plausibility->bounds = bounds;
}

void plausibility_cycle(plausibility_t *plausibility) { plausibility->cycles++; }

static bool believable(const plausibility_t *plausibility, unsigned index, float value)
{
    const bounds_t *bounds = plausibility->bounds;
    if (!(bounds->low[index] <= value && value <= bounds->high[index])) /* also catches NaN */
        return false;
    if (!plausibility->has_last)
        return true;
    float change = fabsf(value - plausibility->last[index]);
    if ((bounds->wraps >> index & 1u) && change > PI)
        change = fabsf(2.0f * PI - change);
    uint32_t steps = plausibility->cycles > 1 ? plausibility->cycles : 1;
    return change <= bounds->step[index] * (float)steps;
}

int plausibility_fault(plausibility_t *plausibility, const float *row)
{
    unsigned count = plausibility->bounds->count;
    for (unsigned i = 0; i < count; i++)
        if (!believable(plausibility, i, row[i]))
            return (int)i;
    memcpy(plausibility->last, row, count * sizeof *row);
    plausibility->has_last = true;
    plausibility->cycles = 0;
    return -1;
}
