"""What a flight is for: its goal, and whether it can be flown at all, said before anything starts."""

from __future__ import annotations

from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.exchanges.board_period import Errand
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.law import TURN_RAD_S
from aeroloop.families.fixedwing.places import places
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.fixedwing.trim import trim
from aeroloop.world.atmosphere import Atmosphere


def mission(scenario: FixedWingScenario) -> Errand:
    wanted = scenario.aircraft.mission
    return Errand(places(scenario).goal_m, round(wanted.command_at_s * NS), round(wanted.linger_s * NS))


def check(scenario: FixedWingScenario) -> None:
    """That there is somewhere to fly, and that the aircraft can."""
    places(scenario)
    _check_airspeed(scenario)


def _check_airspeed(scenario: FixedWingScenario) -> None:
    airframe = airframes.load(scenario.aircraft.vehicle.airframe)
    speed_m_s = scenario.aircraft.mission.airspeed_m_s
    _, _, density_kg_m3 = Atmosphere(scenario.aircraft.world.day).at(scenario.aircraft.mission.height_m)
    try:
        trim(airframe, speed_m_s)
        trim(airframe, speed_m_s, turn_rate_rad_s=TURN_RAD_S)  # both are what the law is designed for
        trim(airframe, speed_m_s, density_kg_m3=density_kg_m3)  # and this is how the flight begins
    except ConfigError as error:
        raise ConfigError(f"mission.airspeed_m_s: {str(error).removeprefix('trim: ')}") from None
