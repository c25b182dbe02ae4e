"""A brushless motor with its ESC, of a rotor whose torque is proportional to the square of its speed.

    V = W / KV + R I        I = Q / Kt + I0        Q = c W^2 + J W'        Kt = 1 / KV (rad/s/V, N m/A)

V is the voltage that the ESC makes of the battery's: the duty D times it. The ESC takes D I from the battery and loses
nothing (an ideal step-down converter); a motor that slows down coasts and returns nothing. Pure functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from aeroloop.core.config import Config, meta, note

RPM = math.tau / 60.0


class ElectricMotor(Config, frozen=True):
    """One motor and its ESC; all of an aircraft are equal."""

    speed_constant_rpm_V: Annotated[float, meta("rpm/V", "KV", gt=0, le=1e5)]
    resistance_ohm: Annotated[float, meta("ohm", "resistance of the winding and the ESC", gt=0, le=100)]
    idle_A: Annotated[float, meta("A", "current without load", ge=0, le=1000)]
    max_A: Annotated[float, meta("A", "greatest current of the motor that its ESC allows", gt=0, le=10000)]
    torque_to_thrust_m: Annotated[
        Annotated[float, Meta(gt=0, le=10)] | None,
        meta("m", "torque at the shaft over thrust of a rotor; left out: the airframe's"),
    ] = None
    esc: Annotated[
        Literal["duty", "speed"],
        note(
            "what a command sets: the `duty`, so that the speed falls with the voltage of the battery; or the `speed`, "
            "which the ESC holds up to what the voltage allows"
        ),
    ] = "duty"
    esc_lag_s: Annotated[float, meta("s", "first-order lag of the ESC, before the motor's", ge=0, le=1)] = 0.0


@dataclass(frozen=True)
class Shaft:
    """The equations of one motor with its rotor, in one density of the air."""

    volt_s: float  # V s/rad, and N m/A
    resistance_ohm: float
    idle_A: float
    torque_Nms2: float  # torque over the square of the speed

    @classmethod
    def of(cls, motor: ElectricMotor, torque_Nms2: float) -> Shaft:
        return cls(1.0 / (RPM * motor.speed_constant_rpm_V), motor.resistance_ohm, motor.idle_A, torque_Nms2)

    def current_A(self, speed_rad_s: float, torque_Nm: float = 0.0) -> float:
        """At a speed, with a torque that accelerates the rotor; never below 0."""
        return max(0.0, (self.torque_Nms2 * speed_rad_s * speed_rad_s + torque_Nm) / self.volt_s + self.idle_A)

    def voltage_V(self, speed_rad_s: float, current_A: float) -> float:
        return self.volt_s * speed_rad_s + self.resistance_ohm * current_A

    def steady_V(self, speed_rad_s: float) -> float:
        """Voltage that holds a speed."""
        return self.voltage_V(speed_rad_s, self.current_A(speed_rad_s)) if speed_rad_s > 0.0 else 0.0

    def steady_rad_s(self, voltage_V: float) -> float:
        """Speed that a voltage holds: the inverse of `steady_V`, a quadratic."""
        a, b = self.resistance_ohm * self.torque_Nms2 / self.volt_s, self.volt_s
        c = voltage_V - self.resistance_ohm * self.idle_A
        return 2.0 * c / (b + math.sqrt(b * b + 4.0 * a * c)) if c > 0.0 else 0.0

    def most_torque_Nm(self, speed_rad_s: float, voltage_V: float, most_A: float) -> float:
        """Torque that is left to accelerate the rotor, by the voltage and by the greatest current."""
        most = min(most_A, (voltage_V - self.volt_s * speed_rad_s) / self.resistance_ohm)
        return (most - self.idle_A) * self.volt_s - self.torque_Nms2 * speed_rad_s * speed_rad_s
