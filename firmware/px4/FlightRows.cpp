#include "FlightRows.hpp"

#include <math.h>
#include <string.h>

#include <px4_platform_common/defines.h>

namespace aeroloop
{

namespace
{
constexpr int kAxis[3] = {1, 0, 2}; /* of NED, for each axis of ENU */
constexpr float kSign[3] = {1.f, 1.f, -1.f};
constexpr float kHalfRoot = 0.707106781f;
constexpr float kPi = 3.14159265f;
constexpr float kSink_m_s = 0.7f;
constexpr float kStickTilt_rad = 0.6f;
constexpr float kStickYaw_rad_s = 2.f;

float wrapped(float angle)
{
    if (angle > kPi) { return angle - 2.f * kPi; }

    return angle < -kPi ? angle + 2.f * kPi : angle;
}

float or_zero(float value) { return PX4_ISFINITE(value) ? value : 0.f; }
} // namespace

void nav_row(const vehicle_local_position_s &estimate, const vehicle_attitude_s &attitude,
             const vehicle_angular_velocity_s &rates, const float velocity_jump_NED[3], float nav[kNav])
{
    const float position[3] = {estimate.x, estimate.y, estimate.z};
    const float velocity[3] = {estimate.vx, estimate.vy, estimate.vz};

    for (int i = 0; i < 3; i++) {
        const int ned = kAxis[i];
        const float jump = velocity_jump_NED[ned];
        const bool position_valid = i < 2 ? estimate.xy_valid : estimate.z_valid;
        const bool velocity_valid = i < 2 ? estimate.v_xy_valid : estimate.v_z_valid;
        const float speed = fabsf(jump) > 0.f ? velocity[ned] + jump : velocity[ned];
        nav[i] = position_valid ? kSign[i] * position[ned] : 0.f;
        nav[3 + i] = velocity_valid ? kSign[i] * speed : 0.f;
    }

    const float *q = attitude.q;
    nav[6] = kHalfRoot * (q[0] + q[3]);
    nav[7] = kHalfRoot * (q[1] + q[2]);
    nav[8] = kHalfRoot * (q[1] - q[2]);
    nav[9] = kHalfRoot * (q[0] - q[3]);
    nav[10] = rates.xyz[0];
    nav[11] = -rates.xyz[1];
    nav[12] = -rates.xyz[2];
}

float yaw_of(const float nav[kNav])
{
    const float w = nav[6], x = nav[7], y = nav[8], z = nav[9];
    return atan2f(2.f * (w * z + x * y), 1.f - 2.f * (y * y + z * z));
}

bool trajectory_row(const trajectory_setpoint_s &wanted, const vehicle_local_position_s &estimate,
                    const float nav[kNav], float period_s, float &yaw, float setpoint[kSetpoint])
{
    bool known = true;
    memset(setpoint, 0, sizeof(float) * kSetpoint);

    for (int i = 0; i < 3; i++) {
        const int ned = kAxis[i];
        const float position = wanted.position[ned], velocity = wanted.velocity[ned];
        const float acceleration = wanted.acceleration[ned];
        const bool position_valid = i < 2 ? estimate.xy_valid : estimate.z_valid;
        const bool velocity_valid = i < 2 ? estimate.v_xy_valid : estimate.v_z_valid;
        const bool placed = PX4_ISFINITE(position), moved = PX4_ISFINITE(velocity);
        const bool pushed = PX4_ISFINITE(acceleration) && !placed && !moved;
        setpoint[i] = placed ? kSign[i] * position : nav[i];
        setpoint[3 + i] = pushed ? nav[3 + i] : kSign[i] * or_zero(velocity);
        setpoint[6 + i] = kSign[i] * or_zero(acceleration);
        known = known && (position_valid || !placed) && (velocity_valid || pushed);
    }

    const float turning = -or_zero(wanted.yawspeed);
    yaw = PX4_ISFINITE(wanted.yaw) ? kPi / 2.f - wanted.yaw : wrapped(yaw + turning * period_s);
    setpoint[9] = yaw;
    setpoint[13] = setpoint[14] = 1.f;
    setpoint[15] = turning;
    return known;
}

trajectory_setpoint_s sinking()
{
    trajectory_setpoint_s still{};

    for (int i = 0; i < 3; i++) { still.position[i] = still.acceleration[i] = NAN; }

    still.velocity[2] = kSink_m_s;
    still.yaw = still.yawspeed = NAN;
    return still;
}

void stick_row(const manual_control_setpoint_s &sticks, float hover_share, float period_s, float &yaw,
               float setpoint[kSetpoint])
{
    const float turning = -kStickYaw_rad_s * or_zero(sticks.yaw);
    const float above = PX4_ISFINITE(sticks.throttle) ? sticks.throttle : -1.f;
    yaw = wrapped(yaw + turning * period_s);
    memset(setpoint, 0, sizeof(float) * kSetpoint);
    setpoint[9] = yaw;
    setpoint[10] = kStickTilt_rad * or_zero(sticks.roll);
    setpoint[11] = kStickTilt_rad * or_zero(sticks.pitch);
    setpoint[12] = hover_share + above * (above > 0.f ? 1.f - hover_share : hover_share);
    setpoint[15] = turning;
}

bool all_finite(const float *values, int count)
{
    for (int i = 0; i < count; i++) {
        if (!PX4_ISFINITE(values[i])) { return false; }
    }

    return true;
}

} // namespace aeroloop
