"""Whether the distortion of a lens (k1 k2 p1 p2 k3, as in OpenCV) can be undone over an image.

A strong one folds the image over itself, or the iteration of `cameras.pinhole.undistorted` does not find the ideal
point: an image would have no content there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

STEPS = 30
CLOSE = 2e-4
"""On x/z and y/z: a tenth of a pixel at a focal length of 500 px."""


def can_be_undone(lens: Sequence[float], half_width: float, half_height: float) -> bool:
    """Of an image whose corners lie at these x/z and y/z; tried on its border."""
    border = [
        (sign_x * along_x * half_width, sign_y * along_y * half_height)
        for along_x, along_y in ((1.0, 1.0), (1.0, 0.5), (1.0, 0.0), (0.5, 1.0), (0.0, 1.0))
        for sign_x in (1.0, -1.0)
        for sign_y in (1.0, -1.0)
    ]
    return all(_off(lens, x, y) < CLOSE for x, y in border)


def _off(lens: Sequence[float], x: float, y: float) -> float:
    """Distance between the point and the image of the ideal point that the iteration finds; infinite: it finds none."""
    ideal_x, ideal_y = x, y
    away_x, away_y = math.inf, math.inf
    for _ in range(STEPS + 1):
        try:
            seen_x, seen_y = _distorted(lens, ideal_x, ideal_y)
        except OverflowError:
            return math.inf
        away_x, away_y = x - seen_x, y - seen_y
        ideal_x, ideal_y = ideal_x + away_x, ideal_y + away_y
    off = math.hypot(away_x, away_y)
    return off if math.isfinite(off) else math.inf


def _distorted(lens: Sequence[float], x: float, y: float) -> tuple[float, float]:
    k1, k2, p1, p2, k3 = lens
    r2 = x * x + y * y
    radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
    return (
        x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x),
        y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y,
    )
