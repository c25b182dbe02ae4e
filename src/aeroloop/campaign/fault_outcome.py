"""What a fault did to a flight, from the streams that all families have, against the same flight without the fault.

    noticed_s     from the fault to the first event that says so (NOTICING), to a failsafe, or to the third measurement
                  in a row that the estimator rejects; not what comes after the aircraft is lost
    acted_s       from the fault to the first reaction: an event of ACTING, another board that flies (no failsafe: the
                  flight goes on as planned), or a mode that the fault-free flight has not
    recovered_s   from the fault to the last time that the distance from the setpoint was above its limit, which is the
                  largest one of the fault-free flight, at least 0.1 m; 0: it never was; NaN: it is at the end
    deviation_m, deviation_deg   largest distance and angle from the fault-free flight at equal times after the fault

Times come from the rows of the log, which have the exact simulated time of their step. Events that the fault-free
flight has at the same time do not count. Without a fault, `noticed_s` and `acted_s` are the times of false alarms.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from aeroloop.analysis.statistics import Array, largest
from aeroloop.analysis.track import POSITION, QUATERNION
from aeroloop.core.signals import Event
from aeroloop.core.stream import VELOCITY
from aeroloop.recording.log import Log

SPEED = tuple(column[0] for column in VELOCITY)
EVENT_STREAMS = ("event", "board_event")
NOTICING: frozenset[int] = frozenset(
    {
        *(Event.SENSORS_LOST, Event.SAFE_COMMAND, Event.REFERENCE_LOST, Event.IMPLAUSIBLE_SENSORS),
        *(Event.IMPLAUSIBLE_COMMAND, Event.DEADLINE_MISSED, Event.LAW_NOT_FINITE, Event.OVERRUN, Event.LATE_CYCLE),
        *(Event.BOARD_RESTARTED, Event.MESSAGES_LOST, Event.AUTOPILOT_RESTARTED, Event.AUTOPILOT_LEFT),
        *(Event.ACTUATORS_REFUSED, Event.FAILSAFE, Event.ROTOR_LOST, Event.LAW_FALLBACK),
        *(Event.BOARD_OUT, Event.BOARDS_DISAGREE, Event.NO_BOARD),
    }
)
ACTING: frozenset[int] = frozenset({Event.SAFE_COMMAND, Event.FAILSAFE, Event.ROTOR_LOST, Event.LAW_FALLBACK})
ENDING: frozenset[int] = frozenset({Event.BOARDS_DISAGREE, Event.NO_BOARD})
"""Of value 0 where they end."""
SMALLEST_LIMIT_M = 0.1
SETTLED_S = 1.0
"""An error above its limit within this time of the end is not recovered."""
DEGRADED_M, DEGRADED_DEG = 0.1, 2.0
"""Smaller deviations from the fault-free flight do not count."""
HARD_CONTACT_M_S, LOST_M = 2.0, 100.0
"""A contact with the ground that is faster, and an aircraft that is farther from the fault-free flight, is lost."""


class Result(IntEnum):
    """Outcomes, the worst last."""

    UNAFFECTED = 0
    DEGRADED = 1
    FAILSAFE_SAFE = 2
    FAILED_CHECK = 3
    LOST = 4

    @property
    def words(self) -> str:
        return _WORDS[self]


_WORDS = {
    Result.UNAFFECTED: "unaffected",
    Result.DEGRADED: "degraded",
    Result.FAILSAFE_SAFE: "failsafe and safe",
    Result.FAILED_CHECK: "failed check",
    Result.LOST: "lost",
}
Row = tuple[float, ...]


@dataclass(frozen=True)
class Signs:
    """Which events count for a family."""

    noticing: Collection[int] = NOTICING
    acting: Collection[int] = ACTING


USUAL = Signs()


@dataclass(frozen=True)
class Seen:
    """What is needed of the log of one aircraft."""

    ended: str
    t_s: Array
    pos_W: Array  # (n, 3)
    vel_W: Array  # (n, 3)
    quat_WB: Array  # (n, 4), or (0, 4)
    error_m: Array  # (n,) distance from the setpoint; NaN where there is none
    events: tuple[Row, ...]  # time, code, value, in the order of time
    failsafes_s: tuple[float, ...]  # times at which the autopilot's state has a failsafe
    rejections_s: tuple[float, ...]  # times at which the estimator had rejected several measurements in a row
    switched: tuple[Row, ...]  # rows of `fault`

    @property
    def limit_m(self) -> float:
        """Largest error, for flights with a fault."""
        return max(SMALLEST_LIMIT_M, largest(self.error_m[np.isfinite(self.error_m)]) if self.error_m.size else 0.0)

    @property
    def modes(self) -> list[Row]:
        return [row for row in self.events if row[1] == Event.MODE_CHANGED]


def seen(log: Log, ended: str, vehicle: int = 0) -> Seen:
    def rows(stream: str) -> Array:
        found = log.rows.get(stream)
        return np.empty((0, 2)) if found is None or not len(found) else found[found[:, 1] == vehicle]

    def columns(stream: str, names: tuple[str, ...]) -> Array:
        known = log.columns.get(stream, ())
        if not set(names) <= set(known):
            return np.empty((0, len(names)))
        return (
            rows(stream)[:, [known.index(name) for name in names]] if len(rows(stream)) else np.empty((0, len(names)))
        )

    t_s = columns("truth", ("t_s",)).ravel()
    pos_W = columns("truth", POSITION)
    setpoint_s, setpoint_W = columns("setpoint", ("t_s",)).ravel(), columns("setpoint", POSITION)
    events = [(t, code, value) for name in EVENT_STREAMS for t, _, code, value in rows(name)[:, :4].tolist()]
    failsafe = columns("autopilot_state", ("t_s", "failsafe"))
    return Seen(
        ended,
        t_s,
        pos_W,
        columns("truth", SPEED),
        columns("truth", QUATERNION),
        _error_m(t_s, pos_W, setpoint_s, setpoint_W),
        tuple(sorted(events)),
        tuple(failsafe[failsafe[:, 1] > 0, 0].tolist()),
        tuple(rows("estimator")[:, 0].tolist()),
        tuple(map(tuple, rows("fault").tolist())),
    )


def _error_m(t_s: Array, pos_W: Array, setpoint_s: Array, setpoint_W: Array) -> Array:
    """With the last setpoint before each time; NaN where it has none."""
    if not len(setpoint_s) or not len(pos_W):
        return np.full(len(t_s), math.nan)
    index = np.searchsorted(setpoint_s, t_s, side="right") - 1
    off: Array = np.linalg.norm(pos_W - setpoint_W[np.maximum(index, 0)], axis=1)
    return np.where(index < 0, math.nan, off)


def onset_s(flown: Seen, free: Seen) -> float | None:
    """When the first fault was switched on that the fault-free flight does not have."""
    others = [row for row in flown.switched if row not in free.switched and row[4] > 0]
    return min((row[0] for row in others), default=None)


def columns(flown: Seen, free: Seen, *, passed: bool, signs: Signs = USUAL) -> dict[str, float]:
    """The columns of a flight; `free` is the same flight without the faults."""
    began_s = onset_s(flown, free)
    if began_s is None:
        return _of_free(flown, passed=passed, signs=signs)
    end_s = lost_s(flown, free, began_s)
    own = [row for row in flown.events if began_s <= row[0] <= end_s and row not in free.events]
    failsafes = _new(flown.failsafes_s, free.failsafes_s, began_s, end_s)
    noticed = _noticed(own, signs) + failsafes
    noticed += _new(flown.rejections_s, free.rejections_s, began_s, end_s)
    acted = [row[0] for row in own if row[1] in signs.acting] + failsafes
    acted += [t_s for t_s in _other_modes(flown, free, began_s) if t_s <= end_s]
    switched = [row[0] for row in own if row[1] == Event.BOARD_SELECTED]
    _, distance_m, angle_deg = deviation(flown, free, began_s)
    is_lost = math.isfinite(end_s)
    found = {
        "fault_s": began_s,
        "noticed_s": _after(noticed, began_s),
        "acted_s": _after(acted + switched, began_s),
        "recovered_s": math.nan if is_lost else recovered_s(flown, free.limit_m, began_s),
        "lost_s": _after([end_s], began_s) if is_lost else math.nan,
        "deviation_m": largest(distance_m),
        "deviation_deg": largest(angle_deg),
    }
    if is_lost:
        result = Result.LOST
    elif acted:
        result = Result.FAILSAFE_SAFE
    elif not passed:
        result = Result.FAILED_CHECK
    else:
        changed = found["deviation_m"] > DEGRADED_M or found["deviation_deg"] > DEGRADED_DEG
        result = Result.DEGRADED if changed else Result.UNAFFECTED
    return {**found, "outcome": float(result)}


def _of_free(flown: Seen, *, passed: bool, signs: Signs) -> dict[str, float]:
    """Without a fault every alarm is a false one."""
    alarms = _noticed(flown.events, signs) + list(flown.rejections_s)
    noticed = alarms + list(flown.failsafes_s)
    acted = [row[0] for row in flown.events if row[1] in signs.acting] + list(flown.failsafes_s)
    return {
        "noticed_s": min(noticed, default=math.nan),
        "acted_s": min(acted, default=math.nan),
        "false_alarms": float(len(alarms)),
        "outcome": float(Result.UNAFFECTED if passed else Result.FAILED_CHECK),
    }


def _noticed(events: Collection[Row], signs: Signs) -> list[float]:
    """Times at which something is said to be wrong."""
    return [t_s for t_s, code, value in events if code in signs.noticing and not (code in ENDING and value == 0.0)]


def _after(times_s: Collection[float], began_s: float) -> float:
    """To the nanosecond; NaN: never."""
    return round(min(times_s) - began_s, 9) if times_s else math.nan


def _new(times_s: Collection[float], free_s: Collection[float], began_s: float, end_s: float) -> list[float]:
    """Of the flight and not of the fault-free one, from the fault to the loss."""
    known = set(free_s)
    return [t_s for t_s in times_s if began_s <= t_s <= end_s and t_s not in known]


def _other_modes(flown: Seen, free: Seen, began_s: float) -> list[float]:
    """The first change to a mode that the fault-free flight does not change to next. A mission that takes longer
    changes its modes later, in the same order."""
    expected = [row[2] for row in free.modes]
    for index, (t_s, _, mode) in enumerate(flown.modes):
        if index >= len(expected) or expected[index] != mode:
            return [t_s] if t_s >= began_s else []
    return []


def recovered_s(flown: Seen, limit_m: float, began_s: float) -> float:
    after = flown.t_s >= began_s
    t_s, error_m = flown.t_s[after], flown.error_m[after]
    above = np.flatnonzero(error_m > limit_m)
    if not above.size:
        return 0.0
    last_s = float(t_s[above[-1]])
    return math.nan if last_s > t_s[-1] - SETTLED_S else round(last_s - began_s, 9)


def deviation(flown: Seen, free: Seen, began_s: float) -> tuple[Array, Array, Array]:
    """Times (s), distances (m) and angles (deg), for the times of the log that both flights have."""
    count = min(len(flown.t_s), len(free.t_s))
    both = np.flatnonzero((flown.t_s[:count] == free.t_s[:count]) & (flown.t_s[:count] >= began_s))
    distance: Array = np.linalg.norm(flown.pos_W[both] - free.pos_W[both], axis=1)
    if min(len(flown.quat_WB), len(free.quat_WB)) < count:
        return flown.t_s[both], distance, np.zeros(0)
    cosine = np.abs(np.sum(flown.quat_WB[both] * free.quat_WB[both], axis=1))
    return flown.t_s[both], distance, np.degrees(2.0 * np.arccos(np.minimum(cosine, 1.0)))


def lost_s(flown: Seen, free: Seen, began_s: float) -> float:
    """When it ended early, collided, hit the ground, turned upside down or left for good, and the fault-free flight did
    not; infinite: it was not lost."""
    found = [math.inf]
    if flown.ended != free.ended:
        found.append(float(flown.t_s[-1]) if len(flown.t_s) else began_s)
    for t_s, code, value in flown.events:
        if t_s < began_s or (t_s, code, value) in free.events:
            continue
        hard = code == Event.GROUND_CONTACT and abs(value) > HARD_CONTACT_M_S
        if hard or code in (Event.DIVERGED, Event.COLLISION):
            found.append(t_s)
    if math.isinf(_inverted_s(free, began_s)):
        found.append(_inverted_s(flown, began_s))
    at_s, distance_m, _ = deviation(flown, free, began_s)
    found += at_s[distance_m > LOST_M][:1].tolist()
    return max(began_s, min(found))


def _inverted_s(flown: Seen, began_s: float) -> float:
    """When it was upside down first; infinite: never."""
    if not len(flown.quat_WB):
        return math.inf
    after = flown.t_s >= began_s
    _, x, y, _ = flown.quat_WB[after].T
    turned = np.flatnonzero(1.0 - 2.0 * (x * x + y * y) < 0.0)
    return float(flown.t_s[after][turned[0]]) if turned.size else math.inf
