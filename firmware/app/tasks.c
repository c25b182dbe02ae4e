/* The task table of the tilt-rotor application, in the order and with the priorities of interface.h. */
#include "app.h"
#include "config.h"
#include "interface.h"
#include "kernel.h"

/* A task without an entry here does not compile. */
enum {
    PERIOD_US_cycle = CONTROL_PERIOD_US,
    PERIOD_US_get_references = 0,
    PERIOD_US_get_sensors = 0,
    PERIOD_US_control = 0,
    PERIOD_US_send_actuators = 0,
    PERIOD_US_statistics = 0,
};

#define ROW(name, priority, trigger) {#name, priority, PERIOD_US_##name, app_##name},
const kernel_task_t kernel_tasks[] = {TASK_TABLE(ROW)};
const unsigned kernel_task_count = TASK_COUNT;

_Static_assert(sizeof kernel_tasks / sizeof *kernel_tasks == TASK_COUNT, "the table has every task of the interface");
_Static_assert(TASK_COUNT <= KERNEL_MOST_TASKS, "the kernel has room for every task");
