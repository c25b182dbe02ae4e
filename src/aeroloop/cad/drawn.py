"""Parts of an airframe file that are drawn: on pages, in logs and by cameras. They have no effect on the flight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from aeroloop.cad import mesh_files
from aeroloop.cad.inertial import pose_of_quat
from aeroloop.cad.mesh import flat
from aeroloop.cad.mesh_paths import located
from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Quat, Vec, Vec3
from aeroloop.core.shape import Part, Shape

MOST_TRIANGLES = 20_000
"""Of all drawn meshes: every page and every log gets them."""
Share = Annotated[float, meta("-", "0 to 1", ge=0, le=1)]
Length = Annotated[float, meta("m", "not negative", ge=0)]


class DrawnPart(Config, frozen=True):
    """A part of the aircraft's shape in 3D views, logs and cameras; without any, a box with arms is drawn."""

    kind: Annotated[
        Literal["box", "sphere", "ellipsoid", "capsule", "cylinder", "mesh"], note("its geometry; a mesh needs `file`")
    ]
    size_m: Annotated[
        tuple[Length, Length, Length],
        meta("m", "half lengths; radius and half length along z for cylinder and capsule"),
    ] = (0.0, 0.0, 0.0)
    pos_B_m: Annotated[Vec3, meta("m", "its origin from the centre of mass")] = (0.0, 0.0, 0.0)
    quat: Annotated[Quat, note("orientation in the body frame: w, x, y, z")] = (1.0, 0.0, 0.0, 0.0)
    rgba: Annotated[tuple[Share, Share, Share, Share], note("colour and opacity")] = (0.35, 0.38, 0.42, 1.0)
    file: Annotated[str, note("mesh in metres, STL or OBJ, in the folder of the airframe file or below")] = ""

    def __post_init__(self) -> None:
        if (self.kind == "mesh") != bool(self.file):
            raise ValueError("drawn: expected `file` for a mesh and for no other kind")
        if abs(sum(value * value for value in self.quat) - 1.0) > 1e-3:
            raise ValueError("drawn: quat: expected a quaternion of length 1")


def dressed(shape: Shape, parts: Sequence[DrawnPart], airframe: Path) -> Shape:
    """The shape with these parts in place of its own; rotors and hinges stay. Files are relative to the airframe's."""
    if not parts:
        return shape
    drawn = tuple(_part(each, airframe) for each in parts)
    if sum(len(part.faces) for part in drawn) > 3 * MOST_TRIANGLES:
        raise ConfigError(f"{airframe}: drawn: more than {MOST_TRIANGLES} triangles; export the meshes coarser")
    points = np.concatenate([np.zeros((1, 3)), *(_points(part) for part in drawn)])
    discs = [float(np.linalg.norm(rotor.pos_m)) + rotor.radius_m for rotor in shape.rotors]
    reach_m = max([float(np.linalg.norm(points, axis=1).max()), *discs])
    return replace(shape, parts=drawn, reach_m=reach_m, nose_m=float(points[:, 0].max()))


def _part(drawn: DrawnPart, airframe: Path) -> Part:
    if drawn.kind != "mesh":
        return Part(0, drawn.kind, drawn.size_m, drawn.pos_B_m, drawn.quat, drawn.rgba)
    folder = airframe.resolve().parent
    path = located(drawn.file, folder, folder, f"{airframe}: drawn")
    mesh = mesh_files.read(path)
    if flat(mesh):
        raise ConfigError(f"{path}: the mesh is flat; expected a body with a thickness")
    points = tuple(float(value) for value in mesh.points_m.ravel())
    faces = tuple(int(value) for value in mesh.faces.ravel())
    return Part(0, "mesh", drawn.size_m, drawn.pos_B_m, drawn.quat, drawn.rgba, points, faces)


def _points(part: Part) -> Vec:
    """That span a part, in the body frame."""
    if part.kind == "mesh":
        points: Vec = np.array(part.vertices_m).reshape(-1, 3)
    else:
        a, b, c = part.size_m
        half = {"cylinder": (a, a, b), "capsule": (a, a, a + b), "sphere": (a, a, a)}.get(part.kind, (a, b, c))
        points = np.concatenate([np.diag(half), -np.diag(half)])
    return pose_of_quat(part.pos_m, part.quat).points(points)
