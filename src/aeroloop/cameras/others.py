"""Other aircraft in a camera's scene: their shapes, and where they are at the time of a frame.

They stand still during a frame (exposure, rolling shutter), and their pods do not tilt. A camera does not see its own
aircraft, which would fill the image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import mujoco
import numpy as np

from aeroloop.cameras.pinhole import BodyPose
from aeroloop.core.shape import Part, Shape

ROTOR_HALF_HEIGHT_M = 0.002
KINDS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "ellipsoid": mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "mesh": mujoco.mjtGeom.mjGEOM_MESH,
}


def body_name(vehicle: int) -> str:
    return f"aircraft-{vehicle}"


def add(spec: mujoco.MjSpec, shape: Shape, count: int) -> None:
    """As many aircraft of a shape, each a body that is moved."""
    for index, part in enumerate(shape.parts):
        if part.kind == "mesh":
            spec.add_mesh(name=f"shape-{index}", uservert=part.vertices_m, userface=part.faces)
    for vehicle in range(count):
        own = [spec.worldbody.add_body(name=body_name(vehicle), mocap=True)]
        for body in shape.bodies:
            own.append(own[body.parent + 1].add_body(pos=body.pos_m, quat=body.quat))
        for index, part in enumerate(shape.parts):
            _add_part(own[part.body + 1], part, f"shape-{index}")
        for rotor in shape.rotors:
            size_m = (rotor.radius_m, ROTOR_HALF_HEIGHT_M, 0.0)
            _add_part(
                own[rotor.body + 1], Part(rotor.body, "cylinder", size_m, rotor.pos_m, rotor.quat, rotor.disc_rgba), ""
            )


def _add_part(body: mujoco.MjsBody, part: Part, mesh: str) -> None:
    geom = body.add_geom(type=KINDS[part.kind], pos=part.pos_m, quat=part.quat, rgba=part.rgba)
    if part.kind == "mesh":
        geom.meshname = mesh
    else:
        geom.size = part.size_m


class Placed:
    """The aircraft of a compiled scene; a call puts some into it, and no others."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, count: int, update: Callable[[], None]) -> None:
        """`update` is called when one has moved."""
        self._model, self._data, self._update = model, data, update
        roots = [model.body(body_name(vehicle)) for vehicle in range(count)]
        self._mocaps = [int(root.mocapid[0]) for root in roots]
        self._geoms = [np.flatnonzero(model.body_rootid[model.geom_bodyid] == root.id) for root in roots]
        self._alphas = [model.geom_rgba[geoms, 3].copy() for geoms in self._geoms]

    def __call__(self, poses: Mapping[int, BodyPose]) -> None:
        for vehicle, (mocap, geoms, alphas) in enumerate(zip(self._mocaps, self._geoms, self._alphas, strict=True)):
            pose = poses.get(vehicle)
            self._model.geom_rgba[geoms, 3] = 0.0 if pose is None else alphas  # with 0 it is not drawn
            if pose is not None:
                self._data.mocap_pos[mocap], self._data.mocap_quat[mocap] = pose.pos_W, pose.quat_WB
        mujoco.mj_kinematics(self._model, self._data)
        self._update()
