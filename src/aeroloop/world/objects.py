"""Objects of the world that aircraft can hit: `[[world.objects]]`, and those of a ready world (`world.scene`).

An object is a shape, a mesh or a ready-made kind (`object_kinds.py`), at a place or on a path that is a function of the
simulated time alone. So positions need no state and no row of the log: everyone computes them from the scenario.

The place is that of the middle of its foot, with the height above the ground there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Literal

from msgspec import Meta

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3

Kind = Literal["box", "cylinder", "sphere", "mesh", "tree", "house", "car", "fence", "wall"]
MOST_OBJECTS = 500
MOST_POINTS = 100
FARTHEST_M = 1e5
SMALLEST_M, LARGEST_M = 0.01, 1000.0
SIZES_M: dict[Kind, Vec3] = {
    "box": (1.0, 1.0, 1.0),
    "cylinder": (1.0, 1.0, 1.0),
    "sphere": (1.0, 1.0, 1.0),
    "mesh": (1.0, 1.0, 1.0),
    "tree": (4.0, 4.0, 8.0),
    "house": (10.0, 8.0, 7.0),
    "car": (4.4, 1.8, 1.5),
    "fence": (10.0, 0.1, 1.2),
    "wall": (10.0, 0.3, 2.5),
}
"""Length, width and height of an object without `size_m`."""
MESH_ENDINGS = (".stl", ".obj")

Coordinate = Annotated[float, Meta(ge=-FARTHEST_M, le=FARTHEST_M)]
Place = tuple[Coordinate, Coordinate, Coordinate]
Length = Annotated[float, Meta(ge=SMALLEST_M, le=LARGEST_M)]
Speed = Annotated[float, meta("m/s", "speed along its path", gt=0, le=100)]
Pose = tuple[Vec3, float]
"""Position of the foot, with the height above the ground; yaw in rad."""
Path = Callable[[float], Pose]
"""Simulated time in s -> pose."""


class Circle(Config, frozen=True, tag="circle", tag_field="kind"):
    """Around its place, anticlockwise from the east."""

    radius_m: Annotated[float, meta("m", "radius of the circle around its place", gt=0, le=1e4)]
    speed_m_s: Speed = 5.0


class ToAndFro(Config, frozen=True, tag="line", tag_field="kind"):
    """Between its place and another, to and fro."""

    to_m: Annotated[Place, meta("m", "the other end: east, north, height above the ground")]
    speed_m_s: Speed = 5.0


class Way(Config, frozen=True, tag="way", tag_field="kind"):
    """From its place through all points and back to its place, again and again."""

    points_m: Annotated[
        tuple[Place, ...],
        Meta(min_length=1, max_length=MOST_POINTS, description="way points as `at_m`", extra={"unit": "m"}),
    ]
    speed_m_s: Speed = 5.0


Motion = Circle | ToAndFro | Way


class WorldObject(Config, frozen=True):
    """An object that aircraft can hit."""

    name: Annotated[
        str, Meta(pattern=r"^[A-Za-z0-9][\w -]{0,39}$", description="its name in events", extra={"unit": "-"})
    ]
    kind: Annotated[Kind, note("a shape, `mesh` for one from a file, or ready-made")]
    at_m: Annotated[Place, meta("m", "middle of its foot: east, north, and height above the ground")]
    yaw_rad: Annotated[float, meta("rad", "heading of its length, anticlockwise from east", ge=-7, le=7)] = 0.0
    size_m: Annotated[
        tuple[Length, Length, Length] | None,
        meta("m", "length, width and height; left out: those of its kind, and of a mesh those of its file in m"),
    ] = None
    colour: Annotated[
        str, Meta(pattern=r"^(#[0-9a-fA-F]{6})?$", description="as `#rrggbb`; empty: of its kind", extra={"unit": "-"})
    ] = ""
    file: Annotated[str, note("of a mesh: an STL or OBJ file; contacts are those of its convex hull")] = ""
    motion: Annotated[Motion | None, note("how it moves; left out: it stands")] = None

    def __post_init__(self) -> None:
        length_m, width_m, height_m = self.size_m or SIZES_M[self.kind]
        if self.kind in ("cylinder", "sphere") and length_m != width_m:
            raise ValueError(f"size_m: a {self.kind} has equal length and width, not {length_m:g} and {width_m:g}")
        if self.kind == "sphere" and height_m != length_m:
            raise ValueError(f"size_m: a sphere has three equal sizes, not a height of {height_m:g}")
        if (self.kind == "mesh") != bool(self.file):
            raise ValueError(
                "file: expected the file of its mesh" if self.kind == "mesh" else f"file: a {self.kind} has none"
            )
        if self.file and not self.file.lower().endswith(MESH_ENDINGS):
            raise ValueError(f"file: expected a mesh that ends with {' or '.join(MESH_ENDINGS)}, not {self.file!r}")
        if isinstance(self.motion, ToAndFro | Way) and min(map(math.dist, *_legs(self.at_m, self.motion))) == 0.0:
            raise ValueError("motion: two points of its path are the same; expected distinct points")

    @property
    def path(self) -> Path:
        match self.motion:
            case None:
                fixed = self.at_m, self.yaw_rad
                return lambda t_s: fixed
            case Circle():
                return _circle(self.at_m, self.motion)
            case ToAndFro() | Way():
                return _polygon(*_legs(self.at_m, self.motion), self.motion.speed_m_s)


def check(objects: tuple[WorldObject, ...], ready: tuple[WorldObject, ...]) -> None:
    """ValueError for a name that two objects have, or too many of them."""
    if len(objects) + len(ready) > MOST_OBJECTS:
        raise ValueError(f"objects: {len(objects) + len(ready)} objects; expected {MOST_OBJECTS} at most")
    first: dict[str, str] = {each.name: "scene" for each in ready}
    for index, each in enumerate(objects):
        if each.name in first:
            raise ValueError(f"objects[{index}].name: {each.name!r} is the name of {first[each.name]} too")
        first[each.name] = f"objects[{index}]"


def _circle(centre_m: Vec3, motion: Circle) -> Path:
    x, y, z = centre_m
    radius_m, rate_rad_s = motion.radius_m, motion.speed_m_s / motion.radius_m

    def at(t_s: float) -> Pose:
        angle = rate_rad_s * t_s
        return (x + radius_m * math.cos(angle), y + radius_m * math.sin(angle), z), angle + math.pi / 2

    return at


def _legs(start_m: Vec3, motion: ToAndFro | Way) -> tuple[list[Vec3], list[Vec3]]:
    """Begin and end of each leg of a closed path."""
    points: list[Vec3] = [start_m, *((motion.to_m,) if isinstance(motion, ToAndFro) else motion.points_m), start_m]
    legs = list(pairwise(points))
    return [leg[0] for leg in legs], [leg[1] for leg in legs]


def _polygon(begins: list[Vec3], ends: list[Vec3], speed_m_s: float) -> Path:
    lengths_m = [math.dist(begin, end) for begin, end in zip(begins, ends, strict=True)]
    around_m = sum(lengths_m)
    yaws = [math.atan2(end[1] - begin[1], end[0] - begin[0]) for begin, end in zip(begins, ends, strict=True)]

    def at(t_s: float) -> Pose:
        left_m = (speed_m_s * t_s) % around_m
        index = 0
        while index < len(lengths_m) - 1 and left_m >= lengths_m[index]:
            left_m -= lengths_m[index]
            index += 1
        share, begin, end = left_m / lengths_m[index], begins[index], ends[index]
        x, y, z = (a + share * (b - a) for a, b in zip(begin, end, strict=True))
        return (x, y, z), yaws[index]

    return at
