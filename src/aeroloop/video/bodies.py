"""Aircraft as bodies of a MuJoCo scene that is only drawn: moved as a whole, turned at hinges and rotors."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco

from aeroloop.cameras.others import KINDS, ROTOR_HALF_HEIGHT_M
from aeroloop.core.frames import Vec3
from aeroloop.core.shape import Part, Shape
from aeroloop.video.crafts import Moving

DISC_ALPHA = 0.25
LEVEL = (1.0, 0.0, 0.0, 0.0)
Rgb = Vec3


def add(spec: mujoco.MjSpec, shape: Shape, name: str, rgb: Rgb) -> None:
    """An aircraft whose front is marked in a colour."""
    for index, part in enumerate(shape.parts):
        if part.kind == "mesh":
            mesh = spec.add_mesh(name=f"{name}/{index}", uservert=part.vertices_m, userface=part.faces)
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # an open mesh can be drawn too
    own = [spec.worldbody.add_body(name=name, mocap=True)]
    hinges = 0
    for body in shape.bodies:
        child = own[body.parent + 1].add_body(pos=body.pos_m, quat=body.quat)
        if body.hinge is not None:
            _turns(child, f"{name}/hinge{hinges}", body.hinge.axis, body.hinge.pos_m)
            hinges += 1
        own.append(child)
    for index, part in enumerate(shape.parts):
        _draw(own[part.body + 1], part, f"{name}/{index}")
    for index, rotor in enumerate(shape.rotors):
        hub = own[rotor.body + 1].add_body(pos=rotor.pos_m, quat=rotor.quat)
        _turns(hub, f"{name}/rotor{index}", (0.0, 0.0, 1.0), (0.0, 0.0, 0.0))
        size_m = rotor.radius_m, ROTOR_HALF_HEIGHT_M, 0.0
        _draw(hub, Part(0, "cylinder", size_m, (0.0, 0.0, 0.0), LEVEL, (*rotor.disc_rgba[:3], DISC_ALPHA)), "")
        for blade in rotor.blades:
            _draw(hub, blade, "")
    if shape.nose_m > 0:
        length_m, width_m = 0.11 * shape.reach_m, 0.045 * shape.reach_m
        place: Vec3 = (shape.nose_m + length_m, 0.0, 0.0)
        _draw(own[0], Part(0, "ellipsoid", (length_m, width_m, width_m), place, LEVEL, (*rgb, 1.0)), "")


def _turns(body: mujoco.MjsBody, name: str, axis: Vec3, pos_m: Vec3) -> None:
    body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=axis, pos=pos_m)
    body.mass, body.inertia, body.explicitinertial = 1.0, [1.0, 1.0, 1.0], True  # a moving body has to have one


def _draw(body: mujoco.MjsBody, part: Part, mesh: str) -> None:
    geom = body.add_geom(
        type=KINDS[part.kind], pos=part.pos_m, quat=part.quat, rgba=part.rgba, contype=0, conaffinity=0
    )
    if part.kind == "mesh":
        geom.meshname = mesh
    else:
        geom.size = part.size_m


class Placed:
    """One aircraft of a compiled scene."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, shape: Shape, name: str) -> None:
        self._data = data
        self._mocap = int(model.body(name).mocapid[0])
        hinges = sum(body.hinge is not None for body in shape.bodies)
        self._hinges = [int(model.joint(f"{name}/hinge{index}").qposadr[0]) for index in range(hinges)]
        self._rotors = [int(model.joint(f"{name}/rotor{index}").qposadr[0]) for index in range(len(shape.rotors))]

    def place(self, moving: Moving, rotor_angles_rad: Sequence[float]) -> None:
        data, pose = self._data, moving.pose
        data.mocap_pos[self._mocap], data.mocap_quat[self._mocap] = pose.pos_W, pose.quat_WB
        for at, angle in zip(self._hinges, moving.hinges_rad, strict=False):
            data.qpos[at] = angle
        for at, angle in zip(self._rotors, rotor_angles_rad, strict=False):
            data.qpos[at] = angle
