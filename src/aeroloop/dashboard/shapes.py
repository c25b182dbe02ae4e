"""An aircraft's shape for the 3D view, taken from the very MuJoCo model that flies.

Bodies move against each other at their hinges (pods), and rotors turn. A rotor is what the model pushes with: an
actuator at a site with a thrust and a torque. Models draw it as a thin disc; two blades in it let the eye see it turn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import mujoco
import numpy as np

from aeroloop.core.frames import Quat, Vec, Vec3

KINDS = {
    mujoco.mjtGeom.mjGEOM_BOX: "box",
    mujoco.mjtGeom.mjGEOM_SPHERE: "sphere",
    mujoco.mjtGeom.mjGEOM_ELLIPSOID: "ellipsoid",
    mujoco.mjtGeom.mjGEOM_CAPSULE: "capsule",
    mujoco.mjtGeom.mjGEOM_CYLINDER: "cylinder",
    mujoco.mjtGeom.mjGEOM_MESH: "mesh",
}
DISC_RATIO = 0.1
"""A cylinder with less height than this part of its radius is a rotor's disc, not a motor."""
BLADE_WIDTH = 0.14
"""Of the rotor's radius."""
BLADE_THICKNESS = 0.03
"""Of the rotor's radius."""
BLADE_RGBA = (0.08, 0.08, 0.1, 1.0)
BOX_M: Vec3 = (0.25, 0.15, 0.05)  # half lengths
BOX_RGBA = (0.35, 0.4, 0.45, 1.0)


@dataclass(frozen=True)
class Hinge:
    """A body turns about this axis, against the pose that the model gives it."""

    name: str
    axis: Vec3  # in the body
    pos_m: Vec3  # in the body


@dataclass(frozen=True)
class Body:
    name: str
    parent: int  # index of a body before it; -1 for the aircraft itself
    pos_m: Vec3  # in the parent
    quat: Quat  # parent from body
    hinge: Hinge | None = None


@dataclass(frozen=True)
class Part:
    """A thing to draw; sizes are MuJoCo's: half lengths, radius and half height."""

    body: int
    kind: str  # one of KINDS
    size_m: Vec3
    pos_m: Vec3
    quat: Quat
    rgba: tuple[float, float, float, float]
    vertices_m: tuple[float, ...] = ()  # of a mesh, three for each point
    faces: tuple[int, ...] = ()  # of a mesh, three points each


@dataclass(frozen=True)
class Rotor:
    """A disc that turns about its z axis; its number in the tuple is that of the motor."""

    body: int
    pos_m: Vec3
    quat: Quat
    radius_m: float
    direction: float  # 1: anticlockwise seen from where it pushes to
    disc_rgba: tuple[float, float, float, float]
    blades: tuple[Part, ...]  # in the rotor's own frame


@dataclass(frozen=True)
class Shape:
    bodies: tuple[Body, ...]
    parts: tuple[Part, ...]
    rotors: tuple[Rotor, ...]
    reach_m: float  # from the origin to the outermost point
    nose_m: float  # how far forward it goes

    def plain(self) -> dict[str, Any]:
        """As the browser's script takes it."""
        return asdict(self)


def box() -> Shape:
    """For an aircraft whose shape nobody knows: longer than wide, wider than high, so that one sees how it lies."""
    body = Body("body", -1, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
    part = Part(0, "box", BOX_M, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), BOX_RGBA)
    return Shape((body,), (part,), (), math.hypot(*BOX_M), BOX_M[0])


def of_model(model: mujoco.MjModel) -> Shape:
    """Everything visible of a compiled model but the world itself."""
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
    free = model.body_parentid[index] == 0  # its pose is what the flight is about
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
    """Sites that something pushes at along z and twists about it, and the sign of that twist on the airframe."""
    for actuator in range(model.nu):
        gear = model.actuator_gear[actuator]
        if model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_SITE and gear[2] and gear[5]:
            yield int(model.actuator_trnid[actuator][0]), math.copysign(1.0, gear[5])


def _disc_of(model: mujoco.MjModel, site: int, drawn: dict[int, Part]) -> int | None:
    """The disc in the site's body that lies nearest to its axis."""
    body, pos_m = int(model.site_bodyid[site]) - 1, model.site_pos[site]
    axis = _matrix(_quat(model.site_quat[site]))[:, 2]
    found = [
        (float(np.linalg.norm(np.cross(np.array(part.pos_m) - pos_m, axis))), index)
        for index, part in drawn.items()
        if part.body == body and part.kind == "cylinder" and part.size_m[1] < DISC_RATIO * part.size_m[0]
    ]
    return min(found)[1] if found else None


def _rotor(disc: Part, direction: float) -> Rotor:
    radius_m = disc.size_m[0]
    half = radius_m / 2, BLADE_WIDTH * radius_m / 2, BLADE_THICKNESS * radius_m / 2
    blades = tuple(
        Part(disc.body, "box", half, (side * radius_m / 2, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), BLADE_RGBA)
        for side in (1.0, -1.0)
    )
    return Rotor(disc.body, disc.pos_m, disc.quat, radius_m, direction, disc.rgba, blades)


def _extent(bodies: tuple[Body, ...], item: Part | Rotor) -> Vec:
    """Points that a thing reaches to, in the aircraft's frame."""
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
