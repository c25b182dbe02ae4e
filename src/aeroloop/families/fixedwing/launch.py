"""How a flight begins on the ground: on a catapult, or standing on its wheels; both hold it until its motor runs."""

from __future__ import annotations

import math
from collections.abc import Callable

from aeroloop.core.errors import ConfigError
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.build import Body, Start
from aeroloop.families.fixedwing.catapult import Catapult, Rail
from aeroloop.families.fixedwing.planning_map import ground_of
from aeroloop.families.fixedwing.scenario import FixedWingScenario, FixedWingTables
from aeroloop.families.fixedwing.start_and_goal import places
from aeroloop.families.fixedwing.wheels import Standing, Wheels
from aeroloop.world.flight_model import FlightModel

SETTLED_S = 1.0
"""Time after a launch at which the board's first fix may come."""


def start_of(
    tables: FixedWingTables, east_m: float, north_m: float
) -> tuple[Start, Callable[[FlightModel, Body], Body]]:
    """Start there, and what moves the aircraft until it flies."""
    launch, rail = tables.launch, rail_at(tables, east_m, north_m)
    start = Start(rail.start_W, rail.yaw_rad)
    if launch.by != "ground":
        return start, lambda world, flying: Catapult(rail, world, flying)

    def standing(world: FlightModel, flying: Body) -> Body:
        assert isinstance(flying, Wheels)
        at = flying.standing(east_m, north_m, rail.yaw_rad, (0.0,) * 4)
        return Standing(at, launch.throttle, world, flying)

    return start, standing


def rail_at(tables: FixedWingTables, east_m: float, north_m: float) -> Rail:
    """The catapult of a scenario, if it stands there."""
    launch = tables.launch
    ground_m = ground_of(tables.world.terrain).grid().height_m(east_m, north_m)
    return Rail(
        (east_m, north_m, ground_m + launch.height_m),
        math.radians(90.0 - launch.heading_deg),
        math.radians(launch.pitch_deg),
        launch.length_m,
        launch.speed_m_s or tables.mission.airspeed_m_s,
        launch.throttle,
    )


def of_board(scenario: FixedWingScenario) -> tuple[Start, Callable[[FlightModel, Body], Body]]:
    """With its own board it starts east of the first circle's centre, as a flight that begins in the air does."""
    east_m, north_m = places(scenario).start_m
    return start_of(scenario.aircraft, east_m + scenario.aircraft.mission.loiter_radius_m, north_m)


def check_gear(tables: FixedWingTables) -> None:
    name = tables.vehicle.airframe
    if tables.launch.by == "ground" and not airframes.load(name).gear:
        raise ConfigError(
            f"launch.by: ground needs wheels; expected [[gear]] in the airframe's file (vehicle.airframe: {name})"
        )


def check_board(scenario: FixedWingScenario) -> None:
    """The board starts its estimate with its first fix, as if it flew straight ahead: until then it commands trim."""
    tables = scenario.aircraft
    if tables.launch.by in ("", "air"):
        return
    if tables.launch.by == "ground":
        raise ConfigError("launch.by: the fixed wing's own board cannot take off from its wheels; expected catapult")
    if any(tables.world.start_offset_W):
        raise ConfigError("world.start_offset_W: this aircraft starts on its catapult; expected mission.start_m")
    speed_m_s = tables.launch.speed_m_s or tables.mission.airspeed_m_s
    least_s = 2.0 * tables.launch.length_m / speed_m_s + SETTLED_S
    gnss = tables.aboard.gnss
    if gnss is not None and gnss.start_s < least_s:
        raise ConfigError(
            f"sensors.gnss.start_s: the board starts with its first fix, which must come after the launch; expected at "
            f"least {least_s:.1f} s, not {gnss.start_s:g}"
        )
