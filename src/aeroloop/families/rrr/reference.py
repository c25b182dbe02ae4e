"""Paths of the platform over time, and the joint references that follow from them: angles, rates, accelerations.

A path starts and, on a square, turns corners at rest, with polynomials of fifth degree.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Annotated, Any, Literal

import casadi as ca

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.families.rrr.kinematics import Kinematics, described, jacobian, legs
from aeroloop.families.rrr.robot import Robot

START_S = 1.0
"""Time in which a circle reaches its rate."""
CHECK_S = 0.002
CORNERS = ((1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0))
TURN_LEFT = ((0.0, 1.0), (-1.0, 0.0), (0.0, -1.0), (1.0, 0.0))
"""Directions of the sides from the corners."""


class Reference(Config, frozen=True):
    """The path of the platform."""

    path: Annotated[
        Literal["circle", "square"],
        note("`circle`, with an oscillating angle; `square`, without a turn of the platform"),
    ] = "circle"
    size_m: Annotated[float, meta("m", "radius of the circle, or half the side of the square", gt=0, le=10)] = 0.05
    period_s: Annotated[float, meta("s", "time for one round", ge=0.2, le=1000)] = 2.0
    angle_rad: Annotated[float, meta("rad", "largest angle of the platform on a circle", ge=0, le=1.5)] = math.radians(
        8.0
    )
    centre_m: Annotated[tuple[float, float], meta("m", "centre of the path, x and y")] = (0.0, 0.0)

    @property
    def whole_s(self) -> float:
        """Time after which the path repeats."""
        return self.period_s + (START_S if self.path == "circle" else 0.0)


def _smooth(s: Any) -> Any:
    return s**3 * (10 + s * (6 * s - 15))


def path(reference: Reference, t_s: Any) -> Any:
    """Pose at a time, as symbols."""
    x, y = reference.centre_m
    if reference.path == "circle":
        rate = math.tau / reference.period_s
        s = ca.fmin(t_s / START_S, 1)
        turned = rate * (START_S * s**4 * (2.5 + s * (s - 3)) + ca.fmax(t_s - START_S, 0))
        size = reference.size_m
        return ca.vertcat(x + size * ca.cos(turned), y + size * ca.sin(turned), reference.angle_rad * ca.sin(turned))
    side_s = reference.period_s / 4
    side = ca.floor(t_s / side_s)
    way = 2 * _smooth(t_s / side_s - side)
    corner = ca.fmod(side, 4)
    place = ca.vertcat(0, 0)
    for index, (start, along) in enumerate(zip(CORNERS, TURN_LEFT, strict=True)):
        place = ca.if_else(corner == index, ca.vertcat(*start) + way * ca.vertcat(*along), place)
    return ca.vertcat(x + reference.size_m * place[0], y + reference.size_m * place[1], 0)


@cache
def wanted(robot: Robot, reference: Reference) -> ca.Function:
    """t -> pose and rate of the platform (6,), and q, q', q'' (9,)."""
    t_s = ca.SX.sym("t_s")
    pose = path(reference, t_s)
    rate = ca.jacobian(pose, t_s)
    accel = ca.jacobian(rate, t_s)
    x, v, a = (ca.SX.sym(name, 3) for name in ("x", "v", "a"))
    at = legs(robot, x)
    q_rate = jacobian(at) @ v
    joints = ca.vertcat(at.q, q_rate, ca.jtimes(q_rate, x, v) + jacobian(at) @ a)
    of_joints = ca.Function("rrr_joints", [x, v, a], [joints])(pose, rate, accel)
    return ca.Function("rrr_reference", [t_s], [ca.densify(ca.vertcat(pose, rate)), ca.densify(of_joints)])


class Wanted:
    """The references at a time."""

    def __init__(self, robot: Robot, reference: Reference) -> None:
        self._run = Evaluator(wanted(robot, reference))

    def at(self, t_s: float) -> tuple[list[float], list[float]]:
        """Pose and rate of the platform; q, q' and q''."""
        self._run.inputs[0][:] = t_s
        self._run()
        pose, joints = self._run.outputs
        return pose.tolist(), joints.tolist()


def check(robot: Robot, reference: Reference, duration_s: float) -> None:
    """ConfigError if the path leaves the workspace or passes a guard, with time, place and singularity."""
    run, kinematics = Wanted(robot, reference), Kinematics(robot)
    for index in range(math.ceil(min(duration_s, reference.whole_s) / CHECK_S) + 1):
        t_s = index * CHECK_S
        pose = run.at(t_s)[0][:3]
        problem = kinematics.at(pose).problem
        if problem:
            raise ConfigError(f"reference: at {t_s:.2f} s the pose {described(pose)} is {problem}")
