"""Errors of sensor faults that vary with the time since their first sample, for one channel of a sensor.

ramp        rate t, up to the largest value of a fault
jump        size exp(-t / FADES_S): a receiver that returns to the right solution
vibration   amplitude sin(2 pi f t + phase), the same on every axis; sampled, so that it may alias
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aeroloop.core.faults import LARGEST, sine
from aeroloop.core.frames import Vec, Vec3

FADES_S = 10.0
VIBRATION: Vec3 = (0.0, 80.0, 0.0)
"""Frequency (Hz) and phase (rad) of a vibration of which only the amplitude is given."""
TIMED = ("ramp", "jump", "vibration")


def error(kind: str, values: Sequence[float], axes: int, t_s: float) -> Vec:
    """(axes,) What one of TIMED adds, a time after its first sample."""
    if kind == "vibration":
        return np.full(axes, sine(values, t_s))
    scale = t_s if kind == "ramp" else math.exp(-t_s / FADES_S)
    limited: Vec = np.clip(np.multiply(values, scale), -LARGEST, LARGEST)
    return limited
