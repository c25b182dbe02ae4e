"""Downward range finder: a beam along body -z to the ground, which is assumed level at the beam's end.

Out of range, or tilted too far for an echo, `valid` is false and the range is the nearer limit, the far one without an
echo.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

from aeroloop.core.config import meta, note
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, RigidState
from aeroloop.sensors.noise import Channel, Errors, Streams
from aeroloop.sensors.scene import Scene, body_from_world
from aeroloop.sensors.schedule import Sensor

LEAST_UP = 0.1
"""Cosine of a tilt at which no range finder has an echo."""
BEAM_STEPS = 8
Beam = Callable[[int, Vec3, Vec3, float], float]
"""(time in ns, position and unit vector in W, length in m) -> distance to the first object; infinite without one."""


class RangefinderSample(NamedTuple):
    t_ns: int  # taken
    ready_ns: int  # delivered
    range_m: float
    valid: bool
    min_m: float  # measuring range of this sensor
    max_m: float


class RangefinderConfig(Sensor, frozen=True):
    """Downward range finder."""

    errors: Annotated[Errors, note("metres; its range is `min_m` to `max_m`")] = Errors()
    scale_error: Annotated[float, meta("-", "relative error of the range", gt=-1, le=1)] = 0.0
    min_m: Annotated[float, meta("m", "minimum range", ge=0, le=100)] = 0.1
    max_m: Annotated[float, meta("m", "maximum range", gt=0, le=1e4)] = 12.0
    max_tilt_rad: Annotated[float, meta("rad", "maximum tilt with an echo", gt=0, lt=1.57)] = 0.7
    mount_B: Annotated[Vec3, meta("m", "from the centre of mass to the sensor")] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if not self.min_m < self.max_m:
            raise ValueError(f"min_m: expected less than max_m ({self.max_m} m), not {self.min_m}")
        if self.errors.range is not None:
            raise ValueError("errors.range: a range finder has min_m and max_m instead")


class Rangefinder:
    def __init__(self, config: RangefinderConfig, streams: Streams) -> None:
        self._config = config
        self._delay_ns = round(config.delay_s * NS)
        self._cos_max_tilt = math.cos(config.max_tilt_rad)
        self._range = Channel(config.errors, config.period_s, 1, streams.child("range"))
        self.channels = {"range": self._range}
        self.beam: Beam | None = None  # in a world with objects

    def measure(self, scene: Scene, steps: int) -> RangefinderSample:
        config, t_ns, R_BW = self._config, scene.state.t_ns, scene.R_BW
        cos_tilt = R_BW[2][2]
        mx, my, mz = config.mount_B
        height_m = scene.state.pos_W[2] + R_BW[0][2] * mx + R_BW[1][2] * my + cos_tilt * mz - scene.terrain_m
        echo = cos_tilt >= self._cos_max_tilt
        true_m = height_m / cos_tilt if echo else config.max_m
        if self.beam is not None and echo:
            x, y, z = scene.state.pos_W
            offset_W = (R_BW[0][i] * mx + R_BW[1][i] * my + R_BW[2][i] * mz for i in range(3))
            dx, dy, dz = offset_W
            down_W = (-R_BW[2][0], -R_BW[2][1], -R_BW[2][2])
            true_m = min(true_m, self.beam(t_ns, (x + dx, y + dy, z + dz), down_W, min(true_m, config.max_m)))
        range_m = self._range.measure1(true_m * (1.0 + config.scale_error), steps)
        valid = echo and config.min_m <= range_m <= config.max_m
        limited_m = min(max(range_m, config.min_m), config.max_m) if echo else config.max_m
        return RangefinderSample(t_ns, t_ns + self._delay_ns, limited_m, valid, config.min_m, config.max_m)


def beam_ground_m(state: RigidState, terrain_m: Callable[[float, float], float]) -> float:
    """Height of the ground at the end of a beam along body -z, which is not below a tilted aircraft.

    Each step assumes level ground at the last estimate; this converges unless ground and beam are steep.
    """
    x, y, z = state.pos_W
    up_x, up_y, up_z = body_from_world(state.quat_WB)[2]
    ground_m = terrain_m(x, y)
    if up_z <= LEAST_UP:
        return ground_m  # the beam does not reach the ground
    for _ in range(BEAM_STEPS):
        reach_m = (z - ground_m) / up_z
        ground_m = terrain_m(x - reach_m * up_x, y - reach_m * up_y)
    return ground_m
