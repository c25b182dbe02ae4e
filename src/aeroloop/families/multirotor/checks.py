"""What must fit before a multirotor's flight starts, across its tables and its files."""

from __future__ import annotations

from aeroloop.families.multirotor import airframe, powered
from aeroloop.families.multirotor.scenario import QuadrotorScenario


def check(scenario: QuadrotorScenario) -> None:
    """ConfigError names the key."""
    airframe.check(scenario)
    powered.check(scenario.aircraft, airframe.flown(scenario))
