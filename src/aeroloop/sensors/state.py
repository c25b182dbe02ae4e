"""The sixteen measured values of the tilt-rotor paper: positions, angles, tilts, and their time derivatives.

Angle derivatives are Euler rates, not body rates: the paper's gain expects them.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from aeroloop.core.config import Config, meta
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import ADDING, Switch, Switched
from aeroloop.core.frames import Vec, euler_from_quat, euler_rates_from_body
from aeroloop.core.signals import SENSOR_COUNT, Sensors, Truth

CHANNELS: dict[str, slice] = {
    "position": slice(0, 3),
    "attitude": slice(3, 6),
    "tilt": slice(6, 8),
    "velocity": slice(8, 11),
    "rate": slice(11, 14),
    "tilt_rate": slice(14, 16),
}
"""Which of the values belong together, for faults."""


class StateNoise(Config, frozen=True):
    """White noise on the sixteen measured values, one seeded stream; all zero is ideal."""

    pos_std_m: Annotated[float, meta("m", "position", ge=0, le=10)] = 0.0
    angle_std_rad: Annotated[float, meta("rad", "roll, pitch and yaw", ge=0, le=1)] = 0.0
    tilt_std_rad: Annotated[float, meta("rad", "pod tilt", ge=0, le=1)] = 0.0
    vel_std_m_s: Annotated[float, meta("m/s", "velocity", ge=0, le=10)] = 0.0
    rate_std_rad_s: Annotated[float, meta("rad/s", "angle rates and tilt rates", ge=0, le=10)] = 0.0


def ideal(truth: Truth) -> Sensors:
    angles = euler_from_quat(truth.quat_WB)
    rates = euler_rates_from_body(angles[0], angles[1], truth.rate_B)
    return (*truth.pos_W, *angles, *truth.tilt_rad, *truth.vel_W, *rates, *truth.tilt_rate_rad_s)


class StateSensors:
    """`ideal` plus white noise from its own seeded stream, and what faults that are switched in flight do to it."""

    def __init__(self, config: StateNoise, rng: np.random.Generator) -> None:
        self._std = np.array(
            [config.pos_std_m] * 3
            + [config.angle_std_rad] * 3
            + [config.tilt_std_rad] * 2
            + [config.vel_std_m_s] * 3
            + [config.rate_std_rad_s] * 5
        )
        assert self._std.shape == (SENSOR_COUNT,)
        self._noisy = bool(self._std.any())
        self._rng = rng
        (self._rng_fault,) = rng.spawn(1)  # so that a fault does not change the noise that comes after it
        self._faults: dict[tuple[str, str], tuple[float, ...]] = {}
        self._frozen: Sensors | None = None

    def sample(self, truth: Truth) -> Sensors | None:
        """What is measured; None while the sensors are silent."""
        measured = ideal(truth)
        if self._noisy:
            measured = tuple((self._std * self._rng.standard_normal(SENSOR_COUNT) + measured).tolist())
        return self._worn(measured) if self._faults else measured

    def switch(self, switch: Switch) -> Switched:
        """A fault from now on, or no longer."""
        if switch.target != "state":
            raise ConfigError(f"fault of {switch.target}: this aircraft's sensors are one, `state`")
        name = switch.channel or next(iter(CHANNELS))
        if name not in CHANNELS:
            raise ConfigError(f"fault of state: unknown channel {name!r}, expected one of: {', '.join(CHANNELS)}")
        whole = switch.kind not in ADDING
        axes = CHANNELS[name].stop - CHANNELS[name].start
        if not whole and len(switch.values) not in (1, axes):
            raise ConfigError(f"fault of state: channel {name} has {axes} axes, expected one value for both")
        key = switch.kind, "" if whole else name
        values: tuple[float, ...] = ()
        if switch.on:
            if not whole:
                values = switch.values if len(switch.values) == axes else switch.values * axes
            self._faults[key] = values
        else:
            self._faults.pop(key, None)
        if ("frozen", "") not in self._faults:
            self._frozen = None
        return Switched(0 if whole else list(CHANNELS).index(name), values)

    def _worn(self, measured: Sensors) -> Sensors | None:
        worn: Vec = np.array(measured)
        for (kind, channel), values in self._faults.items():
            if kind == "bias":
                worn[CHANNELS[channel]] += values
            elif kind == "noise":
                part = worn[CHANNELS[channel]]
                part += np.array(values) * self._rng_fault.standard_normal(len(part))
        if ("frozen", "") in self._faults:
            self._frozen = self._frozen or tuple(worn.tolist())
            worn = np.array(self._frozen)
        return None if ("silent", "") in self._faults else tuple(worn.tolist())
