"""The flight law of an airframe from its parameter file, with the state of the navigation filter as input."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

import casadi as ca
import numpy as np

from aeroloop.actuators.motors import Motor
from aeroloop.control.cascade import OUTPUTS, Frame, law
from aeroloop.control.clipping import with_unclipped
from aeroloop.estimation import ekf
from aeroloop.models import quadrotor
from aeroloop.models.rigid_body import Body
from aeroloop.models.rotors import Rotors

LEAST_ROTORS = 4
"""Minimum number of rotors: with fewer, thrust and attitude cannot be held."""


SAME_ARM = 0.9
"""Cosine of the angle between two arms; with eight arms in a circle it is 0.71."""


class Airframe(Protocol):
    """The interface of `airframe` in a family's row."""

    @property
    def body(self) -> Body: ...
    @property
    def rotors(self) -> Rotors: ...
    @property
    def motors(self) -> Motor: ...
    @property
    def flight(self) -> quadrotor.Parameters: ...
    @property
    def rest_height_m(self) -> float: ...
    @property
    def mix(self) -> Callable[[tuple[float, ...]], tuple[float, ...]]:
        """Motor commands from roll, pitch, yaw (-1..1, FRD) and throttle (0..1)."""


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
        rotor_shares=rotors.shares,
    )


def survives(airframe: Airframe) -> bool:
    """Whether there are enough rotors to fly without one of them, each on its own arm: of two on one arm the failed one
    cannot be identified, and the other replaces it in part."""
    if airframe.rotors.count <= LEAST_ROTORS:
        return False
    arms = np.array(airframe.rotors.pos_B_m)[:, :2]
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    return bool(np.max(arms @ arms.T - np.eye(len(arms))) < SAME_ARM)


def on_state(airframe: Airframe, period_s: float) -> ca.Function:
    """`cascade.law` with the filter's state as input instead of `nav`, so that no copy is needed per sample, and with
    the output `unclipped`: its limits would hide a NaN in the state."""
    return _on_state(frame(airframe), period_s, survives(airframe))


@lru_cache(maxsize=8)
def _on_state(frame: Frame, period_s: float, survives: bool) -> ca.Function:
    """Cached for the next flight with this aircraft."""
    function = law(frame, period_s, survives=survives)
    state = ca.SX.sym("state", ekf.STATES)
    _, *others = function.sx_in()
    outputs = function.call([ekf.motion(state), *others])
    names = ["state", *function.name_in()[1:]]
    return with_unclipped(ca.Function(function.name(), [state, *others], outputs, names, list(OUTPUTS)))
