"""The faults that can be switched in a flight of this family."""

from __future__ import annotations

from aeroloop.core.fault_offers import Offer
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.sensors.fault_offers import of_sensors_and_lines


def offers(scenario: FixedWingScenario) -> tuple[Offer, ...]:
    return of_sensors_and_lines(scenario.aircraft.aboard, lockstep=scenario.lockstep)
