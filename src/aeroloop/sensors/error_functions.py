"""Errors of a sensor's channels as expressions: the twin of `sensors.noise`, and where a batch draws its numbers.

A sensor has one stream. The sample with index k of its error takes the numbers of the counter `origin + every (k + 1)`:
white noise, then drift, then walk, of each channel in turn. The numbers of `origin` itself give the drift at the start
and the turn-on errors, which come last. `channels` tells the bench the same (`sensors.streams.Drawn`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from aeroloop.core.frames import Vec
from aeroloop.sensors.barometer import BarometerConfig
from aeroloop.sensors.gnss import GnssConfig
from aeroloop.sensors.imu import NONE, ImuConfig
from aeroloop.sensors.noise import Axes, Errors
from aeroloop.sensors.streams import Drawn


def per_axis(value: Axes, axes: int) -> Vec:
    return np.broadcast_to(np.asarray(value, float), (axes,)).copy()


@dataclass(frozen=True)
class Channel:
    """One channel with the errors that it has."""

    name: str
    errors: Errors
    axes: int
    period_s: float

    @property
    def white(self) -> Vec:
        errors = self.errors
        return per_axis(errors.white_std, self.axes) + per_axis(errors.white_density, self.axes) / math.sqrt(
            self.period_s
        )

    @property
    def drift(self) -> Vec:
        """Standard deviation."""
        return per_axis(self.errors.drift_std, self.axes)

    @property
    def walk(self) -> Vec:
        """Of a step."""
        return per_axis(self.errors.walk, self.axes) * math.sqrt(self.period_s)

    @property
    def turn_on(self) -> Vec:
        return per_axis(self.errors.turn_on_std, self.axes)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those that draw numbers for every sample."""
        return tuple(kind for kind in ("white", "drift", "walk") if getattr(self, kind).any())

    @property
    def memory(self) -> int:
        """Numbers that are kept from sample to sample: drift, walk, turn-on error."""
        return self.axes * sum(bool(getattr(self, kind).any()) for kind in ("drift", "walk", "turn_on"))


class SensorNoise:
    """The channels of one sensor, and their numbers in its stream."""

    def __init__(self, channels: tuple[Channel, ...], stream: int, *, every: int = 1, origin: int = 0) -> None:
        self.channels, self.stream, self.every, self.origin = channels, stream, every, origin
        self._at: dict[tuple[str, str], int] = {}
        count = 0
        for channel in channels:
            for kind in channel.kinds:
                self._at[channel.name, kind] = count
                count += channel.axes
        self.count = count
        for channel in channels:
            if channel.turn_on.any():
                self._at[channel.name, "turn_on"] = count
                count += channel.axes
        self.first_count = count
        self.memory = sum(channel.memory for channel in channels)

    def drawn(self, sensor: str) -> dict[str, Drawn]:
        """Where the bench finds the numbers, by the names of its streams."""
        found = {}
        for (name, kind), first in self._at.items():
            axes = next(channel.axes for channel in self.channels if channel.name == name)
            # The bench draws drift and turn-on error at its start, before the first sample.
            phase = self.origin + (0 if kind in ("drift", "turn_on") else self.every)
            found[f"{sensor}/{name}/{kind.replace('_', '-')}"] = Drawn(self.stream, axes, first, self.every, phase)
        return found

    def first(self, normals: Any) -> Any:
        """The memory before the first sample."""
        parts = []
        for channel in self.channels:
            if channel.drift.any():
                parts.append(ca.DM(channel.drift) * self._take(normals, channel, "drift"))
            if channel.walk.any():
                parts.append(ca.SX.zeros(channel.axes))
            if channel.turn_on.any():
                parts.append(ca.DM(channel.turn_on) * self._take(normals, channel, "turn_on"))
        return ca.vertcat(*parts)

    def sample(self, normals: Any, memory: Any) -> tuple[Mapping[str, Any], Any]:
        """The error of each channel, and the memory after it."""
        errors, after, at = {}, [], 0
        for channel in self.channels:
            total: Any = ca.DM(per_axis(channel.errors.offset, channel.axes))
            if channel.white.any():
                total = total + ca.DM(channel.white) * self._take(normals, channel, "white")
            for kind in ("drift", "walk", "turn_on"):
                if getattr(channel, kind).any():
                    kept = memory[at : at + channel.axes]
                    at += channel.axes
                    kept = self._advanced(channel, kind, kept, normals)
                    after.append(kept)
                    total = total + kept
            errors[channel.name] = total
        return errors, ca.vertcat(*after) if after else ca.SX.zeros(0)

    def _advanced(self, channel: Channel, kind: str, kept: Any, normals: Any) -> Any:
        if kind == "drift":
            time_s = channel.errors.drift_time_s
            decay = math.exp(-channel.period_s / time_s)
            step = channel.drift * math.sqrt(-math.expm1(-2.0 * channel.period_s / time_s))
            return decay * kept + ca.DM(step) * self._take(normals, channel, "drift")
        return kept + ca.DM(channel.walk) * self._take(normals, channel, "walk") if kind == "walk" else kept

    def _take(self, normals: Any, channel: Channel, kind: str) -> Any:
        first = self._at[channel.name, kind]
        return normals[first : first + channel.axes]


def without_twin(imu: ImuConfig, barometer: BarometerConfig, gnss: GnssConfig) -> dict[str, bool]:
    """Keys of the sensors that no batch has, and whether they are given."""
    return {
        "sensors.imu.average": imu.average,
        "sensors.imu.low_pass": imu.low_pass is not None,
        "sensors.imu.vibration": imu.vibration is not None,
        "sensors.imu.thermal": imu.thermal is not None,
        "sensors.imu.g_sensitivity": imu.g_sensitivity != NONE,
        "sensors.imu.count_clipped": imu.count_clipped,
        "sensors.barometer.thermal": barometer.thermal is not None,
        "sensors.gnss.consistent": gnss.consistent,
        "sensors.gnss.multipath": gnss.multipath is not None,
        "sensors.gnss.constellation": gnss.constellation is not None,
    }


def limited(value: Any, errors: Errors) -> Any:
    """Quantised, and within the range of a channel."""
    if errors.quantum > 0:
        value = ca.floor(value / errors.quantum + 0.5) * errors.quantum
    return value if errors.range is None else ca.fmin(ca.fmax(value, errors.range[0]), errors.range[1])
