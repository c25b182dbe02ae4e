"""Gyroscope and accelerometer.

The gyroscope measures the rate relative to inertial space: where the earth's rotation is simulated, that of the body
relative to the earth plus the earth's.

The accelerometer measures specific force, f = R_BW (a - g): +g upwards at rest, zero in free fall. Away from the centre
of mass, at `lever_B`, it also measures the rotation: alpha x r + w x (w x r), where alpha is the change of the body
rate since the last sample.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, new_tuple
from aeroloop.sensors.imu_history import cross
from aeroloop.sensors.low_pass import LowPass
from aeroloop.sensors.noise import Channel, Errors, Streams
from aeroloop.sensors.scene import Mat3, Scene, times
from aeroloop.sensors.schedule import Sensor
from aeroloop.sensors.thermal import Thermal
from aeroloop.sensors.vibration import Vibration

ZERO = (0.0, 0.0, 0.0)
NONE: Mat3 = (ZERO, ZERO, ZERO)


MOST_SCALE_ERROR = 1000.0
MOST_PER_K = 10.0
MOST_PER_M_S2 = 10.0


class ImuSample(NamedTuple):
    t_ns: int  # taken
    ready_ns: int  # delivered
    rate_B: Vec3  # rad/s
    accel_B: Vec3  # m/s2, specific force


class Triad(Config, frozen=True):
    """Three axes with errors of scale and alignment."""

    errors: Annotated[Errors, note("noise, quantisation and range")] = Errors()
    scale_error: Annotated[Vec3, meta("-", "relative error of the scale of each axis")] = ZERO
    misalignment_rad: Annotated[Vec3, meta("rad", "rotation vector from body to sensor axes")] = ZERO
    temperature_offset: Annotated[Vec3, meta("of the channel per K", "change of the offset; needs `thermal`")] = ZERO
    temperature_scale: Annotated[Vec3, meta("1/K", "relative change of the scale; needs `thermal`")] = ZERO

    def __post_init__(self) -> None:
        if not math.hypot(*self.misalignment_rad) <= math.tau:
            raise ValueError(f"misalignment_rad: expected at most a turn, not {self.misalignment_rad}")
        if not max(map(abs, self.scale_error)) <= MOST_SCALE_ERROR:
            raise ValueError(f"scale_error: expected at most {MOST_SCALE_ERROR:g}, not {self.scale_error}")
        for key in ("temperature_offset", "temperature_scale"):
            if not max(map(abs, getattr(self, key))) <= MOST_PER_K:
                raise ValueError(f"{key}: expected at most {MOST_PER_K:g}, not {getattr(self, key)}")

    @property
    def depends_on_temperature(self) -> bool:
        return self.temperature_offset != ZERO or self.temperature_scale != ZERO

    def response(self) -> Mat3 | None:
        """Measured over true, or None if there is no error: diag(1 + scale) R_SB."""
        if self.scale_error == ZERO and self.misalignment_rad == ZERO:
            return None
        x, y, z = self.misalignment_rad
        angle = math.hypot(x, y, z)
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        sine, cosine = (math.sin(angle) / angle, (1 - math.cos(angle)) / angle**2) if angle > 1e-6 else (1.0, 0.5)
        R_BS = np.eye(3) + sine * cross + cosine * cross @ cross
        a, b, c = (np.diag(np.add(self.scale_error, 1.0)) @ R_BS.T).tolist()
        return (a[0], a[1], a[2]), (b[0], b[1], b[2]), (c[0], c[1], c[2])


class ImuConfig(Sensor, frozen=True):
    """Gyroscope and accelerometer."""

    gyro: Annotated[Triad, note("body rate, rad/s")] = Triad()
    accel: Annotated[Triad, note("specific force, m/s2")] = Triad()
    lever_B: Annotated[Vec3, meta("m", "from the centre of mass to the sensor")] = ZERO
    average: Annotated[
        bool, note("means over the sample period, in place of the force's over the world step and the present rate")
    ] = False
    low_pass: Annotated[LowPass | None, note("low-pass filters; left out: none")] = None
    vibration: Annotated[Vibration | None, note("vibration by the rotors; left out: none")] = None
    thermal: Annotated[Thermal | None, note("temperature of the sensor; left out: that of its calibration")] = None
    g_sensitivity: Annotated[
        Mat3, meta("rad/s per m/s2", "rate that the gyroscope measures of specific force, by rows")
    ] = NONE
    count_clipped: Annotated[bool, note("count samples at the limit of `range`: metric `imu_clipped_samples`")] = False

    def __post_init__(self) -> None:
        if not max(abs(value) for row in self.g_sensitivity for value in row) <= MOST_PER_M_S2:
            raise ValueError(f"g_sensitivity: expected at most {MOST_PER_M_S2:g}, not {self.g_sensitivity}")
        for name, triad in (("gyro", self.gyro), ("accel", self.accel)):
            if self.thermal is None and triad.depends_on_temperature:
                raise ValueError(f"{name}: errors that depend on temperature need the table thermal, with its time_s")
        if self.count_clipped and self.gyro.errors.range is None and self.accel.errors.range is None:
            raise ValueError("count_clipped: expected a range of gyro.errors or accel.errors")

    @property
    def is_detailed(self) -> bool:
        """Whether `sensors.detailed_imu` measures."""
        tables = (self.low_pass, self.vibration, self.thermal)
        return self.average or any(table is not None for table in tables) or self.g_sensitivity != NONE


class Imu:
    def __init__(self, config: ImuConfig, streams: Streams) -> None:
        period_s = config.period_s
        self._delay_ns = round(config.delay_s * NS)
        self._gyro = Channel(config.gyro.errors, period_s, 3, streams.child("gyro"))
        self._accel = Channel(config.accel.errors, period_s, 3, streams.child("accel"))
        self.channels = {"gyro": self._gyro, "accel": self._accel}
        self._gyro_response, self._accel_response = config.gyro.response(), config.accel.response()
        self._lever_B = config.lever_B if config.lever_B != ZERO else None
        self.turn_W: Vec3 | None = None  # rate of the earth's rotation, which gyroscopes measure too
        self._last: tuple[int, Vec3] | None = None

    def measure(self, scene: Scene, steps: int) -> ImuSample:
        t_ns, _, _, _, rate_B, _ = scene.state
        fx, fy, fz = scene.force_B
        if self._lever_B is not None:
            lx, ly, lz = self._of_rotation(t_ns, rate_B, self._lever_B)
            fx, fy, fz = fx + lx, fy + ly, fz + lz
        p, q, r = rate_B
        if self.turn_W is not None:
            ep, eq, er = times(scene.R_BW, *self.turn_W)
            p, q, r = p + ep, q + eq, r + er
        if self._gyro_response is not None:
            p, q, r = times(self._gyro_response, p, q, r)
        if self._accel_response is not None:
            fx, fy, fz = times(self._accel_response, fx, fy, fz)
        rate_B, accel_B = self._gyro.measure3(p, q, r, steps), self._accel.measure3(fx, fy, fz, steps)
        return new_tuple(ImuSample, (t_ns, t_ns + self._delay_ns, rate_B, accel_B))

    def _of_rotation(self, t_ns: int, rate_B: Vec3, lever_B: Vec3) -> Vec3:
        alpha_B = ZERO
        if self._last is not None and t_ns > self._last[0]:
            dt_s = (t_ns - self._last[0]) / NS
            p, q, r = self._last[1]
            alpha_B = ((rate_B[0] - p) / dt_s, (rate_B[1] - q) / dt_s, (rate_B[2] - r) / dt_s)
        self._last = (t_ns, rate_B)
        tangential = cross(alpha_B, lever_B)
        centripetal = cross(rate_B, cross(rate_B, lever_B))
        return tangential[0] + centripetal[0], tangential[1] + centripetal[1], tangential[2] + centripetal[2]
