"""The landing pad: a white board with nine square markers of three sizes, so that some are seen at every height.

Pad frame P: origin in the middle of the board, x right, y up as printed, z out of the board. The markers are those of
OpenCV's DICT_4X4_50 with the ids 0 to 8, side by side: of nested markers OpenCV returns only one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from aeroloop.core.errors import ConfigError
from aeroloop.perception.opencv import opencv

Array = npt.NDArray[np.float64]
Image = npt.NDArray[np.uint8]

BOARD_M = 1.10
CELLS = 6
"""Cells along one side of a marker: four bits and the black border."""
PX_PER_M = 3000
"""Every cell of every marker is then a whole number of pixels."""
SMALLEST_SCALE, LARGEST_SCALE = 0.05, 20.0


@dataclass(frozen=True, slots=True)
class Marker:
    number: int
    side_m: float
    centre_P: tuple[float, float]  # m


def _ring(first: int, side_m: float, offset_m: float) -> tuple[Marker, ...]:
    """Four markers around the middle, clockwise from the upper left."""
    signs = ((-1, 1), (1, 1), (1, -1), (-1, -1))
    return tuple(Marker(first + n, side_m, (x * offset_m, y * offset_m)) for n, (x, y) in enumerate(signs))


MARKERS = (*_ring(0, 0.34, 0.32), *_ring(4, 0.09, 0.075), Marker(8, 0.03, (0.0, 0.0)))


def check_scale(scale: float) -> float:
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        raise ConfigError(f"pad.scale: expected {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}, not {scale:g}")
    return scale


def corners_P(number: int, scale: float = 1.0) -> Array:
    """(4, 3) m, in the order of OpenCV's detector: upper left, upper right, lower right, lower left."""
    marker = MARKERS[number]
    x, y = marker.centre_P
    half = marker.side_m / 2
    return scale * np.array(
        [(x - half, y + half, 0.0), (x + half, y + half, 0.0), (x + half, y - half, 0.0), (x - half, y - half, 0.0)]
    )


def dictionary() -> Any:
    """DICT_4X4_50 cut to the nine: other markers of the scene are then not detected at all."""
    aruco = opencv().aruco
    whole = aruco.getPredefinedDictionary(aruco.DICT_4X4_50)
    return aruco.Dictionary(whole.bytesList[: len(MARKERS)], whole.markerSize, whole.maxCorrectionBits)


def cells(number: int) -> npt.NDArray[np.bool_]:
    """(6, 6), from the upper left, row by row: True is black."""
    drawn = dictionary().generateImageMarker(number, CELLS, borderBits=1)
    return np.asarray(drawn < 128, bool)


def image(px_per_m: float = PX_PER_M) -> Image:
    """The board of scale 1 from above, x to the right and y up; the texture of a scene."""
    size = round(BOARD_M * px_per_m)
    drawn = np.full((size, size), 255, np.uint8)
    for x, y, width, height in black_rectangles_P():
        left, top = (BOARD_M / 2 + x) * px_per_m, (BOARD_M / 2 - y - height) * px_per_m
        rows = slice(round(top), round(top + height * px_per_m))
        drawn[rows, round(left) : round(left + width * px_per_m)] = 0
    return drawn


def black_rectangles_P(scale: float = 1.0) -> list[tuple[float, float, float, float]]:
    """x, y of the lower left corner, width and height in m. Black cells of a row are joined, since a printer may leave
    a gap between two rectangles."""
    found = []
    for marker in MARKERS:
        cell = marker.side_m / CELLS
        left, top = marker.centre_P[0] - marker.side_m / 2, marker.centre_P[1] + marker.side_m / 2
        for row, blacks in enumerate(cells(marker.number)):
            for first, count in _runs(blacks.tolist()):
                found.append((left + first * cell, top - (row + 1) * cell, count * cell, cell))
    return [(scale * x, scale * y, scale * width, scale * height) for x, y, width, height in found]


def _runs(blacks: list[bool]) -> list[tuple[int, int]]:
    """First and number of each row of True."""
    found: list[tuple[int, int]] = []
    for place, black in enumerate(blacks):
        if black and found and sum(found[-1]) == place:
            found[-1] = found[-1][0], found[-1][1] + 1
        elif black:
            found.append((place, 1))
    return found
