"""A layer of the 3D view: points and straight lines with colours, such as the map and the loops of SLAM.

    "ALLY" | version, 0 0 0 (4 bytes) | points (u32) | lines (u32)
    | points: 3 float32 each | lines: 6 float32 each | colours of points, then of lines: 3 bytes each

Little endian; metres in the flight's world: east, north, up.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAGIC, VERSION = b"ALLY", 1
HEADER = struct.Struct("<4s4BII")
MOST_POINTS, MOST_LINES = 20_000, 4_000
GREY = (148, 163, 184)


@dataclass(frozen=True)
class Layer:
    points_W: NDArray[np.float32]  # (n, 3)
    point_colours: NDArray[np.uint8]  # (n, 3)
    lines_W: NDArray[np.float32]  # (m, 2, 3): from, to
    line_colours: NDArray[np.uint8]  # (m, 3)


def layer(
    points_W: ArrayLike = (),
    point_colours: ArrayLike = GREY,
    lines_W: ArrayLike = (),
    line_colours: ArrayLike = GREY,
) -> Layer:
    """Of arrays of any length; one colour may serve all. Points that are not finite are left out, and of too many every
    n-th is taken; of too many lines the newest, which are the last."""
    points, lines = _shaped(points_W, (-1, 3)), _shaped(lines_W, (-1, 2, 3))
    of_points, of_lines = _colours(point_colours, len(points)), _colours(line_colours, len(lines))
    good, good_lines = np.isfinite(points).all(axis=1), np.isfinite(lines).all(axis=(1, 2))
    points, of_points, lines, of_lines = points[good], of_points[good], lines[good_lines], of_lines[good_lines]
    every = max(1, -(-len(points) // MOST_POINTS))
    return Layer(points[::every], of_points[::every], lines[-MOST_LINES:], of_lines[-MOST_LINES:])


def encode(layer: Layer) -> bytes:
    counts = len(layer.points_W), len(layer.lines_W)
    floats = layer.points_W.astype("<f4").tobytes() + layer.lines_W.astype("<f4").tobytes()
    return HEADER.pack(MAGIC, VERSION, 0, 0, 0, *counts) + floats + _bytes(layer)


def size(data: bytes) -> tuple[int, int] | None:
    """Numbers of points and lines; None if it is no whole layer."""
    if len(data) < HEADER.size:
        return None
    magic, version, _, _, _, points, lines = HEADER.unpack_from(data)
    whole = len(data) == HEADER.size + 15 * points + 27 * lines
    within = points <= MOST_POINTS and lines <= MOST_LINES
    return (points, lines) if (magic, version) == (MAGIC, VERSION) and whole and within else None


def _bytes(layer: Layer) -> bytes:
    return layer.point_colours.astype(np.uint8).tobytes() + layer.line_colours.astype(np.uint8).tobytes()


def _shaped(values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float32]:
    return np.asarray(values, np.float32).reshape(shape)


def _colours(values: ArrayLike, count: int) -> NDArray[np.uint8]:
    return np.broadcast_to(np.asarray(values, np.uint8).reshape(-1, 3), (count, 3))
