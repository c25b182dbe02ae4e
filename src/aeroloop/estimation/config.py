"""Navigation filter settings: sensor noise, gates, and validity limits."""

from __future__ import annotations

from typing import Annotated

from aeroloop.core.config import Config, meta
from aeroloop.core.frames import GRAVITY_M_S2


class NavigationConfig(Config, frozen=True):
    """Navigation filter. The defaults suit the sensor presets `thesis`, `px4` and `consumer`."""

    gyro_noise: Annotated[float, meta("rad/s/sqrt(Hz)", "white noise of the gyroscope", gt=0, le=1)] = 6e-4
    accel_noise: Annotated[float, meta("m/s2/sqrt(Hz)", "white noise of the accelerometer", gt=0, le=10)] = 6e-3
    gyro_bias_walk: Annotated[float, meta("rad/s/sqrt(s)", "random walk of the gyroscope's bias", gt=0, le=1)] = 5e-5
    accel_bias_walk: Annotated[float, meta("m/s2/sqrt(s)", "random walk of the accelerometer's bias", gt=0, le=1)] = (
        1e-3
    )
    baro_walk: Annotated[
        float, meta("m/sqrt(s)", "random walk of the barometer's offset (weather, temperature)", gt=0, le=10)
    ] = 0.02
    accel_bias_std: Annotated[
        float, meta("m/s2", "standard deviation of the accelerometer's bias at the start", gt=0, le=5)
    ] = 0.1
    gravity_m_s2: Annotated[
        float, meta("m/s2", "gravity; its error adds to the accelerometer's bias", gt=9.7, lt=9.9)
    ] = GRAVITY_M_S2

    gnss_vel_std_m_s: Annotated[float, meta("m/s", "noise of a fix's velocity", gt=0, le=10)] = 0.1
    gnss_eph_floor_m: Annotated[float, meta("m", "minimum horizontal noise assumed for a fix", gt=0, le=100)] = 0.2
    gnss_epv_floor_m: Annotated[float, meta("m", "minimum vertical noise assumed for a fix", gt=0, le=100)] = 0.3
    gnss_eph_max_m: Annotated[float, meta("m", "worst horizontal accuracy of a valid fix", gt=0)] = 10.0
    gnss_epv_max_m: Annotated[float, meta("m", "worst vertical accuracy of a valid fix", gt=0)] = 15.0
    baro_std_m: Annotated[float, meta("m", "noise of the barometer's altitude", gt=0, le=100)] = 0.2
    heading_std_rad: Annotated[
        float,
        meta("rad", "noise of the magnetometer's heading; above its jitter, since motors disturb it for long", gt=0),
    ] = 0.2
    field_tolerance: Annotated[float, meta("-", "maximum relative error of the field strength", gt=0, le=10)] = 0.3
    unaided_vel_std_m_s: Annotated[
        float, meta("m/s", "standard deviation of the speed without fixes; keeps the attitude level", gt=0)
    ] = 5.0

    gate: Annotated[float, meta("-", "innovation gate in standard deviations", gt=0)] = 5.0
    heading_gate: Annotated[float, meta("-", "innovation gate of the magnetometer's heading", gt=0)] = 1.5
    gnss_reset_s: Annotated[float, meta("s", "fixes rejected for this long are accepted", gt=0)] = 3.0
    baro_reset_s: Annotated[float, meta("s", "barometer samples rejected for this long are accepted", gt=0)] = 5.0
    heading_reset_s: Annotated[
        float, meta("s", "the same for the magnetometer, unless velocities of fixes confirm the heading", gt=0)
    ] = 20.0

    dead_reckoning_s: Annotated[float, meta("s", "time without a fix for which the position stays valid", gt=0)] = 5.0
    pos_std_max_m: Annotated[float, meta("m", "largest standard deviation of a valid position", gt=0)] = 15.0
    height_std_max_m: Annotated[float, meta("m", "largest standard deviation of a valid height", gt=0)] = 15.0
    height_lost_s: Annotated[
        float, meta("s", "time without barometer and fix for which the height stays valid", gt=0)
    ] = 2.0
    tilt_std_max_rad: Annotated[float, meta("rad", "largest standard deviation of a valid attitude", gt=0)] = 0.2
    yaw_std_max_rad: Annotated[
        float, meta("rad", "largest standard deviation of the heading for a valid position", gt=0)
    ] = 0.5

    align_s: Annotated[float, meta("s", "standstill needed for alignment", ge=0.1, le=60)] = 1.0
    still_rate_rad_s: Annotated[float, meta("rad/s", "largest mean rate taken as the gyroscope's bias", gt=0)] = 0.1
    still_rate_std_rad_s: Annotated[
        float, meta("rad/s", "maximum standard deviation of the rate at standstill", gt=0)
    ] = 0.05
    still_accel_m_s2: Annotated[
        float, meta("m/s2", "maximum difference of the mean specific force from gravity at standstill", gt=0)
    ] = 0.7
    still_accel_std_m_s2: Annotated[
        float, meta("m/s2", "maximum standard deviation of the specific force at standstill", gt=0)
    ] = 0.5

    covariance_period_s: Annotated[float, meta("s", "period of the covariance propagation", gt=0, le=0.1)] = 0.01
    history_s: Annotated[float, meta("s", "maximum latency of a fix", gt=0, le=5)] = 0.5
    gap_s: Annotated[float, meta("s", "a longer wait for the IMU is a gap: bridged with more variance", gt=0, le=1)] = (
        0.05
    )
    gap_max_s: Annotated[
        float, meta("s", "longest gap that is bridged; after a longer one the position is lost", gt=0, le=5)
    ] = 0.5
    gap_rate_rad_s: Annotated[float, meta("rad/s", "unmeasured rotation rate assumed in a gap", gt=0)] = 0.5
    gap_accel_m_s2: Annotated[float, meta("m/s2", "unmeasured acceleration assumed in a gap", gt=0)] = 3.0
