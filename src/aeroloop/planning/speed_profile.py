"""The speed along a curve, as fast as limits permit, and the motion in time that follows.

With the tangent T, the curvature vector K and the speed v along the curve, velocity is v T and acceleration is
a T + v^2 K. At each node v^2 is limited by the speeds, and such that v^2 K alone stays within the accelerations; then
one pass forwards and one backwards limit the change of v^2 to what the accelerations leave for a. Between two nodes a
is constant. Each section of the curve begins and ends at rest. On a straight line the result is the trapezoid of speed
over time, on a circle of radius r a constant speed of at most sqrt(r a_max).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.angles import wrap_pi
from aeroloop.core.frames import Vec3
from aeroloop.planning.route import RoutePoint, Section, sections
from aeroloop.planning.route_limits import Heading, Limits
from aeroloop.planning.spline import Array

STEEP = 0.05
"""Where the horizontal part of the tangent is shorter, the path has no heading of its own."""
TURN_RATE_RAD_S = 0.5
"""Mean rate at which the heading turns at a stop."""


class Motion(NamedTuple):
    """At one time."""

    pos_W: Vec3
    vel_W: Vec3
    accel_W: Vec3
    yaw_rad: float
    yaw_rate_rad_s: float


@dataclass(frozen=True, eq=False)
class TimedRoute:
    """The nodes of a curve with their times. A stop between two sections is two nodes at one place."""

    parts: int  # number of sections
    t_s: Array  # (n,)
    s_m: Array  # (n,) from the beginning of the route
    pos_W: Array  # (n, 3)
    tangent_W: Array  # (n, 3) of length 1
    vel_W: Array  # (n, 3)
    speed_m_s: Array  # (n,) along the curve
    pull_m_s2: Array  # (n,) along the curve, until the next node
    curvature_W: Array  # (n, 3) 1/m
    accel_W: Array  # (n, 3) after the node
    accel_before_W: Array  # (n, 3) the same before it: it changes where the speed begins or ceases to grow
    leg: NDArray[np.int64]  # (n,) index of the point at or before it
    yaw_rad: Array  # (n,) continuous beyond half a turn
    yaw_rate_rad_s: Array  # (n,)

    @property
    def duration_s(self) -> float:
        return float(self.t_s[-1])

    @property
    def length_m(self) -> float:
        return float(self.s_m[-1])

    @cached_property
    def _rows(self) -> tuple[list[float], list[tuple[float, ...]]]:
        """The nodes as plain numbers, which are faster one by one: times; and arc length, speed, acceleration along
        the curve, position, tangent and curvature of each."""
        columns = (self.s_m, self.speed_m_s, self.pull_m_s2)
        rows = np.column_stack([*columns, self.pos_W, self.tangent_W, self.curvature_W])
        return self.t_s.tolist(), [tuple(row) for row in rows.tolist()]

    def at(self, t_s: float) -> Motion:
        """Before its beginning and after its end: at rest. Between two nodes the position is the cubic of arc length
        with their tangents."""
        times_s, rows = self._rows
        t_s = min(max(t_s, 0.0), times_s[-1])
        index = min(max(bisect_right(times_s, t_s) - 1, 0), len(times_s) - 2)
        since_s = t_s - times_s[index]
        s_m, speed, pull, *here = rows[index]
        there = rows[index + 1]
        step_m = there[0] - s_m
        speed, u = max(0.0, speed + pull * since_s), 0.0
        if step_m > 0:
            u = min((rows[index][1] + pull / 2 * since_s) * since_s / step_m, 1.0)
        pos_W, vel_W, accel_W = [], [], []
        for axis in range(3):
            p, q, dp, dq = here[axis], there[3 + axis], step_m * here[3 + axis], step_m * there[6 + axis]
            c2, c3 = 3 * (q - p) - 2 * dp - dq, 2 * (p - q) + dp + dq
            bend = here[6 + axis] + u * (there[9 + axis] - here[6 + axis])
            along = (dp + u * (2 * c2 + 3 * u * c3)) / step_m if step_m > 0 else here[3 + axis]
            pos_W.append(p + u * (dp + u * (c2 + u * c3)))
            vel_W.append(speed * along)
            accel_W.append(pull * along + speed * speed * bend)
        yaw_rad, yaw_rate = self._heading(index, since_s)
        return Motion(_three(pos_W), _three(vel_W), _three(accel_W), wrap_pi(yaw_rad), yaw_rate)

    def _heading(self, index: int, since_s: float) -> tuple[float, float]:
        """Cubic between the nodes, with their rates."""
        lasts_s = float(self.t_s[index + 1] - self.t_s[index])
        a, b = float(self.yaw_rad[index]), float(self.yaw_rad[index + 1])
        da, db = (lasts_s * float(rate) for rate in self.yaw_rate_rad_s[index : index + 2])
        if a == b and not (da or db):
            return a, 0.0
        u = since_s / lasts_s
        c2, c3 = 3 * (b - a) - 2 * da - db, 2 * (a - b) + da + db
        return a + u * (da + u * (c2 + u * c3)), (da + u * (2 * c2 + 3 * u * c3)) / lasts_s


def _three(values: list[float]) -> Vec3:
    x, y, z = values
    return x, y, z


def timed(
    points: Sequence[RoutePoint],
    limits: Limits,
    *,
    fit: bool = True,
    heading: Heading = "fixed",
    yaw_rad: float = 0.0,
) -> TimedRoute:
    """The motion through checked points. Without `fit` the speeds of the points are flown as given, whatever the
    limits; only the change of speed keeps them."""
    curve = sections(points)
    wanted = [point.speed_m_s or limits.speed_m_s for point in points]
    found = [_part(section, np.array([wanted[int(leg)] for leg in section.leg]), limits, fit=fit) for section in curve]
    yaws = _yaws(curve, heading, yaw_rad)
    t_s, s_m, end_s, end_m = [], [], 0.0, 0.0
    for number, (section, (times_s, _, _)) in enumerate(zip(curve, found, strict=True)):
        if number:
            end_s += abs(float(yaws[number][0] - yaws[number - 1][-1])) / TURN_RATE_RAD_S
        t_s.append(end_s + times_s)
        s_m.append(end_m + section.s_m)
        end_s, end_m = float(t_s[-1][-1]), float(s_m[-1][-1])
    speed, pull = (np.concatenate(columns) for columns in zip(*[each[1:] for each in found], strict=True))
    tangent, curvature = (
        np.concatenate([getattr(each, name) for each in curve]) for name in ("tangent_W", "curvature_W")
    )
    before = np.concatenate([np.concatenate([each[2][:1], each[2][:-1]]) for each in found])
    bend = speed[:, None] ** 2 * curvature
    return TimedRoute(
        parts=len(curve),
        t_s=np.concatenate(t_s),
        s_m=np.concatenate(s_m),
        pos_W=np.concatenate([section.pos_W for section in curve]),
        tangent_W=tangent,
        vel_W=speed[:, None] * tangent,
        speed_m_s=speed,
        pull_m_s2=pull,
        curvature_W=curvature,
        accel_W=pull[:, None] * tangent + bend,
        accel_before_W=before[:, None] * tangent + bend,
        leg=np.concatenate([section.leg for section in curve]),
        yaw_rad=np.concatenate(yaws),
        yaw_rate_rad_s=np.concatenate(
            [np.gradient(yaw, section.s_m) * each[1] for yaw, section, each in zip(yaws, curve, found, strict=True)]
        ),
    )


def _part(section: Section, wanted_m_s: Array, limits: Limits, *, fit: bool) -> tuple[Array, Array, Array]:
    """Time, speed and acceleration along the curve at the nodes of a section; the last acceleration is zero."""
    T, K = section.tangent_W, section.curvature_W if fit else np.zeros_like(section.curvature_W)
    level, up = np.hypot(T[:, 0], T[:, 1]), T[:, 2]
    squared = wanted_m_s**2
    if fit:
        with np.errstate(divide="ignore"):
            steepest = np.where(up > 0, limits.climb_m_s, limits.sink_m_s) / np.abs(up)
            across = limits.accel_m_s2 / np.hypot(K[:, 0], K[:, 1]), limits.vertical_accel_m_s2 / np.abs(K[:, 2])
            squared = np.minimum.reduce([squared, (limits.speed_m_s / level) ** 2, steepest**2, *across])
    squared[0] = squared[-1] = 0.0
    budget = _Budget(T, K, limits)
    step_m = float(section.s_m[1])
    v2 = squared.tolist()
    for ahead, indices in ((1, range(len(v2) - 1)), (-1, range(len(v2) - 1, 0, -1))):
        for index in indices:
            other = index + ahead
            room = budget(index, v2[index], ahead)
            reached = min(v2[other], v2[index] + 2 * step_m * room)
            room = min(room, budget(other, reached, ahead))
            v2[other] = min(v2[other], v2[index] + 2 * step_m * room)
    speed = np.sqrt(v2)
    pull = np.append(np.diff(v2) / (2 * step_m), 0.0)
    return np.concatenate([[0.0], np.cumsum(2 * step_m / (speed[1:] + speed[:-1]))]), speed, pull


class _Budget:
    """What the accelerations leave for a change of speed."""

    def __init__(self, T: Array, K: Array, limits: Limits) -> None:
        self._TT, self._TK, self._KK = ((a[:, :2] * b[:, :2]).sum(axis=1).tolist() for a, b in ((T, T), (T, K), (K, K)))
        self._Tz, self._Kz = T[:, 2].tolist(), K[:, 2].tolist()
        self._level, self._up = limits.accel_m_s2, limits.vertical_accel_m_s2

    def __call__(self, node: int, v2: float, sign: int) -> float:
        """Largest a >= 0 with |sign a T + v2 K| within the horizontal and the vertical acceleration."""
        most = math.inf
        if self._TT[node] > 1e-12:
            half = sign * v2 * self._TK[node]
            left = half * half - self._TT[node] * (v2 * v2 * self._KK[node] - self._level**2)
            most = (math.sqrt(max(0.0, left)) - half) / self._TT[node]
        if abs(self._Tz[node]) > 1e-9:
            along = sign * math.copysign(1.0, self._Tz[node]) * v2 * self._Kz[node]
            most = min(most, (self._up - along) / abs(self._Tz[node]))
        return max(0.0, most)


def _yaws(curve: Sequence[Section], heading: Heading, yaw_rad: float) -> list[Array]:
    """At the nodes of each section."""
    if heading == "fixed":
        return [np.full(len(section.s_m), yaw_rad) for section in curve]
    yaws: list[Array] = []
    last = yaw_rad
    for section in curve:
        x, y = section.tangent_W[:, 0], section.tangent_W[:, 1]
        known = np.nonzero(np.hypot(x, y) > STEEP)[0]
        if not len(known):
            yaws.append(np.full(len(x), last))
            continue
        own = np.unwrap(np.arctan2(y[known], x[known]))
        own += (last + wrap_pi(float(own[0]) - last)) - own[0] if yaws else 0.0
        yaws.append(np.interp(np.arange(len(x)), known, own))
        last = float(yaws[-1][-1])
    return yaws
