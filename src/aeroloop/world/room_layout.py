"""Walls, block and boxes of the room in `room.py`, without textures: for the scenario, contacts and the truth of a map.

A block in the middle hides the far side, boxes stand along the walls. All surfaces are known exactly. W: z up, the
floor at 0; the room's middle is at `centre_m`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.config import Config, meta

Array = NDArray[np.float64]

BLOCK_M = (3.2, 1.6)  # the block in the middle, as high as the room
BOXES = 16
WALL_M = 0.2
"""Thickness of a wall for contacts, outwards: nothing passes through it in one step."""
FILE = "room.toml"
"""Beside a recorded sequence: the room that it was drawn of."""
FREE_M = 0.5
"""What an aircraft needs around its start."""
SMALLEST_M, LARGEST_M = 6.0, 60.0


class RoomConfig(Config, frozen=True):
    """A room with textures on every surface, for flights with cameras."""

    seed: Annotated[int, meta("-", "which textures and boxes", ge=0, lt=2**31)] = 0
    size_m: Annotated[tuple[float, float, float], meta("m", "length east, width north, height of the walls")] = (
        10.0,
        8.0,
        3.0,
    )
    centre_m: Annotated[
        tuple[float, float],
        meta("m", "middle of the room, east and north of home; a block of 3.2 x 1.6 m stands there"),
    ] = (0.0, 2.4)

    def __post_init__(self) -> None:
        length, width, height = self.size_m
        if not (SMALLEST_M <= length <= LARGEST_M and SMALLEST_M <= width <= LARGEST_M and 1.0 <= height <= 20.0):
            raise ValueError(
                f"size_m: expected length and width of {SMALLEST_M:g} to {LARGEST_M:g} m and walls of 1 to 20 m, "
                f"not {list(self.size_m)}"
            )

    def is_free(self, x_m: float, y_m: float) -> bool:
        """Whether an aircraft can stand there."""
        inside = all(
            abs(at - c) < size / 2 for at, c, size in zip((x_m, y_m), self.centre_m, self.size_m, strict=False)
        )
        return inside and float(self.layout.obstacle_m(np.array([[x_m, y_m, 0.1]]))[0]) >= FREE_M

    @property
    def layout(self) -> Layout:
        return layout(self.seed, self.size_m, self.centre_m)


@dataclass(frozen=True)
class Box:
    centre_W: tuple[float, float, float]
    half_m: tuple[float, float, float]
    yaw_rad: float


@dataclass(frozen=True)
class Layout:
    size_m: tuple[float, float, float]
    centre_m: tuple[float, float]
    boxes: tuple[Box, ...]  # the block first

    def obstacle_m(self, points_W: Array) -> Array:
        """Distance of each point (n, 3) to the nearest wall, block or box."""
        length, width, _ = self.size_m
        x, y = points_W[:, 0] - self.centre_m[0], points_W[:, 1] - self.centre_m[1]
        nearest: Array = np.minimum(np.abs(length / 2 - np.abs(x)), np.abs(width / 2 - np.abs(y)))
        for box in self.boxes:
            nearest = np.minimum(nearest, np.abs(_outside_m(points_W, box)))
        return nearest

    def distance_m(self, points_W: Array) -> Array:
        """The same to the nearest surface, the floor too."""
        nearest: Array = np.minimum(np.abs(points_W[:, 2]), self.obstacle_m(points_W))
        return nearest

    def walls(self) -> Iterator[Box]:
        """As boxes that stand outside of the room's surfaces."""
        (length, width, height), (x, y) = self.size_m, self.centre_m
        for side in (-1.0, 1.0):
            yield Box(
                (x + side * (length + WALL_M) / 2, y, height / 2), (WALL_M / 2, width / 2 + WALL_M, height / 2), 0.0
            )
            yield Box((x, y + side * (width + WALL_M) / 2, height / 2), (length / 2, WALL_M / 2, height / 2), 0.0)


def layout(seed: int, size_m: tuple[float, float, float], centre_m: tuple[float, float]) -> Layout:
    """Equal arguments give an equal room."""
    (x, y), height = centre_m, size_m[2]
    block = Box((x, y, height / 2), (BLOCK_M[0] / 2, BLOCK_M[1] / 2, height / 2), 0.0)
    boxes = _boxes(np.random.default_rng([seed, 1]), size_m, centre_m)
    return Layout(size_m, centre_m, (block, *boxes))


def _boxes(
    rng: np.random.Generator, size_m: tuple[float, float, float], centre_m: tuple[float, float]
) -> Iterator[Box]:
    """Spread along the four walls, by their lengths."""
    length, width, _ = size_m
    around = 2 * (length + width)
    for index in range(BOXES):
        along = (index + rng.uniform(0.25, 0.75)) * around / BOXES
        hx, hy, hz = rng.uniform((0.12, 0.12, 0.15), (0.32, 0.32, 0.75))
        gap = 0.42 + rng.uniform(0.0, 0.12)  # from the wall to its middle
        if along < length:
            x, y = along - length / 2, gap - width / 2
        elif along < length + width:
            x, y = length / 2 - gap, along - length - width / 2
        elif along < 2 * length + width:
            x, y = length * 1.5 + width - along, width / 2 - gap
        else:
            x, y = gap - length / 2, 2 * length + 1.5 * width - along
        x = float(np.clip(x, 0.45 - length / 2, length / 2 - 0.45))
        y = float(np.clip(y, 0.45 - width / 2, width / 2 - 0.45))
        yaw_rad = float(rng.uniform(-0.5, 0.5))
        yield Box((x + centre_m[0], y + centre_m[1], float(hz)), (float(hx), float(hy), float(hz)), yaw_rad)


def _outside_m(points_W: Array, box: Box) -> Array:
    """Signed distance to the box's surface, negative inside."""
    cosine, sine = np.cos(box.yaw_rad), np.sin(box.yaw_rad)
    x, y, z = (points_W - np.array(box.centre_W)).T
    local = np.abs(np.stack([cosine * x + sine * y, cosine * y - sine * x, z], axis=1)) - np.array(box.half_m)
    outside: Array = np.linalg.norm(np.maximum(local, 0.0), axis=1) + np.minimum(local.max(axis=1), 0.0)
    return outside
