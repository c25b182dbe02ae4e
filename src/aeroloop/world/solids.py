"""Rigid groups of geometries: where they touch, and what a ray hits, by MuJoCo's functions for single ones.

Only poses of what is asked about are set: a world of hundreds of objects costs nothing while nobody is near.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np

from aeroloop.core.frames import Quat, Vec, Vec3
from aeroloop.core.shape import Part

KINDS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "ellipsoid": mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "mesh": mujoco.mjtGeom.mjGEOM_MESH,
}
MESH = int(mujoco.mjtGeom.mjGEOM_MESH)
NEAR_M = 0.3
"""Distances are measured up to here."""
LEAST_DEPTH_M = 1e-9
"""A shallower overlap has no direction."""


class Contact(NamedTuple):
    """Where the second of two groups touches the first."""

    point_W: Vec
    normal_W: Vec  # away from the first
    depth_m: float


def add_parts(spec: mujoco.MjSpec, body: mujoco.MjsBody, parts: Sequence[Part], name: str) -> None:
    """Geometries of an object, for drawing or for distances; none of them takes part in MuJoCo's contacts."""
    for index, part in enumerate(parts):
        geom = body.add_geom(
            type=KINDS[part.kind], pos=part.pos_m, quat=part.quat, rgba=part.rgba, contype=0, conaffinity=0
        )
        if part.kind == "mesh":
            mesh = spec.add_mesh(name=f"{name}/{index}", uservert=part.vertices_m, userface=part.faces)
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
            geom.meshname = mesh.name
        else:
            geom.size = part.size_m


class Solids:
    """Groups by their numbers."""

    def __init__(self, groups: Sequence[Sequence[Part]]) -> None:
        spec = mujoco.MjSpec()
        for number, parts in enumerate(groups):
            add_parts(spec, spec.worldbody.add_body(), parts, str(number))
        self._model = model = spec.compile()
        self._data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, self._data)
        firsts = np.cumsum([0, *map(len, groups)]).tolist()
        self.geoms = [range(first, end) for first, end in itertools.pairwise(firsts)]
        self._local_pos = self._data.geom_xpos.copy()
        self._local_mat = self._data.geom_xmat.reshape(-1, 3, 3).copy()
        self._radii: list[float] = model.geom_rbound.tolist()
        self._kinds: list[int] = model.geom_type.tolist()
        self._segment = np.zeros(6)

    def place(self, number: int, pos_W: Vec3, quat: Quat) -> None:
        flat = np.zeros(9)
        mujoco.mju_quat2Mat(flat, np.array(quat))
        turned = flat.reshape(3, 3)
        own = slice(self.geoms[number].start, self.geoms[number].stop)
        self._data.geom_xpos[own] = self._local_pos[own] @ turned.T + np.array(pos_W)
        self._data.geom_xmat[own] = (turned @ self._local_mat[own]).reshape(-1, 9)

    def boxes(self, number: int) -> tuple[Vec, Vec, Vec]:
        """Of each geometry of a group as it is placed: centre (n, 3), axes as columns (n, 3, 3), half sizes (n, 3)."""
        own = slice(self.geoms[number].start, self.geoms[number].stop)
        axes = self._data.geom_xmat[own].reshape(-1, 3, 3).copy()
        box = self._model.geom_aabb[own]
        centres: Vec = self._data.geom_xpos[own] + np.einsum("nij,nj->ni", axes, box[:, :3])
        return centres, axes, box[:, 3:].copy()

    def touching(self, first: Sequence[int], second: Sequence[int]) -> tuple[list[tuple[int, Contact]], float]:
        """Overlaps of geometries as they are placed, with that of the first; and how far all others are apart at
        least, up to `NEAR_M`."""
        model, data, segment = self._model, self._data, self._segment
        found: list[tuple[int, Contact]] = []
        apart_m = NEAR_M
        one, another = np.asarray(first), np.asarray(second)
        # The sphere about each of the second against the box of each of the first: most pairs need no exact distance.
        axes, box = data.geom_xmat[one].reshape(-1, 3, 3), model.geom_aabb[one]
        away = data.geom_xpos[another][None] - data.geom_xpos[one][:, None]
        beyond = np.maximum(np.abs(np.einsum("nij,nki->nkj", axes, away) - box[:, None, :3]) - box[:, None, 3:], 0.0)
        gaps_m = np.sqrt(np.einsum("nki,nki->nk", beyond, beyond)) - model.geom_rbound[another][None]
        for i, j in np.argwhere(gaps_m < NEAR_M).tolist():
            distance_m = mujoco.mj_geomDistance(model, data, int(one[i]), int(another[j]), NEAR_M, segment)
            apart_m = min(apart_m, distance_m)
            if distance_m < -LEAST_DEPTH_M:
                begin, end = segment[:3], segment[3:]
                normal_W = (begin - end) / np.linalg.norm(begin - end)
                found.append((int(one[i]), Contact((begin + end) / 2, normal_W, -distance_m)))
        return found, apart_m

    def sphere(self, geom: int) -> tuple[list[float], float]:
        """Centre and radius of a sphere about a geometry as it is placed."""
        return self._data.geom_xpos[geom].tolist(), self._radii[geom]

    def ray_m(self, geom: int, pos_W: Vec3, direction_W: Vec3) -> float:
        """Distance along a unit vector to a geometry; negative: none."""
        model, data, start, along = self._model, self._data, np.array(pos_W), np.array(direction_W)
        kind = self._kinds[geom]
        if kind == MESH:
            return float(mujoco.mj_rayMesh(model, data, geom, start, along))
        pos, mat, size = data.geom_xpos[geom], data.geom_xmat[geom], model.geom_size[geom]
        return float(mujoco.mju_rayGeom(pos, mat, size, start, along, kind))
