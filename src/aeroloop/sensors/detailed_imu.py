"""An IMU with filters, averages, vibration, temperature and g-sensitivity; chosen where its table asks for one of them.

    true motion + vibration -> low-pass -> mean over the period -> scale, alignment -> temperature -> noise, range

The g-sensitivity adds G f to the rate, with the specific force f in the body's axes. The error by temperature is
(offset' + scale' value) (T - T_0).
"""

from __future__ import annotations

import math

from aeroloop.core.frames import Vec3
from aeroloop.core.signals import new_tuple
from aeroloop.sensors.imu import NONE, Imu, ImuConfig, ImuSample, Triad
from aeroloop.sensors.imu_history import ImuHistory
from aeroloop.sensors.low_pass import Window
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.scene import Scene, times
from aeroloop.sensors.thermal import Temperature
from aeroloop.sensors.vibration import RotorAngles, Shaken


class DetailedImu(Imu):
    """Without steps in its history, as before the first, it measures what the plain IMU does."""

    def __init__(self, config: ImuConfig, streams: Streams) -> None:
        super().__init__(config, streams)
        filters, table, average = config.low_pass, config.vibration, config.average
        order = 1 if filters is None else filters.order
        gyro, accel = (None, None) if filters is None else (filters.gyro_hz * math.tau, filters.accel_hz * math.tau)
        self.history: ImuHistory | None = None
        if average or filters is not None or table is not None:
            rotors = None if table is None else RotorAngles(streams.child("vibration").generator("angle"))
            windows = average or filters is not None
            self.history = ImuHistory(
                Window(gyro, order, average=average) if windows else None,
                Window(accel, order, average=average) if windows else None,
                rotors,
                self._lever_B,
            )
        self._shaken: tuple[Shaken, Shaken] | None = None
        if table is not None:
            self._shaken = (
                Shaken(table.gyro_rad_s, table, gyro, order, average=average),
                Shaken(table.accel_m_s2, table, accel, order, average=average),
            )
        self._temperature = None if config.thermal is None else Temperature(config.thermal, config.period_s)
        self._triads = config.gyro, config.accel
        self._g_sensitivity = None if config.g_sensitivity == NONE else config.g_sensitivity
        self._is_first = True

    def measure(self, scene: Scene, steps: int) -> ImuSample:
        t_ns = scene.state.t_ns
        rate_B, force_B = self._motion(scene)
        if self._shaken is not None and self.history is not None and self.history.rotors is not None:
            rotors = self.history.rotors
            rate_B = _sum(rate_B, self._shaken[0].value(rotors))
            force_B = _sum(force_B, self._shaken[1].value(rotors))
            rotors.sampled()
        if self._gyro_response is not None:
            rate_B = times(self._gyro_response, *rate_B)
        if self._g_sensitivity is not None:
            rate_B = _sum(rate_B, times(self._g_sensitivity, *force_B))
        if self._accel_response is not None:
            force_B = times(self._accel_response, *force_B)
        if self._temperature is not None:
            over_K = self._temperature.advance(scene.air.temperature_K, steps)
            rate_B, force_B = _warm(rate_B, self._triads[0], over_K), _warm(force_B, self._triads[1], over_K)
        gyro, accel = self._gyro.measure3(*rate_B, steps), self._accel.measure3(*force_B, steps)
        return new_tuple(ImuSample, (t_ns, t_ns + self._delay_ns, gyro, accel))

    def _motion(self, scene: Scene) -> tuple[Vec3, Vec3]:
        """Rate and specific force in the body's axes. The first sample has no period before it."""
        felt = None if self.history is None else self.history.take()
        first, self._is_first = self._is_first, False
        if felt is not None and not first:
            return felt
        rate_B, force_B = scene.state.rate_B, scene.force_B
        if self._lever_B is not None:
            force_B = _sum(force_B, self._of_rotation(scene.state.t_ns, rate_B, self._lever_B))
        if self.turn_W is not None:
            rate_B = _sum(rate_B, times(scene.R_BW, *self.turn_W))
        return rate_B, force_B


def _sum(a: Vec3, b: Vec3) -> Vec3:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _warm(value: Vec3, triad: Triad, over_K: float) -> Vec3:
    (ox, oy, oz), (sx, sy, sz), (x, y, z) = triad.temperature_offset, triad.temperature_scale, value
    return x + over_K * (ox + sx * x), y + over_K * (oy + sy * y), z + over_K * (oz + sz * z)
