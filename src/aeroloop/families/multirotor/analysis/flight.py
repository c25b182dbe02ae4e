"""One vehicle's part of a log: where it was, what it wanted, what it believed, and when that counts.

Truth is logged more often than anything that the autopilot says, so it is interpolated to the autopilot's times.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from aeroloop.analysis.statistics import Array
from aeroloop.analysis.track import POSITION, QUATERNION, euler_rad
from aeroloop.analysis.vehicle_log import VehicleLog
from aeroloop.controllers.pixhawk.seam import FlightMode
from aeroloop.families.multirotor.streams import MOST_ROTORS
from aeroloop.recording.log import Log

Flags = NDArray[np.bool_]

AIRBORNE_M = 0.1
"""An aircraft whose height over ground is so much more than at its start is in the air."""

MANUAL = (FlightMode.MANUAL, FlightMode.ALTITUDE, FlightMode.POSITION)
MISSION = (FlightMode.TAKEOFF, FlightMode.HOLD, FlightMode.MISSION, FlightMode.RETURN)
MODE_CLASSES: dict[str, tuple[FlightMode, ...]] = {"manual": MANUAL, "mission": MISSION}
"""The modes that the thesis tells apart: flown by hand, and by itself."""

COMMANDS = tuple(f"command_{i}" for i in range(1, MOST_ROTORS + 1))
SPEEDS = tuple(f"speed_{i}_rad_s" for i in range(1, MOST_ROTORS + 1))


class Flight(VehicleLog):
    """Signals of one vehicle."""

    @cached_property
    def t_s(self) -> Array:
        return self.column("truth", "t_s")

    @cached_property
    def pos_W(self) -> Array:
        return self.columns("truth", POSITION)

    @cached_property
    def quat_WB(self) -> Array:
        """Of the two quaternions of each attitude the one near its predecessor, so that they can be interpolated."""
        return _without_flips(self.columns("truth", QUATERNION))

    @cached_property
    def attitude_rad(self) -> Array:
        return euler_rad(self.quat_WB)

    @cached_property
    def height_m(self) -> Array:
        """Above where it started."""
        return self.pos_W[:, 2] - self.pos_W[:1, 2]

    @property
    def has_autopilot(self) -> bool:
        """Whether the autopilot says what it does; one from outside keeps that to itself."""
        return len(self.rows("autopilot_state")) > 0

    def known(self, t_s: Array) -> Flags:
        """Which of these times the truth covers."""
        if not self.t_s.size:
            return np.zeros(len(t_s), dtype=bool)
        return np.asarray((t_s >= self.t_s[0]) & (t_s <= self.t_s[-1]))

    def position_at(self, t_s: Array) -> Array:
        return _interpolated(t_s, self.t_s, self.pos_W)

    def ground_at(self, t_s: Array) -> Array:
        """Height of the ground below it."""
        told_s = self.column("air", "t_s")
        return np.interp(t_s, told_s, self.column("air", "ground_m")) if told_s.size else np.zeros(len(t_s))

    def attitude_at(self, t_s: Array) -> Array:
        """Quaternions; between two samples of truth a straight line is as good as the great circle."""
        between = _interpolated(t_s, self.t_s, self.quat_WB)
        return np.asarray(between / np.linalg.norm(between, axis=1, keepdims=True))

    def state_at(self, field: str, t_s: Array) -> Array:
        """A field of `autopilot_state` as it stood at each time; NaN before the first."""
        told_s, values = self.column("autopilot_state", "t_s"), self.column("autopilot_state", field)
        index = np.searchsorted(told_s, t_s, side="right") - 1
        if not values.size:
            return np.full(len(t_s), np.nan)
        return np.where(index >= 0, values[index], np.nan)

    def airborne(self, t_s: Array) -> Flags:
        """In the air, and not known to be disarmed: after a landing on a roof the flight is over."""
        if not self.t_s.size:
            return np.zeros(len(t_s), dtype=bool)
        ground_m = self.ground_at(t_s) - self.ground_at(self.t_s[:1])
        low = np.interp(t_s, self.t_s, self.height_m) - ground_m <= AIRBORNE_M  # a height that is no number is not low
        return np.asarray(~low & (self.state_at("armed", t_s) != 0))

    def in_modes(self, modes: Sequence[FlightMode], t_s: Array) -> Flags:
        return np.isin(self.state_at("mode", t_s), [float(mode) for mode in modes])

    @cached_property
    def rotors(self) -> int:
        """How many motors are commanded; a rotor that is not there has NaN."""
        return int(np.count_nonzero(np.isfinite(self.columns("command", COMMANDS)).any(axis=0)))


def flights(log: Log, count: int) -> list[Flight]:
    return [Flight(log, number) for number in range(count)]


def angle_between_rad(one: Array, another: Array) -> Array:
    """The single turn that takes one attitude into the other."""
    alike = np.abs(np.sum(one * another, axis=1))
    return np.asarray(2 * np.arccos(np.clip(alike, 0, 1)))


def _interpolated(t_s: Array, known_s: Array, values: Array) -> Array:
    """Every column of `values` (n, k) at other times."""
    if not known_s.size:
        return np.full((len(t_s), values.shape[1]), np.nan)
    return np.stack([np.interp(t_s, known_s, column) for column in values.T], axis=1)


def _without_flips(quat: Array) -> Array:
    flips = np.sum(quat[1:] * quat[:-1], axis=1) < 0
    signs = np.concatenate([np.ones(min(len(quat), 1)), np.cumprod(np.where(flips, -1.0, 1.0))])
    return np.asarray(quat * signs[:, None])
