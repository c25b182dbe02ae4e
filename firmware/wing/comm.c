/* The ground's line, inwards: COMM_Rx finds user commands among the bytes, COMM_Proc hands them to the mission: the goal
 * of the flight, and what the operator commands (USER and PARAM, operator.h). */
#include "comm.h"

#include <math.h>
#include <string.h>

#include "budget.h"
#include "bytes.h"
#include "framing.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "operator.h"
#include "plan.h"
#include "port.h"
#include "wing.h"

#define FARTHEST_M 1e6f /* from the middle of the map: beyond, it is no place at all */

static struct {
    deframer_t deframer;
    counters_t counters;
    uint8_t goal[GOAL_SIZE], user[USER_SIZE]; /* the mailboxes: COMM_Rx fills them, COMM_Proc takes them */
    bool goal_full, user_full;
    bool heard;
    uint8_t number;
} comm;

void comm_init(void)
{
    memset(&comm, 0, sizeof comm);
    deframer_init(&comm.deframer, USER_SIZE > GOAL_SIZE ? USER_SIZE : GOAL_SIZE);
}

uint32_t comm_refused(void)
{
    const counters_t *counters = &comm.counters;
    return counters->bad_checksums + counters->malformed + counters->duplicates + counters->implausible;
}

/* Whether the frame is one of the ground's; the latest of a kind replaces one that was not taken yet. */
static bool deposited(size_t size, const uint8_t *data)
{
    if (size == GOAL_SIZE && data[0] == MESSAGE_GOAL) {
        memcpy(comm.goal, data, GOAL_SIZE);
        comm.goal_full = true;
    } else if (size == USER_SIZE && data[0] == MESSAGE_USER) {
        memcpy(comm.user, data, USER_SIZE);
        comm.user_full = true;
    } else {
        return false;
    }
    return true;
}

void wing_comm_rx(void)
{
    uint8_t chunk[64];
    size_t count;
    while ((count = port_read(LINE_COMM, chunk, sizeof chunk)) > 0) {
        for (size_t i = 0; i < count; i++) {
            size_t size = deframer_take(&comm.deframer, chunk[i], &comm.counters);
            if (size == 0)
                continue;
            if (deposited(size, comm.deframer.data))
                kernel_pend(TASK_COMM_PROC);
            else
                comm.counters.malformed++;
        }
    }
}

static bool within(float x_m, float y_m) { return fabsf(x_m) <= FARTHEST_M && fabsf(y_m) <= FARTHEST_M; } /* not NaN */

/* A goal that is repeated, under the number that it had, counts once. */
static void take_goal(const uint8_t *command)
{
    float x_m = get_f32(command + 2), y_m = get_f32(command + 6);
    if (comm.heard && command[1] == comm.number) {
        comm.counters.duplicates++;
    } else if (!within(x_m, y_m)) {
        comm.counters.implausible++;
    } else {
        comm.heard = true;
        comm.number = command[1];
        plan_command(x_m, y_m);
    }
}

/* One that is repeated is answered again: that is the mission's to do. */
static void take_user(const uint8_t *data)
{
    const operator_message_t message = {
        .number = data[1], .command = data[2], .parameter = data[3], .x = get_f32(data + 4), .y = get_f32(data + 8)};
    if (within(message.x, message.y))
        operator_command(&message);
    else
        comm.counters.implausible++;
}

void wing_comm_proc(void)
{
    uint8_t goal[GOAL_SIZE], user[USER_SIZE];
    uint32_t state = hal_lock();
    bool goal_full = comm.goal_full, user_full = comm.user_full;
    memcpy(goal, comm.goal, sizeof goal);
    memcpy(user, comm.user, sizeof user);
    comm.goal_full = comm.user_full = false;
    hal_unlock(state);
    if (goal_full)
        take_goal(goal);
    if (user_full)
        take_user(user);
}
