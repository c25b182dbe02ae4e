/* The routine tasks between sensors and servos: attitude, navigation, inner loops; each is a generated function.
 *
 * HILS_Rx starts them one after the other and nothing restarts them before HILS_Tx, so they share without a lock. What
 * less urgent tasks read of them, they read whole: a run of CNTR is over before any of those goes on.
 */
#include <math.h>
#include <string.h>

#include "config.h"
#include "events.h"
#include "follow.h"
#include "hal.h"
#include "interface.h"
#include "kernel.h"
#include "operator.h"
#include "place.h"
#include "wing.h"

#define LARGEST_SENT 3.4e38f

static const float trim_command[CNTR_COMMAND] = TRIM_COMMAND;
static const float azimuth[1] = {FIELD_AZIMUTH_RAD};

static struct {
    bool ready;
    volatile bool hang;
    float attitude[ESTI_ATTI_STATE], navigation[ESTI_NAV_STATE], memory[CNTR_MEMORY];
    float estimate[ESTI_NAV_ESTIMATE];
    float command[CNTR_COMMAND];
} fly;

void fly_init(void)
{
    memset(&fly, 0, sizeof fly);
    memcpy(fly.command, trim_command, sizeof fly.command);
}

void fly_hang(void) { fly.hang = true; }

bool fly_ready(void) { return fly.ready; }

const float *fly_estimate(void) { return fly.estimate; }

const float *fly_command(void) { return fly.command; }

/* Height at which the standard atmosphere has this pressure, as aeroloop.estimation.wing. */
static float pressure_height_m(float static_Pa)
{
    return 288.15f / 0.0065f * (1.0f - powf(static_Pa / 101325.0f, PRESSURE_EXPONENT));
}

/* In the air and flying straight ahead, from one fix and one pressure: the nose points where the aircraft goes, and
   above that by the trim's angle of attack. */
static void begin(const sensors_t *sensors)
{
    float pos_W[3];
    place_local(sensors->lat_1e7, sensors->lon_1e7, sensors->alt_mm, pos_W);
    float course = atan2f(sensors->vel_W[1], sensors->vel_W[0]);
    float speed = sqrtf(sensors->vel_W[0] * sensors->vel_W[0] + sensors->vel_W[1] * sensors->vel_W[1]);
    float c = cosf(course / 2.0f), s = sinf(course / 2.0f), pitch = -TRIM_ALPHA_RAD; /* positive is nose down */
    fly.attitude[0] = cosf(pitch / 2.0f) * c;
    fly.attitude[1] = -sinf(pitch / 2.0f) * s;
    fly.attitude[2] = sinf(pitch / 2.0f) * c;
    fly.attitude[3] = cosf(pitch / 2.0f) * s;
    memcpy(fly.navigation, pos_W, sizeof pos_W);
    memcpy(fly.navigation + 3, sensors->vel_W, sizeof sensors->vel_W);
    fly.navigation[12] = pos_W[2] - pressure_height_m(sensors->pressures[0]);
    fly.navigation[15] = speed;
    fly.ready = true;
}

void wing_esti_atti(void)
{
    const sensors_t *sensors = hils_sensors();
    if (!fly.ready && sensors->fix)
        begin(sensors);
    if (fly.ready)
        esti_atti_run(fly.attitude, fly.navigation, sensors->gyro_B, sensors->accel_B, sensors->field_B, azimuth,
                      fly.attitude);
    kernel_pend(TASK_ESTI_NAV);
}

void wing_esti_nav(void)
{
    const sensors_t *sensors = hils_sensors();
    float fix[7] = {sensors->fix ? 1.0f : 0.0f};
    place_local(sensors->lat_1e7, sensors->lon_1e7, sensors->alt_mm, fix + 1);
    memcpy(fix + 4, sensors->vel_W, sizeof sensors->vel_W);
    if (fly.ready)
        esti_nav_run(fly.navigation, fly.attitude, sensors->accel_B, sensors->pressures, fix, fly.estimate,
                     fly.navigation);
    kernel_pend(TASK_CNTR);
}

static void check_command(void)
{
    for (unsigned i = 0; i < CNTR_COMMAND; i++) {
        if (!(fabsf(fly.command[i]) <= LARGEST_SENT)) { /* also catches NaN */
            event_say(EVENT_LAW_NOT_FINITE, (float)i);
            memcpy(fly.command, trim_command, sizeof fly.command);
            memset(fly.memory, 0, sizeof fly.memory);
            return;
        }
    }
}

void wing_cntr(void)
{
    while (fly.hang)
        hal_sleep();
    if (fly.ready) {
        const float wanted[] = {
            [WANTED_ROLL] = follow_roll_command(),
            [WANTED_HEIGHT] = operator_value(BOARD_PARAMETER_HEIGHT),
            [WANTED_AIRSPEED] = operator_value(BOARD_PARAMETER_AIRSPEED)};
        cntr_run(fly.estimate, wanted, fly.memory, fly.command, fly.memory);
        check_command();
    }
    kernel_pend(TASK_PFOL);
    kernel_pend(TASK_HILS_TX);
}
