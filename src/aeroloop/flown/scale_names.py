"""What a scale between two series may mean: units and signs that logs are known to mix up."""

from __future__ import annotations

import math

from aeroloop.flown.scores import Score

SURE_R = 0.98
NEAR_ONE = 0.05
NEAR = 0.005
NAMES: tuple[tuple[float, str], ...] = (
    (180 / math.pi, "degrees for radians"),
    (100 * 180 / math.pi, "hundredths of a degree for radians"),
    (100.0, "hundredths for whole units, such as cm for m"),
    (1000.0, "thousandths for whole units, such as mm for m"),
    (1e6, "millionths for whole units"),
    (1e7, "units of 1e-7, such as those of latitudes"),
    (1e4, "Gauss for T"),
    (10.0, "tenths for whole units"),
    (9.80665, "m/s2 for g"),
    (1 / 0.3048, "feet for metres"),
    (1 / 0.514444, "knots for m/s"),
    (3.6, "km/h for m/s"),
)


def scale_words(score: Score) -> str:
    """Empty where the scale is one, or the correlation too low to speak of a scale."""
    if not abs(score.r) >= SURE_R:
        return ""
    scale = score.scale / abs(
        score.r
    )  # of the standard deviations: noise does not make it smaller, as it does the slope
    if abs(scale - 1.0) <= NEAR_ONE:
        return ""
    sign = "opposite sign" if scale < 0 else ""
    size = abs(scale)
    named = next((name for factor, name in NAMES if abs(size / factor - 1.0) < NEAR), "")
    if not named:
        inverse = next((name for factor, name in NAMES if abs(size * factor - 1.0) < NEAR), "")
        named = " for ".join(reversed(inverse.split(", ")[0].split(" for "))) if inverse else ""
    parts = [part for part in (named, sign) if part]
    return f"{scale:.4g} times" + (f" ({', '.join(parts)})" if parts else "")
