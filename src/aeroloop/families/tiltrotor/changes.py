"""The quantities of a tilt-rotor that can be changed in flight."""

from __future__ import annotations

from aeroloop.core.changes import ChangeOffer, battery, payload, steady_wind
from aeroloop.families.tiltrotor.design import parameters
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario


def changes(scenario: TiltrotorScenario) -> tuple[ChangeOffer, ...]:
    """Wind acts where the flight has drag (`world.drag`)."""
    world = scenario.aircraft.world
    mass_kg = parameters(scenario.aircraft.vehicle.parameters).fuselage_mass_kg
    always = battery(), payload(mass_kg)
    return (*always, steady_wind(world.wind.steady_W)) if world.has_drag else always
