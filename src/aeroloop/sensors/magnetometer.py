"""Magnetometer: the earth's field in the body frame, disturbed by the aircraft's own iron and currents.

measured = soft_iron R_BW field + hard_iron + current * per_A + thrust * per_N
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from aeroloop.core.config import meta, note
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS
from aeroloop.sensors.noise import Channel, Errors, Streams
from aeroloop.sensors.scene import Mat3, Scene, times
from aeroloop.sensors.schedule import Sensor

ZERO = (0.0, 0.0, 0.0)
IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class MagnetometerSample(NamedTuple):
    t_ns: int  # taken
    ready_ns: int  # delivered
    field_B_T: Vec3


class MagnetometerConfig(Sensor, frozen=True):
    """Magnetometer."""

    errors: Annotated[Errors, note("tesla")] = Errors()
    hard_iron_B_T: Annotated[Vec3, meta("T", "field of the aircraft's permanent magnets")] = ZERO
    soft_iron: Annotated[Mat3, meta("-", "distortion of the external field by the aircraft's iron, by rows")] = IDENTITY
    current_B_T_per_A: Annotated[Vec3, meta("T/A", "field of the motors' supply current")] = ZERO
    thrust_B_T_per_N: Annotated[Vec3, meta("T/N", "the same by total thrust, if the current is unknown")] = ZERO


class Magnetometer:
    def __init__(self, config: MagnetometerConfig, streams: Streams) -> None:
        self._config = config
        self._delay_ns = round(config.delay_s * NS)
        self._field = Channel(config.errors, config.period_s, 3, streams.child("field"))
        self.channels = {"field": self._field}

    def measure(self, scene: Scene, steps: int) -> MagnetometerSample:
        config = self._config
        x, y, z = times(config.soft_iron, *times(scene.R_BW, *scene.place.field_W_T))
        hard, per_A, per_N = config.hard_iron_B_T, config.current_B_T_per_A, config.thrust_B_T_per_N
        amperes = scene.motor_current_A if per_A != ZERO else 0.0
        newtons = scene.thrust_N if per_N != ZERO else 0.0
        x += hard[0] + amperes * per_A[0] + newtons * per_N[0]
        y += hard[1] + amperes * per_A[1] + newtons * per_N[1]
        z += hard[2] + amperes * per_A[2] + newtons * per_N[2]
        t_ns = scene.state.t_ns
        return MagnetometerSample(t_ns, t_ns + self._delay_ns, self._field.measure3(x, y, z, steps))
