/* Values in, the law, its command out.
 *
 * Values that come while the law is at work wait in `next`; if those of two periods come meanwhile, the later ones count
 * and the command carries their number. A group that is not in a message keeps its values, and is not fresh.
 *
 * Values that are NaN or infinite are rejected with their message. A law that restarts (LAW_RESTARTS) instead holds its
 * command for that period, and goes on with a memory of zeros.
 */
#include "values.h"

#include <math.h>
#include <string.h>

#include "budget.h"
#include "bytes.h"
#include "config.h"
#include "events.h"
#include "framing.h"
#include "front.h"
#include "hal.h"
#include "handshake.h"
#include "kernel.h"
#include "law.h"
#include "port.h"

#define NS_PER_S 1e9f
#define LARGEST_SENT 3.4e38f
#define VALUES_HEAD 4u  /* message, cycle, groups */
#define COMMAND_HEAD 7u /* message, cycle, latency */
#define MEMORY_SIZE (LAW_MEMORY > 0 ? LAW_MEMORY : 1)

static const uint8_t group_sizes[GROUP_COUNT] = GROUP_SIZES;

_Static_assert(GROUP_COUNT <= 8 && GROUP_COUNT == LAW_FRESH, "the law knows every group, and a byte names them");
_Static_assert(VALUES_HEAD + 4u * LAW_MEASURED <= LONGEST_DATA, "a message holds all values");
_Static_assert(COMMAND_HEAD + 4u * LAW_COMMAND <= LONGEST_DATA, "a message holds the command");

typedef struct {
    uint16_t cycle;
    uint8_t groups; /* those that are fresh */
    bool waiting;   /* for the law */
#ifdef LAW_RESTARTS
    bool restart; /* instead: they are not finite */
#endif
    uint64_t period_ns; /* when the period began that they are of */
    float measured[LAW_MEASURED];
} values_t;

static struct {
    deframer_t deframer;
    counters_t counters;
    values_t next, current;
    bool heard, working, hang;
    uint64_t heard_ns;
    float memory[MEMORY_SIZE], memory_next[MEMORY_SIZE];
    float command[LAW_COMMAND], command_next[LAW_COMMAND];
    float told[TOLD_COUNT];
    uint16_t runs;
    uint32_t overruns;
    float worst_s;
} board;

void values_init(void)
{
    memset(&board, 0, sizeof board);
    deframer_init(&board.deframer, VALUES_HEAD + 4u * LAW_MEASURED);
    front_init();
}

void values_start(uint8_t reset_cause, uint32_t uptime_ms)
{
    uint8_t data[START_SIZE];
    put_start(data, reset_cause, uptime_ms);
    values_send(data, sizeof data, false);
}

void values_hang(void) { board.hang = true; }

bool values_idle(void) { return !board.working && !board.next.waiting && !kernel_active(TASK_RECEIVE); }

bool values_heard(void) { return board.heard; }

uint64_t values_heard_ns(void)
{
    uint32_t state = hal_lock();
    uint64_t heard_ns = board.heard_ns;
    hal_unlock(state);
    return heard_ns;
}

uint32_t values_refused(void)
{
    const counters_t *counters = &board.counters;
    return counters->bad_checksums + counters->malformed + counters->implausible;
}

const float *values_told(void) { return board.told; }

uint16_t values_runs(void) { return board.runs; }

uint32_t values_overruns(void) { return board.overruns; }

float values_worst_s(void) { return board.worst_s; }

static bool finite(const float *row, unsigned count, unsigned *bad)
{
    for (*bad = 0; *bad < count; (*bad)++)
        if (!(fabsf(row[*bad]) <= LARGEST_SENT)) /* also catches NaN */
            return false;
    return true;
}

/* The values of a message, put where they belong among those of all groups; false where it has not the size it should. */
static bool unpack(const uint8_t *data, size_t size, values_t *values)
{
    uint8_t groups = data[3];
    size_t at = VALUES_HEAD;
    unsigned place = 0;
    for (unsigned group = 0; group < GROUP_COUNT; group++) {
        unsigned count = group_sizes[group];
        if (groups & (1u << group)) {
            if (at + 4u * count > size)
                return false;
            get_floats(data + at, values->measured + place, count);
            at += 4u * count;
        }
        place += count;
    }
    values->cycle = get_u16(data + 1);
    values->groups |= groups;
    values->waiting = true;
    values->period_ns = budget_period_ns();
    return at == size && (groups >> GROUP_COUNT) == 0;
}

