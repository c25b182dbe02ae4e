#include "drivers.h"

#include <math.h>
#include <string.h>

#include "soft.h"

#define US 1e-6f
#define DRIFT_US 1
#define GAUSS_MEAN 393210 /* of twelve numbers of 16 bits */
#define GAUSS_UNIT 65536.0f
#define TURN INT64_C(3600000000) /* 360 deg of longitude */

typedef void (*rebuild_t)(const float *pose, const float *step_s, const float *takeoff, const float *memory,
                          float *sample, float *memory_next);

/* Where a class lies in the values of the first line and in what is rebuilt. */
static const struct {
    rebuild_t rebuild;
    uint8_t group, offset, count, aged, soft_from, noise;
    uint32_t period_us;
} rows[] = {
#define DRIVER_ROW(name, NAME, group, offset, count, aged, soft_from, period_us)                                        \
    {soft_##name##_run, group, offset, count, aged, soft_from, PARAMETER_NOISE_##NAME, period_us},
    DRIVER_TABLE(DRIVER_ROW)};

#define DRIVER_CHECK(name, NAME, group, offset, count, aged, soft_from, period_us)                                      \
    _Static_assert(SOFT_##NAME##_MEMORY <= MEMORY_MOST, "the memory of a class has room");
DRIVER_TABLE(DRIVER_CHECK)

static void hard_forget(class_t *own)
{
    memset(&own->hard, 0, sizeof own->hard);
    own->fresh_hard = false;
}

static void soft_forget(class_t *own)
{
    memset(&own->soft, 0, sizeof own->soft);
    memset(own->memory, 0, sizeof own->memory);
    own->known = own->fresh_soft = false;
    own->due_us = 0;
}

static bool hard_read(class_t *own, sample_t *sample)
{
    if (!own->fresh_hard)
        return false;
    own->fresh_hard = false;
    *sample = own->hard;
    return true;
}

/* A class of every control period holds its last sample; a slower one waits for its time, and for a set unless the line
   is stale. */
static bool soft_read(drivers_t *drivers, unsigned class, sample_t *sample)
{
    class_t *own = &drivers->classes[class];
    uint32_t period_us = rows[class].period_us;
    if (!own->known || (period_us != 0 && (drivers->now_us < own->due_us || !(own->fresh_soft || drivers->stale))))
        return false;
    *sample = own->soft;
    sample->flags = (uint8_t)((drivers->stale ? SAMPLE_STALE : 0) | (own->fresh_soft ? 0 : SAMPLE_HELD));
    own->fresh_soft = false;
    own->due_us = drivers->now_us + period_us;
    return true;
}

#define DRIVER_FUNCTIONS(name, NAME, group, offset, count, aged, soft_from, period_us)                                  \
    static void name##_hard_init(drivers_t *drivers) { hard_forget(&drivers->classes[CLASS_##NAME]); }                  \
    static bool name##_hard_read(drivers_t *drivers, sample_t *sample)                                                  \
    {                                                                                                                   \
        return hard_read(&drivers->classes[CLASS_##NAME], sample);                                                      \
    }                                                                                                                   \
    static void name##_soft_init(drivers_t *drivers) { soft_forget(&drivers->classes[CLASS_##NAME]); }                  \
    static bool name##_soft_read(drivers_t *drivers, sample_t *sample)                                                  \
    {                                                                                                                   \
        return soft_read(drivers, CLASS_##NAME, sample);                                                                \
    }
DRIVER_TABLE(DRIVER_FUNCTIONS)

#define DRIVER(name, NAME, group, offset, count, aged, soft_from, period_us)                                            \
    {#name, name##_hard_init, name##_hard_read, name##_soft_init, name##_soft_read},
const driver_t driver_table[] = {DRIVER_TABLE(DRIVER)};

static int32_t whole(float value) { return (int32_t)rintf(value); }

static void take_parameters(drivers_t *drivers)
{
    const float *set = drivers->parameters;
    drivers->home[0] = whole(set[PARAMETER_HOME_LON]) * 10000000 + whole(set[PARAMETER_HOME_LON_E7]);
    drivers->home[1] = whole(set[PARAMETER_HOME_LAT]) * 10000000 + whole(set[PARAMETER_HOME_LAT_E7]);
    drivers->home[2] = whole(set[PARAMETER_HOME_ALT] * 1000.0f);
    float *takeoff = drivers->takeoff;
    *takeoff++ = (float)drivers->home[1] * RAD_PER_COUNT;
    *takeoff++ = set[PARAMETER_HOME_HEIGHT];
    *takeoff++ = set[PARAMETER_HOME_PRES];
    *takeoff++ = set[PARAMETER_HOME_TEMP];
    *takeoff++ = set[PARAMETER_FIELD_NORTH];
    *takeoff++ = set[PARAMETER_FIELD_EAST];
    *takeoff++ = set[PARAMETER_FIELD_DOWN];
    *takeoff++ = set[PARAMETER_HOME_GRAV];
}

static const struct {
    float value, low, high;
} parameter_rows[] = {
#define PARAMETER_ROW(name, value, low, high) {value, low, high},
    PARAMETER_TABLE(PARAMETER_ROW)};

void drivers_init(drivers_t *drivers)
{
    memset(drivers, 0, sizeof *drivers);
    pose_line_init(&drivers->line);
    for (unsigned i = 0; i < PARAMETER_COUNT; i++)
        drivers->parameters[i] = parameter_rows[i].value;
    drivers->random = (uint32_t)drivers->parameters[PARAMETER_SENS_SEED];
    take_parameters(drivers);
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        driver_table[class].hard_init(drivers);
        driver_table[class].soft_init(drivers);
    }
}

unsigned drivers_source(const drivers_t *drivers, unsigned class)
{
    return (uint32_t)drivers->parameters[PARAMETER_SENS_SOFT] >> class & 1u ? SOURCE_SOFT : SOURCE_HARD;
}

unsigned drivers_set(drivers_t *drivers, unsigned parameter, float value, bool armed)
{
    if (parameter >= PARAMETER_COUNT || !(value >= parameter_rows[parameter].low) ||
        !(value <= parameter_rows[parameter].high))
        return PARAMETER_RANGE;
    if (armed)
        return PARAMETER_ARMED;
    drivers->parameters[parameter] = value;
    if (parameter == PARAMETER_SENS_SEED)
        drivers->random = (uint32_t)value;
    take_parameters(drivers);
    return PARAMETER_SET;
}

float drivers_age_s(const drivers_t *drivers)
{
    uint64_t since_us = drivers->line.counters.sets ? drivers->set_us : drivers->begun_us;
    return (float)(drivers->now_us - since_us) * US;
}

void drivers_time(drivers_t *drivers, uint64_t now_us)
{
    drivers->now_us = now_us;
    if (!drivers->begun)
        drivers->begun_us = now_us;
    drivers->begun = true;
}

unsigned drivers_step(drivers_t *drivers, bool armed)
{
    unsigned found = 0;
    bool used = (uint32_t)drivers->parameters[PARAMETER_SENS_SOFT] != 0;
    float age_s = drivers_age_s(drivers);
    bool stale = used && age_s > drivers->parameters[PARAMETER_SENS_STALE];
    if (stale != drivers->stale)
        found |= stale ? STEP_STALE : STEP_BACK;
    drivers->stale = stale;
    bool failed = armed && (drivers->failed || (used && age_s > drivers->parameters[PARAMETER_SENS_FAIL]));
    if (failed && !drivers->failed)
        found |= STEP_FAILED;
    drivers->failed = failed;
    return found;
}

bool drivers_stop(const drivers_t *drivers)
{
    return drivers->failed && (drivers_source(drivers, CLASS_ACCELEROMETER) || drivers_source(drivers, CLASS_GYRO));
}

void drivers_line(drivers_t *drivers, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (pose_line_take(&drivers->line, bytes[i])) {
            drivers->pending = true;
            drivers->set_us = drivers->now_us;
        }
    }
}

void drivers_values(drivers_t *drivers, const float *measured, uint8_t groups)
{
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        class_t *own = &drivers->classes[class];
        if (!(groups & (1u << rows[class].group)))
            continue;
        const float *from = measured + rows[class].offset;
        float age_s = rows[class].aged ? *from++ : 0.0f;
        memset(&own->hard, 0, sizeof own->hard);
        memcpy(own->hard.value, from, rows[class].count * sizeof *from);
        own->hard.count = rows[class].count;
        own->hard.source = SOURCE_HARD;
        own->hard.t_us = (uint32_t)drivers->now_us - (uint32_t)(age_s > 0.0f && age_s < 4000.0f ? age_s / US : 0.0f);
        own->fresh_hard = true;
    }
}

/* Of type 7, which is the sender's clock; else when the set came. */
static uint64_t stamp(const drivers_t *drivers)
{
#if POSE_STAMPED
    return (uint64_t)drivers->line.set.time_ms * 1000u;
#else
    return drivers->set_us;
#endif
}

/* From the sender's clock to ours: by the set that took the shortest, and a little more each time, since clocks drift. */
static void find_offset(drivers_t *drivers, bool forward)
{
    int64_t offset_us = (int64_t)(drivers->set_us - drivers->stamp_us);
    drivers->offset_us += DRIFT_US;
    if (!forward || offset_us < drivers->offset_us)
        drivers->offset_us = offset_us;
}

static void find_place(const drivers_t *drivers, float pos_W[3])
{
    float counts[3];
    for (unsigned i = 0; i < 3; i++) {
        int64_t away = (int64_t)drivers->line.set.place[i] - drivers->home[i];
        if (i == 0)
            away = (away + TURN / 2 + TURN) % TURN - TURN / 2;
        counts[i] = (float)away;
    }
    soft_place_run(counts, drivers->takeoff, pos_W);
}

bool drivers_begin(drivers_t *drivers)
{
    if (!drivers->pending)
        return false;
    drivers->pending = false;
    const pose_set_t *set = &drivers->line.set;
    uint64_t stamp_us = stamp(drivers);
    bool forward = drivers->stamped && stamp_us > drivers->stamp_us;
    if (!forward) /* the first set, or a sender that began anew */
        for (unsigned class = 0; class < CLASS_COUNT; class++)
            memset(drivers->classes[class].memory, 0, sizeof drivers->classes[class].memory);
    drivers->step_s = forward ? (float)(stamp_us - drivers->stamp_us) * US : 0.0f;
    drivers->stamped = true;
    drivers->stamp_us = stamp_us;
    find_offset(drivers, forward);
    memcpy(drivers->pose, set->attitude, sizeof set->attitude);
    find_place(drivers, drivers->pose + 3);
    memcpy(drivers->pose + 6, set->rates, sizeof set->rates);
    memcpy(drivers->pose + 9, set->velocity, sizeof set->velocity);
    memcpy(drivers->pose + 12, set->force, sizeof set->force);
    return true;
}

static uint32_t draw(drivers_t *drivers) /* xorshift32 */
{
    uint32_t x = drivers->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return drivers->random = x;
}

/* The sum of twelve even numbers: mean 0, standard deviation 1. */
static float gauss(drivers_t *drivers)
{
    int32_t sum = -GAUSS_MEAN;
    for (unsigned i = 0; i < 6; i++) {
        uint32_t x = draw(drivers);
        sum += (int32_t)(x & 0xFFFFu) + (int32_t)(x >> 16);
    }
    return (float)sum / GAUSS_UNIT;
}

static void add_noise(drivers_t *drivers, unsigned class, sample_t *sample, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        bool velocity = class == CLASS_GNSS && i >= 3;
        sample->value[i] += drivers->parameters[velocity ? PARAMETER_NOISE_VELOCITY : rows[class].noise] * gauss(drivers);
    }
}

void drivers_rebuild(drivers_t *drivers, unsigned class)
{
    class_t *own = &drivers->classes[class];
    float found[SAMPLE_MOST], memory[MEMORY_MOST];
    memset(found, 0, sizeof found);
    memset(memory, 0, sizeof memory);
    rows[class].rebuild(drivers->pose, &drivers->step_s, drivers->takeoff, own->memory, found, memory);
    sample_t sample;
    memset(&sample, 0, sizeof sample);
    unsigned count = class == CLASS_GNSS ? 6u : rows[class].count;
    memcpy(sample.value, found + rows[class].soft_from, count * sizeof *found);
    if (drivers->parameters[PARAMETER_SENS_SOFT_NOISE] > 0.5f && drivers_source(drivers, class) == SOURCE_SOFT)
        add_noise(drivers, class, &sample, count);
    for (unsigned i = 0; i < count; i++) {
        if (!isfinite(sample.value[i])) {
            drivers->refused++;
            memset(own->memory, 0, sizeof own->memory);
            return;
        }
    }
    if (class == CLASS_GNSS) {
        sample.value[6] = drivers->parameters[PARAMETER_GNSS_EPH];
        sample.value[7] = drivers->parameters[PARAMETER_GNSS_EPV];
    }
    sample.count = rows[class].count;
    sample.source = SOURCE_SOFT;
    sample.t_us = (uint32_t)(drivers->stamp_us + (uint64_t)drivers->offset_us);
    memcpy(own->memory, memory, sizeof memory);
    own->soft = sample;
    own->known = own->fresh_soft = true;
}

bool drivers_read(drivers_t *drivers, unsigned class, unsigned source, sample_t *sample)
{
    const driver_t *driver = &driver_table[class];
    return source == SOURCE_SOFT ? driver->soft_read(drivers, sample) : driver->hard_read(drivers, sample);
}

size_t drivers_motors(const float command[4], uint8_t frame[POSE_MOTORS_FRAME])
{
    uint16_t values[4];
    for (unsigned i = 0; i < 4; i++) {
        float part = command[i] > 0.0f ? (command[i] < 1.0f ? command[i] : 1.0f) : 0.0f;
        int32_t pulse_us = 1000 + whole(1000.0f * part);
#if POSE_MOTORS_SPEED
        /* The conversion of pulses to speeds; a motor at 1000 us stands still. */
        int32_t rpm = pulse_us > 1000 ? whole(MOTOR_IDLE_RPM + MOTOR_RPM_PER_US * (float)(pulse_us - 1000)) : 0;
        values[i] = (uint16_t)(rpm < 65535 ? rpm : 65535);
#else
        values[i] = (uint16_t)pulse_us;
#endif
    }
    return pose_motors(values, frame);
}
