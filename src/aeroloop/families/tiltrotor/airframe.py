"""The tilt-rotor as a MuJoCo multibody: model.xml gives the structure, a parameter set gives the numbers."""

from __future__ import annotations

import math
from importlib import resources
from typing import Any

import mujoco
import numpy as np

from aeroloop.core.frames import Vec3
from aeroloop.models.tiltrotor import Parameters
from aeroloop.world import feet
from aeroloop.world.feet import Springs
from aeroloop.world.ground import SPRUNG, Ground, lay
from aeroloop.world.multibody import Drag
from aeroloop.world.terrain import Flat

FILE = "families/tiltrotor/model.xml"
DRAG_CENTRE = "drag_centre"
SIDES = ("right", "left")
DISC_KG = 1e-9
"""MuJoCo needs a mass; that of a rotor is in its pod's."""
ARMATURE_KGM2 = 1.0
FASTER = 100.0
"""A disc of so much less inertia, turning so much faster, has the same momentum. MuJoCo would refuse a pod that is left
with no possible inertia, as those of the CAD values are without a disc of 2e-5 kg m2."""


def build(
    p: Parameters,
    step_s: float,
    terrain: Ground | None = None,
    *,
    in_air: bool = False,
    strength: tuple[float, float] = (1.0, 1.0),
    sprung: bool = False,
) -> mujoco.MjModel:
    """`in_air`: with the three actuators of the drag, after those of the aircraft. `strength`: factors on the rotors'
    thrusts and torques. `sprung`: the legs have springs, and no contact of MuJoCo."""
    spec = mujoco.MjSpec.from_string(resources.files("aeroloop").joinpath(FILE).read_text(encoding="utf-8"))
    spec.option.timestep = step_s
    # A NaN state must persist: MuJoCo would reset the aircraft to the origin and continue.
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    spec.option.gravity = [0.0, 0.0, -p.gravity_m_s2]
    fuselage = spec.body("fuselage")
    inertia = np.array(p.fuselage_inertia_kgm2)
    fuselage.mass, fuselage.ipos = p.fuselage_mass_kg, p.fuselage_com_B_m
    fuselage.fullinertia = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
    fuselage.explicitinertial = True
    for i, (side, inward) in enumerate((("right", -1.0), ("left", 1.0))):
        pod = spec.body(f"pod_{side}")
        half_cant = inward * p.cant_rad / 2
        pod.pos, pod.quat = p.pod_pivot_B_m[i], [math.cos(half_cant), math.sin(half_cant), 0.0, 0.0]
        pod.mass, pod.inertia = p.pod_mass_kg[i], p.pod_inertia_kgm2[i]
        pod.ipos, pod.iquat = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]  # unset, they would copy pos and quat
        pod.explicitinertial = True
        # A rotor's force acts along the pod's z axis and its torque about it, in proportion.
        torque_m = strength[i] * p.spin[i] * p.drag_to_thrust_m
        spec.actuator(f"thrust_{side}").gear = [0.0, 0.0, strength[i], 0.0, 0.0, torque_m]
        if p.rotor_inertia_kgm2:
            _add_rotor(spec, side, pod, p.rotor_inertia_kgm2)
    if in_air:
        fuselage.add_site(name=DRAG_CENTRE, pos=p.drag_centre_B_m)
        for axis in range(3):
            force = spec.add_actuator(name=f"drag_{'xyz'[axis]}", trntype=mujoco.mjtTrn.mjTRN_SITE, target=DRAG_CENTRE)
            force.gear = [*(float(axis == i) for i in range(3)), 0.0, 0.0, 0.0]
    if in_air and p.rotor_drag_Ns2_m:
        for side in SIDES:
            for axis in range(2):
                name, site = f"rotor_drag_{side}_{'xy'[axis]}", f"rotor_{side}"
                force = spec.add_actuator(name=name, trntype=mujoco.mjtTrn.mjTRN_SITE, target=site)
                force.gear = [*(float(axis == i) for i in range(3)), 0.0, 0.0, 0.0]
    if p.rotor_inertia_kgm2:
        for side in SIDES:
            joint = mujoco.mjtTrn.mjTRN_JOINT
            spec.add_actuator(name=f"spin_{side}", trntype=joint, target=f"spin_{side}").gear[0] = 1.0
    if sprung:
        for geom in _legs(spec):
            geom.contype, geom.conaffinity = SPRUNG["contype"], SPRUNG["conaffinity"]
    if terrain is not None and not isinstance(terrain, Flat):
        lay(spec, terrain)
    return spec.compile()


def _legs(spec: mujoco.MjSpec) -> list[Any]:
    return [geom for geom in spec.body("fuselage").geoms if geom.classname.name == "leg" and geom.name != "belly"]


def springs(stiffness_N_m: float | None, damping_Ns_m: float | None) -> Springs | None:
    """At the lower ends of the legs; None without stiffness."""
    spec = mujoco.MjSpec.from_string(resources.files("aeroloop").joinpath(FILE).read_text(encoding="utf-8"))
    legs = _legs(spec)
    ends_B_m = tuple((float(x), float(y), float(z)) for x, y, z in (leg.fromto[3:] for leg in legs))
    return feet.springs(stiffness_N_m, damping_Ns_m, float(legs[0].friction[0]), ends_B_m, float(legs[0].size[0]))


def _add_rotor(spec: mujoco.MjSpec, side: str, pod: Any, inertia_kgm2: float) -> None:
    """A disc that turns, out of the inertia of its pod. A large armature keeps its speed relative to the pod: it adds
    inertia to that motion alone, without momentum."""
    disc = np.array([0.5, 0.5, 1.0]) * inertia_kgm2 / FASTER
    pod.inertia = np.array(pod.inertia) - disc
    rotor = pod.add_body(name=f"disc_{side}", mass=DISC_KG, ipos=[0.0, 0.0, 0.0], inertia=disc)
    rotor.explicitinertial = True
    rotor.add_joint(name=f"spin_{side}", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 0, 1], armature=ARMATURE_KGM2)


def drag(p: Parameters) -> Drag:
    """The same force as `models.tiltrotor.drag`."""
    cx, cy, cz = p.drag_centre_B_m
    area_x, area_y, area_z = p.drag_area_m2

    def force_B(vel_air_B: Vec3, rate_B: Vec3, density_kg_m3: float) -> Vec3:
        """For the origin's velocity."""
        (u, v, w), (roll_rate, pitch_rate, yaw_rate) = vel_air_B, rate_B
        u += pitch_rate * cz - yaw_rate * cy
        v += yaw_rate * cx - roll_rate * cz
        w += roll_rate * cy - pitch_rate * cx
        pressure = -0.5 * density_kg_m3 * math.hypot(u, v, w)
        return pressure * area_x * u, pressure * area_y * v, pressure * area_z * w

    return force_B
