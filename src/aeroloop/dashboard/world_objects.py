"""Objects of the world on pages: in the 3D view and on the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aeroloop.core.errors import AeroloopError
from aeroloop.core.frames import Quat, Vec3, quat_product, rotated
from aeroloop.core.scenario import Scenario
from aeroloop.core.shape import Body, Part, Shape
from aeroloop.dashboard.map import View
from aeroloop.world.footprints import outline_W
from aeroloop.world.placed_objects import PlacedObject
from aeroloop.world.placed_objects import of_scenario as objects_of

ORIGIN: Vec3 = (0.0, 0.0, 0.0)
LEVEL: Quat = (1.0, 0.0, 0.0, 0.0)
OUTSIDE_PX = 4000.0
"""What is farther from the visible part is not drawn."""


def of_scenario(scenario: Scenario | None) -> tuple[PlacedObject, ...]:
    """None if a mesh is missing: a view without objects is better than none."""
    try:
        return objects_of(scenario) if scenario is not None else ()
    except AeroloopError:
        return ()


def standing(objects: Sequence[PlacedObject], origin_W: Vec3 = ORIGIN) -> Shape | None:
    """All that do not move, as one shape in the world."""
    parts: list[Part] = []
    for thing in objects:
        if not thing.moving:
            pos_W, quat = thing.pose(0.0)
            for part in thing.parts:
                x, y, z = (a + b + c for a, b, c in zip(pos_W, rotated(quat, part.pos_m), origin_W, strict=True))
                parts.append(replace(part, pos_m=(x, y, z), quat=quat_product(quat, part.quat)))
    return _shape(tuple(parts)) if parts else None


def moving(thing: PlacedObject) -> Shape:
    return _shape(thing.parts)


def _shape(parts: tuple[Part, ...]) -> Shape:
    """Without a front, at the origin of its one body."""
    return Shape((Body("object", -1, ORIGIN, LEVEL),), parts, (), 1.0, 0.0)


def on_map(view: View, objects: Sequence[PlacedObject], t_s: float) -> str:
    """Their outlines as SVG."""
    drawn = []
    for thing in objects:
        points = [view.pixel(*corner) for corner in outline_W(thing, t_s)]
        if any(abs(x) < OUTSIDE_PX and abs(y) < OUTSIDE_PX for x, y in points):
            way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            drawn.append(f'<polygon class="map-object map-{thing.kind}" points="{way}"/>')
    return "".join(drawn)
