"""Motion relative to the rotating earth, from that of a body which was stepped as if the earth did not turn.

With W the earth's rate and w the body rate relative to the earth, a step without the earth's rotation lacks

    v' = -2 W x v                                                  Coriolis acceleration
    w' = I^-1 (I w x W_B + I W_B x (w + W_B)) + w x W_B            w + W_B is the rate that Euler's equations mean

The centrifugal acceleration is a part of gravity. Both are evaluated in the middle of the step and added at its end;
the position gets its part of the step, the attitude only with the next one: a brick that tumbles with 37 deg/s for 30 s
is then off by 1.4e-6 rad at 4 ms, a thousandth of what the earth turned meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aeroloop.core.frames import Quat, Vec, Vec3, rotated
from aeroloop.core.signals import RigidState, Truth

Rows = tuple[Vec3, Vec3, Vec3]
STILL: Vec3 = (0.0, 0.0, 0.0)
Inertia = Vec3 | Rows
"""Principal moments, or the tensor by rows, in kg m2."""


class Moved(NamedTuple):
    pos_W: Vec3
    vel_W: Vec3
    rate_B: Vec3


def coriolis_W(turn_W: Vec3, vel_W: Vec3) -> Vec3:
    """m/s2"""
    return _scaled(-2.0, _cross(turn_W, vel_W))


class EarthRotation:
    """Of one body, at one place."""

    def __init__(self, turn_W: Vec3, inertia_kgm2: Inertia) -> None:
        given = np.array(inertia_kgm2)
        inertia = np.diag(given) if given.ndim == 1 else given
        self._turn_W = turn_W
        self._inertia, self._per_inertia = _rows(inertia), _rows(np.linalg.inv(inertia))

    def moved(self, before: RigidState | Truth, after: RigidState | Truth, dt_s: float) -> Moved:
        """Position, velocity and body rate after a step of `dt_s` from `before`, which without the earth's rotation
        ended in `after`."""
        kick = _scaled(dt_s, coriolis_W(self._turn_W, _middle(before.vel_W, after.vel_W)))
        return Moved(
            _sum(after.pos_W, _scaled(0.5 * dt_s, kick)),
            _sum(after.vel_W, kick),
            _sum(after.rate_B, _scaled(dt_s, self._rate_dot(before, after))),
        )

    def _rate_dot(self, before: RigidState | Truth, after: RigidState | Truth) -> Vec3:
        rate = _middle(before.rate_B, after.rate_B)
        if rate == STILL:  # below 1e-8 rad/s2, and no reason to leave the ground
            return STILL
        turn = _middle(self._turn_B(before.quat_WB), self._turn_B(after.quat_WB))
        inertia = self._inertia
        torque = _sum(_cross(_times(inertia, rate), turn), _cross(_times(inertia, turn), _sum(rate, turn)))
        return _sum(_times(self._per_inertia, torque), _cross(rate, turn))

    def _turn_B(self, quat_WB: Quat) -> Vec3:
        w, x, y, z = quat_WB
        return rotated((w, -x, -y, -z), self._turn_W)


def _rows(matrix: Vec) -> Rows:
    a, b, c = (tuple(row) for row in matrix.tolist())
    return a, b, c


def _times(rows: Rows, v: Vec3) -> Vec3:
    (a, b, c), (d, e, f), (g, h, i) = rows
    x, y, z = v
    return a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z


def _cross(a: Vec3, b: Vec3) -> Vec3:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def _sum(a: Vec3, b: Vec3) -> Vec3:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _scaled(factor: float, v: Vec3) -> Vec3:
    return factor * v[0], factor * v[1], factor * v[2]


def _middle(a: Vec3, b: Vec3) -> Vec3:
    return 0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])
