/* Between PX4's messages and the law's rows: pure functions.
 *
 * PX4 has a world of north, east, down and a body of forward, right, down; the law has east, north, up and forward,
 * left, up. Rows: nav = position, velocity, quaternion (w, x, y, z), body rates; setpoint = position, velocity,
 * acceleration, yaw, roll, pitch, thrust share, hold_xy, hold_z, yaw rate.
 */
#pragma once

#include <uORB/topics/manual_control_setpoint.h>
#include <uORB/topics/trajectory_setpoint.h>
#include <uORB/topics/vehicle_angular_velocity.h>
#include <uORB/topics/vehicle_attitude.h>
#include <uORB/topics/vehicle_local_position.h>

namespace aeroloop
{

static constexpr int kNav = 13;
static constexpr int kSetpoint = 16;

/* The state. A part of the estimate that is not valid is 0; velocity_jump_NED is added to the velocity. */
void nav_row(const vehicle_local_position_s &estimate, const vehicle_attitude_s &attitude,
             const vehicle_angular_velocity_s &rates, const float velocity_jump_NED[3], float nav[kNav]);

/* Heading of the law's world: 0 to the east, counter-clockwise. */
float yaw_of(const float nav[kNav]);

/* The setpoint of a trajectory, each value of which may be NaN: without a position the velocity leads, without both the
 * acceleration, without all three the axis stands still; without a yaw the last one is kept, and turned by its rate.
 * False if it needs a part of the estimate that is not valid. */
bool trajectory_row(const trajectory_setpoint_s &wanted, const vehicle_local_position_s &estimate,
                    const float nav[kNav], float period_s, float &yaw, float setpoint[kSetpoint]);

/* Stand still and sink: what is flown when no setpoint arrives any more. */
trajectory_setpoint_s sinking();

/* Roll, pitch, thrust and yaw rate of the sticks; with the throttle in its middle the thrust is that of hover. */
void stick_row(const manual_control_setpoint_s &sticks, float hover_share, float period_s, float &yaw,
               float setpoint[kSetpoint]);

bool all_finite(const float *values, int count);

} // namespace aeroloop
