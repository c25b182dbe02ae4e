"""What the navigation filter believes of its sensors, and when it stops believing them."""

from __future__ import annotations

from typing import Annotated

from aeroloop.core.config import Config, meta
from aeroloop.core.frames import GRAVITY_M_S2


class NavigationConfig(Config, frozen=True):
    """Navigation filter. The defaults suit the sensor presets `thesis`, `px4` and `consumer`."""

    gyro_noise: Annotated[float, meta("rad/s/sqrt(Hz)", "white noise of the gyroscope", gt=0, le=1)] = 6e-4
    accel_noise: Annotated[float, meta("m/s2/sqrt(Hz)", "white noise of the accelerometer", gt=0, le=10)] = 6e-3
    gyro_bias_walk: Annotated[float, meta("rad/s/sqrt(s)", "wandering of the gyroscope's bias", gt=0, le=1)] = 5e-5
    accel_bias_walk: Annotated[float, meta("m/s2/sqrt(s)", "of the accelerometer's bias", gt=0, le=1)] = 1e-3
    baro_walk: Annotated[float, meta("m/sqrt(s)", "of the barometer's offset: weather, warming up", gt=0, le=10)] = 0.02
    accel_bias_std: Annotated[float, meta("m/s2", "accelerometer's bias at the start", gt=0, le=5)] = 0.1
    gravity_m_s2: Annotated[
        float, meta("m/s2", "gravity; what it is off by goes into the accelerometer's bias", gt=9.7, lt=9.9)
    ] = GRAVITY_M_S2

    gnss_vel_std_m_s: Annotated[float, meta("m/s", "noise of a fix's velocity", gt=0, le=10)] = 0.1
    gnss_eph_floor_m: Annotated[float, meta("m", "least horizontal noise believed of a fix", gt=0, le=100)] = 0.2
    gnss_epv_floor_m: Annotated[float, meta("m", "least vertical noise believed of a fix", gt=0, le=100)] = 0.3
    gnss_eph_max_m: Annotated[float, meta("m", "a fix with a worse horizontal accuracy is no fix", gt=0)] = 10.0
    gnss_epv_max_m: Annotated[float, meta("m", "a fix with a worse vertical accuracy is no fix", gt=0)] = 15.0
    baro_std_m: Annotated[float, meta("m", "noise of the barometer's altitude", gt=0, le=100)] = 0.2
    heading_std_rad: Annotated[
        float,
        meta("rad", "noise of the magnetometer's heading; motors bend it for long, so more than it jitters", gt=0),
    ] = 0.2
    field_tolerance: Annotated[
        float, meta("-", "a field whose strength is off by more than this part is not the earth's", gt=0, le=10)
    ] = 0.3
    unaided_vel_std_m_s: Annotated[
        float, meta("m/s", "how fast it may go where no fix says: keeps the attitude upright without fixes", gt=0)
    ] = 5.0

    gate: Annotated[float, meta("-", "a surprise of more standard deviations is refused", gt=0)] = 5.0
    heading_gate: Annotated[float, meta("-", "the same for the magnetometer's heading", gt=0)] = 1.5
    gnss_reset_s: Annotated[float, meta("s", "fixes refused for so long are believed after all", gt=0)] = 3.0
    baro_reset_s: Annotated[float, meta("s", "the same for the barometer", gt=0)] = 5.0
    heading_reset_s: Annotated[
        float, meta("s", "the same for the magnetometer, unless velocities of fixes bear our heading out", gt=0)
    ] = 20.0

    dead_reckoning_s: Annotated[float, meta("s", "for so long the position is good without a fix", gt=0)] = 5.0
    pos_std_max_m: Annotated[float, meta("m", "a position less sure than this is not good", gt=0)] = 15.0
    height_std_max_m: Annotated[float, meta("m", "a height less sure than this is not good", gt=0)] = 15.0
    height_lost_s: Annotated[float, meta("s", "so long the height is good with no barometer and no fix", gt=0)] = 2.0
    tilt_std_max_rad: Annotated[float, meta("rad", "an attitude less sure than this is not good", gt=0)] = 0.2
    yaw_std_max_rad: Annotated[float, meta("rad", "with a heading less sure no position is good", gt=0)] = 0.5

    align_s: Annotated[float, meta("s", "standstill needed to begin", ge=0.1, le=60)] = 1.0
    still_rate_rad_s: Annotated[float, meta("rad/s", "mean rate that may still be the gyroscope's bias", gt=0)] = 0.1
    still_rate_std_rad_s: Annotated[float, meta("rad/s", "jitter of the rate at standstill", gt=0)] = 0.05
    still_accel_m_s2: Annotated[float, meta("m/s2", "mean specific force off gravity at standstill", gt=0)] = 0.7
    still_accel_std_m_s2: Annotated[float, meta("m/s2", "jitter of the specific force at standstill", gt=0)] = 0.5

    covariance_period_s: Annotated[float, meta("s", "how often the covariance is moved on", gt=0, le=0.1)] = 0.01
    history_s: Annotated[float, meta("s", "the latest fix that can be used", gt=0, le=5)] = 0.5
    gap_s: Annotated[float, meta("s", "a longer wait for the IMU is a gap: bridged with less trust", gt=0, le=1)] = 0.05
    gap_max_s: Annotated[float, meta("s", "over a longer gap nothing is bridged: position is lost", gt=0, le=5)] = 0.5
    gap_rate_rad_s: Annotated[float, meta("rad/s", "how it may have turned unseen in a gap", gt=0)] = 0.5
    gap_accel_m_s2: Annotated[float, meta("m/s2", "how it may have been pushed unseen in a gap", gt=0)] = 3.0
