"""Largest distance of an aircraft from the origin of W, the same sphere for every kind of aircraft."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from aeroloop.core.frames import Vec3


class Placed(Protocol):
    @property
    def pos_W(self) -> Vec3: ...


def beyond(pos_W: Vec3, bound_m: float) -> bool:
    """Whether a position is on or outside the sphere about the origin; a position that is NaN is outside."""
    return not math.hypot(*pos_W) < bound_m


def leaves(bound_m: float) -> Callable[[Placed], bool]:
    """`beyond` for states, in one call: it is checked in every step."""
    hypot = math.hypot
    return lambda state: not hypot(*state.pos_W) < bound_m
