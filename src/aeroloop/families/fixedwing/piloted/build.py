"""Builds a fixed wing for an external autopilot: it stands on a catapult or on its wheels."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aeroloop.actuators.servos import SurfaceEffort
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import RigidState
from aeroloop.families.fixedwing import powered
from aeroloop.families.fixedwing.build import assembled, level_flight
from aeroloop.families.fixedwing.catapult import Rail
from aeroloop.families.fixedwing.channels import rows
from aeroloop.families.fixedwing.launch import check_gear, rail_at, start_of
from aeroloop.families.fixedwing.piloted.rows import PilotedRows
from aeroloop.families.fixedwing.scenario import PilotedWingScenario
from aeroloop.sensors.noise import Streams
from aeroloop.sim.vehicle import Vehicle


def vehicle(
    scenario: PilotedWingScenario, number: int, publish: Mapping[str, Callable[..., None]]
) -> Vehicle[SurfaceEffort, RigidState]:
    streams = Streams(scenario.seed).child(f"vehicle-{number}") if number else Streams(scenario.seed)
    start, carried = start_of(scenario.aircraft, *scenario.aircraft.start_m(number))
    return assembled(scenario, start, streams, PilotedRows(publish), carried, throttle=0.0)


def rail(scenario: PilotedWingScenario, number: int) -> Rail:
    return rail_at(scenario.aircraft, *scenario.aircraft.start_m(number))


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
    if tables.launch.by == "air":
        raise ConfigError("launch.by: an external autopilot starts on the ground; expected catapult or ground")
    check_gear(tables)
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
