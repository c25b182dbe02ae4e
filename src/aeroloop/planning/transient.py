"""Transient from one path onto another: a quintic with position, heading and curvature of both at its ends.

    p(u) = sum_k c_k u^k,   p' = L t,   p'' = L^2 kappa n   at u = 0 and 1

with t and n the paths' tangent and normal and L the chord's length times a stretch; then p'' has no part along t, and
the curvature is the paths' own. Leaving and joining points are tried in order, downstream, until one gives a curve
within the curvature limit and inside the allowed cells. The table is by arc length: Simpson's rule on a grid in u,
inverted by cubics with the right slopes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from aeroloop.planning.path import LONGEST_STEP_M, Allowed, Path, PathPoint, even_steps
from aeroloop.planning.spline import Array

STRETCHES = (1.0, 1.25, 1.5)
"""An arc of 90 degrees is 1.11 times as long as its chord, one of 180 degrees 1.57 times."""
GRID = 64
SHORTEST_M = 20.0
MOST_POINTS = 300
"""Capacity of the board's table: a longer transient does not count as flyable."""
LONGEST_M = LONGEST_STEP_M * (MOST_POINTS - 1)

# Coefficients by the ends' positions, first and second derivatives.
_QUINTIC = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.5, 0.0, 0.0, 0.0],
        [-10.0, -6.0, -1.5, 10.0, -4.0, 0.5],
        [15.0, 8.0, 1.5, -15.0, 7.0, -1.0],
        [-6.0, -3.0, -0.5, 6.0, -3.0, 0.5],
    ]
)


class Reference(Protocol):
    """A path or circle that a transient leaves or joins."""

    @property
    def length_m(self) -> float: ...

    def at(self, s_m: float) -> tuple[float, float, float, float]: ...


class Scan(NamedTuple):
    """Arc lengths along a path that are tried, in order, including the last."""

    first_m: float
    last_m: float
    every_m: float

    def places(self) -> Iterator[float]:
        count = int(max(self.last_m - self.first_m, 0.0) / self.every_m + 1e-4)
        for index in range(count + 1):
            yield self.first_m + index * self.every_m


@dataclass(frozen=True, slots=True)
class Transient:
    """Leaves one path at `begin_m` and joins the other at `join_m`; or None with a reason."""

    path: Path | None
    begin_m: float = 0.0
    join_m: float = 0.0
    tried: int = 0
    reason: str = ""


class Bends(NamedTuple):
    """Limits of the aircraft: curvature is bank, and its change along the path a roll rate."""

    kappa_most_1_m: float
    rate_most_1_m2: float

    def flyable(self, path: Path) -> bool:
        kappa = path.kappa_1_m
        steepest = float(np.abs(np.diff(kappa)).max()) / path.step_m
        return float(np.abs(kappa).max()) <= self.kappa_most_1_m and steepest <= self.rate_most_1_m2


