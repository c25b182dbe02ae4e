"""The faults that can be switched in a flight of this family."""

from __future__ import annotations

from aeroloop.core.fault_offers import Offer, of_links, of_sensor_set
from aeroloop.families.fixedwing.scenario import FixedWingScenario


def offers(scenario: FixedWingScenario) -> tuple[Offer, ...]:
    sensors = of_sensor_set(scenario.aboard)
    # In lockstep time waits for every message, so none may be lost or late.
    return sensors if scenario.lockstep else (*sensors, *of_links())
