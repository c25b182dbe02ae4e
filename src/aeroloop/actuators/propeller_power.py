"""An electric propeller of a fixed wing on a battery: the voltage it gets, and what it takes.

    V_m = D V        K ((V_m - K W) / R - i0) = rho n^2 D_p^5 CQ(J)        I = (V_m - K W) / R

W is the speed in equilibrium of motor and propeller, as in `models.fixedwing`, and D the throttle, which is the duty of
the ESC. The model has a voltage of its own at full throttle: it gets the throttle that gives V_m there. Without a
battery V is that voltage at all times.
"""

from __future__ import annotations

import math
from typing import Protocol

from aeroloop.actuators.battery import Battery, Cells
from aeroloop.actuators.electric_motor import RPM


class Propulsion(Protocol):
    """As `models.fixedwing_tables.Propulsion`."""

    @property
    def diameter_m(self) -> float: ...
    @property
    def torque_fit(self) -> tuple[float, float, float]: ...
    @property
    def speed_constant_rpm_V(self) -> float: ...
    @property
    def resistance_ohm(self) -> float: ...
    @property
    def idle_A(self) -> float: ...
    @property
    def voltage_V(self) -> float: ...


def motor_current_A(motor: Propulsion, voltage_V: float, airspeed_m_s: float, density_kg_m3: float) -> float:
    """Of the motor at this voltage; never below 0: a propeller that the air drives returns nothing."""
    k, ohm, d = 1.0 / (RPM * motor.speed_constant_rpm_V), motor.resistance_ohm, motor.diameter_m
    q0, q1, q2 = motor.torque_fit
    a = density_kg_m3 * d**5 * q0 / math.tau**2
    b = density_kg_m3 * d**4 * q1 / math.tau * airspeed_m_s + k * k / ohm
    c = density_kg_m3 * d**3 * q2 * airspeed_m_s**2 - k * (voltage_V / ohm - motor.idle_A)
    below = b + math.sqrt(max(b * b - 4.0 * a * c, 0.0))
    speed_rad_s = max(0.0, -2.0 * c / below) if below > 0.0 else 0.0
    return max(0.0, (voltage_V - k * speed_rad_s) / ohm)


class PropellerPower:
    """The battery of a fixed wing in flight, with its motor."""

    def __init__(self, cells: Cells, motor: Propulsion, charge: float) -> None:
        self.battery = Battery(cells, charge)
        self._motor = motor
        self.motor_A = self.duty = 0.0
        self.throttle = 0.0  # that the model got last

    def reset(self) -> None:
        """The state at the start of the flight."""
        self.battery.reset()
        self.motor_A = self.duty = self.throttle = 0.0

    def supply(self, fraction: float) -> None:
        """The open-circuit voltage is this fraction of what it should be, by faults and changes."""
        self.battery.factor = fraction

    def given(self, throttle: float, airspeed_m_s: float, density_kg_m3: float, dt_ns: int) -> float:
        """The throttle of the model at its own voltage; the battery is discharged by the step."""
        motor, battery = self._motor, self.battery
        if not all(map(math.isfinite, (throttle, airspeed_m_s, density_kg_m3))):
            self.throttle = throttle  # the aircraft is lost, and the model shows it
            return throttle
        duty = max(0.0, throttle)

        def power_W(voltage_V: float) -> float:
            v = duty * voltage_V
            return v * motor_current_A(motor, v, airspeed_m_s, density_kg_m3)

        v = duty * battery.solve(power_W)
        current = motor_current_A(motor, v, airspeed_m_s, density_kg_m3) if duty > 0.0 else 0.0
        battery.discharge(v * current, dt_ns)
        self.motor_A, self.duty = current, duty
        self.throttle = v / motor.voltage_V
        return self.throttle
