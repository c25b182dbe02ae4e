/* What the board says of itself: events as they come, the law's rows, once a second how busy it was.
 *
 * Of the once-a-second messages at most one goes out in a period, so that they never crowd a line. All messages share
 * one running number, by which the plant sees what was lost.
 */
#include <string.h>

#include "budget.h"
#include "bytes.h"
#include "config.h"
#include "events.h"
#include "framing.h"
#include "front.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "port.h"
#include "values.h"

#define SAMPLE_PERIOD_NS 1000000000ull
#define SAMPLE_MESSAGES (1u + TASK_COUNT) /* messages of one sample: cpu, each task */
#define ROW_HEAD 3u                        /* message, running number, row */
#ifdef FRONT_END
#define TELEMETRY_LINE LINE_HILS /* the other line is not the ground's */
#else
#define TELEMETRY_LINE LINE_COMM
#endif

static const struct {
    uint8_t place, count; /* of its values among those that the law tells */
    uint16_t every;       /* so many runs of the law */
} rows[] = {ROW_TABLE};

static struct {
    uint8_t sequence;
    bool begun;
    uint64_t began_ns, sampled_at_ns;
    float window_s;
    unsigned next; /* message of the sample to send; SAMPLE_MESSAGES when all are out */
    kernel_statistics_t sample;
} tell;

void tell_init(void)
{
    memset(&tell, 0, sizeof tell);
    tell.next = SAMPLE_MESSAGES;
}

void values_send(const uint8_t *data, size_t count, bool telemetry)
{
    uint8_t frame[LONGEST_FRAME];
    budget_send(telemetry ? TELEMETRY_LINE : LINE_HILS, frame, frame_encode(data, count, frame));
}

static float seconds(uint64_t ticks) { return (float)ticks / ((float)hal_ticks_per_us * 1e6f); }

static float percent(float part, float whole) { return whole > 0.0f ? 100.0f * part / whole : 0.0f; }

static void send_event(const event_t *event)
{
    uint8_t data[EVENT_SIZE];
    uint8_t *at = put_u8(data, MESSAGE_EVENT);
    at = put_u8(at, tell.sequence++);
    at = put_u8(at, event->code);
    put_f32(at, event->value);
    values_send(data, sizeof data, true);
}

#ifdef FRONT_END
void tell_row(unsigned row, const float *values, unsigned count)
{
    uint8_t data[LONGEST_DATA];
    uint8_t *at = put_u8(data, MESSAGE_ROW);
    at = put_u8(at, tell.sequence++);
    at = put_u8(at, (uint8_t)row);
    put_floats(at, values, count);
    values_send(data, ROW_HEAD + 4u * count, true);
}
#endif

static void send_rows(void)
{
    for (unsigned row = 0; row != ROW_COUNT; row++) {
        if (values_runs() % rows[row].every != 0)
            continue;
        uint8_t data[LONGEST_DATA];
        uint8_t *at = put_u8(data, MESSAGE_ROW);
        at = put_u8(at, tell.sequence++);
        at = put_u8(at, (uint8_t)row);
        put_floats(at, values_told() + rows[row].place, rows[row].count);
        values_send(data, ROW_HEAD + 4u * rows[row].count, true);
    }
}

static void send_cpu(void)
{
    uint8_t data[CPU_SIZE];
    uint8_t *at = put_u8(data, MESSAGE_CPU);
    at = put_u8(at, tell.sequence++);
    at = put_f32(at, percent(seconds(tell.sample.busy_ticks), tell.window_s));
    at = put_f32(at, (float)tell.sample.switches / tell.window_s);
    at = put_u32(at, (uint32_t)hal_stack_used());
    at = put_u32(at, (uint32_t)hal_stack_size());
    at = put_u32(at, values_overruns());
    at = put_f32(at, values_worst_s());
    put_u32(at, (uint32_t)((port_now_ns() - tell.began_ns) / 1000000u));
    values_send(data, sizeof data, true);
}

static void send_task(unsigned task)
{
    const kernel_task_statistics_t *own = &tell.sample.task[task];
    float exec_s = seconds(own->exec_ticks);
    uint8_t data[TASK_SIZE];
    uint8_t *at = put_u8(data, MESSAGE_TASK);
    at = put_u8(at, tell.sequence++);
    at = put_u8(at, (uint8_t)task);
    at = put_f32(at, exec_s * ((float)CONTROL_PERIOD_US * 1e-6f) / tell.window_s);
    at = put_f32(at, percent(exec_s, seconds(tell.sample.busy_ticks)));
    at = put_f32(at, seconds(own->worst_ticks));
    put_u32(at, own->runs);
    values_send(data, sizeof data, true);
}

static void sample_when_due(void)
{
    uint64_t now_ns = port_now_ns();
    if (!tell.begun)
        tell.began_ns = tell.sampled_at_ns = now_ns; /* with the first values: a board may start anew in flight */
    tell.begun = true;
    if (now_ns - tell.sampled_at_ns < SAMPLE_PERIOD_NS)
        return;
    tell.window_s = (float)(now_ns - tell.sampled_at_ns) * 1e-9f;
    tell.sampled_at_ns = now_ns;
    kernel_sample(&tell.sample);
    tell.next = 0;
}

static void send_next(void)
{
    unsigned turn = tell.next++;
    if (turn == 0)
        send_cpu();
    else
        send_task(turn - 1);
}

void values_tell(void)
{
    event_t event;
    while (event_take(&event))
        send_event(&event);
    /* A dropped event takes its number with it: the plant sees the gap. */
    tell.sequence = (uint8_t)(tell.sequence + events_dropped());
    send_rows();
    front_tell();
    sample_when_due();
    if (tell.next < SAMPLE_MESSAGES)
        send_next();
}
