"""Tachometer: the speed of each rotor, as a Hall sensor or an ESC with telemetry reports it."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from aeroloop.core.config import note
from aeroloop.core.signals import NS
from aeroloop.sensors.noise import Channel, Errors, Streams
from aeroloop.sensors.scene import Scene
from aeroloop.sensors.schedule import Sensor

MOST_ROTORS = 8


class TachometerSample(NamedTuple):
    t_ns: int  # taken
    ready_ns: int  # delivered
    speed_rad_s: tuple[float, ...]  # of each rotor


class TachometerConfig(Sensor, frozen=True):
    """Tachometer of every rotor."""

    errors: Annotated[Errors, note("rad/s, the same for all rotors; noise and drift are independent")] = Errors()


class Tachometer:
    def __init__(self, config: TachometerConfig, streams: Streams) -> None:
        self._delay_ns = round(config.delay_s * NS)
        self._speed = Channel(config.errors, config.period_s, MOST_ROTORS, streams.child("speed"))
        self.channels = {"speed": self._speed}

    def measure(self, scene: Scene, steps: int) -> TachometerSample:
        t_ns = scene.state.t_ns
        return TachometerSample(t_ns, t_ns + self._delay_ns, self._speed.measure(scene.rotor_speed_rad_s, steps))
