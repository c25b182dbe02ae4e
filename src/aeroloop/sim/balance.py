"""Forces and motion of every step for the log, with `log.balance`; without the key nothing of this is called.

What proves a flight must not be computed from the motion that it is to prove. So forces and moments come from the
family's force model, evaluated at the start, the middle and the end of the step; positions, velocities and rates come
from its integrator. The reader of the log integrates the forces by Simpson's rule, which no integrator here uses, and
compares. The middle is that of the cubic through both ends:

    x_m = (x_0 + x_1)/2 + h/8 (x_0' - x_1')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from aeroloop.core.frames import Quat, Vec, Vec3, rotation_rows
from aeroloop.core.signals import NS
from aeroloop.sim.exchange import Row
from aeroloop.sim.vehicle import Motion

E = TypeVar("E")
E_contra = TypeVar("E_contra", contravariant=True)
S = TypeVar("S")
STILL: Vec3 = (0.0, 0.0, 0.0)


class State(NamedTuple):
    """Motion at an end of the step: of the centre of mass, and of the body about it."""

    pos_W: Vec
    vel_W: Vec
    quat_WB: Vec
    rate_B: Vec  # relative to W
    spin_W: Vec  # angular momentum about the centre of mass, of the rate relative to inertial space
    kinetic_J: float

    def row(self) -> list[float]:
        parts = (self.pos_W, self.vel_W, self.quat_WB, self.rate_B, self.spin_W)
        return [value for part in parts for value in part.tolist()]


class Stage(NamedTuple):
    """What acts at one time of the step."""

    force_B: Vec  # without gravity
    moment_B: Vec  # about the centre of mass
    rate_dot_B: Vec
    gravity_W: Vec
    power_W: float


class Account(NamedTuple):
    """One step."""

    before: State
    after: State
    stages: tuple[Stage, Stage, Stage]
    mass_kg: float
    supported: bool
    wind_W: Vec3
    density_kg_m3: float


class Ledger(Protocol[E_contra]):
    """A family's account of its steps."""

    turn_W: Vec

    def begin(self, dt_s: float) -> None:
        """Before a step: keep the motion, and what is held over the step."""

    def end(self, effort: E_contra) -> Account: ...


class Balanced(Generic[E, S]):
    """A motion whose every step is logged."""

    def __init__(self, motion: Motion[E, S], ledger: Ledger[E], log: Callable[[int, Row], None]) -> None:
        self.motion, self._ledger, self._log = motion, ledger, log
        self.state = motion.state
        self._t_ns = 0
        self._last: list[float] = []

    def drive(self, command: Row, dt_ns: int) -> E:
        self._ledger.begin(dt_ns / NS)
        effort = self.motion.drive(command, dt_ns)
        account = self._ledger.end(effort)
        turn_W = self._ledger.turn_W
        begins = _state_row(account, account.before)
        if begins != self._last:
            self._log(self._t_ns, _start_row(account, turn_W))
        self._t_ns += dt_ns
        self._last = _state_row(account, account.after)
        self._log(self._t_ns, _step_row(account, turn_W, dt_ns / NS))
        return effort


def balanced(motion: Motion[E, S], ledger: Ledger[E] | None, log: Callable[[int, Row], None]) -> Motion[E, S]:
    """The motion itself where no ledger is kept."""
    return motion if ledger is None else Balanced(motion, ledger, log)


def _state_row(account: Account, state: State) -> list[float]:
    return [account.mass_kg, *state.row(), state.kinetic_J]


def _start_row(account: Account, turn_W: Vec) -> Row:
    nothing = (0.0,) * 27
    first = account.stages[0]
    held = (*first.gravity_W.tolist(), *turn_W.tolist(), *account.wind_W, account.density_kg_m3)
    return (
        0.0,
        account.supported,
        account.mass_kg,
        *account.before.row(),
        *nothing,
        *held,
        account.before.kinetic_J,
        0.0,
    )


def _step_row(account: Account, turn_W: Vec, dt_s: float) -> Row:
    start, _, end = stages = account.stages
    forces = np.concatenate(
        [
            *(stage.force_B for stage in stages),
            *(stage.moment_B for stage in stages),
            start.rate_dot_B,
            end.rate_dot_B,
            end.force_B / account.mass_kg,
            _mean([stage.gravity_W for stage in stages]),
            turn_W,
        ]
    )
    power_W = _mean([stage.power_W for stage in stages])
    return (
        *(dt_s, account.supported, account.mass_kg),
        *account.after.row(),
        *forces.tolist(),
        *account.wind_W,
        account.density_kg_m3,
        *(account.after.kinetic_J, power_W),
    )


def _mean(values: Sequence[Any]) -> Any:
    start, middle, end = values
    return (start + 4.0 * middle + end) / 6.0


class Body(NamedTuple):
    """A rigid body's mass properties."""

    mass_kg: float
    inertia_kgm2: Vec  # (3, 3) about the centre of mass, body axes
    centre_B_m: Vec  # from the point whose motion is given


class Moving(Protocol):
    @property
    def pos_W(self) -> Vec3: ...
    @property
    def vel_W(self) -> Vec3: ...
    @property
    def quat_WB(self) -> Quat: ...
    @property
    def rate_B(self) -> Vec3: ...


class Loads(NamedTuple):
    force_B: Vec
    moment_B: Vec  # about the centre of mass
    gravity_W: Vec


