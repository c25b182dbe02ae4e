"""The 3-RRR robot under the synchronisation law in an ideal loop: no links, no single precision, no processes."""

from __future__ import annotations

import numpy as np

from aeroloop.control.synchronisation import Axes
from aeroloop.control.synchronisation_gains import JOINT, JOINT_POLES, LawName, of_law
from aeroloop.families.rrr import disturbances, plants
from aeroloop.families.rrr.disturbances import Disturbance
from aeroloop.families.rrr.dynamics import joint_inertia
from aeroloop.families.rrr.measures import measures
from aeroloop.families.rrr.reference import Reference, Wanted
from aeroloop.families.rrr.robot import Robot
from helpers.synchronised_axes import Stepped

PERIOD_S = 0.001
CIRCLE, SQUARE = Reference(), Reference(path="square", size_m=0.04)


def fly(
    name: LawName,
    kind: disturbances.Kind = "none",
    reference: Reference = CIRCLE,
    *,
    duration_s: float = 6.0,
    seed: int = 1,
    world: type[plants.Reduced | plants.Multibody] = plants.Reduced,
    eta: float | None = None,
    beta: float | None = None,
) -> dict[str, float]:
    """The measures from 1 s on."""
    robot, disturbance = Robot(), Disturbance(kind=kind)
    gains = of_law(name, JOINT, JOINT_POLES)
    gains = gains._replace(**{key: value for key, value in (("eta", eta), ("beta", beta)) if value is not None})
    axes = Axes(3, 2, PERIOD_S, -robot.torque_max_Nm, robot.torque_max_Nm, inertia=joint_inertia(robot))
    law, wanted = Stepped(axes, gains), Wanted(robot, reference)
    plant = world(robot, wanted.at(0.0)[0])
    noise = disturbance.encoder_noise_rad * np.random.default_rng(seed).standard_normal((round(duration_s * 1000), 3))
    errors, off, commands = [], [], []
    for i, drawn in enumerate(noise):
        t_s = i * PERIOD_S
        pose, joints = wanted.at(t_s)
        q = np.array(plant.q)
        u = law(q + drawn, joints)
        errors.append(np.array(joints[:3]) - q)
        off.append(np.array(pose[:3]) - plant.motion[:3])
        commands.append(u)
        plant.step(u, disturbances.acting(robot, disturbance, t_s), PERIOD_S)
    counted = slice(1000, None)
    return measures(np.array(errors)[counted], np.array(off)[counted], np.array(commands)[counted], robot.torque_max_Nm)
