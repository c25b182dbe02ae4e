"""Ready-made kinds of objects, composed of shapes, and ready worlds (`world.scene`), composed of objects.

Parts are in the frame of their object: its origin is the middle of the foot, x along its length, z up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Literal

from aeroloop.core.frames import Quat, Vec3
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.shape import Part
from aeroloop.world.objects import SIZES_M, Kind, ToAndFro, WorldObject

SceneName = Literal["", "field", "street", "hall"]
Rgba = tuple[float, float, float, float]

UPRIGHT: Quat = (1.0, 0.0, 0.0, 0.0)
SIDEWAYS: Quat = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)
"""z of a part along the width."""
COLOURS: dict[Kind, str] = {
    "box": "#9aa5b1",
    "cylinder": "#9aa5b1",
    "sphere": "#9aa5b1",
    "mesh": "#9aa5b1",
    "tree": "#3f7d3a",
    "house": "#d9c7a3",
    "car": "#b3312c",
    "fence": "#8a6a45",
    "wall": "#a8796a",
}
TRUNK, ROOF = (0.36, 0.25, 0.16, 1.0), (0.55, 0.23, 0.17, 1.0)
GLASS, TYRE = (0.16, 0.2, 0.26, 1.0), (0.08, 0.08, 0.08, 1.0)
POST_EVERY_M, MOST_POSTS = 2.5, 41


def parts_of(thing: WorldObject) -> tuple[Part, ...]:
    """All but those of a mesh, which is read from its file (`placed_objects.py`)."""
    size_m, rgba = thing.size_m or SIZES_M[thing.kind], rgba_of(thing)
    return tuple(_KINDS[thing.kind](size_m, rgba))


def rgba_of(thing: WorldObject) -> Rgba:
    text = thing.colour or COLOURS[thing.kind]
    red, green, blue = (int(text[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue, 1.0


def _part(kind: str, half_m: Vec3, centre_m: Vec3, rgba: Rgba, quat: Quat = UPRIGHT) -> Part:
    return Part(0, kind, half_m, centre_m, quat, rgba)


def _box(size_m: Vec3, rgba: Rgba) -> Iterator[Part]:
    length, width, height = size_m
    yield _part("box", (length / 2, width / 2, height / 2), (0.0, 0.0, height / 2), rgba)


def _cylinder(size_m: Vec3, rgba: Rgba) -> Iterator[Part]:
    yield _part("cylinder", (size_m[0] / 2, size_m[2] / 2, 0.0), (0.0, 0.0, size_m[2] / 2), rgba)


def _sphere(size_m: Vec3, rgba: Rgba) -> Iterator[Part]:
    yield _part("sphere", (size_m[0] / 2, 0.0, 0.0), (0.0, 0.0, size_m[0] / 2), rgba)


def _tree(size_m: Vec3, rgba: Rgba) -> Iterator[Part]:
    length, width, height = size_m
    bare, thick = 0.35 * height, 0.05 * (length + width) / 2
    yield _part("cylinder", (thick, bare / 2, 0.0), (0.0, 0.0, bare / 2), TRUNK)
    crown = height - bare
    yield _part("ellipsoid", (length / 2, width / 2, crown / 2), (0.0, 0.0, bare + crown / 2), rgba)


def _house(size_m: Vec3, rgba: Rgba) -> Iterator[Part]:
    """A body with gables, and a roof of two slabs along its length."""
    length, width, height = size_m
    eaves = 0.6 * height
    yield from _box((length, width, eaves), rgba)
    rise, half = height - eaves, width / 2
    slope, slab = math.atan2(rise, half), 0.02 * height
    yield _prism((0.99 * length, width), eaves, height - 2.0 * slab / math.cos(slope), rgba)
    for side in (1.0, -1.0):
        turned = (math.cos(slope / 2), -side * math.sin(slope / 2), 0.0, 0.0)
        down = slab / math.cos(slope)  # so that the ridge has the height of the house
        centre = (0.0, side * half / 2, eaves + rise / 2 - down)
        yield _part("box", (length / 2, math.hypot(half, rise) / 2, slab), centre, ROOF, turned)


def _prism(size_m: tuple[float, float], low_m: float, ridge_m: float, rgba: Rgba) -> Part:
    """A roof's volume: a triangle over the width, along the length."""
    x, y = size_m[0] / 2, size_m[1] / 2
    corners = ((-x, -y, low_m), (-x, y, low_m), (-x, 0.0, ridge_m), (x, -y, low_m), (x, y, low_m), (x, 0.0, ridge_m))
    faces = ((0, 2, 1), (3, 4, 5), (0, 1, 4), (0, 4, 3), (0, 3, 5), (0, 5, 2), (1, 2, 5), (1, 5, 4))
    vertices = tuple(value for corner in corners for value in corner)
    part = _part("mesh", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), rgba)
    return replace(part, vertices_m=vertices, faces=tuple(index for face in faces for index in face))


