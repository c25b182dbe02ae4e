"""The objects of a scenario in its world: shapes, and poses as functions of the simulated time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import mujoco
import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Quat, Vec, Vec3
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.shape import Part
from aeroloop.world import objects
from aeroloop.world.object_kinds import parts_of, rgba_of, scene_objects
from aeroloop.world.objects import WorldObject
from aeroloop.world.relief import of_config

MOST_MESH_BYTES = 5_000_000
MOST_FACES = 20_000

GroundHeight = Callable[[float, float], float]


@dataclass(frozen=True)
class PlacedObject:
    """One object; `key` is where the scenario has it."""

    number: int  # the value of its events
    key: str
    name: str
    kind: str
    parts: tuple[Part, ...]
    moving: bool
    speed_m_s: float
    path: objects.Path
    ground_m: GroundHeight
    origin_m: tuple[float, float]

    def pose(self, t_s: float) -> tuple[Vec3, Quat]:
        """Position of its foot and attitude, world from object."""
        (x, y, z), yaw = self.path(t_s)
        x, y = x + self.origin_m[0], y + self.origin_m[1]
        return (x, y, self.ground_m(x, y) + z), (math.cos(yaw / 2), 0.0, 0.0, math.sin(yaw / 2))


def of_scenario(scenario: Scenario) -> tuple[PlacedObject, ...]:
    """All objects, those of the file first; empty if the scenario has none, or its family no such key."""
    own, scene = value_at(scenario, "world.objects") or (), value_at(scenario, "world.scene") or ""
    if not own and not scene:
        return ()
    config = value_at(scenario, "world.terrain")
    ground = of_config(config).height_m if config is not None else _flat
    origin_m = value_at(scenario, "world.objects_origin_m")
    keyed = [
        *((f"world.objects[{index}]", each) for index, each in enumerate(own)),
        *(("world.scene", each) for each in scene_objects(scene)),
    ]
    return tuple(_placed(number, key, each, ground, origin_m) for number, (key, each) in enumerate(keyed))


def _placed(
    number: int, key: str, thing: WorldObject, ground_m: GroundHeight, origin_m: tuple[float, float]
) -> PlacedObject:
    motion = thing.motion
    return PlacedObject(
        number=number,
        key=key,
        name=thing.name,
        kind=thing.kind,
        parts=(_mesh(thing, key),) if thing.kind == "mesh" else parts_of(thing),
        moving=motion is not None,
        speed_m_s=motion.speed_m_s if motion is not None else 0.0,
        path=thing.path,
        ground_m=ground_m,
        origin_m=origin_m,
    )


def _flat(east_m: float, north_m: float) -> float:
    return 0.0


def _mesh(thing: WorldObject, key: str) -> Part:
    """Its foot is in the middle of its bounding box, which has the given size."""
    try:
        vertices, faces = _read(Path(thing.file))
    except ConfigError as error:
        raise ConfigError(f"{key}.file: {thing.file}: {error}") from None
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    scale = np.array(thing.size_m) / (high - low) if thing.size_m is not None else np.ones(3)
    middle = np.array([*(low + high)[:2] / 2, low[2]])
    points = (vertices - middle) * scale
    if (largest_m := float(np.ptp(points, axis=0).max())) > objects.LARGEST_M:
        raise ConfigError(
            f"{key}.size_m: {thing.file} is {largest_m:.4g} m large, expected {objects.LARGEST_M:g} at most; "
            "its numbers are taken as metres"
        )
    level: Quat = (1.0, 0.0, 0.0, 0.0)
    part = Part(0, "mesh", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), level, rgba_of(thing))
    return replace(
        part, vertices_m=tuple(points.ravel().tolist()), faces=tuple(int(index) for index in faces.ravel().tolist())
    )


@lru_cache(maxsize=8)
def _read(path: Path) -> tuple[Vec, Vec]:
    """Vertices (n, 3) in the file's coordinates and triangles (m, 3), read by MuJoCo."""
    try:
        if (size := path.stat().st_size) > MOST_MESH_BYTES:
            raise ConfigError(f"{size} bytes; expected {MOST_MESH_BYTES} at most")
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}") from None
    spec = mujoco.MjSpec()
    name = f"mesh{path.suffix.lower()}"
    spec.assets = {name: content}
    mesh = spec.add_mesh(name="mesh", file=name)
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL  # an open surface is an obstacle too
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname="mesh")
    try:
        model = spec.compile()
    except ValueError as error:
        raise ConfigError(f"not a usable mesh: {' '.join(str(error).split())[:200]}") from None
    if model.nmeshface > MOST_FACES:
        raise ConfigError(f"{model.nmeshface} triangles; expected {MOST_FACES} at most")
    turned = np.zeros(9)
    mujoco.mju_quat2Mat(turned, model.mesh_quat[0])  # MuJoCo moves a mesh into its own axes of inertia
    vertices: Vec = model.mesh_vert.astype(float) @ turned.reshape(3, 3).T + model.mesh_pos[0]
    if not np.isfinite(vertices).all() or float(np.ptp(vertices, axis=0).min()) <= 0.0:
        raise ConfigError("not a usable mesh: it is flat, or a number in it is not finite")
    return vertices, model.mesh_face.copy()
