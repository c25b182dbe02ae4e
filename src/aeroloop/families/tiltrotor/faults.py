"""The faults that can be switched in a flight of the tilt-rotor."""

from __future__ import annotations

from aeroloop.core.fault_offers import Offer, of_links, of_sensor
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario


def offers(scenario: TiltrotorScenario) -> tuple[Offer, ...]:
    return (*of_sensor("state"), *of_links())
