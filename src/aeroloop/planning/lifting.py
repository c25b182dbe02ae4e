"""The Haar transform by integer lifting: exactly invertible, without divisions that lose a bit.

A pair (x, y) becomes d = y - x and a = x + floor(d / 2), and is restored as x = a - floor(d / 2), y = x + d. Applied
along each row, then along each column, a map becomes its approximation at half the resolution and three details. An
approximation is the mean rounded down, twice a level. (Jung and Tsiotras, ACC 2008.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Grid = npt.NDArray[np.int32]


class Details(NamedTuple):
    """The information lost by halving the resolution: differences along the rows, the columns, and both."""

    across: Grid
    along: Grid
    both: Grid


class Pyramid(NamedTuple):
    """`approximations[j]` is the map with 2^j cells a side; `details[j]` leads from there to level j + 1."""

    approximations: tuple[Grid, ...]
    details: tuple[Details, ...]


def forward(values: npt.ArrayLike) -> Pyramid:
    """The transform of a square map, 2^N a side, down to a single cell."""
    approximation = np.asarray(values, dtype=np.int32)
    approximations, details = [approximation], []
    while approximation.shape[0] > 1:
        low, high = _split(approximation[:, 0::2], approximation[:, 1::2])
        approximation, along = _split(low[0::2], low[1::2])
        across, both = _split(high[0::2], high[1::2])
        approximations.append(approximation)
        details.append(Details(across, along, both))
    return Pyramid(tuple(approximations[::-1]), tuple(details[::-1]))


def inverse(pyramid: Pyramid) -> Grid:
    """Reconstructs the map from the coarsest approximation and the details alone."""
    approximation = pyramid.approximations[0]
    for across, along, both in pyramid.details:
        low = _merge(approximation, along, axis=0)
        high = _merge(across, both, axis=0)
        approximation = _merge(low, high, axis=1)
    return approximation


def _split(x: Grid, y: Grid) -> tuple[Grid, Grid]:
    difference = y - x
    return x + (difference >> 1), difference


def _merge(approximation: Grid, difference: Grid, axis: int) -> Grid:
    x = approximation - (difference >> 1)
    pairs = np.stack((x, x + difference), axis=axis + 1)
    shape = list(approximation.shape)
    shape[axis] *= 2
    return pairs.reshape(shape)
