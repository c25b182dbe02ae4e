/* The simulator's line: HILS_Rx takes sensors and starts the chain of routine tasks, HILS_Tx ends it with servos.
 *
 * One chain is at work at a time. Sensors that come before it has ended wait in `next`: HILS_Rx is more urgent than the
 * chain, and none of its tasks may see them change. If two cycles' come meanwhile, only the latest are answered.
 */
#include <math.h>
#include <string.h>

#include "budget.h"
#include "bytes.h"
#include "config.h"
#include "events.h"
#include "framing.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "port.h"
#include "wing.h"

#define NS_PER_S 1e9f
#define LARGEST 1e6f /* of any sensor's value, in SI units */

static struct {
    deframer_t deframer;
    counters_t counters;
    sensors_t next, current;
    bool waiting; /* `next` has not been taken */
    bool working; /* a chain is under way */
    bool heard, answered; /* any sensors, any servos so far */
    uint16_t answered_cycle;
    uint32_t missed;
    float worst_latency_s;
} hils;

void hils_init(void)
{
    memset(&hils, 0, sizeof hils);
    deframer_init(&hils.deframer, SENSORS_SIZE);
}

const sensors_t *hils_sensors(void) { return &hils.current; }

uint32_t hils_refused(void)
{
    const counters_t *counters = &hils.counters;
    return counters->bad_checksums + counters->malformed + counters->duplicates + counters->implausible;
}

bool hils_heard(void) { return hils.heard; }

bool hils_idle(void) { return !hils.working && !kernel_active(TASK_HILS_RX); }

uint32_t hils_missed(void) { return hils.missed; }

float hils_worst_latency_s(void) { return hils.worst_latency_s; }

static const uint8_t *get_row(const uint8_t *at, float *values, unsigned count)
{
    get_floats(at, values, count);
    return at + 4 * count;
}

static sensors_t unpack(const uint8_t *data)
{
    sensors_t sensors = {.cycle = get_u16(data + 1), .t_ms = get_u32(data + 3)};
    const uint8_t *at = get_row(data + 7, sensors.gyro_B, 3);
    at = get_row(at, sensors.accel_B, 3);
    at = get_row(at, sensors.field_B, 3);
    at = get_row(at, sensors.pressures, 2);
    sensors.fix = at[0] != 0;
    sensors.lat_1e7 = (int32_t)get_u32(at + 1);
    sensors.lon_1e7 = (int32_t)get_u32(at + 5);
    sensors.alt_mm = (int32_t)get_u32(at + 9);
    get_row(at + 13, sensors.vel_W, 3);
    return sensors;
}

static int first_bad(const float *values, int count)
{
    for (int i = 0; i < count; i++)
        if (!(fabsf(values[i]) <= LARGEST)) /* also catches NaN */
            return i;
    return -1;
}

static bool believable(const sensors_t *sensors)
{
    const float *rows[] = {sensors->gyro_B, sensors->accel_B, sensors->field_B, sensors->pressures, sensors->vel_W};
    const int counts[] = {3, 3, 3, 2, 3};
    int before = 0;
    for (unsigned row = 0; row < sizeof rows / sizeof *rows; row++) {
        int bad = first_bad(rows[row], counts[row]);
        if (bad >= 0) {
            event_say(EVENT_IMPLAUSIBLE_SENSORS, (float)(before + bad));
            return false;
        }
        before += counts[row];
    }
    return true;
}

static void accept(const uint8_t *data)
{
    sensors_t sensors = unpack(data);
    if (hils.heard && sensors.cycle == hils.next.cycle) {
        hils.counters.duplicates++;
        return;
    }
    if (!believable(&sensors)) {
        hils.counters.implausible++;
        return;
    }
    sensors.period_ns = budget_period_ns();
    if (!hils.heard)
        event_say(EVENT_STARTED, (float)sensors.cycle);
    hils.heard = true;
    uint32_t state = hal_lock();
    hils.next = sensors;
    hils.waiting = true;
    hal_unlock(state);
}

/* Takes what waits and wakes the first of the chain; under the lock. */
static void begin_chain(void)
{
    hils.working = hils.waiting;
    if (!hils.waiting)
        return;
    hils.current = hils.next;
    hils.waiting = false;
    kernel_pend(TASK_ESTI_ATTI);
}

void wing_hils_rx(void)
{
    uint8_t chunk[64];
    size_t count;
    while ((count = port_read(LINE_HILS, chunk, sizeof chunk)) > 0) {
        for (size_t i = 0; i < count; i++) {
            size_t size = deframer_take(&hils.deframer, chunk[i], &hils.counters);
            if (size == SENSORS_SIZE && hils.deframer.data[0] == MESSAGE_SENSORS)
                accept(hils.deframer.data);
            else if (size != 0)
                hils.counters.malformed++;
        }
    }
    uint32_t state = hal_lock();
    if (!hils.working)
        begin_chain();
    hal_unlock(state);
}

/* A cycle has its command in time if it leaves within the cycle's own period. */
static void count_missed(float latency_s)
{
    if (hils.answered)
        hils.missed += (uint16_t)(hils.current.cycle - hils.answered_cycle - 1u);
    if (latency_s > (float)CONTROL_PERIOD_US * 1e-6f) {
        hils.missed++;
        event_say(EVENT_OVERRUN, latency_s);
    }
    if (latency_s > hils.worst_latency_s)
        hils.worst_latency_s = latency_s;
    hils.answered = true;
    hils.answered_cycle = hils.current.cycle;
}

void wing_hils_tx(void)
{
    float latency_s = (float)(port_now_ns() - hils.current.period_ns) / NS_PER_S;
    uint8_t data[SERVOS_SIZE];
    uint8_t *at = put_u8(data, MESSAGE_SERVOS);
    at = put_u16(at, hils.current.cycle);
    at = put_floats(at, fly_command(), CNTR_COMMAND);
    put_f32(at, latency_s);
    uint8_t frame[LONGEST_FRAME];
    budget_send(LINE_HILS, frame, frame_encode(data, sizeof data, frame));
    count_missed(latency_s);
    uint32_t state = hal_lock();
    begin_chain();
    hal_unlock(state);
}
