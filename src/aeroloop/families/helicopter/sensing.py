"""Sensors of a helicopter: of its state, and a set of sensors beside them; and what its board is sent.

    truth ─▶ state sensors with errors ─────────────────────────▶ the board, with rotor speed and setpoint
    truth ─▶ imu, magnetometer, barometer, fixes ─▶ navigation ─▲ in their place, where the state is estimated

The navigation filter represents an inertial unit that is a part of the aircraft. Sensors are at the centre of mass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.faults import ADDING, Switch, Switched
from aeroloop.core.frames import Quat, Vec, Vec3, quat_product
from aeroloop.core.signals import NS, NavEstimate, RigidState
from aeroloop.families.helicopter import reference
from aeroloop.families.helicopter.faults import STATE_CHANNELS
from aeroloop.families.helicopter.scenario import HelicopterTables
from aeroloop.sensors import noise
from aeroloop.sensors.rangefinder import Beam, beam_ground_m
from aeroloop.sensors.suite import Sample, Suite
from aeroloop.sim.navigation_unit import NavigationUnit
from aeroloop.world.surroundings import GroundHeight, Surroundings

Row = tuple[float, ...]
AXES = 3


class Moving(NamedTuple):
    """A measured or estimated motion."""

    pos_W: Vec3
    vel_W: Vec3
    quat_WB: Quat
    rate_B: Vec3


class Instruments:
    """State sensors, each channel with its own errors and faults."""

    def __init__(self, tables: HelicopterTables, streams: noise.Streams, rotor_speed: Callable[[], float]) -> None:
        sensors, period_s = tables.sensors, tables.control.period_s
        self._reference, self._rotor_speed = tables.reference, rotor_speed
        self._channels = {
            name: noise.Channel(getattr(sensors, name), period_s, AXES, streams.child(name)) for name in STATE_CHANNELS
        }
        self._speed = noise.Channel(sensors.rotor_speed, period_s, 1, streams.child("rotor_speed"))
        self._added: dict[tuple[str, str], Vec] = {}
        self._whole: set[str] = set()
        self._last: Row | None = None

    def measured(self, state: RigidState) -> Moving:
        """With errors."""
        channels = self._channels
        return Moving(
            channels["position"].measure3(*state.pos_W, 1),
            channels["velocity"].measure3(*state.vel_W, 1),
            turned(state.quat_WB, channels["attitude"].measure3(0.0, 0.0, 0.0, 1)),
            channels["rate"].measure3(*state.rate_B, 1),
        )

    def row(self, t_ns: int, moving: Moving | None) -> Row | None:
        """The values for the board; None without a motion, and while the state sensor is silent."""
        speed = self._speed.measure1(self._rotor_speed(), 1)
        if moving is None or "silent" in self._whole:
            return None
        measured: Row = (*moving.pos_W, *moving.vel_W, *moving.quat_WB, *moving.rate_B)
        if "frozen" in self._whole:
            measured = self._last = self._last or measured
        wanted = reference.at(self._reference, t_ns / NS)
        setpoint = (*wanted.pos_W, *wanted.vel_W, *wanted.accel_W[:2], wanted.yaw_rad, wanted.yaw_rate_rad_s)
        return (*measured, speed, *setpoint)

    def switch(self, switch: Switch) -> Switched:
        """A fault of the measured state."""
        if switch.kind not in ADDING:
            (self._whole.add if switch.on else self._whole.discard)(switch.kind)
            self._last = None if switch.kind == "frozen" else self._last
            return Switched()
        name = switch.channel or next(iter(STATE_CHANNELS))
        if name not in STATE_CHANNELS:
            raise ConfigError(f"state: unknown channel {name!r}, expected one of: {', '.join(STATE_CHANNELS)}")
        self._added.pop((switch.kind, name), None)
        values: Row = ()
        if switch.on:
            values = switch.values if len(switch.values) == AXES else switch.values * AXES
            self._added[switch.kind, name] = np.array(values)
        none: Vec = np.zeros(AXES)
        bias, std = (self._added.get((kind, name), none) for kind in ADDING)
        self._channels[name].disturb(bias, std)
        return Switched(STATE_CHANNELS[name], values)


def estimated(unit: NavigationUnit, t_ns: int) -> Moving | None:
    """None while there is no usable estimate."""
    now = unit.usable(t_ns)
    return None if now is None else Moving(now.pos_W, now.vel_W, now.quat_WB, now.rate_B)


class Sensing:
    """All sensors of one helicopter."""

    def __init__(
        self,
        tables: HelicopterTables,
        instruments: Instruments,
        start: RigidState,
        around: Surroundings,
        *,
        ground_m: GroundHeight | None,
        streams: noise.Streams,
    ) -> None:
        """`ground_m` is given if the ground is not flat."""
        self._instruments, self._around, self._suite = (
            instruments,
            around,
            Suite(tables.aboard, streams, tables.world.turn_W),
        )
        self.history = self._suite.history
        self._ground_m = ground_m if tables.aboard.rangefinder is not None else None
        self._estimator = NavigationUnit(tables.world.home, start) if tables.sensors.state == "estimated" else None

    def sense(self, state: RigidState, thrust_N: float) -> list[Sample]:
        """The samples that arrive in this step."""
        terrain_m = beam_ground_m(state, self._ground_m) if self._ground_m is not None else 0.0
        around = self._around
        samples = self._suite.sample(
            state, around.air, around.place, thrust_N=thrust_N, terrain_m=terrain_m, ground_m=around.ground_m
        )
        if self._estimator is not None:
            for sample in samples:
                self._estimator.take(sample)
        return samples

    def measure(self, state: RigidState) -> Row | None:
        """The values for the board; None during a dropout."""
        estimator, instruments = self._estimator, self._instruments
        moving = instruments.measured(state) if estimator is None else estimated(estimator, state.t_ns)
        return instruments.row(state.t_ns, moving)

    def see(self, beam: Beam) -> None:
        self._suite.see(beam)

    def estimate(self) -> NavEstimate | None:
        return None if self._estimator is None else self._estimator.estimate

    def switch(self, switch: Switch) -> Switched:
        return (self._instruments if switch.target == "state" else self._suite).switch(switch)


def turned(quat_WB: Quat, angle_B: Vec3) -> Quat:
    """By a small rotation vector in body axes."""
    x, y, z = angle_B
    return quat_product(quat_WB, (1.0, x / 2, y / 2, z / 2))
