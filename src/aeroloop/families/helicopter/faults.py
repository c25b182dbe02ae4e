"""Faults of a helicopter that can be switched in flight: engine, tail rotor, servos, sensors, link; and the quantities
that can be changed.

A dead tail rotor does not turn any more; a dead engine has no power, and the rotor slows down.
"""

from __future__ import annotations

from aeroloop.actuators.faults import ActuatorFaults, Channel, Row
from aeroloop.core.changes import ChangeOffer, payload, steady_wind
from aeroloop.core.fault_offers import Offer, of_actuators, of_sensor
from aeroloop.core.faults import Switch, Switched
from aeroloop.families.helicopter import airframe
from aeroloop.families.helicopter.rotors import RotorSystem
from aeroloop.families.helicopter.scenario import HelicopterScenario
from aeroloop.sensors.fault_offers import of_sensors_and_lines

SERVOS = ("collective", "lateral", "longitudinal")
TAIL, ENGINE = "tail_rotor", "engine"
"""Actuators in the order of a command."""
STATE_CHANNELS = {"position": 0, "attitude": 1, "velocity": 3, "rate": 4}
"""Measured channels, with their numbers among those of the target `state`."""


def offers(scenario: HelicopterScenario) -> tuple[Offer, ...]:
    of_state = (offer for offer in of_sensor("state") if not offer.channels or offer.channels[0] in STATE_CHANNELS)
    actuators = (offer for offer in of_actuators((TAIL, ENGINE), SERVOS, offset=0.02) if offer.target != "battery")
    fitted = of_sensors_and_lines(scenario.aircraft.aboard, lines=True)
    return (*of_state, *fitted, *actuators)


def changes(scenario: HelicopterScenario) -> tuple[ChangeOffer, ...]:
    """It has an engine, and no battery for its rotors."""
    mass_kg = airframe.load(scenario.aircraft.vehicle.airframe).body.mass_kg
    return steady_wind(scenario.aircraft.world.wind.steady_W), payload(mass_kg)


class HelicopterFaults(ActuatorFaults):
    """Those of servos, tail rotor and engine."""

    def __init__(self, rotors: RotorSystem) -> None:
        super().__init__(
            [*(Channel(name, "servo") for name in SERVOS), Channel(TAIL, "rotor"), Channel(ENGINE, "rotor")]
        )
        self._rotors = rotors

    def switch(self, switch: Switch, command: Row) -> Switched:
        done = super().switch(switch, command)
        if (switch.target, switch.kind) == ("rotor", "dead") and switch.channel in ("", TAIL):
            self._rotors.tail_broken = switch.on
        return done
