"""The phases of a flight, from its truth alone, so that they are the same for every family.

    ground    slower than 0.1 m/s within 0.3 m of the lowest height, in a flight that rises more than 1 m
    climb     rising faster than 0.3 m/s at a path angle above 10 deg
    land      sinking in the same manner, the last time before it stays on the ground; otherwise `descent`
    turn      faster than 0.5 m/s over ground, the course changes by more than 5 deg/s
    cruise    faster than 0.5 m/s over ground, without such a change
    hover     everything else

A stretch shorter than 0.5 s belongs to the one before it, the first one to the one after it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GROUND, CLIMB, DESCENT, LAND, TURN, CRUISE, HOVER = "ground", "climb", "descent", "land", "turn", "cruise", "hover"
PHASES = (GROUND, CLIMB, CRUISE, TURN, HOVER, DESCENT, LAND)
"""In the order of a report's columns."""
GRID_S = 0.1
STILL_M_S, LOW_M, RISES_M = 0.1, 0.3, 1.0
VERTICAL_M_S, PATH_ANGLE_RAD = 0.3, math.radians(10.0)
MOVES_M_S, TURN_RAD_S = 0.5, math.radians(5.0)
SHORTEST_S = 0.5


class Stretch(NamedTuple):
    """A part of a flight in one phase; a phase may have several."""

    phase: str
    start_s: float
    end_s: float


def phases(t_s: Array, pos_W: Array, vel_W: Array) -> list[Stretch]:
    """In the order of time, without gaps. (n,), (n, 3), (n, 3)."""
    if len(t_s) < 2:
        return []
    at_s = np.arange(t_s[0], t_s[-1], GRID_S)
    x_m_s, y_m_s, z_m_s = (np.interp(at_s, t_s, axis) for axis in vel_W.T)
    names = _names(np.interp(at_s, t_s, pos_W[:, 2]), np.stack([x_m_s, y_m_s, z_m_s]))
    return _landed(_merged(names, at_s, float(t_s[-1])))


def _names(height_m: Array, vel_W: Array) -> list[str]:
    over_ground_m_s: Array = np.hypot(vel_W[0], vel_W[1])
    course_rad = np.unwrap(np.arctan2(vel_W[1], vel_W[0]))
    turns = np.abs(np.gradient(course_rad, GRID_S)) > TURN_RAD_S if len(height_m) > 1 else np.zeros(1, bool)
    steep = np.abs(np.arctan2(vel_W[2], over_ground_m_s)) > PATH_ANGLE_RAD
    still = np.linalg.norm(vel_W, axis=0) < STILL_M_S
    lowest_m = float(height_m.min())
    rests = still & (height_m < lowest_m + LOW_M) & bool(height_m.max() > lowest_m + RISES_M)
    conditions = [
        rests,
        steep & (vel_W[2] > VERTICAL_M_S),
        steep & (vel_W[2] < -VERTICAL_M_S),
        (over_ground_m_s > MOVES_M_S) & turns,
        over_ground_m_s > MOVES_M_S,
    ]
    return [str(name) for name in np.select(conditions, [GROUND, CLIMB, DESCENT, TURN, CRUISE], HOVER)]


def _merged(names: Sequence[str], at_s: Array, end_s: float) -> list[Stretch]:
    starts = [(name, float(at_s[next(iter(group))])) for name, group in _groups(names)]
    ends = [start_s for _, start_s in starts[1:]] + [end_s]
    found: list[Stretch] = []
    for (name, start_s), until_s in zip(starts, ends, strict=True):
        short = until_s - start_s < SHORTEST_S - GRID_S / 2
        if found and (short or found[-1].phase == name):
            found[-1] = found[-1]._replace(end_s=until_s)
        else:
            found.append(Stretch(name, start_s, until_s))
    if len(found) > 1 and found[0].end_s - found[0].start_s < SHORTEST_S:
        found[:2] = [found[1]._replace(start_s=found[0].start_s)]
    return found


def _groups(names: Sequence[str]) -> Iterable[tuple[str, list[int]]]:
    for name, group in groupby(range(len(names)), key=names.__getitem__):
        yield name, list(group)


def _landed(found: list[Stretch]) -> list[Stretch]:
    """The last descent is the landing if the flight ends on the ground."""
    if not found or found[-1].phase != GROUND:
        return found
    last = max((index for index, each in enumerate(found) if each.phase == DESCENT), default=None)
    return [each._replace(phase=LAND) if index == last else each for index, each in enumerate(found)]


def phase_at(stretches: Sequence[Stretch], t_s: float) -> str:
    """The phase of a time; the last one after the end."""
    for each in stretches:
        if t_s < each.end_s:
            return each.phase
    return stretches[-1].phase if stretches else ""


def times_in(stretches: Sequence[Stretch], phase: str, count: int) -> list[float]:
    """Times evenly spread over the stretches of a phase, in the middle of equal parts of it."""
    own = [each for each in stretches if each.phase == phase]
    total_s = sum(each.end_s - each.start_s for each in own)
    found = []
    for index in range(count):
        left_s = total_s * (index + 0.5) / count
        for each in own:
            if left_s <= each.end_s - each.start_s:
                found.append(each.start_s + left_s)
                break
            left_s -= each.end_s - each.start_s
    return found