class Forces(Protocol[E_contra]):
    """A family's force model of a rigid aircraft."""

    @property
    def body(self) -> Body: ...
    @property
    def supported(self) -> bool: ...
    @property
    def air(self) -> tuple[Vec3, float]:
        """Wind and density that are held over the step."""

    def motion(self) -> Moving:
        """Present motion of the body's origin; the rate is relative to W."""

    def hold(self, dt_s: float) -> None:
        """Before a step: keep what is held over it."""

    def loads(self, effort: E_contra, at: State) -> Loads: ...


@dataclass(frozen=True)
class Kept:
    motion: Moving
    dt_s: float
    supported: bool


class RigidLedger(Generic[E]):
    """Of a rigid aircraft, by Newton and Euler; w is the rate relative to inertial space, W the earth's:

    v' = R f/m + g - 2 W x v,    I w' = M - w x I w,    L = R I w
    """

    def __init__(self, forces: Forces[E], turn_W: Vec3 | None) -> None:
        self._forces = forces
        self.turn_W: Vec = np.array(turn_W or STILL)
        self._kept: Kept

    def begin(self, dt_s: float) -> None:
        forces = self._forces
        self._kept = Kept(forces.motion(), dt_s, forces.supported)
        forces.hold(dt_s)

    def end(self, effort: E) -> Account:
        forces, kept = self._forces, self._kept
        body = forces.body
        before, after = self._state(kept.motion, body), self._state(forces.motion(), body)
        start, end = self._stage(effort, body, before), self._stage(effort, body, after)
        middle = self._stage(effort, body, self._middle(body, (before, start), (after, end), kept.dt_s))
        supported = kept.supported or forces.supported
        return Account(before, after, (start, middle, end), body.mass_kg, supported, *forces.air)

    def _state(self, motion: Moving, body: Body) -> State:
        R_WB, rate_B = _rotation(motion.quat_WB), np.array(motion.rate_B)
        pos_W = np.array(motion.pos_W) + R_WB @ body.centre_B_m
        vel_W = np.array(motion.vel_W) + R_WB @ np.cross(rate_B, body.centre_B_m)
        return self._at(body, pos_W, vel_W, np.array(motion.quat_WB), rate_B)

    def _at(self, body: Body, pos_W: Vec, vel_W: Vec, quat_WB: Vec, rate_B: Vec) -> State:
        R_WB = _rotation(quat_WB)
        inertial_B = rate_B + R_WB.T @ self.turn_W
        spin_B = body.inertia_kgm2 @ inertial_B
        kinetic_J = 0.5 * float(body.mass_kg * vel_W @ vel_W + inertial_B @ spin_B)
        return State(pos_W, vel_W, quat_WB, rate_B, R_WB @ spin_B, kinetic_J)

    def _stage(self, effort: E, body: Body, at: State) -> Stage:
        R_WB = _rotation(at.quat_WB)
        force_B, moment_B, gravity_W = self._forces.loads(effort, at)
        turn_B = R_WB.T @ self.turn_W
        inertial_B, spin_B = at.rate_B + turn_B, R_WB.T @ at.spin_W
        euler_B = np.linalg.solve(body.inertia_kgm2, moment_B - np.cross(inertial_B, spin_B))
        rate_dot_B = euler_B + np.cross(at.rate_B, turn_B)
        power_W = float(R_WB @ force_B @ at.vel_W + moment_B @ inertial_B)
        return Stage(force_B, moment_B, rate_dot_B, gravity_W, power_W)

    def _middle(self, body: Body, start: tuple[State, Stage], end: tuple[State, Stage], dt_s: float) -> State:
        (was, at_start), (now, at_end) = start, end
        eighth_s = dt_s / 8.0

        def accel_W(state: State, stage: Stage) -> Vec:
            pushed: Vec = _rotation(state.quat_WB) @ stage.force_B / body.mass_kg + stage.gravity_W
            return pushed - 2.0 * np.cross(self.turn_W, state.vel_W)

        quat = middle_quat(was.quat_WB, was.rate_B, now.quat_WB, now.rate_B, dt_s)
        pos_W = 0.5 * (was.pos_W + now.pos_W) + eighth_s * (was.vel_W - now.vel_W)
        vel_W = 0.5 * (was.vel_W + now.vel_W) + eighth_s * (accel_W(was, at_start) - accel_W(now, at_end))
        rate_B = 0.5 * (was.rate_B + now.rate_B) + eighth_s * (at_start.rate_dot_B - at_end.rate_dot_B)
        return self._at(body, pos_W, vel_W, quat, rate_B)


def middle_quat(was: Vec, was_rate_B: Vec, now: Vec, now_rate_B: Vec, dt_s: float) -> Vec:
    """Of the cubic through both attitudes and their derivatives, of unit length."""
    now = now if was @ now >= 0.0 else -now
    middle = 0.5 * (was + now) + dt_s / 8.0 * (_quat_dot(was, was_rate_B) - _quat_dot(now, now_rate_B))
    unit: Vec = middle / np.linalg.norm(middle)
    return unit


def _quat_dot(quat: Vec, rate_B: Vec) -> Vec:
    w, v = quat[0], quat[1:]
    return 0.5 * np.array([-v @ rate_B, *(w * rate_B + np.cross(v, rate_B))])


def _rotation(quat: Any) -> Vec:
    rotation: Vec = np.array(rotation_rows(quat))
    return rotation
