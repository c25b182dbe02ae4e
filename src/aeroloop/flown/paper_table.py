"""The sixteen correlations of the Pixhawk paper beside those of a comparison, in the paper's order.

The flights and aircraft differ, so equality is no aim; the order is: position, then height, then the horizontal
magnetic field, then attitude, then rates and accelerations, and each above 0.8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from aeroloop.flown.comparison import Comparison
from aeroloop.flown.quantities import PUBLISHED

LEAST_R = 0.8
EQUAL = 0.0005
"""Means nearer than this count as equal."""
ORDER: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("latitude and longitude", ("lat", "lon")),
    ("pressure and height", ("pressure", "height")),
    ("magnetometer x and y", ("mag_x", "mag_y")),
    ("attitude", ("roll", "pitch", "yaw")),
    ("gyro and accelerometer", ("gyro_x", "gyro_y", "gyro_z", "accel_x", "accel_y", "accel_z")),
)


@dataclass(frozen=True)
class Row:
    name: str
    published: float
    r: float | None  # None where it was not compared
    remark: str


def rows(comparison: Comparison) -> list[Row]:
    found = {each.quantity.name: each for each in comparison.signals}
    return [
        Row(name, published, _known(found[name].score.r), found[name].remark)
        if name in found
        else Row(name, published, None, "not in both logs")
        for name, published in PUBLISHED.items()
    ]


def findings(table: Sequence[Row]) -> list[str]:
    """Sentences about the order of the groups, and which signals are at 0.8 or below."""
    by_name = {row.name: row.r for row in table}
    means = []
    for group, names in ORDER:
        known = [r for name in names if (r := by_name[name]) is not None]
        if known:
            means.append((group, sum(known) / len(known)))
    words = []
    if len(means) > 1:
        turned = [
            f"{low} ({of_low:.3f}) above {high} ({of_high:.3f})"
            for (high, of_high), (low, of_low) in pairwise(means)
            if of_low > of_high + EQUAL
        ]
        as_published = "The order of the groups is the published one"
        words.append(f"{as_published}." if not turned else f"{as_published} except: {'; '.join(turned)}.")
    low = [f"{row.name} {row.r:.3f}" for row in table if row.r is not None and row.r <= LEAST_R]
    words.append(f"Not above {LEAST_R:g}: {', '.join(low)}." if low else f"Each correlation is above {LEAST_R:g}.")
    missing = [row.name for row in table if row.r is None]
    if missing:
        words.append(f"Not compared: {', '.join(missing)}.")
    return words


def _known(r: float) -> float | None:
    return r if math.isfinite(r) else None
