/* Interface of a port for the current control period. One of two is linked:
 *
 *   budget.c       lockstep: each step packet grants one control period of processor time. Time is where the period began
 *                  and what was spent of it; a period whose work is over early ends early, so that idle time is skipped
 *                  and not slept
 *   budget_uart.c  a serial line: a period begins with its sensors and takes the time that it takes
 */
#ifndef BUDGET_H
#define BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LINE_HILS, LINE_COMM, LINE_COUNT };

/* Whole frames; false when there is no room and the frame is lost. */
bool budget_send(unsigned line, const uint8_t *frame, size_t count);

uint64_t budget_period_ns(void);   /* when the period under way began */
uint32_t budget_spent_ticks(void); /* of it; more than it holds only while its end cannot be told */
uint32_t budget_left_ticks(void);

/* Of the application: it begins, and bytes have come on a line (called above all tasks). */
void budget_begun(uint8_t reset_cause);
void budget_received(unsigned line);
void budget_hang(void); /* fault injection: a routine task never ends */
uint32_t budget_refused(void); /* frames that it did not take */
bool budget_sound(void);       /* what must be done in every period is done: the watchdog need not bite */
bool budget_heard(void);       /* sensors have come since the start */
void budget_greet(uint8_t reset_cause, uint32_t uptime_ms); /* the start message; where it can be lost, again and again */

/* Of the scheduler: starts it, does in thread mode what there is to do, and says whether more has come meanwhile. */
void scheduler_start(void);
void scheduler_work(void);
bool scheduler_idle(void);

#endif