class Quintic:
    """Relative to its beginning: its coefficients stay small, also far from the map's centre."""

    def __init__(self, begin: PathPoint, end: PathPoint, stretch: float) -> None:
        self.begin = begin
        chord = np.array([end.x_m - begin.x_m, end.y_m - begin.y_m])
        L = stretch * math.hypot(*chord)
        ends = []
        for place, point in ((np.zeros(2), begin), (chord, end)):
            tangent = np.array([math.cos(point.psi_rad), math.sin(point.psi_rad)])
            normal = np.array([-tangent[1], tangent[0]])
            ends += [place, L * tangent, L * L * point.kappa_1_m * normal]
        self._coefficients = _QUINTIC @ np.array(ends)

    def derivative(self, u: Array, order: int) -> Array:
        """(n, 2)"""
        powers = range(order, 6)
        rows = [math.perm(k, order) * u ** (k - order) for k in powers]
        return np.asarray(np.stack(rows, axis=1) @ self._coefficients[order:])

    def curvature(self, u: Array) -> Array:
        (dx, dy), (ddx, ddy) = (self.derivative(u, order).T for order in (1, 2))
        squared = dx * dx + dy * dy
        return np.asarray((dx * ddy - dy * ddx) / np.maximum(squared * np.sqrt(squared), 1e-9))

    def table(self) -> Path:
        grid = np.linspace(0.0, 1.0, 2 * GRID + 1)
        speed = np.hypot(*self.derivative(grid, 1).T)
        parts = (speed[:-2:2] + 4.0 * speed[1::2] + speed[2::2]) / (6.0 * GRID)
        along = np.concatenate([[0.0], np.cumsum(parts)])
        length_m = float(along[-1])
        s_m = even_steps(length_m)
        index = np.clip(np.searchsorted(along, s_m, side="right") - 1, 0, GRID - 1)
        part = (s_m - along[index]) / parts[index]
        slopes = [parts[index] * GRID / speed[2 * (index + offset)] for offset in (0, 1)]
        rest = 1.0 - part
        inside = part * part * (3.0 - 2.0 * part) + part * rest * (rest * slopes[0] - part * slopes[1])
        u = (index + inside) / GRID
        u[0], u[-1] = 0.0, 1.0
        points, velocity = self.derivative(u, 0), self.derivative(u, 1)
        psi = np.unwrap(np.arctan2(velocity[:, 1], velocity[:, 0]))
        return Path(length_m, self.begin.x_m + points[:, 0], self.begin.y_m + points[:, 1], psi, self.curvature(u))


def _runs_ahead(begin: PathPoint, end: PathPoint) -> bool:
    """Whether the end lies ahead, seen from both ends, and not too far: else the curve would loop, or leave the
    cells."""
    x, y = end.x_m - begin.x_m, end.y_m - begin.y_m
    if not SHORTEST_M**2 <= x * x + y * y <= LONGEST_M**2:
        return False
    return all(x * math.cos(point.psi_rad) + y * math.sin(point.psi_rad) > 0.0 for point in (begin, end))


def _inside(path: Path, allowed: Allowed) -> bool:
    """Check a few points first, since most invalid curves leave the cells by far."""
    places = list(zip(path.x_m.tolist(), path.y_m.tolist(), strict=True))
    return all(allowed(x_m, y_m) for some in (places[::16], places) for x_m, y_m in some)


def _pairs(starts: Scan, joins: Scan, join_early: bool) -> Iterator[tuple[float, float]]:
    if join_early:
        return ((begin_m, join_m) for join_m in joins.places() for begin_m in starts.places())
    return ((begin_m, join_m) for begin_m in starts.places() for join_m in joins.places())


def transient(
    source: Reference,
    starts: Scan,
    target: Reference,
    joins: Scan,
    *,
    bends: Bends,
    allowed: Allowed,
    join_early: bool = False,
) -> Transient:
    """The first flyable one: it leaves `source` as early as possible, or joins `target` as early as possible."""
    bent = astray = tried = 0
    grid = np.linspace(0.0, 1.0, GRID + 1)
    for begin_m, join_m in _pairs(starts, joins, join_early):
        begin, end = PathPoint(*source.at(begin_m)), PathPoint(*target.at(join_m))
        if not _runs_ahead(begin, end):
            continue
        for stretch in STRETCHES:
            tried += 1
            curve = Quintic(begin, end, stretch)
            if np.abs(curve.curvature(grid)).max() > bends.kappa_most_1_m:
                bent += 1
                continue
            path = curve.table()
            if not bends.flyable(path):
                bent += 1
            elif len(path.x_m) > MOST_POINTS or not _inside(path, allowed):
                astray += 1
            else:
                return Transient(path, begin_m, join_m, tried)
    if not tried:
        return Transient(None, reason="no transient: none of the joining points lies ahead and near enough")
    return Transient(
        None,
        tried=tried,
        reason=f"no transient in {tried} tries: {bent} have a radius below {1.0 / bends.kappa_most_1_m:.0f} m "
        f"or too high a rate of curvature, {astray} leave the allowed cells or are too long",
    )
