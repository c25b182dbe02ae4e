/* The task table of the application, in the order and with the priorities of interface.h. */
#include "interface.h"
#include "kernel.h"
#include "values.h"

#define ROW(name, priority, trigger) {#name, priority, 0, values_##name},
const kernel_task_t kernel_tasks[] = {TASK_TABLE(ROW)};
const unsigned kernel_task_count = TASK_COUNT;

_Static_assert(sizeof kernel_tasks / sizeof *kernel_tasks == TASK_COUNT, "the table has every task of the interface");
