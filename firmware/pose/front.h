/* Between the values of the first line and the law: the drivers of the sensors. Included by values.c and tell.c where the
 * image has a second line (FRONT_END); without one these do nothing, and the compiler leaves them out.
 */
#ifndef FRONT_H
#define FRONT_H

#include <stdint.h>

#ifdef FRONT_END
void front_init(void);
/* Values and freshness of a control period as the law is to see them; the sensors' are what the drivers read. */
void front_end(float *measured, float *fresh, uint8_t groups, uint64_t period_ns);
void front_actuators(const float *command); /* to the second line */
void front_tell(void);                      /* what the drivers have to report */
void tell_row(unsigned row, const float *values, unsigned count);
#else
static inline void front_init(void) {}
static inline void front_end(float *measured, float *fresh, uint8_t groups, uint64_t period_ns)
{
    (void)measured;
    (void)fresh;
    (void)groups;
    (void)period_ns;
}
static inline void front_actuators(const float *command) { (void)command; }
static inline void front_tell(void) {}
#endif

#endif
