"""From axis values to a reference: `Stick` shapes deflections, `Pilot` integrates the commanded velocity.

Deterministic: the same events and the same steps give the same reference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from aeroloop.core.angles import wrap_pi
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec3
from aeroloop.ground.axes import AxisEvent, AxisRange
from aeroloop.ground.axis_map import AxisMap, Channel
from aeroloop.ground.trajectories import Point


class Deflection(NamedTuple):
    """Commanded deflection of each axis, -1 to 1."""

    forward: float = 0.0
    left: float = 0.0
    up: float = 0.0
    yaw: float = 0.0  # counter-clockwise


def shaped(x: float, *, dead_zone: float, expo: float) -> float:
    """Zero inside the dead zone, then rising from zero to +-1 at the ends; `expo` blends in a cubic."""
    travel = max(abs(x) - dead_zone, 0.0) / (1.0 - dead_zone)
    bent = travel * (1.0 + expo * (travel * travel - 1.0))
    return math.copysign(min(bent, abs(x)), x)  # rounding alone could exceed the physical deflection


def deflection_of(value: int, span: AxisRange, channel: Channel) -> float:
    """Deflection of a raw value; a value beyond the range, which the kernel allows, is full deflection."""
    x = (2.0 * value - span.low - span.high) / (span.high - span.low)
    x = max(-1.0, min(1.0, -x if channel.invert else x))
    return shaped(x, dead_zone=channel.dead_zone, expo=channel.expo)


class Stick:
    """Position of the stick. An axis counts as centred until its first event.

    The value that a driver reports before that is often zero, an end of the range on many gamepads, which must not move
    the aircraft.
    """

    def __init__(self, axis_map: AxisMap, ranges: Mapping[str, AxisRange], name: str) -> None:
        self.deflection = Deflection()
        self._channels: dict[str, tuple[str, Channel, AxisRange]] = {}
        for quantity, channel in axis_map.channels().items():
            if channel.axis not in ranges:
                known = ", ".join(ranges) or "none"
                raise ConfigError(
                    f"{name}: has no axis {channel.axis}, which the axis map needs for {quantity}; it has: {known}"
                )
            self._channels[channel.axis] = quantity, channel, ranges[channel.axis]

    def feed(self, events: Iterable[AxisEvent]) -> None:
        for event in events:
            if event.axis in self._channels:
                quantity, channel, span = self._channels[event.axis]
                value = deflection_of(event.value, span, channel)
                self.deflection = self.deflection._replace(**{quantity: value})


class Pilot:
    """Moves the reference by a stick: deflection is velocity; a released stick holds the reference."""

    def __init__(
        self,
        stick: Stick,
        axis_map: AxisMap,
        *,
        pos_W: Vec3,
        yaw_rad: float = 0.0,
    ) -> None:
        self._stick = stick
        self._map = axis_map
        self._pos_W = pos_W
        self._yaw_rad = wrap_pi(yaw_rad)

    def step(self, dt_s: float) -> Point:
        """The reference after flying the present deflection for `dt_s`."""
        deflection, axis_map = self._stick.deflection, self._map
        forward_m_s = deflection.forward * axis_map.forward.scale
        left_m_s = deflection.left * axis_map.left.scale
        up_m_s = deflection.up * axis_map.up.scale
        yaw_rate_rad_s = deflection.yaw * axis_map.yaw.scale

        # The mean heading of the step carries the position, so that a turn at any rate stays a circle.
        x, y, z = self._pos_W
        mean_x_m_s, mean_y_m_s = _level(forward_m_s, left_m_s, self._yaw_rad + yaw_rate_rad_s * dt_s / 2)
        self._yaw_rad = wrap_pi(self._yaw_rad + yaw_rate_rad_s * dt_s)
        # A flight may start outside the limits: it is not pulled inside, only kept from going farther out.
        wanted_m = z + up_m_s * dt_s
        reached_m = max(min(axis_map.limits.floor_m, z), min(max(axis_map.limits.ceiling_m, z), wanted_m))
        self._pos_W = (x + mean_x_m_s * dt_s, y + mean_y_m_s * dt_s, reached_m)

        vx_m_s, vy_m_s = _level(forward_m_s, left_m_s, self._yaw_rad)
        vz_m_s = up_m_s if reached_m == wanted_m else 0.0
        return Point(self._pos_W, self._yaw_rad, (vx_m_s, vy_m_s, vz_m_s), yaw_rate_rad_s)


def _level(forward: float, left: float, yaw_rad: float) -> tuple[float, float]:
    """East and north parts of a level vector given along a heading."""
    c, s = math.cos(yaw_rad), math.sin(yaw_rad)
    return forward * c - left * s, forward * s + left * c
