"""The quantities of a fixed wing that can be changed in flight."""

from __future__ import annotations

from aeroloop.core.changes import ChangeOffer, battery, payload, steady_wind
from aeroloop.families.fixedwing import airframe
from aeroloop.families.fixedwing.scenario import FixedWingScenario


def changes(scenario: FixedWingScenario) -> tuple[ChangeOffer, ...]:
    mass_kg = airframe.load(scenario.aircraft.vehicle.airframe).body.mass_kg
    return steady_wind(scenario.aircraft.world.wind.steady_W), battery(), payload(mass_kg)
