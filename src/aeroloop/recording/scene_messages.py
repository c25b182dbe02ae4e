"""Messages of Foxglove's schemas for its 3D panel: an aircraft's shape, terrain, the path flown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from foxglove.messages import (
    Color,
    CubePrimitive,
    CylinderPrimitive,
    LinePrimitive,
    LinePrimitiveLineType,
    Point3,
    Pose,
    Quaternion,
    SceneEntity,
    SceneUpdate,
    SpherePrimitive,
    TextPrimitive,
    Timestamp,
    TriangleListPrimitive,
    Vector3,
)

from aeroloop.core.frames import Quat, Vec, Vec3, quat_product, rotated
from aeroloop.core.shape import Part, Shape, in_aircraft

LEVEL: Quat = (1.0, 0.0, 0.0, 0.0)
DISC_HEIGHT = 0.04
"""Of a rotor's disc, in its radius."""
PATH_PX = 2.0
PATH_RGBA = (0.10, 0.45, 0.91, 1.0)
LABEL_PX = 14.0
LABEL_RGBA = (0.1, 0.1, 0.1, 1.0)

Rgba = tuple[float, float, float, float]


@dataclass(frozen=True)
class TerrainMesh:
    """A mesh of heights: where its points lie east and north, heights and colours `[north, east]`."""

    easts_m: Vec
    norths_m: Vec
    heights_m: Vec
    rgb: Vec  # 0 to 1


class Thing(Protocol):
    """An object of the world, as `world.placed_objects` has it."""

    @property
    def name(self) -> str: ...
    @property
    def parts(self) -> tuple[Part, ...]: ...
    @property
    def moving(self) -> bool: ...
    def pose(self, t_s: float, /) -> tuple[Vec3, Quat]: ...


def pose(pos_m: Vec3, quat: Quat = LEVEL) -> Pose:
    x, y, z = pos_m
    return Pose(position=Vector3(x=x, y=y, z=z), orientation=quaternion(quat))


def quaternion(quat: Quat) -> Quaternion:
    w, x, y, z = quat
    return Quaternion(x=x, y=y, z=z, w=w)


def aircraft(shape: Shape, frame: str, time: Timestamp, label: str = "") -> SceneUpdate:
    """The shape in the frame that moves with it, hinges in the middle; rotors are discs."""
    drawn = _Drawn()
    for part in shape.parts:
        drawn.add(part, *in_aircraft(shape, part.body, part.pos_m, part.quat))
    for rotor in shape.rotors:
        pos_m, quat = in_aircraft(shape, rotor.body, rotor.pos_m, rotor.quat)
        drawn.cylinder(pos_m, quat, rotor.radius_m, DISC_HEIGHT * rotor.radius_m / 2, rotor.disc_rgba)
    above = pose((0.0, 0.0, 1.2 * shape.reach_m))
    texts = [
        TextPrimitive(
            pose=above, billboard=True, font_size=LABEL_PX, scale_invariant=True, color=_color(LABEL_RGBA), text=label
        )
    ]
    entity = SceneEntity(
        timestamp=time,
        frame_id=frame,
        id="shape",
        frame_locked=True,
        cubes=drawn.cubes,
        spheres=drawn.spheres,
        cylinders=drawn.cylinders,
        triangles=drawn.triangles,
        texts=texts if label else [],
    )
    return SceneUpdate(entities=[entity])


def objects(things: Sequence[Thing], t_s: float, frame: str, time: Timestamp) -> SceneUpdate:
    """Objects at this time, an entity each."""
    entities = []
    for thing in things:
        drawn = _Drawn()
        (x, y, z), quat = thing.pose(t_s)
        for part in thing.parts:
            dx, dy, dz = rotated(quat, part.pos_m)
            drawn.add(part, (x + dx, y + dy, z + dz), quat_product(quat, part.quat))
        entity = SceneEntity(
            timestamp=time,
            frame_id=frame,
            id=thing.name,
            frame_locked=True,
            cubes=drawn.cubes,
            spheres=drawn.spheres,
            cylinders=drawn.cylinders,
            triangles=drawn.triangles,
        )
        entities.append(entity)
    return SceneUpdate(entities=entities)


