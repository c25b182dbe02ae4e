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
NO_FORCES = (0.0,) * 27
"""Forces, moments and accelerations of a row that begins a step."""


class State(NamedTuple):
    """Motion at an end of the step: of the centre of mass, and of the body about it."""

    pos_W: Vec
    vel_W: Vec
    quat_WB: Vec
    rate_B: Vec  # relative to W
    spin_W: Vec  # angular momentum about the centre of mass, of the rate relative to inertial space
    kinetic_J: float

    def row(self) -> Row:
        parts = (self.pos_W, self.vel_W, self.quat_WB, self.rate_B, self.spin_W)
        return tuple(value for part in parts for value in part.tolist())


class Stage(NamedTuple):
    """What acts at one time of the step."""

    force_B: Vec  # without gravity
    moment_B: Vec  # about the centre of mass
    rate_dot_B: Vec
    gravity_W: Vec
    power_W: float


class Entry(Protocol):
    """One step in the log."""

    @property
    def begins(self) -> Row:
        """State from which it begins, and that in which it ends: a step begins where the one before ended, or a row
        says so."""

    @property
    def ends(self) -> Row: ...
    @property
    def start_row(self) -> Row: ...
    def step_row(self, dt_s: float) -> Row: ...


class Account(NamedTuple):
    """Of an aircraft."""

    before: State
    after: State
    stages: tuple[Stage, Stage, Stage]
    mass_kg: float
    supported: bool
    air: tuple[Vec3, float]  # wind and density
    turn_W: Vec  # the earth's rotation

    @property
    def begins(self) -> Row:
        return self._motion(self.before)

    @property
    def ends(self) -> Row:
        return self._motion(self.after)

    @property
    def start_row(self) -> Row:
        held = (*self.stages[0].gravity_W.tolist(), *self._surroundings)
        return (0.0, self.supported, *self.begins, *NO_FORCES, *held, self.before.kinetic_J, 0.0)

    def step_row(self, dt_s: float) -> Row:
        start, _, end = stages = self.stages
        acts = [*(stage.force_B for stage in stages), *(stage.moment_B for stage in stages)]
        acts += [start.rate_dot_B, end.rate_dot_B, end.force_B / self.mass_kg]
        held = (*mean([stage.gravity_W for stage in stages]).tolist(), *self._surroundings)
        power_W = mean([stage.power_W for stage in stages])
        forces = np.concatenate(acts).tolist()
        return (dt_s, self.supported, *self.ends, *forces, *held, self.after.kinetic_J, power_W)

    def _motion(self, state: State) -> Row:
        return self.mass_kg, *state.row()

    @property
    def _surroundings(self) -> Row:
        wind_W, density_kg_m3 = self.air
        return *self.turn_W.tolist(), *wind_W, density_kg_m3


class Ledger(Protocol[E_contra]):
    """A family's account of its steps."""

    def begin(self, dt_s: float) -> None:
        """Before a step: keep the motion, and what is held over the step."""

    def end(self, effort: E_contra) -> Entry: ...


class Balanced(Generic[E, S]):
    """A motion whose every step is logged."""

    def __init__(self, motion: Motion[E, S], ledger: Ledger[E], log: Callable[[int, Row], None]) -> None:
        self.motion, self._ledger, self._log = motion, ledger, log
        self.state = motion.state
        self._t_ns = 0
        self._last: Row = ()

    def drive(self, command: Row, dt_ns: int) -> E:
        self._ledger.begin(dt_ns / NS)
        effort = self.motion.drive(command, dt_ns)
        entry = self._ledger.end(effort)
        if entry.begins != self._last:
            self._log(self._t_ns, entry.start_row)
        self._t_ns += dt_ns
        self._last = entry.ends
        self._log(self._t_ns, entry.step_row(dt_ns / NS))
        return effort


def balanced(motion: Motion[E, S], ledger: Ledger[E] | None, log: Callable[[int, Row], None]) -> Motion[E, S]:
    """The motion itself where no ledger is kept."""
    return motion if ledger is None else Balanced(motion, ledger, log)


def mean(values: Sequence[Any]) -> Any:
    """Over a step, by Simpson's rule."""
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

    An aircraft to whose steps the rotation is added at their end is without W until there, and w is the rate relative
    to W: its forces are those of a step to the state `stepped`.
    """

    def __init__(self, forces: Forces[E], turn_W: Vec3 | None, stepped: Callable[[], Moving] | None = None) -> None:
        self._forces, self._stepped = forces, stepped or forces.motion
        self._turn_W: Vec = np.array(turn_W or STILL)
        self._within_W = self._turn_W if stepped is None else np.array(STILL)
        """The rotation that acts within a step."""
        self._kept: Kept

    def begin(self, dt_s: float) -> None:
        forces = self._forces
        self._kept = Kept(forces.motion(), dt_s, forces.supported)
        forces.hold(dt_s)

    def end(self, effort: E) -> Account:
        forces, kept = self._forces, self._kept
        body = forces.body
        before, after = self._state(kept.motion, body), self._state(forces.motion(), body)
        stepped = self._state(self._stepped(), body)
        start, end = self._stage(effort, body, before), self._stage(effort, body, stepped)
        middle = self._stage(effort, body, self._middle(body, (before, start), (stepped, end), kept.dt_s))
        supported = kept.supported or forces.supported
        stages = start, middle, end
        return Account(before, after, stages, body.mass_kg, supported, forces.air, self._turn_W)

    def _state(self, motion: Moving, body: Body) -> State:
        R_WB, rate_B = _rotation(motion.quat_WB), np.array(motion.rate_B)
        pos_W = np.array(motion.pos_W) + R_WB @ body.centre_B_m
        vel_W = np.array(motion.vel_W) + R_WB @ np.cross(rate_B, body.centre_B_m)
        return self._at(body, pos_W, vel_W, np.array(motion.quat_WB), rate_B)

    def _at(self, body: Body, pos_W: Vec, vel_W: Vec, quat_WB: Vec, rate_B: Vec) -> State:
        R_WB = _rotation(quat_WB)
        inertial_B = rate_B + R_WB.T @ self._turn_W
        spin_B = body.inertia_kgm2 @ inertial_B
        kinetic_J = 0.5 * float(body.mass_kg * vel_W @ vel_W + inertial_B @ spin_B)
        return State(pos_W, vel_W, quat_WB, rate_B, R_WB @ spin_B, kinetic_J)

    def _stage(self, effort: E, body: Body, at: State) -> Stage:
        R_WB = _rotation(at.quat_WB)
        force_B, moment_B, gravity_W = self._forces.loads(effort, at)
        turn_B = R_WB.T @ self._within_W
        inertial_B = at.rate_B + turn_B
        gyroscopic_B = np.cross(inertial_B, body.inertia_kgm2 @ inertial_B)
        rate_dot_B = np.linalg.solve(body.inertia_kgm2, moment_B - gyroscopic_B) + np.cross(at.rate_B, turn_B)
        power_W = float(R_WB @ force_B @ at.vel_W + moment_B @ (at.rate_B + R_WB.T @ self._turn_W))
        return Stage(force_B, moment_B, rate_dot_B, gravity_W, power_W)

    def _middle(self, body: Body, start: tuple[State, Stage], end: tuple[State, Stage], dt_s: float) -> State:
        (was, at_start), (now, at_end) = start, end
        eighth_s = dt_s / 8.0

        def accel_W(state: State, stage: Stage) -> Vec:
            pushed: Vec = _rotation(state.quat_WB) @ stage.force_B / body.mass_kg + stage.gravity_W
            return pushed - 2.0 * np.cross(self._within_W, state.vel_W)

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
