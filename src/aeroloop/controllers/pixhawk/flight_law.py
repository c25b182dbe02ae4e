"""The flight law of an airframe from its parameter file, made to read the state of the navigation filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import casadi as ca

from aeroloop.actuators.motors import Motor
from aeroloop.control.cascade import INPUTS, OUTPUTS, Frame, law
from aeroloop.estimation import ekf
from aeroloop.models import quadrotor
from aeroloop.models.rigid_body import Body
from aeroloop.models.rotors import Rotors


class Airframe(Protocol):
    """What a family's row offers as `airframe`."""

    @property
    def body(self) -> Body: ...
    @property
    def rotors(self) -> Rotors: ...
    @property
    def motors(self) -> Motor: ...
    @property
    def flight(self) -> quadrotor.Parameters: ...
    @property
    def mix(self) -> Callable[[tuple[float, ...]], tuple[float, ...]]:
        """Motor commands of roll, pitch, yaw (-1..1, of FRD) and throttle (0..1)."""


def frame(airframe: Airframe) -> Frame:
    body, rotors, motors = airframe.body, airframe.rotors, airframe.motors
    hovering = float(sum(quadrotor.hover_speeds_rad_s(airframe.flight)))
    return Frame(
        mass_kg=body.mass_kg,
        inertia_kgm2=body.inertia_kgm2,
        rotor_pos_B_m=rotors.pos_B_m,
        rotor_spin=rotors.spin,
        thrust_Ns2=rotors.thrust_Ns2,
        torque_to_thrust_m=rotors.torque_to_thrust_m,
        speed_idle_rad_s=motors.speed_idle_rad_s,
        speed_max_rad_s=motors.speed_max_rad_s,
        drag_per_s=rotors.drag_Ns2_m * hovering / body.mass_kg,
    )


def on_state(airframe: Airframe, period_s: float) -> ca.Function:
    """`cascade.law` with the filter's state in place of `nav`, so that a sample has nothing to copy."""
    function = law(frame(airframe), period_s)
    state = ca.SX.sym("state", ekf.STATES)
    _, *others = function.sx_in()
    outputs = function.call([ekf.motion(state), *others])
    return ca.Function(function.name(), [state, *others], outputs, ["state", *INPUTS[1:]], list(OUTPUTS))
