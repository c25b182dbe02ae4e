"""Generates hills from a seed by successive random additions (Voss, in The Science of Fractal Images, 1988).

A coarse grid of random heights, one for each hill, is doubled again and again; every doubling smooths it (weights 3/4
and 1/4, Chaikin's) and adds finer random heights, smaller by the factor `roughness`.

The same seed gives the same numbers on every machine: NumPy promises PCG64's raw stream, and the rest is sums, products
and quotients of single numbers, which IEEE 754 defines exactly. The last bit of a Fourier transform, a sum over an
array or a logarithm would depend on the machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec

MOST_UNITS = 4096
"""Maximum units along a side of a map."""
LOWEST_M, HIGHEST_M = -500, 9000
"""Height range of a map: the lowest and the highest land, with a margin."""

UNIT_M = 75.0
HILL_M = 2400.0
BASE_M = 250.0
RELIEF_M = 600.0
ROUGHNESS = 0.5
_TAIL = 2  # percent of all heights below the base, and the same above base and relief


def generate(
    side: int,
    seed: int,
    *,
    unit_m: float = UNIT_M,
    hill_m: float = HILL_M,
    base_m: float = BASE_M,
    relief_m: float = RELIEF_M,
    roughness: float = ROUGHNESS,
) -> NDArray[np.int16]:
    """Heights in whole metres of side x side units, `[north, east]`; side is a power of two up to 4096.

    Hills are about `hill_m` apart, so a larger map has more of them and not larger ones. 2 % of the heights lie below
    `base_m` and 2 % above `base_m + relief_m`.
    """
    check_side(side)
    raw = np.random.PCG64(seed)
    hills = 2
    while hills < side and hills * hill_m < side * unit_m:
        hills *= 2
    heights, size = _noise(raw, hills), 1.0
    while len(heights) < side:
        size *= roughness
        heights = _doubled(_doubled(heights).T).T
        heights += size * _noise(raw, len(heights))
    last = heights.size - 1
    at = (last * _TAIL // 100, last - last * _TAIL // 100)
    low, high = np.partition(heights, at, axis=None)[list(at)]
    heights -= low
    heights *= relief_m / (high - low)
    heights += base_m + 0.5
    return np.clip(np.floor(heights, out=heights), LOWEST_M, HIGHEST_M).astype(np.int16)


def check_side(side: int) -> None:
    if not 2 <= side <= MOST_UNITS or side & (side - 1):
        raise ConfigError(
            f"A map of {side} units a side cannot be made: expected a power of two from 2 to {MOST_UNITS}."
        )


def _noise(raw: np.random.PCG64, side: int) -> Vec:
    """Uniform between -1 and 1."""
    bits = raw.random_raw(side * side).reshape(side, side) >> np.uint64(11)
    return bits.astype(np.float64) * 2.0**-52 - 1.0


def _doubled(rows: Vec) -> Vec:
    """Twice as many rows, each a quarter of the way between the old ones; the outermost are the outermost old ones."""
    own = 0.75 * rows
    out = np.empty((2 * rows.shape[0], rows.shape[1]))
    out[0::2] = own
    out[1::2] = own
    rest = 0.25 * rows
    out[2::2] += rest[:-1]
    out[1:-1:2] += rest[1:]
    out[0] += rest[0]
    out[-1] += rest[-1]
    return out
