"""Largest distance of an aircraft from the origin of W, the same sphere for every kind of aircraft."""

from __future__ import annotations

import math

from aeroloop.core.frames import Vec3


def beyond(pos_W: Vec3, bound_m: float) -> bool:
    """Whether a position is on or outside the sphere about the origin; a position that is NaN is outside."""
    return not math.hypot(*pos_W) < bound_m
