/* The queue of rows, and COMM_Tx, which drains it: what belongs to every period first, then as much of the queue as the
 * period's share of the line takes. All messages share one running number, by which the ground sees what was lost. */
#include "telemetry.h"

#include <string.h>

#include "budget.h"
#include "bytes.h"
#include "config.h"
#include "events.h"
#include "follow.h"
#include "framing.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "wing.h"

#define MOST_ROWS 40u

typedef struct {
    uint8_t message, count;
    float values[MOST_TOLD_VALUES];
} row_t;

static const struct {
    uint8_t message;
    const char *format; /* of its values, in Python's letters */
} formats[] = {TELLING_TABLE};

/* Filled by tasks that are less urgent than COMM_Tx and by ones that are more: under the lock. */
static struct {
    row_t rows[MOST_ROWS];
    unsigned first, count;
    uint8_t sequence;
    uint32_t dropped;
} queue;

void telemetry_init(void) { memset(&queue, 0, sizeof queue); }

void telemetry_row(uint8_t message, const float *values, unsigned count)
{
    uint32_t state = hal_lock();
    if (queue.count < MOST_ROWS && count <= MOST_TOLD_VALUES) {
        row_t *row = &queue.rows[(queue.first + queue.count++) % MOST_ROWS];
        row->message = message;
        row->count = (uint8_t)count;
        memcpy(row->values, values, count * sizeof *values);
    } else {
        queue.dropped++;
    }
    hal_unlock(state);
}

static bool take(row_t *row)
{
    uint32_t state = hal_lock();
    bool some = queue.count > 0;
    if (some) {
        *row = queue.rows[queue.first];
        queue.first = (queue.first + 1) % MOST_ROWS;
        queue.count--;
    }
    queue.sequence = (uint8_t)(queue.sequence + queue.dropped);
    queue.dropped = 0;
    hal_unlock(state);
    return some;
}

static const char *format_of(uint8_t message)
{
    for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].message == message)
            return formats[i].format;
    return "";
}

static uint8_t *put_value(uint8_t *at, char letter, float value)
{
    switch (letter) {
    case 'B':
        return put_u8(at, (uint8_t)value);
    case 'H':
        return put_u16(at, (uint16_t)value);
    case 'I':
        return put_u32(at, (uint32_t)value);
    default:
        return put_f32(at, value);
    }
}

/* Bytes on the line. */
static size_t send(uint8_t message, const float *values, unsigned count)
{
    const char *format = format_of(message);
    uint8_t data[LONGEST_DATA];
    uint8_t *at = put_u8(data, message);
    at = put_u8(at, queue.sequence++);
    for (unsigned i = 0; i < count && format[i] != 0; i++)
        at = put_value(at, format[i], values[i]);
    uint8_t frame[LONGEST_FRAME];
    size_t size = frame_encode(data, (size_t)(at - data), frame);
    budget_send(LINE_COMM, frame, size); /* where it does not fit, the ground counts it */
    return size;
}

static size_t send_estimate(void)
{
    const float *estimate = fly_estimate();
    float row[12];
    memcpy(row, estimate, 9 * sizeof *row);
    memcpy(row + 9, estimate + EST_AIRSPEED, 3 * sizeof *row);
    return send(MESSAGE_ESTIMATE, row, 12);
}

static size_t send_guidance(void)
{
    float row[FOLLOW_GUIDANCE];
    follow_guidance(row);
    return send(MESSAGE_GUIDANCE, row, FOLLOW_GUIDANCE);
}

static size_t send_events(void)
{
    size_t sent = 0;
    event_t event;
    while (event_take(&event)) {
        const float row[] = {(float)event.code, event.value};
        sent += send(MESSAGE_EVENT, row, 2);
    }
    queue.sequence = (uint8_t)(queue.sequence + events_dropped());
    return sent;
}

void wing_comm_tx(void)
{
    size_t sent = send_events();
    if (fly_ready())
        sent += send_estimate() + send_guidance();
    static row_t row;
    while (sent < TELEMETRY_BYTES && take(&row))
        sent += send(row.message, row.values, row.count);
}
