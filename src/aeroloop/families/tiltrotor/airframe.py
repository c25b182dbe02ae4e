"""The tilt-rotor as a MuJoCo multibody: model.xml gives the structure, a parameter set gives the numbers."""

from __future__ import annotations

import math
from importlib import resources

import mujoco
import numpy as np

from aeroloop.models.tiltrotor import Parameters

FILE = "families/tiltrotor/model.xml"


def build(p: Parameters, step_s: float) -> mujoco.MjModel:
    spec = mujoco.MjSpec.from_string(resources.files("aeroloop").joinpath(FILE).read_text(encoding="utf-8"))
    spec.option.timestep = step_s
    # A state that is no number must stay so: MuJoCo would put the aircraft back at the origin and fly on.
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
        # A rotor pushes along the pod's z axis and twists about it, in proportion.
        spec.actuator(f"thrust_{side}").gear = [0.0, 0.0, 1.0, 0.0, 0.0, p.spin[i] * p.drag_to_thrust_m]
    return spec.compile()