def _car(size_m: Vec3, rgba: Rgba) -> Iterator[Part]:
    length, width, height = size_m
    wheel = 0.22 * height
    yield _part("box", (length / 2, 0.47 * width, 0.22 * height), (0.0, 0.0, 0.4 * height), rgba)
    yield _part("box", (0.27 * length, 0.44 * width, 0.19 * height), (-0.05 * length, 0.0, 0.81 * height), GLASS)
    for x in (0.32 * length, -0.32 * length):
        for y in (0.45 * width, -0.45 * width):
            yield _part("cylinder", (wheel, 0.05 * width, 0.0), (x, y, wheel), TYRE, SIDEWAYS)


def _fence(size_m: Vec3, rgba: Rgba) -> Iterator[Part]:
    length, width, height = size_m
    posts = min(MOST_POSTS, 1 + max(1, round(length / POST_EVERY_M)))
    thick = width / 2
    for index in range(posts):
        x = (index / (posts - 1) - 0.5) * (length - width)
        yield _part("box", (thick, thick, height / 2), (x, 0.0, height / 2), rgba)
    for share in (0.4, 0.85):
        yield _part("box", (length / 2, thick / 2, 0.06 * height), (0.0, 0.0, share * height), rgba)


_KINDS: dict[Kind, Callable[[Vec3, Rgba], Iterator[Part]]] = {
    "box": _box,
    "cylinder": _cylinder,
    "sphere": _sphere,
    "tree": _tree,
    "house": _house,
    "car": _car,
    "fence": _fence,
    "wall": _box,
}


@cache
def scene_objects(scene: SceneName) -> tuple[WorldObject, ...]:
    """The objects of a ready world, about its origin, which stays free."""
    return tuple(_SCENES[scene]())


def names(scenario: Scenario) -> tuple[str, ...]:
    """Of all objects of a scenario by their numbers: those of its file, then those of its ready world."""
    own, scene = value_at(scenario, "world.objects") or (), value_at(scenario, "world.scene") or ""
    return tuple(each.name for each in (*own, *scene_objects(scene)))


def _field() -> Iterator[WorldObject]:
    """A meadow with trees on a spiral, a barn and a fence."""
    for index in range(24):
        angle, away_m = index * math.pi * (3 - math.sqrt(5)), 14.0 + 2.4 * index
        wide_m, height_m = 3.0 + index % 3, 6.0 + index % 5
        place = (round(away_m * math.cos(angle), 1), round(away_m * math.sin(angle), 1), 0.0)
        yield WorldObject(name=f"tree-{index + 1}", kind="tree", at_m=place, size_m=(wide_m, wide_m, height_m))
    barn = (16.0, 9.0, 8.0)
    yield WorldObject(name="barn", kind="house", at_m=(-32.0, 38.0, 0.0), size_m=barn, colour="#a5573f", yaw_rad=0.5)
    for index in range(4):
        yield WorldObject(
            name=f"fence-{index + 1}", kind="fence", at_m=(-15.0 + 10.0 * index, -20.0, 0.0), size_m=(10.0, 0.1, 1.2)
        )


