/* The application of any control law: values in, a numbered command out, once a control period.
 *
 *   receive ─▶ law ─▶ tell
 *
 * The plant drives: its values wake `receive`, which wakes `law`; the command leaves in `law`, which then wakes `tell` for
 * what the board says of itself. `tell` is the more urgent of the two, so that a board whose law takes all of its time
 * still says so; it only runs when the law has nothing at hand. Each function below is the body of one task of the table
 * in tasks.c.
 */
#ifndef VALUES_H
#define VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void values_init(void);
void values_receive(void);
void values_law(void);
void values_tell(void);

void values_start(uint8_t reset_cause, uint32_t uptime_ms); /* sends the start message */
void values_hang(void); /* fault injection, emulator only: the next run of the law never ends */
bool values_idle(void); /* what has come is answered */
bool values_heard(void); /* the plant has sent values */
uint64_t values_heard_ns(void); /* when it last did */
uint32_t values_refused(void); /* frames that were no good */

/* Of the law's last run, for `tell`. */
const float *values_told(void);
uint16_t values_runs(void); /* runs so far, modulo 65536 */
uint32_t values_overruns(void);
float values_worst_s(void); /* longest time from values to command */

void tell_init(void);
void values_send(const uint8_t *data, size_t count, bool telemetry);

#endif
