"""Shape of an aircraft for drawing, from the MuJoCo model that flies.

Bodies move against each other at their hinges (pods), and rotors turn. A rotor is an actuator at a site with a thrust
and a torque. Models draw it as a thin disc; two blades in it make its rotation visible.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np

from aeroloop.core.frames import Quat, Vec, Vec3
from aeroloop.core.shape import Body, Hinge, Part, Rotor, Shape

KINDS = {
    mujoco.mjtGeom.mjGEOM_BOX: "box",
    mujoco.mjtGeom.mjGEOM_SPHERE: "sphere",
    mujoco.mjtGeom.mjGEOM_ELLIPSOID: "ellipsoid",
    mujoco.mjtGeom.mjGEOM_CAPSULE: "capsule",
    mujoco.mjtGeom.mjGEOM_CYLINDER: "cylinder",
    mujoco.mjtGeom.mjGEOM_MESH: "mesh",
}
DISC_RATIO = 0.1
"""A cylinder whose height is less than this fraction of its radius is a rotor disc, not a motor."""
BLADE_WIDTH = 0.14
"""Of the rotor's radius."""
BLADE_THICKNESS = 0.03
"""Of the rotor's radius."""
BLADE_RGBA = (0.08, 0.08, 0.1, 1.0)


def of_model(model: mujoco.MjModel) -> Shape:
    """All visible parts of a compiled model except the world itself."""
    bodies = tuple(_body(model, index) for index in range(1, model.nbody))
    drawn = dict(_parts(model))
    rotors = []
    for site, turn in _thrusts(model):
        disc = _disc_of(model, site, drawn)
        if disc is not None:
            rotors.append(_rotor(drawn.pop(disc), -turn))
    parts = tuple(drawn.values())
    solid = np.concatenate([np.zeros((1, 3)), *(_extent(bodies, part) for part in parts)])
    discs = np.concatenate([np.zeros((1, 3)), *(_extent(bodies, rotor) for rotor in rotors)])
    reach_m = float(np.linalg.norm(np.concatenate([solid, discs]), axis=1).max())
    return Shape(bodies, parts, tuple(rotors), reach_m, float(solid[:, 0].max()))


def _body(model: mujoco.MjModel, index: int) -> Body:
    hinge = None
    for joint in range(model.body_jntadr[index], model.body_jntadr[index] + model.body_jntnum[index]):
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE:
            hinge = Hinge(model.joint(joint).name, _vec3(model.jnt_axis[joint]), _vec3(model.jnt_pos[joint]))
    free = model.body_parentid[index] == 0  # its pose is the flight's
    pos_m: Vec3 = (0.0, 0.0, 0.0) if free else _vec3(model.body_pos[index])
    quat: Quat = (1.0, 0.0, 0.0, 0.0) if free else _quat(model.body_quat[index])
    return Body(model.body(index).name, int(model.body_parentid[index]) - 1, pos_m, quat, hinge)


def _parts(model: mujoco.MjModel) -> Iterator[tuple[int, Part]]:
    for index in range(model.ngeom):
        body, kind = int(model.geom_bodyid[index]), KINDS.get(int(model.geom_type[index]))
        r, g, b, a = (float(value) for value in model.geom_rgba[index])
        if body == 0 or kind is None or a == 0.0:
            continue
        vertices: tuple[float, ...] = ()
        faces: tuple[int, ...] = ()
        if kind == "mesh":
            mesh = model.mesh(int(model.geom_dataid[index]))
            points = slice(int(mesh.vertadr[0]), int(mesh.vertadr[0] + mesh.vertnum[0]))
            triangles = slice(int(mesh.faceadr[0]), int(mesh.faceadr[0] + mesh.facenum[0]))
            vertices = tuple(float(value) for value in model.mesh_vert[points].ravel())
            faces = tuple(int(value) for value in model.mesh_face[triangles].ravel())
        pos_m, quat = _vec3(model.geom_pos[index]), _quat(model.geom_quat[index])
        yield index, Part(body - 1, kind, _vec3(model.geom_size[index]), pos_m, quat, (r, g, b, a), vertices, faces)


def _thrusts(model: mujoco.MjModel) -> Iterator[tuple[int, float]]:
    """Sites of actuators with thrust along z and torque about it, and the sign of that torque on the airframe."""
    for actuator in range(model.nu):
        gear = model.actuator_gear[actuator]
        if model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_SITE and gear[2] and gear[5]:
            yield int(model.actuator_trnid[actuator][0]), math.copysign(1.0, gear[5])


def _disc_of(model: mujoco.MjModel, site: int, drawn: dict[int, Part]) -> int | None:
    """The disc in the site's body nearest to its axis; of coaxial ones the nearest to the site."""
    body, pos_m = int(model.site_bodyid[site]) - 1, model.site_pos[site]
    axis = _matrix(_quat(model.site_quat[site]))[:, 2]
    found = []
    for index, part in drawn.items():
        if part.body == body and part.kind == "cylinder" and part.size_m[1] < DISC_RATIO * part.size_m[0]:
            away_m = np.array(part.pos_m) - pos_m
            beside_m, along_m = float(np.linalg.norm(np.cross(away_m, axis))), abs(float(away_m @ axis))
            found.append((round(beside_m, 6), along_m, index))
    return min(found)[2] if found else None


def _rotor(disc: Part, direction: float) -> Rotor:
    radius_m = disc.size_m[0]
    half = radius_m / 2, BLADE_WIDTH * radius_m / 2, BLADE_THICKNESS * radius_m / 2
    blades = tuple(
        Part(disc.body, "box", half, (side * radius_m / 2, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), BLADE_RGBA)
        for side in (1.0, -1.0)
    )
    return Rotor(disc.body, disc.pos_m, disc.quat, radius_m, direction, disc.rgba, blades)


def _extent(bodies: tuple[Body, ...], item: Part | Rotor) -> Vec:
    """Extreme points of a part, in the aircraft's frame."""
    if isinstance(item, Rotor):
        half = np.array([item.radius_m, item.radius_m, 0.0])
    elif item.kind == "mesh":
        half = np.abs(np.array(item.vertices_m).reshape(-1, 3)).max(axis=0)
    else:
        radius, length, _ = item.size_m
        half = np.array(
            {
                "sphere": (radius, radius, radius),
                "capsule": (radius, radius, radius + length),
                "cylinder": (radius, radius, length),
            }.get(item.kind, item.size_m)
        )
    ends = np.concatenate([np.diag(half), -np.diag(half)])
    points: Vec = ends @ _matrix(item.quat).T + np.array(item.pos_m)
    index = item.body
    while index >= 0:
        body = bodies[index]
        points = points @ _matrix(body.quat).T + np.array(body.pos_m)
        index = body.parent
    return points


def _matrix(quat: Quat) -> Vec:
    flat: Vec = np.zeros(9)
    mujoco.mju_quat2Mat(flat, np.array(quat))
    return flat.reshape(3, 3)


def _vec3(values: Any) -> Vec3:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _quat(values: Any) -> Quat:
    w, x, y, z = (float(value) for value in values)
    return w, x, y, z
