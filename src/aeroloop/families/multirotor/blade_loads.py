"""Loads of rotors with blades near the ground, where MuJoCo steps: the function of the compiled step, called alone.

The rotors' forces are loads of the body here; MuJoCo's thrust actuators stay at zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import casadi as ca

from aeroloop.actuators.motors import RotorEffort
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS
from aeroloop.families.multirotor.step_function import MOTION
from aeroloop.models import multirotor_step as model
from aeroloop.models import rotor_aerodynamics
from aeroloop.models.rotors import Rotors


@cache
def _function(rotors: int) -> ca.Function:
    """(motion, its step, flow, effort, ground, rotors) -> force and torque about the centre of mass."""
    size = {
        "motion": MOTION,
        "dt_s": 1,
        "vel_air_B": 3,
        "rate_B": 3,
        "density": 1,
        "ground": 1,
        "speed": rotors,
        "pos_B": 3 * rotors,
        "spin": rotors,
        "share": rotors,
        "rotor": 5,
        "blades": len(rotor_aerodynamics.BladeSymbols._fields),
    }
    s = {name: ca.SX.sym(name, count) for name, count in size.items()}
    motion, each = s["motion"], s["rotor"]
    before = model.Motion(motion[0:3], motion[3:7], motion[7:10], motion[10:13], motion[13:16], motion[16:19])
    zero = ca.SX.zeros(rotors)
    effort = model.Effort(zero, s["speed"], zero, ca.SX(0), ca.SX(0))
    symbols = model.RotorSymbols(
        ca.reshape(s["pos_B"], 3, rotors),
        s["spin"],
        s["share"],
        each[0],
        each[1],
        each[2],
        each[3],
        each[4],
        rotor_aerodynamics.symbols(s["blades"]),
    )
    ground = model.mid_step_ground(before, s["ground"], s["dt_s"])
    loads = model.blade_loads_B(s["vel_air_B"], s["rate_B"], effort, s["density"], ground, symbols)
    return ca.Function(f"blade_loads_{rotors}", list(s.values()), [ca.vertcat(*loads)], list(s), ["loads"])


class BladeLoads:
    """Force and torque of the rotors, from the motion and the ground that it was told of before."""

    def __init__(self, rotors: Rotors) -> None:
        function = _function(rotors.count)
        self._call = Evaluator(function)
        self._inputs = dict(zip(function.name_in(), self._call.inputs, strict=True))
        self._inputs["pos_B"][:] = [axis for pos in rotors.pos_B_m for axis in pos]
        self._inputs["spin"][:], self._inputs["share"][:] = rotors.spin, rotors.shares
        self._inputs["rotor"][:] = (
            rotors.thrust_Ns2,
            rotors.torque_to_thrust_m,
            rotors.inertia_kgm2,
            rotors.drag_Ns2_m,
            rotors.density_kg_m3,
        )
        self._inputs["blades"][:] = rotor_aerodynamics.coefficients(rotors)

    def begin(self, motion: Sequence[float], ground_m: float, dt_ns: int) -> None:
        """The motion at the beginning of the step, the height of the ground below, and the step."""
        self._inputs["motion"][:] = motion[:MOTION]
        self._inputs["ground"][0], self._inputs["dt_s"][0] = ground_m, dt_ns / NS

    def __call__(self, effort: RotorEffort, vel_air_B: Vec3, rate_B: Vec3, density_kg_m3: float) -> list[float]:
        inputs = self._inputs
        inputs["vel_air_B"][:], inputs["rate_B"][:] = vel_air_B, rate_B
        inputs["speed"][:], inputs["density"][0] = effort.speed_rad_s, density_kg_m3
        self._call()
        found: list[float] = self._call.outputs[0].tolist()
        return found
