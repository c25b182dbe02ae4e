/* Sensors by class, each with two drivers: hard reads the ordinary sensor message of the first line, soft what is
 * rebuilt from the pose packets of the second.
 *
 * A read fills the same sample whichever driver it was, or returns false: nothing new. SENS_SOFT has a bit for each
 * class whose soft driver is in use. The table of classes and that of parameters are in pose_config.h, generated from
 * aeroloop.controllers.pose.driver_table and .parameters; aeroloop.controllers.pose.drivers is the same in Python, to
 * the byte.
 */
#ifndef DRIVERS_H
#define DRIVERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pose_config.h"
#include "pose_line.h"

#define DRIVER_NUMBER(name, NAME, group, offset, count, aged, soft_from, period_us) CLASS_##NAME,
enum { DRIVER_TABLE(DRIVER_NUMBER) CLASS_COUNT };
#define PARAMETER_NUMBER(name, value, low, high) PARAMETER_##name,
enum { PARAMETER_TABLE(PARAMETER_NUMBER) PARAMETER_COUNT };

enum { SAMPLE_MOST = 8, MEMORY_MOST = 16, TAKEOFF_SIZE = 8, POSE_SIZE = 15 };
enum { SOURCE_HARD, SOURCE_SOFT };
enum { SAMPLE_STALE = 1, SAMPLE_HELD = 2 }; /* no complete set for SENS_STALE_S; none since the last read */
enum { PARAMETER_SET, PARAMETER_ARMED, PARAMETER_RANGE }; /* taken; refused: armed, or out of its range */
enum { STEP_STALE = 1, STEP_BACK = 2, STEP_FAILED = 4 };  /* what a step found, when it begins */

typedef struct {
    float value[SAMPLE_MOST];
    uint32_t t_us; /* when it was measured */
    uint8_t count, source, flags, reserved;
} sample_t;

typedef struct {
    sample_t soft, hard;
    float memory[MEMORY_MOST];
    bool known, fresh_soft, fresh_hard;
    uint64_t due_us; /* of the soft driver, where its class is slower than the control period */
} class_t;

typedef struct drivers {
    pose_line_t line;
    float parameters[PARAMETER_COUNT];
    float takeoff[TAKEOFF_SIZE];
    float pose[POSE_SIZE], step_s;
    int32_t home[3];
    uint32_t random;
    bool begun, pending, stamped, stale, failed;
    uint64_t now_us, begun_us, set_us, stamp_us; /* the last of the sender's clock, where it sends its time */
    int64_t offset_us;                           /* from the sender's clock to ours */
    uint32_t refused; /* rebuilt samples that were not finite */
    class_t classes[CLASS_COUNT];
} drivers_t;

typedef struct {
    const char *name;
    void (*hard_init)(drivers_t *drivers);
    bool (*hard_read)(drivers_t *drivers, sample_t *sample);
    void (*soft_init)(drivers_t *drivers);
    bool (*soft_read)(drivers_t *drivers, sample_t *sample);
} driver_t;

extern const driver_t driver_table[];

void drivers_init(drivers_t *drivers);

/* A control period, in this order: its time; bytes of the second line; values of the first, with a bit for each group
   that is new; whether the line is stale; the classes rebuilt, where a set has come; reads. */
void drivers_time(drivers_t *drivers, uint64_t now_us);
void drivers_line(drivers_t *drivers, const uint8_t *bytes, size_t count);
void drivers_values(drivers_t *drivers, const float *measured, uint8_t groups);
unsigned drivers_step(drivers_t *drivers, bool armed); /* STEP_* */
bool drivers_begin(drivers_t *drivers); /* true when a set has come that is to be rebuilt */
void drivers_rebuild(drivers_t *drivers, unsigned class);
bool drivers_read(drivers_t *drivers, unsigned class, unsigned source, sample_t *sample);

unsigned drivers_source(const drivers_t *drivers, unsigned class); /* which is in use */
float drivers_age_s(const drivers_t *drivers);                     /* since the last complete set */
bool drivers_stop(const drivers_t *drivers); /* an inertial sensor in use is lost: rotors stop until disarmed */
unsigned drivers_set(drivers_t *drivers, unsigned parameter, float value, bool armed); /* PARAMETER_SET, ... */

/* Commands, 0 to 1, as type 4: pulses in us, or rotor speeds in rpm. */
size_t drivers_motors(const float command[4], uint8_t frame[POSE_MOTORS_FRAME]);

#endif