def _street() -> Iterator[WorldObject]:
    """A street to the east, 20 m between its houses, with trees, parked cars and one that drives to and fro."""
    for index in range(6):
        x = -45.0 + 18.0 * index
        for side, (y, letter) in enumerate(((15.0, "n"), (-15.0, "s"))):
            height_m, colour = 6.5 + (index + side) % 3, ("#d9c7a3", "#c9b1a0", "#b9c2c9")[(index + 2 * side) % 3]
            size = (11.0, 9.0, height_m)
            yield WorldObject(
                name=f"house-{letter}{index + 1}", kind="house", at_m=(x, y, 0.0), size_m=size, colour=colour
            )
            tree = (x + 9.0, y * 0.6, 0.0)
            yield WorldObject(name=f"tree-{letter}{index + 1}", kind="tree", at_m=tree, size_m=(3.0, 3.0, 6.0))
    for index, (x, y, colour) in enumerate(
        ((-30.0, 5.5, "#27496d"), (-12.0, -5.5, "#8d99a6"), (14.0, 5.5, "#b3312c"), (33.0, -5.5, "#e0e0e0"))
    ):
        yield WorldObject(name=f"car-{index + 1}", kind="car", at_m=(x, y, 0.0), colour=colour)
    drives = ToAndFro(to_m=(50.0, -3.0, 0.0), speed_m_s=8.0)
    yield WorldObject(name="car-moving", kind="car", at_m=(-50.0, -3.0, 0.0), colour="#f2b134", motion=drives)
    for index, (x, y) in enumerate(((-36.0, 10.5), (0.0, 10.5), (18.0, -10.5), (36.0, 10.5))):
        yield WorldObject(name=f"fence-{index + 1}", kind="fence", at_m=(x, y, 0.0), size_m=(6.0, 0.1, 1.1))


def _hall() -> Iterator[WorldObject]:
    """Four walls of 40 x 30 m, 10 m high, with pillars and crates; open above, so that views from above show it."""
    grey = "#b8bcc2"
    for name, at, size in (
        ("wall-north", (0.0, 15.15, 0.0), (40.6, 0.3, 10.0)),
        ("wall-south", (0.0, -15.15, 0.0), (40.6, 0.3, 10.0)),
        ("wall-east", (20.15, 0.0, 0.0), (0.3, 30.0, 10.0)),
        ("wall-west", (-20.15, 0.0, 0.0), (0.3, 30.0, 10.0)),
    ):
        yield WorldObject(name=name, kind="wall", at_m=at, size_m=size, colour=grey)
    for index, (x, y) in enumerate(((-10.0, 7.5), (0.0, 7.5), (10.0, 7.5), (-10.0, -7.5), (0.0, -7.5), (10.0, -7.5))):
        yield WorldObject(
            name=f"pillar-{index + 1}", kind="cylinder", at_m=(x, y, 0.0), size_m=(0.8, 0.8, 10.0), colour="#8f969e"
        )
    for index, (x, y, side_m, yaw) in enumerate(
        ((-15.0, 11.0, 2.0, 0.2), (-12.0, 11.5, 1.2, 0.9), (14.0, -11.0, 2.5, 0.0))
    ):
        yield WorldObject(
            name=f"crate-{index + 1}",
            kind="box",
            at_m=(x, y, 0.0),
            size_m=(side_m, side_m, side_m),
            yaw_rad=yaw,
            colour="#a5834f",
        )


_SCENES: dict[SceneName, Callable[[], Iterator[WorldObject]]] = {
    "": lambda: iter(()),
    "field": _field,
    "street": _street,
    "hall": _hall,
}
