"""The goal of a flight, and checks before the start that it can be flown."""

from __future__ import annotations

from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.exchanges.board_period import MissionRequest
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing import powered
from aeroloop.families.fixedwing.first_path import check_first_path
from aeroloop.families.fixedwing.launch import check_board
from aeroloop.families.fixedwing.law import TURN_RAD_S
from aeroloop.families.fixedwing.operating import console
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.fixedwing.start_and_goal import places
from aeroloop.families.fixedwing.trim import trim
from aeroloop.world.atmosphere import Atmosphere


def mission(scenario: FixedWingScenario) -> MissionRequest:
    wanted = scenario.aircraft.mission
    return MissionRequest(places(scenario).goal_m, round(wanted.command_at_s * NS), round(wanted.linger_s * NS))


def check(scenario: FixedWingScenario) -> None:
    """Check that a path exists, and that the aircraft can fly it."""
    places(scenario)
    check_first_path(scenario)
    powered.check(scenario.aircraft)
    _check_airspeed(scenario)
    check_board(scenario)
    _check_operator(scenario)


def _check_operator(scenario: FixedWingScenario) -> None:
    """Only names: a value or a goal that cannot be is the board's to refuse, in flight."""
    known = console(scenario)
    for index, order in enumerate(scenario.controller.operator):
        try:
            known.check(order)
        except ConfigError as error:
            raise ConfigError(f"operator[{index}].{error}") from None


def _check_airspeed(scenario: FixedWingScenario) -> None:
    airframe = airframes.load(scenario.aircraft.vehicle.airframe)
    speed_m_s = scenario.aircraft.mission.airspeed_m_s
    _, _, density_kg_m3 = Atmosphere(scenario.aircraft.world.day).at(scenario.aircraft.mission.height_m)
    try:
        trim(airframe, speed_m_s)
        trim(airframe, speed_m_s, turn_rate_rad_s=TURN_RAD_S)  # both are conditions of the law's design
        trim(airframe, speed_m_s, density_kg_m3=density_kg_m3)  # the initial condition of the flight
    except ConfigError as error:
        why, flown = str(error).removeprefix("trim: "), scenario.aircraft.vehicle.airframe
        raise ConfigError(f"mission.airspeed_m_s: {why} (vehicle.airframe: {flown})") from None
