/* The front end of the law: each class of sensor read by the driver in use, the other one beside it in shadow mode, and
 * what that cost. The law does not know which driver it was.
 */
#include "front.h"

#include <string.h>

#include "budget.h"
#include "config.h"
#include "drivers.h"
#include "events.h"
#include "hal.h"
#include "interface.h"
#include "law.h"
#include "port.h"
#include "values.h"

#define US_PER_S 1e6f
#define STATE_RUNS (1000000u / CONTROL_PERIOD_US)
#define ARMED (LAW_MEASURED - PARAMETER_VALUES - 1u) /* the last value of the setpoint */
#define PARAMETER_AT (LAW_MEASURED - PARAMETER_VALUES)

enum { PARAMETER_VALUES = 2, PARAMETER_GROUP = GROUP_COUNT - 1 };
enum { ROW_SENSOR = ROW_COUNT, ROW_STATE, ROW_COST, ROW_PARAMETER };
enum { PART_VELOCITY = CLASS_COUNT, PART_COUNT, SENSOR_VALUES = 10, STATE_VALUES = 13, COST_VALUES = 2 + CLASS_COUNT };
enum { LOG_SOFT = 1, LOG_HARD = 2, LOG_USES_SOFT = 4, LOG_STALE = 8, LOG_HELD = 16 };

static struct {
    drivers_t drivers;
    float measured[LAW_MEASURED]; /* what each class last gave */
    float sensor[PART_COUNT][SENSOR_VALUES];
    float cost[COST_VALUES];
    float parameter[4];
    bool has_sensor[PART_COUNT], has_cost, has_parameter;
    uint16_t runs;
} front;

static const uint8_t groups_of[] = {
#define GROUP_OF(name, NAME, group, offset, count, aged, soft_from, period_us) group,
    DRIVER_TABLE(GROUP_OF)};
static const uint8_t offsets[] = {
#define OFFSET_OF(name, NAME, group, offset, count, aged, soft_from, period_us) offset,
    DRIVER_TABLE(OFFSET_OF)};

void front_init(void)
{
    memset(&front, 0, sizeof front);
    drivers_init(&front.drivers);
}

static float seconds(uint32_t ticks) { return (float)ticks / ((float)hal_ticks_per_us * US_PER_S); }

static float age_s(const sample_t *sample)
{
    return (float)((uint32_t)front.drivers.now_us - sample->t_us) * 1e-6f;
}

static void set_parameter(const float *asked, bool armed)
{
    unsigned number = asked[0] >= 0.0f && asked[0] < 256.0f ? (unsigned)asked[0] : 256u;
    unsigned answer = drivers_set(&front.drivers, number, asked[1], armed);
    front.parameter[0] = (float)number;
    front.parameter[1] = asked[1];
    front.parameter[2] = number < PARAMETER_COUNT ? front.drivers.parameters[number] : 0.0f;
    front.parameter[3] = (float)answer;
    front.has_parameter = true;
}

static void say(unsigned found, float age)
{
    if (found & STEP_STALE)
        event_say(EVENT_SENSORS_LOST, age);
    if (found & STEP_FAILED)
        event_say(EVENT_SAFE_COMMAND, age);
    if (found & STEP_BACK)
        event_say(EVENT_SENSORS_BACK, age);
}

static void decode(void)
{
    uint8_t chunk[64];
    size_t count;
    while ((count = port_read(LINE_COMM, chunk, sizeof chunk)) > 0)
        drivers_line(&front.drivers, chunk, count);
}

/* A row of the log: the latest of both drivers, `from` a value on. */
static void note(unsigned part, unsigned class, unsigned from, unsigned count, uint8_t flags)
{
    const class_t *own = &front.drivers.classes[class];
    float *row = front.sensor[part];
    memset(row, 0, sizeof front.sensor[part]);
    row[0] = (float)part;
    row[1] = (float)flags;
    if (flags & LOG_SOFT) {
        row[2] = age_s(&own->soft);
        memcpy(row + 4, own->soft.value + from, count * sizeof *row);
    }
    if (flags & LOG_HARD) {
        row[3] = age_s(&own->hard);
        memcpy(row + 7, own->hard.value + from, count * sizeof *row);
    }
    front.has_sensor[part] = true;
}

