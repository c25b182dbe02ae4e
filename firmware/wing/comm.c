/* The ground's line, inwards: COMM_Rx finds a user command among the bytes, COMM_Proc hands it to the mission. */
#include "comm.h"

#include <math.h>
#include <string.h>

#include "budget.h"
#include "bytes.h"
#include "framing.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "plan.h"
#include "port.h"
#include "wing.h"

#define FARTHEST_M 1e6f /* from the middle of the map: beyond, it is no place at all */

static struct {
    deframer_t deframer;
    counters_t counters;
    uint8_t command[GOAL_SIZE]; /* the mailbox: COMM_Rx fills it, COMM_Proc takes it */
    bool heard;
    uint8_t number;
} comm;

void comm_init(void)
{
    memset(&comm, 0, sizeof comm);
    deframer_init(&comm.deframer, GOAL_SIZE);
}

uint32_t comm_refused(void)
{
    const counters_t *counters = &comm.counters;
    return counters->bad_checksums + counters->malformed + counters->duplicates + counters->implausible;
}

void wing_comm_rx(void)
{
    uint8_t chunk[64];
    size_t count;
    while ((count = port_read(LINE_COMM, chunk, sizeof chunk)) > 0) {
        for (size_t i = 0; i < count; i++) {
            size_t size = deframer_take(&comm.deframer, chunk[i], &comm.counters);
            if (size == GOAL_SIZE && comm.deframer.data[0] == MESSAGE_GOAL) {
                memcpy(comm.command, comm.deframer.data, GOAL_SIZE);
                kernel_pend(TASK_COMM_PROC);
            } else if (size != 0) {
                comm.counters.malformed++;
            }
        }
    }
}

/* A goal that is repeated, under the number that it had, counts once. */
void wing_comm_proc(void)
{
    uint8_t command[GOAL_SIZE];
    uint32_t state = hal_lock();
    memcpy(command, comm.command, GOAL_SIZE);
    hal_unlock(state);
    float x_m = get_f32(command + 2), y_m = get_f32(command + 6);
    if (comm.heard && command[1] == comm.number) {
        comm.counters.duplicates++;
    } else if (!(fabsf(x_m) <= FARTHEST_M && fabsf(y_m) <= FARTHEST_M)) { /* also catches NaN */
        comm.counters.implausible++;
    } else {
        comm.heard = true;
        comm.number = command[1];
        plan_command(x_m, y_m);
    }
}