def terrain(ground: TerrainMesh, frame: str, time: Timestamp) -> SceneUpdate:
    rows, columns = ground.heights_m.shape
    corner = np.arange(rows * columns).reshape(rows, columns)
    south_west, south_east = corner[:-1, :-1].ravel(), corner[:-1, 1:].ravel()
    north_west, north_east = corner[1:, :-1].ravel(), corner[1:, 1:].ravel()
    # Anticlockwise seen from above, so that the side that shows is the upper one.
    indices = np.stack([south_west, south_east, north_east, south_west, north_east, north_west], axis=1)
    points = [
        Point3(x=x, y=y, z=z)
        for y, heights in zip(
            np.round(ground.norths_m, 1).tolist(), np.round(ground.heights_m, 1).tolist(), strict=True
        )
        for x, z in zip(np.round(ground.easts_m, 1).tolist(), heights, strict=True)
    ]
    colors = [_color((r, g, b, 1.0)) for r, g, b in np.round(ground.rgb.reshape(-1, 3), 2).tolist()]
    mesh = TriangleListPrimitive(
        pose=pose((0.0, 0.0, 0.0)), points=points, colors=colors, indices=indices.ravel().tolist()
    )
    return SceneUpdate(
        entities=[SceneEntity(timestamp=time, frame_id=frame, id="terrain", frame_locked=True, triangles=[mesh])]
    )


def path(points: Sequence[Point3], frame: str, time: Timestamp) -> SceneUpdate:
    line = LinePrimitive(
        type=LinePrimitiveLineType.LineStrip,
        pose=pose((0.0, 0.0, 0.0)),
        thickness=PATH_PX,
        scale_invariant=True,
        points=list(points),
        color=_color(PATH_RGBA),
    )
    return SceneUpdate(
        entities=[SceneEntity(timestamp=time, frame_id=frame, id="path", frame_locked=True, lines=[line])]
    )


class _Drawn:
    """Primitives of one entity, by kind."""

    def __init__(self) -> None:
        self.cubes: list[CubePrimitive] = []
        self.spheres: list[SpherePrimitive] = []
        self.cylinders: list[CylinderPrimitive] = []
        self.triangles: list[TriangleListPrimitive] = []

    def add(self, part: Part, pos_m: Vec3, quat: Quat) -> None:
        """Sizes of a part are half lengths, or radius and half height."""
        first, second, third = part.size_m
        if part.kind == "box":
            self.cubes.append(CubePrimitive(pose=pose(pos_m, quat), size=_size(part.size_m), color=_color(part.rgba)))
        elif part.kind == "sphere":
            self._sphere(pos_m, quat, (first, first, first), part.rgba)
        elif part.kind == "ellipsoid":
            self._sphere(pos_m, quat, (first, second, third), part.rgba)
        elif part.kind in ("cylinder", "capsule"):
            self.cylinder(pos_m, quat, first, second, part.rgba)
            for end in (second, -second) if part.kind == "capsule" else ():
                x, y, z = rotated(quat, (0.0, 0.0, end))
                self._sphere((pos_m[0] + x, pos_m[1] + y, pos_m[2] + z), quat, (first, first, first), part.rgba)
        else:
            self._mesh(part, pos_m, quat)

    def cylinder(self, pos_m: Vec3, quat: Quat, radius_m: float, half_m: float, rgba: Rgba) -> None:
        size = _size((radius_m, radius_m, half_m))
        self.cylinders.append(
            CylinderPrimitive(pose=pose(pos_m, quat), size=size, bottom_scale=1.0, top_scale=1.0, color=_color(rgba))
        )

    def _sphere(self, pos_m: Vec3, quat: Quat, half_m: Vec3, rgba: Rgba) -> None:
        self.spheres.append(SpherePrimitive(pose=pose(pos_m, quat), size=_size(half_m), color=_color(rgba)))

    def _mesh(self, part: Part, pos_m: Vec3, quat: Quat) -> None:
        xyz = part.vertices_m
        points = [Point3(x=x, y=y, z=z) for x, y, z in zip(xyz[::3], xyz[1::3], xyz[2::3], strict=True)]
        self.triangles.append(
            TriangleListPrimitive(
                pose=pose(pos_m, quat), points=points, color=_color(part.rgba), indices=list(part.faces)
            )
        )


def _size(half_m: Vec3) -> Vector3:
    return Vector3(x=2 * half_m[0], y=2 * half_m[1], z=2 * half_m[2])


def _color(rgba: Rgba) -> Color:
    r, g, b, a = rgba
    return Color(r=r, g=g, b=b, a=a)
