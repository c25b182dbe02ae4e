"""The faults that can be switched, and the quantities that can be changed, in a flight of multirotors."""

from __future__ import annotations

from aeroloop.core.changes import ChangeOffer, battery, payload, steady_wind
from aeroloop.core.fault_offers import Offer, of_actuators
from aeroloop.families.multirotor import airframe
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.sensors.fault_offers import of_sensors_and_lines


def rotor_names(count: int) -> tuple[str, ...]:
    """In the order of the airframe's file."""
    return tuple(f"rotor{number}" for number in range(1, count + 1))


def offers(scenario: QuadrotorScenario) -> tuple[Offer, ...]:
    rotors = rotor_names(airframe.flown(scenario).rotors.count)
    fitted = of_sensors_and_lines(scenario.aircraft.aboard, lines=not scenario.lockstep or scenario.impaired)
    return (*fitted, *of_actuators(rotors, motors=True))


def changes(scenario: QuadrotorScenario) -> tuple[ChangeOffer, ...]:
    """Without the mass where the file has a `[payload]`, which is not at the centre of mass."""
    always = steady_wind(scenario.aircraft.world.wind.steady_W), battery()
    if scenario.aircraft.payload is not None:
        return always
    return (*always, payload(airframe.flown(scenario).body.mass_kg))
