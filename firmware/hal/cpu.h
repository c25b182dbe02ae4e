/* What needs the processor's own instructions; a test on another machine brings its own. */
#ifndef CPU_H
#define CPU_H

void cpu_barrier(void); /* what was written to a device has arrived, and its interrupt is taken, before going on */
void cpu_paint_stack(void); /* at start: hal_stack_used looks for what is left of the paint */

#endif
