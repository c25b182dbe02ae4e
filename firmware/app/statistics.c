/* Telemetry of the board, at the lowest priority: events when they occur, and once a second the processor load.
 *
 * Of the once-a-second messages at most one goes out in a cycle, so that they never fill a line. All of them and the
 * events share one running number, by which the plant sees what was lost.
 */
#include "app.h"
#include "board.h"
#include "bytes.h"
#include "config.h"
#include "events.h"
#include "hal.h"
#include "kernel.h"
#include "link.h"
#include "reference.h"

#define SAMPLE_PERIOD_NS 1000000000
#define LINK_COUNT 2u
#define SAMPLE_MESSAGES (1u + TASK_COUNT + LINK_COUNT) /* messages of one sample: cpu, each task, each link */

static struct {
    uint8_t sequence;
    int64_t sampled_at_ns; /* of uptime */
    float window_s;
    unsigned next; /* message of the sample to send; SAMPLE_MESSAGES when all are out */
    kernel_statistics_t sample;
} statistics = {.next = SAMPLE_MESSAGES};

static float percent(float part, float whole) { return whole > 0.0f ? 100.0f * part / whole : 0.0f; }

static void send_event(const event_t *event)
{
    uint8_t data[EVENT_SIZE];
    uint8_t *at = put_u8(data, MESSAGE_EVENT);
    at = put_u8(at, statistics.sequence++);
    at = put_u8(at, event->code);
    put_f32(at, event->value);
    link_send(data, sizeof data, false);
}

static void send_cpu(void)
{
    uint8_t data[CPU_SIZE];
    uint8_t *at = put_u8(data, MESSAGE_CPU);
    at = put_u8(at, statistics.sequence++);
    at = put_f32(at, percent(board_ticks_s(statistics.sample.busy_ticks), statistics.window_s));
    at = put_f32(at, (float)statistics.sample.switches / statistics.window_s);
    at = put_u32(at, (uint32_t)hal_stack_used());
    at = put_u32(at, (uint32_t)hal_stack_size());
    at = put_u32(at, board_overruns());
    at = put_f32(at, board_worst_cycle_s());
    put_u32(at, board_uptime_ms());
    link_send(data, sizeof data, false);
}

static void send_task(unsigned task)
{
    const kernel_task_statistics_t *own = &statistics.sample.task[task];
    float exec_s = board_ticks_s(own->exec_ticks);
    float periods = statistics.window_s / ((float)CONTROL_PERIOD_US * 1e-6f);
    uint8_t data[TASK_SIZE];
    uint8_t *at = put_u8(data, MESSAGE_TASK);
    at = put_u8(at, statistics.sequence++);
    at = put_u8(at, (uint8_t)task);
    at = put_f32(at, exec_s / periods);
    at = put_f32(at, percent(exec_s, board_ticks_s(statistics.sample.busy_ticks)));
    at = put_f32(at, board_ticks_s(own->worst_ticks));
    put_u32(at, own->runs);
    link_send(data, sizeof data, false);
}

static void send_counters(unsigned link)
{
    counters_t counters;
    if (link == 0)
        link_counters(&counters);
    else
        reference_counters(&counters);
    uint8_t data[COUNTERS_SIZE];
    uint8_t *at = put_u8(data, MESSAGE_COUNTERS);
    at = put_u8(at, statistics.sequence++);
    at = put_u8(at, (uint8_t)link);
    const uint32_t row[COUNTER_COUNT] = {
        counters.frames_in, counters.frames_out, counters.bytes_in,   counters.bytes_out, counters.bad_checksums,
        counters.malformed, counters.lost,       counters.duplicates, counters.late,      counters.implausible,
    };
    for (unsigned i = 0; i < COUNTER_COUNT; i++)
        at = put_u32(at, row[i]);
    link_send(data, sizeof data, false);
}

static void sample_when_due(void)
{
    int64_t now_ns = board_uptime_ns();
    int64_t window_ns = now_ns - statistics.sampled_at_ns;
    if (window_ns < SAMPLE_PERIOD_NS)
        return;
    statistics.sampled_at_ns = now_ns;
    statistics.window_s = (float)window_ns * 1e-9f;
    kernel_sample(&statistics.sample);
    statistics.next = 0;
}

static void send_next(void)
{
    unsigned turn = statistics.next++;
    if (turn == 0)
        send_cpu();
    else if (turn <= TASK_COUNT)
        send_task(turn - 1);
    else
        send_counters(turn - 1 - TASK_COUNT);
}

void app_statistics(void)
{
    event_t event;
    while (event_take(&event))
        send_event(&event);
    /* A dropped event takes its number with it: the plant sees the gap. */
    statistics.sequence = (uint8_t)(statistics.sequence + events_dropped());
    sample_when_due();
    if (statistics.next < SAMPLE_MESSAGES)
        send_next();
}
