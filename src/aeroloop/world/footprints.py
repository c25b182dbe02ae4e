"""Outlines of objects from above, for maps and reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

from aeroloop.core.frames import Vec3, rotated
from aeroloop.core.shape import Part
from aeroloop.world.placed_objects import PlacedObject

Point = tuple[float, float]
ROUND = 16
"""Corners of a circle."""


def outline_W(thing: PlacedObject, t_s: float) -> list[Point]:
    """The convex outline of an object at this time, east and north."""
    (x, y, _), (w, _, _, k) = thing.pose(t_s)
    cos, sin = w * w - k * k, 2.0 * w * k
    return [(x + cos * a - sin * b, y + sin * a + cos * b) for a, b in footprint(thing.parts)]


@lru_cache(maxsize=1024)
def footprint(parts: tuple[Part, ...]) -> tuple[Point, ...]:
    """In the frame of the object, anticlockwise."""
    points = []
    for part in parts:
        for corner in _corners(part):
            x, y, _ = rotated(part.quat, corner)
            points.append((round(part.pos_m[0] + x, 6), round(part.pos_m[1] + y, 6)))
    return tuple(_hull(points))


def _corners(part: Part) -> Iterator[Vec3]:
    first, second, third = part.size_m
    if part.kind == "mesh":
        yield from zip(part.vertices_m[::3], part.vertices_m[1::3], part.vertices_m[2::3], strict=True)
        return
    if part.kind == "box":
        yield from product((-first, first), (-second, second), (-third, third))
        return
    wide, deep = (first, second) if part.kind == "ellipsoid" else (first, first)
    heights = (-second, second) if part.kind in ("cylinder", "capsule") else (0.0,)
    for index, height in product(range(ROUND), heights):
        angle = 2.0 * math.pi * index / ROUND
        yield wide * math.cos(angle), deep * math.sin(angle), height


def _hull(points: Sequence[Point]) -> list[Point]:
    """Andrew's monotone chain."""
    ordered = sorted(set(points))

    def half(towards: Sequence[Point]) -> list[Point]:
        kept: list[Point] = []
        for x, y in towards:
            while len(kept) > 1:
                (ax, ay), (bx, by) = kept[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0.0:
                    break
                kept.pop()
            kept.append((x, y))
        return kept[:-1]

    return half(ordered) + half(ordered[::-1])
