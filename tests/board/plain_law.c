/* A law in plain arithmetic: every processor rounds it alike, so that its bytes can be compared. See plain.py. */
#include "law.h"

#ifdef TIMER_IN_LAW
#include "interface.h"
#include "kernel.h"
#endif

void law_run(const float *sensors, const float *reference, const float *memory, float *command, float *memory_next)
{
    float below = reference[2] - sensors[2];
    command[0] = 10.0f + below + memory[0];
    command[1] = 10.0f + below - memory[0];
    command[2] = reference[4] - sensors[8] + (reference[3] - sensors[5]);
    command[3] = sensors[4] / (1.0f - sensors[13]); /* a yaw rate of 1 rad/s gives no number */
    command[3] = command[3] + (reference[0] - sensors[0]) + (reference[1] - sensors[1]);
    memory_next[0] = memory[0] + 0.25f * below;
#ifdef TIMER_IN_LAW
    if (sensors[15] > 100.0f)
        kernel_pend(TASK_CYCLE); /* the timer comes while the law is still at work */
#endif
}
