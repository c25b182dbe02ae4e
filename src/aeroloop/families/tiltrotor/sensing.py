"""Sensors of a tilt-rotor: of its state, and a set of sensors on the fuselage.

    truth ─▶ state sensors ─────────────────────────────────▶ the board, on request
    truth ─▶ imu, magnetometer, barometer, fixes ─▶ navigation ─▲ in their place, where the state is estimated

The navigation filter represents an inertial unit that is a part of the aircraft: the board gets the same sixteen values
from either. The sensors are at the body's origin.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from aeroloop.core.faults import Switch, Switched
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, Effort, NavEstimate, RigidState, Sensors, Truth
from aeroloop.families.tiltrotor.scenario import TiltrotorTables
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.rangefinder import Beam, beam_ground_m
from aeroloop.sensors.state import StateSensors, ideal, state_row
from aeroloop.sensors.suite import Sample, Suite
from aeroloop.sim.navigation_unit import NavigationUnit
from aeroloop.world.earth_rotation import coriolis_W
from aeroloop.world.surroundings import GroundHeight, Surroundings


def estimated(unit: NavigationUnit, truth: Truth) -> Sensors | None:
    """The values for the board, with the true tilts; None while there is no usable estimate."""
    now = unit.usable(truth.t_ns)
    if now is None:
        return None
    return state_row(now.pos_W, now.quat_WB, now.vel_W, now.rate_B, truth.tilt_rad, truth.tilt_rate_rad_s)


class Sensing:
    """All sensors of one tilt-rotor."""

    def __init__(
        self,
        aircraft: TiltrotorTables,
        start: Truth,
        around: Surroundings | None,
        ground_m: GroundHeight | None,
        *,
        streams: Streams,
        rng: np.random.Generator,
    ) -> None:
        """`rng` is for the state sensors; `ground_m` is given if the ground is not flat."""
        fitted = aircraft.aboard
        self._turn_W = aircraft.world.turn_W
        self._around, self._suite = around, Suite(fitted, streams, self._turn_W)
        self.history = self._suite.history
        self._ground_m = ground_m if fitted.rangefinder is not None else None
        is_estimated = aircraft.sensors.state == "estimated"
        self._estimator = NavigationUnit(aircraft.world.home, start) if is_estimated else None
        read: Callable[[Truth], Sensors | None] = (
            ideal if self._estimator is None else partial(estimated, self._estimator)
        )
        self._state = StateSensors(aircraft.sensors, rng, read, streams.in_batch("state"))
        self._before = start
        self.measure = self._state.sample

    def sense(self, truth: Truth, effort: Effort) -> list[Sample]:
        """The samples that arrive in this step."""
        before, self._before = self._before, truth
        around = self._around
        if around is None:
            return []
        state = _rigid(truth, before, self._turn_W)
        terrain_m = beam_ground_m(state, self._ground_m) if self._ground_m is not None else 0.0
        samples = self._suite.sample(
            state,
            around.air,
            around.place,
            thrust_N=sum(effort.thrust_N),
            terrain_m=terrain_m,
            ground_m=around.ground_m,
        )
        if self._estimator is not None:
            for sample in samples:
                self._estimator.take(sample)
        return samples

    def accel_W(self, before: Truth, after: Truth, dt_s: float) -> Vec3:
        """Mean acceleration over a step, without that of the earth's rotation."""
        return _mean_accel_W(before.vel_W, after.vel_W, 1.0 / dt_s, self._turn_W)

    def see(self, beam: Beam) -> None:
        self._suite.see(beam)

    def estimate(self) -> NavEstimate | None:
        return None if self._estimator is None else self._estimator.estimate

    def switch(self, switch: Switch) -> Switched:
        return self._state.switch(switch) if switch.target == "state" else self._suite.switch(switch)


def _rigid(truth: Truth, before: Truth, turn_W: Vec3 | None) -> RigidState:
    """The fuselage's motion; its acceleration is the mean since the previous step, so that its sum is the velocity,
    but without the Coriolis acceleration, which no accelerometer measures."""
    t_ns, pos_W, quat_WB, vel_W, rate_B, _, _ = truth
    per_s = NS / (t_ns - before.t_ns) if t_ns > before.t_ns else 0.0
    return RigidState(t_ns, pos_W, quat_WB, vel_W, rate_B, _mean_accel_W(before.vel_W, vel_W, per_s, turn_W))


def _mean_accel_W(was_W: Vec3, vel_W: Vec3, per_s: float, turn_W: Vec3 | None) -> Vec3:
    (x, y, z), (was_x, was_y, was_z) = vel_W, was_W
    accel_W = ((x - was_x) * per_s, (y - was_y) * per_s, (z - was_z) * per_s)
    if turn_W is None:
        return accel_W
    cx, cy, cz = coriolis_W(turn_W, (0.5 * (x + was_x), 0.5 * (y + was_y), 0.5 * (z + was_z)))
    return accel_W[0] - cx, accel_W[1] - cy, accel_W[2] - cz
