"""Loiter circles, and transients: from a circle onto a path, from a path onto a circle, from a path onto the next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from aeroloop.core.angles import wrap_pi
from aeroloop.core.config import Config, meta
from aeroloop.planning.path import Allowed, Path, PathPoint
from aeroloop.planning.transient import Bends, Reference, Scan, Transient, transient

Spacing = Annotated[float, meta("m", "spacing of the points that are tried", ge=1.0)]


class JoinSettings(Config, frozen=True):
    """Settings of the search for transients between circles and paths."""

    least_radius_m: Annotated[float, meta("m", "tightest turn of a transient", gt=0.0)] = 93.0
    """Wider than the 70.6 m of a 30 degree bank at 20 m/s: gusts need some of the bank."""
    bend_rate_1_m2: Annotated[float, meta("1/m2", "maximum change of curvature along a transient", gt=0.0)] = 4e-4
    """A roll rate of 19 degrees a second at 20 m/s; the templates have at most 2.3e-4."""
    leave_every_m: Spacing = 15.0
    join_every_m: Spacing = 15.0
    reach_m: Annotated[float, meta("m", "maximum distance along a path to a joining point", gt=0.0)] = 600.0
    """Shorter, and no exit from a circle to the left leads onto a channel that turns right and then left at its
    beginning: the aircraft would circle at its start for good."""

    @property
    def bends(self) -> Bends:
        return Bends(1.0 / self.least_radius_m, self.bend_rate_1_m2)


@dataclass(frozen=True, slots=True)
class Circle:
    """A loiter circle; s = 0 lies east of its centre."""

    x_m: float
    y_m: float
    radius_m: float
    left: bool = True

    @property
    def length_m(self) -> float:
        return 2.0 * math.pi * self.radius_m

    @property
    def closed(self) -> bool:
        return True

    def at(self, s_m: float) -> PathPoint:
        side = 1.0 if self.left else -1.0
        angle = side * s_m / self.radius_m
        return PathPoint(
            self.x_m + self.radius_m * math.cos(angle),
            self.y_m + self.radius_m * math.sin(angle),
            wrap_pi(angle + side * math.pi / 2),
            side / self.radius_m,
        )

    def nearest_s(self, x_m: float, y_m: float) -> float:
        """Arc length of the nearest point to this position."""
        angle = math.atan2(y_m - self.y_m, x_m - self.x_m)
        return (angle if self.left else -angle) % (2.0 * math.pi) * self.radius_m


def leave(loiter: Circle, now_m: float, onto: Reference, allowed: Allowed, settings: JoinSettings) -> Transient:
    """Transient from a circle onto a path, or another circle, as early along it as possible; leaves within one turn
    from `now_m`."""
    return transient(
        loiter,
        Scan(now_m, now_m + loiter.length_m, settings.leave_every_m),
        onto,
        Scan(0.0, min(settings.reach_m, onto.length_m), settings.join_every_m),
        bends=settings.bends,
        allowed=allowed,
        join_early=True,
    )


def enter(path: Path, first_m: float, loiter: Circle, allowed: Allowed, settings: JoinSettings) -> Transient:
    """Transient from a path onto a circle: the first one possible, leaving the path from `first_m` on."""
    begin = path.at(first_m)
    nearest_m = loiter.nearest_s(begin.x_m, begin.y_m)
    return transient(
        path,
        Scan(first_m, path.length_m, settings.leave_every_m),
        loiter,
        Scan(nearest_m, nearest_m + loiter.length_m - settings.join_every_m, settings.join_every_m),
        bends=settings.bends,
        allowed=allowed,
    )


def stitch(
    path: Reference, begin_m: float, onto: Path, first_m: float, allowed: Allowed, settings: JoinSettings
) -> Transient:
    """Transient from one path, left at `begin_m`, onto the next: joins it at `first_m` or the first place after it."""
    return transient(
        path,
        Scan(begin_m, begin_m, settings.leave_every_m),
        onto,
        Scan(first_m, min(settings.reach_m, onto.length_m), settings.join_every_m),
        bends=settings.bends,
        allowed=allowed,
    )
