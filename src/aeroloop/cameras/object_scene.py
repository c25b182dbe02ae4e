"""Objects of the world in a scene that is drawn: those that stand are fixed, the others are moved before a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import mujoco

from aeroloop.core.frames import Quat, Vec3
from aeroloop.world.placed_objects import PlacedObject
from aeroloop.world.solids import add_parts


class Scene(Protocol):
    """`cameras.render.Renderer`."""

    def move(self, name: str, pos_W: Vec3, quat_W: Quat) -> None: ...
    def update(self) -> None: ...


def body_name(thing: PlacedObject) -> str:
    return f"object/{thing.number}"


def add(spec: mujoco.MjSpec, objects: Sequence[PlacedObject]) -> None:
    for thing in objects:
        pos_W, quat = thing.pose(0.0)
        body = spec.worldbody.add_body(name=body_name(thing), mocap=thing.moving, pos=pos_W, quat=quat)
        add_parts(spec, body, thing.parts, body_name(thing))


class ObjectScene:
    """Moves the objects of a scene."""

    def __init__(self, objects: Sequence[PlacedObject], scene: Scene) -> None:
        self._moving, self._scene = [thing for thing in objects if thing.moving], scene

    def place(self, t_s: float) -> None:
        """As they are at this time."""
        for thing in self._moving:
            self._scene.move(body_name(thing), *thing.pose(t_s))
        if self._moving:
            self._scene.update()
