"""Lines in the 3D view: where an aircraft has been and where it should be."""

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
"""Of the path that a scenario asks for."""


@dataclass(frozen=True)
class Change:
    """What a browser that has drawn everything before must do: draw anew, or draw on."""

    deed: Literal["set", "add"]
    points: list[Vec3]


class Trail:
    """A path that grows, thinned so that it is never more than so many points: the longer, the coarser."""

    def __init__(self, most: int = MOST_POINTS, kept_s: float = KEPT_S) -> None:
        self.points: list[Vec3] = []
        self.t_s = -math.inf  # of the newest row seen, kept or not
        self._times_s: list[float] = []
        self._most, self._kept_s = most, kept_s
        self._spacing_m = FINEST_M

    def feed(self, rows: Iterable[tuple[float, float, float, float]]) -> Change | None:
        """Rows of t, x, y, z; None where there is nothing to draw."""
        new: list[Vec3] = []
        anew = False
        for t_s, x, y, z in rows:
            self.t_s = max(self.t_s, t_s)
            point = round(x, 3), round(y, 3), round(z, 3)
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
        """Drop what is too old; where that is little, every second point."""
        old = sum(t_s < self.t_s - self._kept_s for t_s in self._times_s)
        if old >= self._most // 10:
            keep = slice(old, None)
        else:
            keep = slice((len(self.points) - 1) % 2, None, 2)  # the newest stays
            self._spacing_m *= 2.0
        self.points, self._times_s = self.points[keep], self._times_s[keep]
