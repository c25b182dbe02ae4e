"""Torque that the air puts on the motors' shafts, of rotors with `[rotors.aerodynamics]`, for the battery's current.

It is that of the blades in the flow of the step (`models.rotor_aerodynamics`), with the static torque of the battery's
motors in place of the airframe's where they have their own, and is given over the square of the rotor's speed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import casadi as ca
from msgspec.structs import replace

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.families.multirotor.motion import MultirotorMotion
from aeroloop.families.multirotor.step_function import MOTION
from aeroloop.models import multirotor_step as model
from aeroloop.models import rotor_aerodynamics as aerodynamics
from aeroloop.models.rotors import Rotors

LEAST_RAD_S = 1.0
"""A rotor that turns slower has the torque over the square of the speed that it has here."""


@cache
def _function(rotors: int) -> ca.Function:
    """(motion, its step, wind, air density, height of the ground, speeds, rotors) -> torque over squared speed."""
    size = {
        "motion": MOTION,
        "dt_s": 1,
        "wind_W": 3,
        "density": 1,
        "ground": 1,
        "speed": rotors,
        "pos_B": 3 * rotors,
        "spin": rotors,
        "static": len(aerodynamics.Static._fields),
        "blades": len(aerodynamics.BladeSymbols._fields),
    }
    s = {name: ca.SX.sym(name, count) for name, count in size.items()}
    motion, pos_B = s["motion"], ca.reshape(s["pos_B"], 3, rotors)
    before = model.Motion(motion[0:3], motion[3:7], motion[7:10], motion[10:13], motion[13:16], motion[16:19])
    vel_air_B, rate_B = model.mid_step_air_B(before, s["wind_W"], s["dt_s"])
    ground = model.mid_step_ground(before, s["ground"], s["dt_s"])
    blades, static = aerodynamics.symbols(s["blades"]), aerodynamics.Static(*ca.vertsplit(s["static"]))
    found = []
    for i in range(rotors):
        lever, speed = pos_B[:, i], ca.fmax(s["speed"][i], LEAST_RAD_S)
        height_m = ground.height_m + ca.dot(ground.up_B, lever)
        hub_B = vel_air_B + ca.cross(rate_B, lever)
        flow = aerodynamics.Flow(hub_B, rate_B, height_m, ground.up_B, s["density"])
        found.append(aerodynamics.load(blades, flow, speed, s["spin"][i], static).torque_Nm / (speed * speed))
    return ca.Function(f"shaft_torque_{rotors}", list(s.values()), [ca.vertcat(*found)], list(s), ["torque_Nms2"])


def of_motor(rotors: Rotors, torque_to_thrust_m: float) -> Rotors:
    """Rotors with the static torque of their motors; ConfigError if the induced power alone takes more."""
    own = replace(rotors, torque_to_thrust_m=torque_to_thrust_m)
    table = own.aerodynamics
    if table is not None and table.inflow:
        numbers = dict(zip(aerodynamics.BladeSymbols._fields, aerodynamics.coefficients(own), strict=True))
        if numbers["profile"] <= 0.0:
            least_m = table.radius_m * table.induced_power_factor * numbers["hover_inflow"]
            raise ConfigError(
                f"battery.motor.torque_to_thrust_m: in hover the induced power of rotors.aerodynamics alone needs "
                f"{least_m:.3g} m; expected more, not {torque_to_thrust_m:g} m"
            )
    return own


class ShaftTorque:
    """In the step that a motion is about to make."""

    def __init__(self, rotors: Rotors, motion: MultirotorMotion, run: Callable[[ca.Function], Evaluator]) -> None:
        """`rotors`: `of_motor`."""
        self._motion = motion
        function = _function(rotors.count)
        self._call = run(function)
        self._inputs = dict(zip(function.name_in(), self._call.inputs, strict=True))
        self._inputs["pos_B"][:] = [axis for pos in rotors.pos_B_m for axis in pos]
        self._inputs["spin"][:] = rotors.spin
        self._inputs["static"][:] = rotors.thrust_Ns2, rotors.torque_to_thrust_m, rotors.density_kg_m3
        self._inputs["blades"][:] = aerodynamics.coefficients(rotors)

    def __call__(self, speed_rad_s: Sequence[float], dt_ns: int) -> list[float]:
        inputs, motion = self._inputs, self._motion
        wind_W, density_kg_m3, _ = motion.held_air
        inputs["motion"][:], inputs["wind_W"][:] = motion.held_motion[:MOTION], wind_W
        inputs["dt_s"][0], inputs["density"][0] = dt_ns / NS, density_kg_m3
        inputs["ground"][0], inputs["speed"][:] = motion.ground_m, speed_rad_s
        self._call()
        found: list[float] = self._call.outputs[0].tolist()
        return found
