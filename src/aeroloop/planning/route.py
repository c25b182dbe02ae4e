"""A route: points in space, and the smooth curve through them, by arc length.

The curve is a cubic B-spline that interpolates the points, with chord lengths as its parameter: tangent and curvature
are continuous. It is natural at its ends, and periodic if the last point is the first. Where the route turns back by
more than 150 degrees it stops, and another section of the curve begins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.planning.spline import Array, even_parameters

MOST_POINTS = 200
LEAST_APART_M = 0.05
REACH_M = 1e5
"""Bound of every coordinate."""
FASTEST_M_S = 100.0
REVERSAL_RAD = math.radians(150.0)
FINEST_M, MOST_NODES = 0.02, 2000
"""Distance of the nodes of a curve's table, and their number."""
FEWEST_STEPS = 8
"""Of a section."""
PIECES = 16
"""Parts of a span in which its length is integrated."""
SLOWEST = 1e-3
"""A curve whose derivative is shorter than this fraction of the chord has a corner."""


class RoutePoint(NamedTuple):
    """A point, and the speed along the path from there on."""

    pos_W: Vec3
    speed_m_s: float = 0.0  # 0: as fast as the limits permit


@dataclass(frozen=True)
class Space:
    """Where a route may lead."""

    ground_m: Callable[[float, float], float] = lambda _east_m, _north_m: 0.0  # height of the ground in W
    clearance_m: float = 0.0  # least height above it
    bound_m: float = REACH_M  # largest distance from the origin

    def problem(self, pos_W: Vec3) -> str:
        """Why no point may be there; empty: it may."""
        x_m, y_m, z_m = pos_W
        if math.hypot(*pos_W) >= self.bound_m:
            return f"it is {math.hypot(*pos_W):.1f} m from the origin; expected less than {self.bound_m:g} m"
        ground_m = self.ground_m(x_m, y_m)
        if z_m < ground_m + self.clearance_m:
            return f"its height is {z_m:g} m; expected at least {ground_m + self.clearance_m:g} m there"
        return ""


def checked(
    points: Sequence[RoutePoint], where: str = "route", space: Space | None = None, *, least: int = 2
) -> tuple[RoutePoint, ...]:
    """The points, at least two for a curve; ConfigError names the first that is wrong."""
    if not least <= len(points) <= MOST_POINTS:
        raise ConfigError(f"{where}: expected {least} to {MOST_POINTS} points, not {len(points)}")
    for number, point in enumerate(points, 1):
        problem = point_problem(point, space)
        if problem:
            raise ConfigError(f"{where}: point {number}: {problem}")
    for number, (one, other) in enumerate(pairwise(points), 1):
        if math.dist(one.pos_W, other.pos_W) < LEAST_APART_M:
            raise ConfigError(
                f"{where}: point {number + 1}: expected at least {LEAST_APART_M:g} m from point {number}, "
                f"not {math.dist(one.pos_W, other.pos_W):.2g} m"
            )
    return tuple(points)


def point_problem(point: RoutePoint, space: Space | None = None) -> str:
    """Why it cannot be a point of a route; empty: it can."""
    if not all(abs(value) <= REACH_M for value in point.pos_W):  # NaN is not
        return f"expected coordinates within +-{REACH_M:g} m, not {', '.join(f'{value:g}' for value in point.pos_W)}"
    if not 0.0 <= point.speed_m_s <= FASTEST_M_S:
        return f"speed_m_s: expected 0 to {FASTEST_M_S:g} m/s, not {point.speed_m_s:g}"
    return space.problem(point.pos_W) if space is not None else ""


@dataclass(frozen=True, eq=False)
class Section:
    """A smooth part of the curve, as a table with even steps of arc length."""

    s_m: Array  # (n,) from the section's beginning
    pos_W: Array  # (n, 3)
    tangent_W: Array  # (n, 3) of length 1
    curvature_W: Array  # (n, 3) second derivative by arc length, 1/m
    leg: NDArray[np.int64]  # (n,) index of the point at or before it

    @property
    def length_m(self) -> float:
        return float(self.s_m[-1])


def sections(points: Sequence[RoutePoint]) -> tuple[Section, ...]:
    """The curve through checked points: one section, or more where it turns back."""
    places = np.array([point.pos_W for point in points])
    chords = np.diff(places, axis=0)
    lengths_m = np.linalg.norm(chords, axis=1)
    cosines = (chords[:-1] * chords[1:]).sum(axis=1) / (lengths_m[:-1] * lengths_m[1:])
    stops = [index + 1 for index in range(len(cosines)) if cosines[index] < math.cos(REVERSAL_RAD)]
    ends = [0, *stops, len(points) - 1]
    step_m = max(FINEST_M, float(lengths_m.sum()) / MOST_NODES)
    return tuple(_section(places, first, last, step_m) for first, last in pairwise(ends))


def _section(places: Array, first: int, last: int, step_m: float) -> Section:
    through = places[first : last + 1]
    at = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(through, axis=0), axis=1))])
    closed = len(through) == len(places) > 3 and bool((through[0] == through[-1]).all())
    spline = make_interp_spline(at, through, k=3, bc_type="periodic" if closed else "natural")

    def speed(u: Array) -> Array:
        return np.asarray(np.linalg.norm(spline(u, 1), axis=1))

    fine = np.concatenate([np.linspace(a, b, PIECES, endpoint=False) for a, b in pairwise(at)] + [at[-1:]])
    slowest = speed(fine)
    if slowest.min() < SLOWEST:
        number = first + int(np.searchsorted(at, fine[int(slowest.argmin())], side="right"))
        raise ConfigError(f"route: the curve has a corner near point {number}; expected another place for that point")
    step_m, u = even_parameters(speed, fine, min(step_m, float(at[-1]) / FEWEST_STEPS))
    s_m = step_m * np.arange(len(u), dtype=np.float64)
    first_W, second_W = spline(u, 1), spline(u, 2)
    rate = np.linalg.norm(first_W, axis=1)[:, None]
    tangent_W = first_W / rate
    across_W = second_W - tangent_W * (tangent_W * second_W).sum(axis=1)[:, None]
    leg = first + np.clip(np.searchsorted(at, u, side="right") - 1, 0, len(at) - 2).astype(np.int64)
    return Section(s_m, spline(u), tangent_W, across_W / rate**2, leg)
