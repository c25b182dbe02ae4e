"""Kinematics of a 3-RRR robot: closed-form inverse, Newton forward, Jacobian, and the guards against singularities.

The pose x is the platform's place and angle (m, m, rad), q are the angles of the driven joints. All legs are in the
working mode whose elbow is on the positive side of the line from base to platform joint.

    Ax x' = diag(b) q',    Jq = diag(b)^-1 Ax

Type 1: b_i = 0, leg i is stretched or folded. Type 2: det Ax = 0, the lines of the three links to the platform meet in
a point or are parallel. Guards are relative: b_i over both lengths of the links; Ax over the length of the links to
the platform, its third column also over the platform's radius.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.angles import wrap_pi
from aeroloop.core.errors import AeroloopError
from aeroloop.core.frames import Vec
from aeroloop.families.rrr.robot import LEG_ANGLES_RAD, LEGS, Robot

LEAST_LEG, LEAST_DET = 0.3, 0.4
"""Guards against singularities of type 1 and type 2."""
NEWTON_STEPS, NEWTON_RAD = 20, 1e-12

Pose = tuple[float, float, float]


@dataclass(frozen=True)
class Legs:
    """All legs at a pose, as symbols."""

    q: Any  # (3,)
    distal: Any  # (3,) directions of the links to the platform
    elbows: Any  # (3, 2)
    joints: Any  # (3, 2) of the platform
    matrix: Any  # Ax
    arms: Any  # b


def legs(robot: Robot, pose: Any) -> Legs:
    """Angles are continuous about the direction from a base joint to the centre."""
    q, distal, elbows, joints, rows, arms = [], [], [], [], [], []
    l1, l2, r = robot.proximal_m, robot.distal_m, robot.platform_m
    for angle in LEG_ANGLES_RAD:
        base = robot.base_m * ca.vertcat(math.cos(angle), math.sin(angle))
        on_platform = angle + pose[2]
        joint = pose[0:2] + r * ca.vertcat(ca.cos(on_platform), ca.sin(on_platform))
        d = joint - base
        inward, left = ca.vertcat(-math.cos(angle), -math.sin(angle)), ca.vertcat(math.sin(angle), -math.cos(angle))
        direction = wrap_pi(angle + math.pi) + ca.atan2(ca.dot(left, d), ca.dot(inward, d))
        span2 = ca.sumsqr(d)
        q_i = direction + ca.acos((span2 + l1**2 - l2**2) / (2 * ca.sqrt(span2) * l1))
        elbow = base + l1 * ca.vertcat(ca.cos(q_i), ca.sin(q_i))
        v = joint - elbow
        q.append(q_i)
        distal.append(ca.atan2(v[1], v[0]))
        elbows.append(elbow.T)
        joints.append(joint.T)
        rows.append(ca.horzcat(v[0], v[1], r * (-v[0] * ca.sin(on_platform) + v[1] * ca.cos(on_platform))))
        arms.append(l1 * (-v[0] * ca.sin(q_i) + v[1] * ca.cos(q_i)))
    return Legs(*(ca.vertcat(*parts) for parts in (q, distal, elbows, joints, rows, arms)))


def jacobian(at: Legs) -> Any:
    """Jq: q' = Jq x'."""
    return at.matrix / ca.repmat(at.arms, 1, LEGS)


def guards(robot: Robot, at: Legs) -> Any:
    """|b_i| / (l1 l2) of the legs, then the scaled determinant; NaN where a leg does not reach."""
    scaled = ca.horzcat(at.matrix[:, 0:2], at.matrix[:, 2] / robot.platform_m) / robot.distal_m
    return ca.vertcat(ca.fabs(at.arms) / (robot.proximal_m * robot.distal_m), ca.det(scaled))


@dataclass(frozen=True)
class Reached:
    """A pose's joints, and how far it is from singularities."""

    q: tuple[float, ...]
    distal: tuple[float, ...]
    legs: tuple[float, ...]  # |b_i| / (l1 l2)
    det: float

    @property
    def problem(self) -> str:
        """Why the platform may not be here, in words; empty: it may."""
        for number, (leg, q) in enumerate(zip(self.legs, self.q, strict=True), 1):
            if not math.isfinite(q):
                return f"outside the workspace: leg {number} does not reach it"
            if not leg >= LEAST_LEG:
                return (
                    f"near a singularity of type 1: leg {number} is nearly stretched or folded "
                    f"({leg:.3f}, expected at least {LEAST_LEG:g})"
                )
        if not self.det >= LEAST_DET:
            return (
                "near a singularity of type 2: the links to the platform nearly meet in a point or are parallel "
                f"(determinant {self.det:.3f}, expected at least {LEAST_DET:g})"
            )
        return ""


class Kinematics:
    """Numbers for one robot."""

    def __init__(self, robot: Robot) -> None:
        self._run = Evaluator(inverse(robot))

    def at(self, pose: Sequence[float] | Vec) -> Reached:
        self._evaluate(pose)
        q, distal, guard, _ = self._run.outputs
        *of_legs, det = guard.tolist()
        return Reached(tuple(q.tolist()), tuple(distal.tolist()), tuple(of_legs), det)

    def jacobian(self, pose: Sequence[float] | Vec) -> Vec:
        self._evaluate(pose)
        found: Vec = self._run.outputs[3].reshape(LEGS, LEGS, order="F").copy()
        return found

    def forward(self, q: Sequence[float], near: Sequence[float]) -> Pose:
        """The pose with these joint angles, from one nearby; AeroloopError past a guard, or if there is none."""
        pose: Vec = np.array(near, dtype=float)
        for _ in range(NEWTON_STEPS):
            reached = self.at(pose)
            if reached.problem:
                raise AeroloopError(f"forward kinematics: {described(pose)} is {reached.problem}")
            off = np.asarray(q, dtype=float) - np.array(reached.q)
            if np.abs(off).max() < NEWTON_RAD:
                break
            pose = pose + np.linalg.solve(self.jacobian(pose), off)
        else:
            raise AeroloopError(f"forward kinematics: no pose near {described(near)} has these joint angles")
        x, y, angle = pose.tolist()
        return x, y, angle

    def _evaluate(self, pose: Sequence[float] | Vec) -> None:
        self._run.inputs[0][:] = pose
        self._run()


@cache
def inverse(robot: Robot) -> ca.Function:
    """pose -> q, directions of the links to the platform, guards, Jq by columns."""
    pose = ca.SX.sym("pose", 3)
    at = legs(robot, pose)
    parts = (at.q, at.distal, guards(robot, at), ca.vec(jacobian(at)))
    return ca.Function("rrr_inverse", [pose], [ca.densify(part) for part in parts])


def described(pose: Sequence[float] | Vec) -> str:
    x, y, angle = pose
    return f"({1e3 * x:.0f} mm, {1e3 * y:.0f} mm, {math.degrees(angle):.1f} deg)"
