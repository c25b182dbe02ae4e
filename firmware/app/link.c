#include "link.h"

#include <math.h>
#include <string.h>

#include "bytes.h"
#include "config.h"
#include "events.h"
#include "hal.h"
#include "handshake.h"
#include "plausible.h"
#include "port.h"

/* An answer later than this many cycles counts as a duplicate. */
#define LATEST_CYCLES 8

static const float sensor_low[] = SENSOR_LOW, sensor_high[] = SENSOR_HIGH, sensor_step[] = SENSOR_STEP;
static const bounds_t sensor_bounds = {sensor_low, sensor_high, sensor_step, SENSOR_WRAPS, SENSOR_COUNT};

/* `get sensors` and `cycle` both change this. They never meet: a tick that finds `get sensors` at work waits. */
static struct {
    counters_t counters;
    deframer_t deframer;
    plausibility_t plausibility;
    void (*refer)(const uint8_t *data);
    bool refused; /* the bench has another interface: its messages have another meaning */
    bool due;
    uint32_t owed; /* cycles that ended without their answer; each may still arrive, late */
    uint32_t kept; /* cycles in a row that had theirs */
#ifdef REDUNDANT
    bool active; /* as the plant said last */
    bool takes;
    float taken[ALIGNED_ROOM];
#endif
} plant;

void link_init(void (*refer)(const uint8_t data[REFERENCE_SIZE]))
{
    memset(&plant, 0, sizeof plant);
    plant.refer = refer;
    deframer_init(&plant.deframer, ANSWER_SIZE);
    plausibility_init(&plant.plausibility, &sensor_bounds);
}

static void expect(void)
{
    if (plant.due) {
        plant.owed++;
        plant.kept = 0;
        plant.counters.lost++;
    } else if (plant.owed && ++plant.kept > LATEST_CYCLES) {
        plant.owed = 0; /* it is lost: a surplus answer from here on is a duplicate */
    }
    plant.due = true;
}

/* Whether an answer just received is the one that is due. */
static bool arrives(void)
{
    if (plant.due)
        return true;
    if (plant.owed) {
        plant.owed--;
        plant.counters.lost--;
        plant.counters.late++;
    } else {
        plant.counters.duplicates++;
    }
    return false;
}

static bool accept(const uint8_t *data, float sensors[SENSOR_COUNT])
{
    if (plant.refused || !arrives())
        return false;
    float row[SENSOR_COUNT];
    get_floats(data, row, SENSOR_COUNT);
    int fault = plausibility_fault(&plant.plausibility, row);
    if (fault >= 0) {
        plant.counters.implausible++;
        event_say(EVENT_IMPLAUSIBLE_SENSORS, (float)fault);
        return false;
    }
    plant.due = false;
    memcpy(sensors, row, sizeof row);
    return true;
}

#ifdef REDUNDANT
#define FNV_BASIS 0x811c9dc5u
#define FNV_PRIME 0x01000193u

static uint32_t memory_hash(const float *values)
{
    uint32_t hash = FNV_BASIS;
    for (unsigned i = 0; i < ALIGNED_COUNT; i++) {
        uint8_t bytes[sizeof(float)];
        put_floats(bytes, values + i, 1);
        for (unsigned k = 0; k < sizeof bytes; k++)
            hash = (hash ^ bytes[k]) * FNV_PRIME;
    }
    return hash;
}

static bool all_finite(const float *values)
{
    for (unsigned i = 0; i < ALIGNED_COUNT; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static void align(const uint8_t *data)
{
    float values[ALIGNED_ROOM];
    get_floats(data + 7, values, ALIGNED_COUNT);
    if (plant.refused || !all_finite(values))
        return;
    uint32_t state = hal_lock();
    plant.active = data[5] != 0;
    plant.takes = data[6] != 0;
    memcpy(plant.taken, values, ALIGNED_COUNT * sizeof *values);
    hal_unlock(state);
}

void link_take(float *memory)
{
    uint32_t state = hal_lock();
    if (plant.takes)
        memcpy(memory, plant.taken, ALIGNED_COUNT * sizeof *memory);
    plant.takes = false;
    hal_unlock(state);
}

void link_heartbeat(uint32_t cycle, uint8_t health, const float *computed_with)
{
    uint8_t data[HEARTBEAT_SIZE];
    uint8_t *at = put_u32(put_u8(data, MESSAGE_HEARTBEAT), cycle);
    at = put_u32(put_u8(at, health), memory_hash(computed_with));
    put_u8(at, plant.active);
    link_send(data, sizeof data, false);
}

void link_integrators(uint32_t cycle, const float *memory)
{
    uint8_t data[INTEGRATORS_SIZE];
    if (!all_finite(memory))
        return;
    put_floats(put_u32(put_u8(data, MESSAGE_INTEGRATORS), cycle), memory, ALIGNED_COUNT);
    link_send(data, sizeof data, false);
}
#endif

bool link_receive(const uint8_t *bytes, size_t count, float sensors[SENSOR_COUNT])
{
    const uint8_t *data = plant.deframer.data;
    bool accepted = false;
    for (size_t i = 0; i < count; i++) {
        size_t size = deframer_take(&plant.deframer, bytes[i], &plant.counters);
        if (size == 0)
            continue;
        if (size == ANSWER_SIZE)
            accepted = accept(data, sensors) || accepted;
        else if (size == HELLO_SIZE && data[0] == MESSAGE_HELLO)
            plant.refused = plant.refused || get_u32(data + 3) != INTERFACE_HASH;
        else if (size == REFERENCE_SIZE)
            plant.refer(data);
#ifdef REDUNDANT
        else if (size == ALIGN_SIZE && data[0] == MESSAGE_ALIGN)
            align(data);
#endif
        else
            plant.counters.malformed++;
    }
    return accepted;
}

void link_start(uint8_t reset_cause, uint32_t uptime_ms)
{
    uint8_t data[START_SIZE];
    put_start(data, reset_cause, uptime_ms);
    link_send(data, sizeof data, true);
}

void link_request(void)
{
    const uint8_t data[REQUEST_SIZE] = {MESSAGE_REQUEST};
    expect();
    plausibility_cycle(&plant.plausibility);
    link_send(data, sizeof data, true);
}

void link_actuators(const float command[COMMAND_COUNT])
{
    uint8_t data[ACTUATORS_SIZE];
    put_floats(put_u8(data, MESSAGE_ACTUATORS), command, COMMAND_COUNT);
    link_send(data, sizeof data, false);
}

void link_send(const uint8_t *data, size_t count, bool opens)
{
    uint8_t frame[LONGEST_FRAME];
    size_t size = frame_encode(data, count, frame);
    if (!port_send(frame, size, opens))
        return; /* the queue is full: the plant counts the missing message */
    uint32_t state = hal_lock();
    plant.counters.frames_out++;
    plant.counters.bytes_out += (uint32_t)size;
    hal_unlock(state);
}

void link_counters(counters_t *counters)
{
    uint32_t state = hal_lock();
    *counters = plant.counters;
    hal_unlock(state);
}
