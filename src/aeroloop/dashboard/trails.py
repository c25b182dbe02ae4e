"""Lines in the 3D view: the path flown and the setpoint."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from aeroloop.core.frames import Vec3

MOST_POINTS = 600
KEPT_S = 300.0
FINEST_M = 0.05
PLAN_POINTS = 300
"""Points of the path of a scenario."""


@dataclass(frozen=True)
class Change:
    """Change for a browser that has drawn everything before: redraw, or extend."""

    deed: Literal["set", "add"]
    points: list[Vec3]


class Trail:
    """A growing path, thinned to a maximum number of points: the longer, the coarser."""

    def __init__(self, most: int = MOST_POINTS, kept_s: float = KEPT_S, finest_m: float = FINEST_M) -> None:
        self.points: list[Vec3] = []
        self.t_s = -math.inf  # of the newest row, kept or not
        self._times_s: list[float] = []
        self._most, self._kept_s = most, kept_s
        self._spacing_m = finest_m
        self._digits = max(3, 1 - math.floor(math.log10(finest_m)))

    def feed(self, rows: Iterable[tuple[float, float, float, float]]) -> Change | None:
        """Rows of t, x, y, z; None if there is nothing to draw."""
        new: list[Vec3] = []
        anew = False
        for t_s, x, y, z in rows:
            self.t_s = max(self.t_s, t_s)
            point = round(x, self._digits), round(y, self._digits), round(z, self._digits)
            if not all(map(math.isfinite, point)):
                continue
            if self.points and math.dist(self.points[-1], point) < self._spacing_m:
                continue
            self.points.append(point)
            self._times_s.append(t_s)
            new.append(point)
            if len(self.points) > self._most:
                self._thin()
                anew = True
        if anew:
            return Change("set", list(self.points))
        return Change("add", new) if new else None

    def _thin(self) -> None:
        """Drop points that are too old; if those are few, every second point."""
        old = sum(t_s < self.t_s - self._kept_s for t_s in self._times_s)
        if old >= self._most // 10:
            keep = slice(old, None)
        else:
            keep = slice((len(self.points) - 1) % 2, None, 2)  # the newest is kept
            self._spacing_m *= 2.0
        self.points, self._times_s = self.points[keep], self._times_s[keep]
