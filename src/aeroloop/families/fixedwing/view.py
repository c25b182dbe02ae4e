"""What FlightGear shows of a fixed wing's actuators: surfaces as shares of their stops, the propeller's speed."""

from __future__ import annotations

from aeroloop.core.view import Shown, ShownEffort
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.scenario import FixedWingScenario


def effort(scenario: FixedWingScenario) -> ShownEffort:
    """The aileron's sign is FlightGear's, which rolls right with the left one down; its rudder is positive to the
    right, ours to the left. The speed is that of the motor without load."""
    airframe = airframes.load(scenario.aircraft.vehicle.airframe)
    aileron, elevator, rudder, _ = airframe.servos.high
    motor = airframe.propulsion
    return ShownEffort(
        rpm=(Shown("throttle", motor.speed_constant_rpm_V * motor.voltage_V),),
        surfaces={
            "left_aileron": Shown("aileron_rad", 1.0 / aileron),
            "right_aileron": Shown("aileron_rad", -1.0 / aileron),
            "elevator": Shown("elevator_rad", 1.0 / elevator),
            "rudder": Shown("rudder_rad", -1.0 / rudder),
        },
    )
