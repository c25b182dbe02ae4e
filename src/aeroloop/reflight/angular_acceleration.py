"""Angular acceleration, simulated against flown: what recorded pulses let one compare in the time after a restart.

A gyro's rate of change is noisy: both are low-passed alike, by the difference over a window.
"""

from __future__ import annotations

import math

import numpy as np

from aeroloop.core.frames import Vec
from aeroloop.flown.comparison import Compared
from aeroloop.flown.quantities import Quantity
from aeroloop.flown.record import FlightRecord
from aeroloop.flown.scores import score
from aeroloop.reflight.flown_motion import FlownMotion
from aeroloop.reflight.rollout import STEP_S

WINDOW_S = 0.06
AXES = {"x": (0, 1.0, "forward"), "y": (1, -1.0, "right"), "z": (2, -1.0, "down")}


def compared(record: FlightRecord, motion: FlownMotion, rows: Vec, from_s: float, to_s: float) -> list[Compared]:
    if "gyro_x" not in record:
        return []
    over = max(1, round(WINDOW_S / STEP_S))
    inside = (motion.t_s >= from_s) & (motion.t_s <= to_s - WINDOW_S)
    t_s = motion.t_s[inside]
    found = []
    for axis, (column, sign, words) in AXES.items():
        flown = np.gradient(_mean(sign * motion.rate_B[:, column], over), STEP_S)[inside]
        simulated = _mean(sign * rows[:, 16 + column], over)[inside]
        quantity = Quantity(f"angular_accel_{axis}", "rad/s2", "gyro", f"angular acceleration about {words}")
        sources = (record[f"gyro_{axis}"].source, "simulated")
        scored = score(flown, simulated)
        found.append(Compared(quantity, sources, scored, math.nan, None, (), None, "", "", t_s, flown, simulated))
    return found


def _mean(values: Vec, over: int) -> Vec:
    return np.asarray(np.convolve(np.pad(values, over, "edge"), np.ones(over) / over, "same")[over:-over])
