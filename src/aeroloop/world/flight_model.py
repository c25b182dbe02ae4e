"""Simulated world of a fixed wing: its equations of motion, integrated step by step, over ground it must not touch.

A fixed wing in flight has no contacts, so there is no contact engine. The step function is built elsewhere
(models/fixedwing.py) and passed in as a runner, compiled or not: (state, input, dt) -> state after dt.

The acceleration is the mean over the last step, as in world/rigid.py: its sum is the change of velocity. A NaN in the
state persists and appears in every signal; nothing here hides or repairs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from aeroloop.core.frames import Quat, Vec, Vec3
from aeroloop.core.signals import NS, Air, RigidState

Height = Callable[[float, float], float]
"""(east, north) in m -> z of the ground in m."""


class Runner(Protocol):
    """Fill `inputs` (state, input, dt), call, read `outputs` (state)."""

    inputs: list[Vec]
    outputs: list[Vec]
    run: Callable[[], None]  # the call without Python

    def __call__(self) -> None: ...


class Effort(Protocol):
    @property
    def controls(self) -> tuple[float, ...]:
        """Positions of the surfaces and the throttle, in the order of the model's input."""


class FlightModel:
    """`ground` gives the height of the ground; without it there is none."""

    def __init__(self, step: Runner, ground: Height | None = None) -> None:
        self._connect(step)
        self._ground = ground
        self._dt_ns = 0
        self._accel_W: Vec3 = (0.0, 0.0, 0.0)
        self._state: list[float] = [0.0] * len(self._before)
        self.reset((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))

    def reset(
        self,
        pos_W: Vec3,
        quat_WB: Quat,
        *,
        vel_W: Vec3 = (0.0, 0.0, 0.0),
        rate_B: Vec3 = (0.0, 0.0, 0.0),
        accel_W: Vec3 = (0.0, 0.0, 0.0),
    ) -> None:
        """Set the state; the acceleration is the one of `state` before the first step."""
        self._state = [*pos_W, *quat_WB, *vel_W, *rate_B]
        self._after[:] = self._state
        self._accel_W = accel_W

    def displace(self, pos_W: Vec3, vel_W: Vec3, rate_B: Vec3) -> None:
        """Continue from there; the acceleration of the last step stays."""
        self._state = [*pos_W, *self._state[3:7], *vel_W, *rate_B]
        self._after[:] = self._state

    def exchange(self, step: Runner) -> None:
        """Continue the present motion with other equations of motion."""
        self._dt_ns = 0
        self._connect(step)
        self._after[:] = self._state

    def _connect(self, step: Runner) -> None:
        self._run = step
        self._before, self._input, self._dt_s = step.inputs
        self._after = step.outputs[0]

    def step(self, effort: Effort, air: Air, gravity_m_s2: float, dt_ns: int) -> None:
        """Advance with effort, wind, density and gravity held."""
        if dt_ns != self._dt_ns:
            self._dt_s[0] = dt_ns / NS
            self._dt_ns = dt_ns
        self._before[:] = self._after
        self._input[:] = (*effort.controls, *air.wind_W, air.density_kg_m3, gravity_m_s2)
        was_vx, was_vy, was_vz = self._state[7:10]
        self._run()
        self._state = self._after.tolist()
        vx, vy, vz = self._state[7:10]
        per_s = NS / dt_ns
        self._accel_W = ((vx - was_vx) * per_s, (vy - was_vy) * per_s, (vz - was_vz) * per_s)

    def state(self, t_ns: int) -> RigidState:
        x, y, z, qw, qx, qy, qz, vx, vy, vz, p, q, r = self._state
        return RigidState(t_ns, (x, y, z), (qw, qx, qy, qz), (vx, vy, vz), (p, q, r), self._accel_W)

    @property
    def touching(self) -> bool:
        """Whether it is at or below the ground."""
        if self._ground is None:
            return False
        x, y, z = self._state[:3]
        return z <= self._ground(x, y)


class FlightModelInGusts(FlightModel):
    """In air that rotates: the last three inputs of its step are the angular velocity of the air, in W."""

    air_rate_W: Callable[[], Vec3]
    """Set before the first step."""

    def step(self, effort: Effort, air: Air, gravity_m_s2: float, dt_ns: int) -> None:
        self._air_rate[:] = self.air_rate_W()
        super().step(effort, air, gravity_m_s2, dt_ns)

    def _connect(self, step: Runner) -> None:
        super()._connect(step)
        self._input, self._air_rate = self._input[:-3], self._input[-3:]
