#include "reference.h"

#include <string.h>

#include "bytes.h"
#include "config.h"
#include "hal.h"
#include "plausible.h"

static const float reference_low[] = REFERENCE_LOW, reference_high[] = REFERENCE_HIGH;
static const float reference_step[] = REFERENCE_STEP;
static const bounds_t reference_bounds = {
    reference_low, reference_high, reference_step, REFERENCE_WRAPS, REFERENCE_COUNT};

static struct {
    counters_t counters;
    deframer_t deframer;
    plausibility_t plausibility;
    bool has_newest;
    uint32_t newest_ms;
} ground;

void reference_init(void)
{
    memset(&ground, 0, sizeof ground);
    deframer_init(&ground.deframer, REFERENCE_SIZE);
    plausibility_init(&ground.plausibility, &reference_bounds);
}

bool reference_accept(const uint8_t *data, float reference[REFERENCE_COUNT])
{
    uint32_t t_ms = get_u32(data);
    uint32_t behind_ms = ground.newest_ms - t_ms;
    if (ground.has_newest && behind_ms == 0) {
        ground.counters.duplicates++;
        return false;
    }
    /* Further back is not late: the time wrapped, or is wrong in spite of the checksum. */
    if (ground.has_newest && behind_ms <= REFERENCE_LATEST_MS) {
        ground.counters.late++;
        return false;
    }
    float row[REFERENCE_COUNT];
    get_floats(data + 4, row, REFERENCE_COUNT);
    plausibility_cycle(&ground.plausibility);
    if (plausibility_fault(&ground.plausibility, row) >= 0) {
        ground.counters.implausible++;
        return false;
    }
    ground.has_newest = true;
    ground.newest_ms = t_ms;
    memcpy(reference, row, sizeof row);
    return true;
}

bool reference_receive(const uint8_t *bytes, size_t count, float reference[REFERENCE_COUNT])
{
    bool newer = false;
    for (size_t i = 0; i < count; i++) {
        size_t size = deframer_take(&ground.deframer, bytes[i], &ground.counters);
        if (size == REFERENCE_SIZE)
            newer = reference_accept(ground.deframer.data, reference) || newer;
        else if (size != 0)
            ground.counters.malformed++;
    }
    return newer;
}

void reference_counters(counters_t *counters)
{
    uint32_t state = hal_lock();
    *counters = ground.counters;
    hal_unlock(state);
}