static void accept(const uint8_t *data, size_t size)
{
    static values_t values; /* `receive` alone reads and writes it */
    unsigned bad;
    uint32_t state = hal_lock();
    values = board.next;
    hal_unlock(state);
    if (!unpack(data, size, &values)) {
        board.counters.malformed++;
        return;
    }
    if (!finite(values.measured, LAW_MEASURED, &bad)) {
        board.counters.implausible++;
        event_say(EVENT_IMPLAUSIBLE_SENSORS, (float)bad);
#ifdef LAW_RESTARTS
        memcpy(values.measured, board.next.measured, sizeof values.measured);
        values.restart = true;
#else
        return;
#endif
    }
    if (!board.heard)
        event_say(EVENT_STARTED, (float)values.cycle);
    state = hal_lock();
    board.heard = true;
    board.heard_ns = port_now_ns();
    board.next = values;
    hal_unlock(state);
    kernel_pend(TASK_LAW); /* less urgent: it runs when all that has come is read */
}

void values_receive(void)
{
    uint8_t chunk[64];
    size_t count;
    while ((count = port_read(LINE_HILS, chunk, sizeof chunk)) > 0) {
        for (size_t i = 0; i < count; i++) {
            size_t size = deframer_take(&board.deframer, chunk[i], &board.counters);
            if (size >= VALUES_HEAD && board.deframer.data[0] == MESSAGE_VALUES)
                accept(board.deframer.data, size);
            else if (size != 0)
                board.counters.malformed++;
        }
    }
}

static bool take(float fresh[LAW_FRESH])
{
    uint32_t state = hal_lock();
    bool some = board.next.waiting;
    board.working = some;
    board.current = board.next;
    board.next.waiting = false;
    board.next.groups = 0;
#ifdef LAW_RESTARTS
    board.next.restart = false;
#endif
    hal_unlock(state);
    for (unsigned group = 0; group < GROUP_COUNT; group++)
        fresh[group] = board.current.groups & (1u << group) ? 1.0f : 0.0f;
    return some;
}

/* What is not finite is not flown: the command before stands, and the law's memory is that of before, or zero. */
static void run(const float fresh[LAW_FRESH])
{
    unsigned bad;
#ifdef LAW_RESTARTS
    if (board.current.restart) {
        memset(board.memory, 0, sizeof board.memory);
        return;
    }
#endif
    law_run(board.current.measured, fresh, board.memory, board.command_next, board.memory_next, board.told);
    if (finite(board.command_next, LAW_COMMAND, &bad) && finite(board.memory_next, LAW_MEMORY, &bad)) {
        memcpy(board.command, board.command_next, sizeof board.command);
        memcpy(board.memory, board.memory_next, sizeof board.memory);
    } else {
        event_say(EVENT_LAW_NOT_FINITE, (float)bad);
#ifdef LAW_RESTARTS
        memset(board.memory, 0, sizeof board.memory);
#endif
    }
}

static void send_command(float latency_s)
{
    uint8_t data[COMMAND_HEAD + 4u * LAW_COMMAND];
    uint8_t *at = put_u8(data, MESSAGE_COMMAND);
    at = put_u16(at, board.current.cycle);
    at = put_f32(at, latency_s);
    put_floats(at, board.command, LAW_COMMAND);
    values_send(data, sizeof data, false);
}

void values_law(void)
{
    float fresh[LAW_FRESH];
    if (!take(fresh))
        return;
    while (board.hang)
        hal_sleep(); /* the watchdog's interrupt comes, and it is the last */
    front_end(board.current.measured, fresh, board.current.groups, board.current.period_ns);
    run(fresh);
    front_actuators(board.command);
    float latency_s = (float)(port_now_ns() - board.current.period_ns) / NS_PER_S;
    send_command(latency_s);
    if (latency_s > board.worst_s)
        board.worst_s = latency_s;
    if (latency_s > (float)CONTROL_PERIOD_US * 1e-6f) {
        board.overruns++;
        event_say(EVENT_OVERRUN, latency_s);
    }
    board.runs++;
    board.working = false;
    hal_watchdog_kick(); /* a law that is slower than its period is late, not hung */
    kernel_pend(TASK_TELL); /* runs here, while the law's rows stand still */
}
