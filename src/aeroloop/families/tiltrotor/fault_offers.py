"""The faults that can be switched in a flight of this family."""

from __future__ import annotations

from aeroloop.core.fault_offers import Offer, of_links, of_sensor
from aeroloop.core.scenario import TiltrotorScenario


def offers(_scenario: TiltrotorScenario) -> tuple[Offer, ...]:
    return (*of_sensor("state"), *of_links())
