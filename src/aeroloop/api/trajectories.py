"""Trajectories in code: points, the smooth motion through them, what is beyond an aircraft's limits, and files that fly
it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from aeroloop.api.scenarios import ScenarioPlan, named, overrides_of
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Fleet
from aeroloop.core.trust import guarded
from aeroloop.flight.route_saving import DEFAULT_BASE, Base, save
from aeroloop.ground import route_files
from aeroloop.ground.route_offer import DrawnRoute, Ending
from aeroloop.planning.route import RoutePoint
from aeroloop.planning.route_check import Quantity, Violation, quantities
from aeroloop.planning.route_limits import Heading, Limits
from aeroloop.planning.speed_profile import Motion, TimedRoute

Points = str | Path | Sequence[Sequence[float]]


@dataclass(frozen=True)
class Trajectory:
    """A route for the aircraft of a scenario."""

    base: Base
    route: DrawnRoute

    @property
    def points(self) -> tuple[RoutePoint, ...]:
        return self.route.points

    @property
    def limits(self) -> Limits:
        """Of the aircraft."""
        limits: Limits = self.base.offer.limits(self.base.scenario)
        return limits

    @property
    def samples(self) -> TimedRoute:
        """The motion as arrays: `t_s`, `s_m`, `pos_W`, `vel_W`, `accel_W`, `speed_m_s`, `yaw_rad`."""
        return self.route.timed

    @property
    def length_m(self) -> float:
        return self.samples.length_m

    @property
    def duration_s(self) -> float:
        return self.samples.duration_s

    @property
    def violations(self) -> list[Violation]:
        """Where it is beyond the aircraft's limits; each has a sentence, `str(violation)`."""
        return self.base.offer.violations(self.base.scenario, self.route)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """What is compared with a limit; none for an aircraft that takes points alone."""
        if not self.base.offer.profiled or len(self.points) < 2:
            return ()
        return quantities(self.samples, self.limits, self.base.offer.space(self.base.scenario))

    def at(self, t_s: float) -> Motion:
        """Position, velocity and heading at a time."""
        return self.samples.at(t_s)

    def save(self, file: str | Path, *, replace: bool = False) -> list[Path]:
        """Write it: `.csv` its points, `.motion.csv` its motion, `.toml` a scenario that flies it with the points
        beside it, `.plan` and `.waypoints` a mission. `replace`: existing files too."""
        return save(self.base, self.route, Path(file), replace=replace)

    def __repr__(self) -> str:
        return f"<Trajectory of {len(self.points)} points for {self.base.scenario.name}>"


def trajectory(
    points: Points,
    scenario: str | Path | ScenarioPlan = DEFAULT_BASE,
    *,
    limits: Mapping[str, float] | None = None,
    fit: bool = True,
    heading: Heading = "fixed",
    yaw_rad: float = 0.0,
    ending: Ending = "return",
    every_m: float = 0.0,
    set: Mapping[str, Any] | None = None,  # noqa: A002 - the command line's name
    trust: bool = False,
) -> Trajectory:
    """A trajectory through points, for the aircraft of a scenario.

    `points`: a CSV file with `x_m,y_m,z_m` and optionally `speed_m_s`, or rows of three or four numbers; a speed holds
    from its point on, 0 is as fast as possible. `limits`: other limits than the aircraft's for the speeds along the
    path, such as `{"accel_m_s2": 0.5}`. `fit`: slow down in bends and on slopes; without it the speeds are flown as
    given. `heading`: `fixed` at `yaw_rad`, or `along` the path. `ending` and `every_m` are those of a mission: what
    follows the last point, and the distance of its waypoints along the curve (0: the points alone). `set` and `trust`
    as for `scenario`. ConfigError names the first point that cannot be flown.
    """
    with guarded(trust=trust):
        plan = named(scenario).changed(overrides_of(set or {})).checked()
    if isinstance(plan.plan, Fleet):
        raise ConfigError(f"{plan.name}: a fleet of several; expected a scenario of one aircraft")
    base = Base.of_file(plan.path, plan.changes) if plan.table is None else Base.of_flight(plan.plan)
    where = str(points) if isinstance(points, str | Path) else "points"
    route = DrawnRoute(
        route_files.read(Path(points)) if isinstance(points, str | Path) else _points(points),
        _limits(base, limits or {}),
        fit=fit,
        heading=heading,
        yaw_rad=yaw_rad,
        ending=ending,
        every_m=every_m,
    )
    return Trajectory(base, base.offer.checked(base.scenario, route, where))


def _limits(base: Base, changes: Mapping[str, float]) -> Limits:
    own = msgspec.to_builtins(base.offer.limits(base.scenario))
    return convert({**own, **changes}, Limits, "limits")


def _points(rows: Sequence[Sequence[float]]) -> tuple[RoutePoint, ...]:
    found = []
    for number, row in enumerate(rows, 1):
        try:
            x, y, z, *speed = (float(value) for value in row)
        except (TypeError, ValueError):
            x, speed = 0.0, [0.0, 0.0]
        if len(speed) > 1:
            raise ConfigError(f"points: point {number}: expected x, y, z in m and optionally a speed, not {row!r:.60}")
        found.append(RoutePoint((x, y, z), speed[0] if speed else 0.0))
    return tuple(found)
