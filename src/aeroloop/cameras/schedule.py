"""When frames are due and delivered, in simulated time."""

from __future__ import annotations

import math

from aeroloop.cameras.shots import time_ns
from aeroloop.core.camera_streams import BEHIND_PCT
from aeroloop.core.signals import NS

DRIFT = 0.01
"""Simulated time that slips behind the wall clock is followed at this rate."""
JUDGED = 20
"""Frames that must have been due before a camera is said to be behind."""


class Punctuality:
    """Of one camera: warns once when too many of its frames are late or dropped."""

    def __init__(self) -> None:
        self._delivered = self._late = 0
        self._warned = False

    def see(self, *, late: bool, dropped: int) -> str:
        """One frame was delivered, and this many were dropped so far; a warning in words, or nothing."""
        self._delivered += 1
        self._late += late
        due = self._delivered + dropped
        behind_pct = 100.0 * (self._late + dropped) / due
        if self._warned or due < JUDGED or behind_pct <= BEHIND_PCT:
            return ""
        self._warned = True
        return (
            f"{behind_pct:.0f} % of {due} frames were late or dropped, more than {BEHIND_PCT:g} %: "
            "lower rate_hz or size_px, or fly in lockstep"
        )


class SimulatedClock:
    """Simulated time now, from rows that arrive some time after theirs: the least delayed row counts."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._offset_s = math.inf  # wall time at simulated time 0
        self._seen_s = -math.inf

    def see(self, t_s: float, wall_s: float) -> None:
        followed_s = self._offset_s + DRIFT * max(0.0, wall_s - self._seen_s) if self._seen_s > -math.inf else math.inf
        self._offset_s, self._seen_s = min(followed_s, wall_s - t_s / self._speed), wall_s

    def now_s(self, wall_s: float) -> float:
        """-infinity before the first row."""
        return (wall_s - self._offset_s) * self._speed if self._seen_s > -math.inf else -math.inf

    def now_ns(self, wall_s: float) -> int | None:
        """None before the first row."""
        return round(self.now_s(wall_s) * NS) if self._seen_s > -math.inf else None


def newest_number(newest_s: float, after_s: float, rate_hz: float) -> int:
    """The last frame whose poses are all there; -1: none."""
    if newest_s < after_s:
        return -1
    number = math.floor((newest_s - after_s) * rate_hz)
    while time_ns(number + 1, rate_hz) / NS + after_s <= newest_s:
        number += 1
    while number >= 0 and time_ns(number, rate_hz) / NS + after_s > newest_s:
        number -= 1
    return number


def next_number(number: int, newest: int, rate_hz: float, latency_s: float, now_s: float) -> int:
    """Which frame a camera in real time makes next: `number`, or the newest if that one would be more than one period
    late. The frames between are dropped."""
    behind_s = now_s - (time_ns(number, rate_hz) / NS + latency_s)
    return max(number, newest) if behind_s > 1.0 / rate_hz else number
