"""The shape of an aircraft as data: bodies that turn at hinges, geometry, rotors. Sizes are as in MuJoCo.

A family's row names the function that creates it from a scenario (`core.tables.Family.shape`); the default is a box.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Quat, Vec3, quat_product, rotated
from aeroloop.core.scenario import Scenario
from aeroloop.core.tables import family, made

BOX_M: Vec3 = (0.25, 0.15, 0.05)  # half lengths
BOX_RGBA = (0.35, 0.4, 0.45, 1.0)
DISC_HALF_M = 0.002  # half height of a rotor's disc


@dataclass(frozen=True)
class Hinge:
    """A body turns about this axis, relative to its pose in the model."""

    name: str
    axis: Vec3  # in the body
    pos_m: Vec3  # in the body


@dataclass(frozen=True)
class Body:
    name: str
    parent: int  # index of a preceding body; -1: the aircraft itself
    pos_m: Vec3  # in the parent
    quat: Quat  # parent from body
    hinge: Hinge | None = None


@dataclass(frozen=True)
class Part:
    """A geometry to draw; sizes as in MuJoCo: half lengths, radius and half height."""

    body: int
    kind: str  # box, sphere, ellipsoid, capsule, cylinder or mesh
    size_m: Vec3
    pos_m: Vec3
    quat: Quat
    rgba: tuple[float, float, float, float]
    vertices_m: tuple[float, ...] = ()  # of a mesh, three for each point
    faces: tuple[int, ...] = ()  # of a mesh, three points each


@dataclass(frozen=True)
class Rotor:
    """A disc that turns about its z axis; its index in the tuple is the motor number."""

    body: int
    pos_m: Vec3
    quat: Quat
    radius_m: float
    direction: float  # 1: anticlockwise seen from the direction of its thrust
    disc_rgba: tuple[float, float, float, float]
    blades: tuple[Part, ...]  # in the rotor's own frame


@dataclass(frozen=True)
class Shape:
    bodies: tuple[Body, ...]
    parts: tuple[Part, ...]
    rotors: tuple[Rotor, ...]
    reach_m: float  # from the origin to the outermost point
    nose_m: float  # forward extent; 0: no front is marked

    def plain(self) -> dict[str, Any]:
        """In the format of the browser's script."""
        return asdict(self)


def in_aircraft(shape: Shape, body: int, pos_m: Vec3, quat: Quat) -> tuple[Vec3, Quat]:
    """A pose in one of its bodies, in the aircraft's own frame, with hinges in the middle."""
    while body >= 0:
        own = shape.bodies[body]
        x, y, z = rotated(own.quat, pos_m)
        pos_m = own.pos_m[0] + x, own.pos_m[1] + y, own.pos_m[2] + z
        quat, body = quat_product(own.quat, quat), own.parent
    return pos_m, quat


def solid_parts(shape: Shape) -> tuple[Part, ...]:
    """What of an aircraft touches objects: all parts and the discs of its rotors, in its own frame."""
    discs = (
        Part(rotor.body, "cylinder", (rotor.radius_m, DISC_HALF_M, 0.0), rotor.pos_m, rotor.quat, rotor.disc_rgba)
        for rotor in shape.rotors
    )
    placed = ((part, *in_aircraft(shape, part.body, part.pos_m, part.quat)) for part in (*shape.parts, *discs))
    return tuple(replace(part, body=0, pos_m=pos_m, quat=quat) for part, pos_m, quat in placed)


def box() -> Shape:
    """For an aircraft without a shape: length, width and height differ, so that the attitude is visible."""
    body = Body("body", -1, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
    part = Part(0, "box", BOX_M, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), BOX_RGBA)
    return Shape((body,), (part,), (), math.hypot(*BOX_M), BOX_M[0])


def of_scenario(scenario: Scenario) -> Shape:
    """From the family's row; a box if it names none."""
    reference = family(scenario.kind).shape
    shape = made(reference, scenario) if reference else box()
    if not isinstance(shape, Shape):
        raise ConfigError(f"{reference}: expected a core.shape.Shape, not {type(shape).__name__}")
    return shape
