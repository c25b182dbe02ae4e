"""Builds a fixed wing for an external autopilot: it stands on a catapult, above the ground at its start."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from aeroloop.actuators.servos import SurfaceEffort
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import RigidState
from aeroloop.families.fixedwing import powered
from aeroloop.families.fixedwing.build import Start, assembled, level_flight
from aeroloop.families.fixedwing.channels import rows
from aeroloop.families.fixedwing.piloted.catapult import Catapult, Rail
from aeroloop.families.fixedwing.piloted.rows import PilotedRows
from aeroloop.families.fixedwing.planning_map import ground_of
from aeroloop.families.fixedwing.scenario import PilotedWingScenario
from aeroloop.sensors.noise import Streams
from aeroloop.sim.vehicle import Vehicle


def vehicle(
    scenario: PilotedWingScenario, number: int, publish: Mapping[str, Callable[..., None]]
) -> Vehicle[SurfaceEffort, RigidState]:
    streams = Streams(scenario.seed).child(f"vehicle-{number}") if number else Streams(scenario.seed)
    on_rail = rail(scenario, number)
    return assembled(
        scenario,
        Start(on_rail.start_W, on_rail.yaw_rad),
        streams,
        PilotedRows(publish),
        carried=lambda world, flying: Catapult(on_rail, world, flying),
        throttle=0.0,
    )


def rail(scenario: PilotedWingScenario, number: int) -> Rail:
    tables, launch = scenario.aircraft, scenario.aircraft.launch
    east_m, north_m = tables.start_m(number)
    ground_m = ground_of(tables.world.terrain).grid().height_m(east_m, north_m)
    return Rail(
        (east_m, north_m, ground_m + launch.height_m),
        math.radians(90.0 - launch.heading_deg),
        math.radians(launch.pitch_deg),
        launch.length_m,
        launch.speed_m_s or tables.mission.airspeed_m_s,
        launch.throttle,
    )


def check(scenario: PilotedWingScenario) -> None:
    """Check before the start that the aircraft can fly level, and that each channel has one surface."""
    tables = scenario.aircraft
    try:
        level_flight(tables)
    except ConfigError as error:
        why = str(error).removeprefix("trim: ")
        raise ConfigError(f"mission.airspeed_m_s: {why} (vehicle.airframe: {tables.vehicle.airframe})") from None
    powered.check(tables)
    rows(tables.channels, scenario.flown_by.name)
    if any(tables.world.start_offset_W):
        raise ConfigError("world.start_offset_W: this aircraft starts on its catapult; expected mission.start_m")
    half_m = tables.world.terrain.side_units * tables.world.terrain.unit_m / 2
    for number in range(tables.count):
        east_m, north_m = tables.start_m(number)
        if max(abs(east_m), abs(north_m)) > half_m:
            raise ConfigError(
                f"mission.start_m: the catapult of aircraft {number} stands {east_m:g} m east and {north_m:g} m north "
                f"of the middle of the map; expected within {half_m:g} m to each side"
            )