static void log_samples(unsigned class, const sample_t *soft, const sample_t *hard)
{
    const class_t *own = &front.drivers.classes[class];
    if (soft == NULL && hard == NULL)
        return;
    unsigned flags = (own->known ? LOG_SOFT : 0u) | (hard != NULL ? LOG_HARD : 0u);
    flags |= drivers_source(&front.drivers, class) == SOURCE_SOFT ? LOG_USES_SOFT : 0u;
    flags |= front.drivers.stale ? LOG_STALE : 0u;
    flags |= soft != NULL && soft->flags & SAMPLE_HELD ? LOG_HELD : 0u;
    unsigned count = class == CLASS_GNSS ? 3u : (soft != NULL ? soft : hard)->count;
    note(class, class, 0, count, (uint8_t)flags);
    if (class == CLASS_GNSS)
        note(PART_VELOCITY, class, 3, 3, (uint8_t)flags);
}

static bool read(unsigned class, float *fresh)
{
    drivers_t *drivers = &front.drivers;
    unsigned used = drivers_source(drivers, class);
    bool shadow = drivers->parameters[PARAMETER_SENS_SHADOW] > 0.5f;
    sample_t samples[2];
    bool came[2];
    for (unsigned source = SOURCE_HARD; source <= SOURCE_SOFT; source++)
        came[source] = (source == used || shadow) && drivers_read(drivers, class, source, &samples[source]);
    log_samples(class, came[SOURCE_SOFT] ? &samples[SOURCE_SOFT] : NULL, came[SOURCE_HARD] ? &samples[SOURCE_HARD] : NULL);
    if (!came[used])
        return false;
    const sample_t *sample = &samples[used];
    float *to = front.measured + offsets[class];
    if (class == CLASS_GNSS)
        *to++ = age_s(sample);
    memcpy(to, sample->value, sample->count * sizeof *to);
    if (!(sample->flags & SAMPLE_STALE))
        *fresh = 1.0f;
    return true;
}

void front_end(float *measured, float *fresh, uint8_t groups, uint64_t period_ns)
{
    drivers_t *drivers = &front.drivers;
    bool armed = measured[ARMED] > 0.5f;
    uint32_t began = hal_ticks();
    drivers_time(drivers, period_ns / 1000u);
    float age = drivers_age_s(drivers);
    decode();
    uint32_t ended = hal_ticks();
    front.cost[0] = seconds(ended - began);
    drivers_values(drivers, measured, groups);
    say(drivers_step(drivers, armed), age);
    if (groups & (1u << PARAMETER_GROUP))
        set_parameter(measured + PARAMETER_AT, armed);
    began = hal_ticks();
    bool rebuilds = drivers_begin(drivers);
    front.cost[1] = seconds(hal_ticks() - began);
    for (unsigned group = 0; group < PARAMETER_GROUP - 1u; group++)
        fresh[group] = 0.0f;
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        began = hal_ticks();
        if (rebuilds)
            drivers_rebuild(drivers, class);
        read(class, &fresh[groups_of[class]]);
        front.cost[2 + class] = seconds(hal_ticks() - began);
    }
    front.has_cost = rebuilds;
    memcpy(measured, front.measured, SENSED_VALUES * sizeof *measured);
    if (drivers_stop(drivers))
        measured[ARMED] = 0.0f;
    front.runs++;
}

void front_actuators(const float *command)
{
    uint8_t frame[POSE_MOTORS_FRAME];
    budget_send(LINE_COMM, frame, drivers_motors(command, frame));
}

static void tell_state(void)
{
    const drivers_t *drivers = &front.drivers;
    const pose_counters_t *counters = &drivers->line.counters;
    const float row[STATE_VALUES] = {
        drivers->parameters[PARAMETER_SENS_SOFT],
        drivers->parameters[PARAMETER_SENS_SOFT_NOISE],
        drivers->parameters[PARAMETER_SENS_SHADOW],
        drivers->stale ? 1.0f : 0.0f,
        drivers->failed ? 1.0f : 0.0f,
        (float)counters->sets,
        (float)counters->lost,
        (float)counters->frames_in,
        (float)counters->bad_checksums,
        (float)counters->malformed,
        (float)counters->skipped_bytes,
        (float)counters->other,
        (float)(counters->implausible + drivers->refused),
    };
    tell_row(ROW_STATE, row, STATE_VALUES);
}

void front_tell(void)
{
    for (unsigned part = 0; part < PART_COUNT; part++) {
        if (front.has_sensor[part])
            tell_row(ROW_SENSOR, front.sensor[part], SENSOR_VALUES);
        front.has_sensor[part] = false;
    }
    if (front.runs % STATE_RUNS == 1u)
        tell_state();
    if (front.has_cost)
        tell_row(ROW_COST, front.cost, COST_VALUES);
    if (front.has_parameter)
        tell_row(ROW_PARAMETER, front.parameter, 4);
    front.has_cost = front.has_parameter = false;
}
