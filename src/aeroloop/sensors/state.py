"""The sixteen measured values of the tilt-rotor paper: positions, angles, tilts, and their time derivatives.

Angle derivatives are Euler rates, not body rates: the paper's gain expects them. Position, attitude, velocity and rates
are measured as such, or estimated from a set of sensors; the pods' tilts have separate sensors in both cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np

from aeroloop.core.config import meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import ADDING, Switch, Switched
from aeroloop.core.frames import Quat, Vec, Vec3, euler_from_quat, euler_rates_from_body
from aeroloop.core.noise_source import Normals
from aeroloop.core.signals import SENSOR_COUNT, Sensors, Truth
from aeroloop.sensors.fitted import FittedSensors
from aeroloop.sensors.schedule import Name

Pair = tuple[float, float]

CHANNELS: dict[str, slice] = {
    "position": slice(0, 3),
    "attitude": slice(3, 6),
    "tilt": slice(6, 8),
    "velocity": slice(8, 11),
    "rate": slice(11, 14),
    "tilt_rate": slice(14, 16),
}
"""Groups of values, for faults."""
NEEDED: tuple[Name, ...] = ("imu", "magnetometer", "barometer", "gnss")
"""Sensors that the navigation filter needs."""


class TiltrotorSensors(FittedSensors, frozen=True):
    """The sensors: of the state, with white noise on its sixteen values (all zero is ideal), and a set beside them."""

    pos_std_m: Annotated[float, meta("m", "noise of the measured position", ge=0, le=10)] = 0.0
    angle_std_rad: Annotated[float, meta("rad", "noise of roll, pitch and yaw", ge=0, le=1)] = 0.0
    tilt_std_rad: Annotated[float, meta("rad", "noise of the pods' tilts", ge=0, le=1)] = 0.0
    vel_std_m_s: Annotated[float, meta("m/s", "noise of the velocity", ge=0, le=10)] = 0.0
    rate_std_rad_s: Annotated[
        float,
        meta("rad/s", "noise of angle and tilt rates; only of tilt rates if the state is estimated", ge=0, le=10),
    ] = 0.0
    state: Annotated[
        Literal["measured", "estimated"],
        note(
            "input of the board: `measured`, the true state with the noise above; `estimated`: position, attitude, "
            "velocity and rates from the navigation filter, which uses only the fitted sensors"
        ),
    ] = "measured"
    fitted: Annotated[
        tuple[Name, ...], note("which of the preset's sensors the aircraft has; an estimated state needs four")
    ] = ()

    @property
    def problem(self) -> str:
        """Conflict between keys; empty if there is none."""
        if self.state == "measured":
            return ""
        missing = [name for name in NEEDED if name not in self.fitted]
        if missing:
            return f"fitted: an estimated state needs {', '.join(NEEDED)}; {missing[0]} is missing"
        noisy = [key for key in ("pos_std_m", "angle_std_rad", "vel_std_m_s") if getattr(self, key)]
        return f"{noisy[0]}: the state is estimated; expected 0, and noise of the fitted sensors" if noisy else ""

    @property
    def stds(self) -> Vec:
        """(16,) Standard deviations of the noise."""
        rate = 0.0 if self.state == "estimated" else self.rate_std_rad_s
        angles, rates = [self.angle_std_rad] * 3 + [self.tilt_std_rad] * 2, [rate] * 3 + [self.rate_std_rad_s] * 2
        return np.array([self.pos_std_m] * 3 + angles + [self.vel_std_m_s] * 3 + rates)


def state_row(pos_W: Vec3, quat_WB: Quat, vel_W: Vec3, rate_B: Vec3, tilt_rad: Pair, tilt_rate_rad_s: Pair) -> Sensors:
    angles = euler_from_quat(quat_WB)
    rates = euler_rates_from_body(angles[0], angles[1], rate_B)
    return (*pos_W, *angles, *tilt_rad, *vel_W, *rates, *tilt_rate_rad_s)


def ideal(truth: Truth) -> Sensors:
    _, pos_W, quat_WB, vel_W, rate_B, tilt_rad, tilt_rate_rad_s = truth
    return state_row(pos_W, quat_WB, vel_W, rate_B, tilt_rad, tilt_rate_rad_s)


class StateSensors:
    """The values plus white noise from its own seeded stream, and the effects of faults switched in flight."""

    def __init__(
        self,
        config: TiltrotorSensors,
        rng: np.random.Generator,
        read: Callable[[Truth], Sensors | None] = ideal,
        noise: Normals | None = None,
    ) -> None:
        """`read` returns the values; None while there are none. `noise`: in place of the numbers of `rng`, which then
        draws those of faults alone."""
        self._read = read
        self._std = config.stds
        self._noisy = bool(self._std.any())
        self._noise: Normals = noise or rng
        (self._rng_fault,) = rng.spawn(1)  # so that a fault does not change the noise after it
        self._faults: dict[tuple[str, str], tuple[float, ...]] = {}
        self._frozen: Sensors | None = None

    def sample(self, truth: Truth) -> Sensors | None:
        """The measured values; None during a dropout."""
        measured = self._read(truth)
        if measured is None:
            return None
        if self._noisy:
            measured = tuple((self._std * self._noise.standard_normal(SENSOR_COUNT) + measured).tolist())
        return self._with_faults(measured) if self._faults else measured

    def switch(self, switch: Switch) -> Switched:
        """Switch a fault on or off."""
        if switch.target != "state":
            raise ConfigError(f"fault of {switch.target}: this aircraft has only one sensor, `state`")
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

    def _with_faults(self, measured: Sensors) -> Sensors | None:
        faulty: Vec = np.array(measured)
        for (kind, channel), values in self._faults.items():
            if kind == "bias":
                faulty[CHANNELS[channel]] += values
            elif kind == "noise":
                part = faulty[CHANNELS[channel]]
                part += np.array(values) * self._rng_fault.standard_normal(len(part))
        if ("frozen", "") in self._faults:
            self._frozen = self._frozen or tuple(faulty.tolist())
            faulty = np.array(self._frozen)
        return None if ("silent", "") in self._faults else tuple(faulty.tolist())
