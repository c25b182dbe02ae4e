/* The task table of the fixed wing, in the order and with the priorities of the interface. */
#include "interface.h"
#include "kernel.h"
#include "wing.h"

/* The paper counts from 11, the kernel's levels from 1. */
#define FIRST_PRIORITY 11
#define ROW(name, priority, trigger) {#name, (priority) - FIRST_PRIORITY + 1, 0, wing_##name},
const kernel_task_t kernel_tasks[] = {TASK_TABLE(ROW)};
const unsigned kernel_task_count = TASK_COUNT;

_Static_assert(sizeof kernel_tasks / sizeof *kernel_tasks == TASK_COUNT, "the table has every task of the interface");
_Static_assert(TASK_COUNT <= 14, "the NVIC has a level for every task, below the watchdog's and the devices'");
