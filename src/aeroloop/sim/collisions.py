"""Collisions of one aircraft with the objects of its world: events, impulses, the end of the flight.

What an aircraft does after it has touched something is its family's decision, as with the ground: a family whose
vehicle has a `Solid` is pushed away and flies on, all others end their flight as crashed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Quat, Vec, Vec3, rotation_rows
from aeroloop.core.signals import NS
from aeroloop.world.impact import Struck, closing_m_s, separate
from aeroloop.world.obstacles import Obstacles, Touch

CRASHED = "crashed"
APART_NS = NS // 5
"""Touched again within this time, an object causes no second event."""
LEVEL: Quat = (1.0, 0.0, 0.0, 0.0)
STILL: Vec3 = (0.0, 0.0, 0.0)


class Moving(Protocol):
    """The part of a state that a collision needs; attitude and rate are optional."""

    @property
    def pos_W(self) -> Vec3: ...
    @property
    def vel_W(self) -> Vec3: ...


MassProperties = tuple[float, Vec, Vec]
"""Mass in kg, inertia (3, 3) about the centre of mass in body axes in kg m2, and the centre of mass in B in m."""


@dataclass(frozen=True)
class Solid:
    """An aircraft that flies on after a collision. `strike` sets position, velocity and body rates after it."""

    mass: Callable[[], MassProperties]  # at present: a payload may be taken up in flight
    strike: Callable[[Vec3, Vec3, Vec3], None]
    crash_m_s: float = math.inf  # a faster collision ends the flight

    def struck(self, state: Moving) -> Struck:
        """The motion of its centre of mass."""
        mass_kg, inertia_B, centre_B = self.mass()
        turned = rotation(state)
        rate_W, arm_W = turned @ np.array(getattr(state, "rate_B", STILL)), turned @ centre_B
        vel_W = np.array(state.vel_W) + np.cross(rate_W, arm_W)
        return Struck(np.array(state.pos_W) + arm_W, vel_W, rate_W, mass_kg, turned @ inertia_B @ turned.T)

    def apply(self, struck: Struck, state: Moving) -> None:
        turned = rotation(state)
        arm_W = turned @ self.mass()[2]
        vel_W = struck.vel_W - np.cross(struck.rate_W, arm_W)
        self.strike(_vec3(struck.pos_W - arm_W), _vec3(vel_W), _vec3(turned.T @ struck.rate_W))


@dataclass(frozen=True)
class Met:
    """What happened in a step."""

    numbers: tuple[int, ...] = ()  # of objects that are touched since this step
    struck: bool = False  # whether the motion has changed
    ended: str = ""


NOTHING = Met()


class Collisions:
    def __init__(self, obstacles: Obstacles, solid: Solid | None) -> None:
        self.obstacles, self._solid = obstacles, solid
        self._touched_ns: dict[int, int] = {}

    def check_start(self, state: Moving) -> None:
        """ConfigError if an object is where the aircraft starts."""
        for touch in self.obstacles.touches(0, state.pos_W, attitude(state)):
            thing = self.obstacles.objects[touch.number]
            x, y, z = state.pos_W
            raise ConfigError(
                f"{thing.key}: {thing.name!r} is where the aircraft starts, {x:.4g} m east and {y:.4g} m north at a "
                f"height of {z:.4g} m; expected another place"
            )

    def meet(self, t_ns: int, state: Moving) -> Met:
        touches = self.obstacles.touches(t_ns, state.pos_W, attitude(state))
        if not touches:
            return NOTHING
        new = tuple(number for number in dict.fromkeys(touch.number for touch in touches) if self._is_new(number, t_ns))
        if self._solid is None:
            return Met(new, ended=CRASHED)
        return Met(new, struck=True, ended=self._separate(self._solid, touches, state))

    def _separate(self, solid: Solid, touches: Sequence[Touch], state: Moving) -> str:
        own, fastest_m_s = solid.struck(state), 0.0
        for number in dict.fromkeys(touch.number for touch in touches):
            contacts = [touch.contact for touch in touches if touch.number == number]
            thing = Struck(own.pos_W, next(touch.vel_W for touch in touches if touch.number == number))
            fastest_m_s = max(fastest_m_s, closing_m_s(contacts, thing, own))
            separate(contacts, thing, own)
        solid.apply(own, state)
        return CRASHED if fastest_m_s > solid.crash_m_s else ""

    def _is_new(self, number: int, t_ns: int) -> bool:
        before_ns = self._touched_ns.get(number)
        self._touched_ns[number] = t_ns
        return before_ns is None or t_ns - before_ns > APART_NS


def attitude(state: Moving) -> Quat:
    quat_WB: Quat = getattr(state, "quat_WB", LEVEL)
    return quat_WB


def rotation(state: Moving) -> Vec:
    turned: Vec = np.array(list(rotation_rows(attitude(state))))
    return turned


def _vec3(values: Vec) -> Vec3:
    x, y, z = values.tolist()
    return x, y, z
