"""Lines in the 3D view: where an aircraft has been, where it should be, and where it is meant to go."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import Scenario
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.ground import trajectories

MOST_POINTS = 600
KEPT_S = 300.0
FINEST_M = 0.05
PLAN_POINTS = 300


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


def plan(scenario: Scenario, vehicle: int) -> list[Vec3]:
    """The path that the scenario itself asks for; empty where somebody outside decides."""
    match scenario:
        case TiltrotorScenario() if scenario.ground.source == "base-station":
            path = trajectories.build(scenario.ground.trajectory)
            times_s = (scenario.duration_s * i / (PLAN_POINTS - 1) for i in range(PLAN_POINTS))
            return [path(t_s).pos_W for t_s in times_s]
        case QuadrotorScenario() if scenario.pilot.source == "orders" and scenario.pilot.waypoints:
            east_m, north_m = scenario.start_m(vehicle)
            points = [waypoint.pos_m for waypoint in scenario.pilot.waypoints]
            above_start = 0.0, 0.0, points[0][2]
            return [(x + east_m, y + north_m, z) for x, y, z in ((0.0, 0.0, 0.0), above_start, *points)]
    return []
