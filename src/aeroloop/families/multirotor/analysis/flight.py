"""One vehicle's part of a log: truth, setpoint, estimate, and when these are valid."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from aeroloop.analysis.autopilot_log import AutopilotLog
from aeroloop.analysis.statistics import Array
from aeroloop.analysis.truth_log import Flags
from aeroloop.controllers.pixhawk.types import FlightMode
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.families.multirotor.streams import MOST_ROTORS
from aeroloop.recording.log import Log

AIRBORNE_M = 0.1
"""An aircraft whose height over ground is so much more than at its start is in the air."""

MANUAL = (FlightMode.MANUAL, FlightMode.ALTITUDE, FlightMode.POSITION)
MISSION = (FlightMode.TAKEOFF, FlightMode.HOLD, FlightMode.MISSION, FlightMode.RETURN, FlightMode.OFFBOARD)
MODE_CLASSES: dict[str, tuple[FlightMode, ...]] = {"manual": MANUAL, "mission": MISSION}
"""The modes that the thesis distinguishes: manual and automatic."""

COMMANDS = tuple(f"command_{i}" for i in range(1, MOST_ROTORS + 1))
SPEEDS = tuple(f"speed_{i}_rad_s" for i in range(1, MOST_ROTORS + 1))


class Flight(AutopilotLog):
    """Signals of one vehicle; `released_s`: when its stand let go of it, None if it started on the ground."""

    def __init__(self, log: Log, number: int, released_s: float | None = None) -> None:
        super().__init__(log, number)
        self._released_s = released_s

    @cached_property
    def height_m(self) -> Array:
        """Above its start."""
        return self.pos_W[:, 2] - self.pos_W[:1, 2]

    def airborne(self, t_s: Array) -> Flags:
        """In the air, and not known to be disarmed: after a landing on a roof the flight is over."""
        if not self.t_s.size:
            return np.zeros(len(t_s), dtype=bool)
        if self._released_s is not None:
            low = np.interp(t_s, self.t_s, self.pos_W[:, 2]) - self.ground_at(t_s) <= AIRBORNE_M
            return np.asarray(~low & (t_s > self._released_s))
        ground_m = self.ground_at(t_s) - self.ground_at(self.t_s[:1])
        low = np.interp(t_s, self.t_s, self.height_m) - ground_m <= AIRBORNE_M  # a height that is no number is not low
        return np.asarray(~low & (self.state_at("armed", t_s) != 0))

    def in_modes(self, modes: Sequence[FlightMode], t_s: Array) -> Flags:
        return np.isin(self.state_at("mode", t_s), [float(mode) for mode in modes])

    @cached_property
    def rotors(self) -> int:
        """How many motors are commanded; a rotor that is not there has NaN."""
        return int(np.count_nonzero(np.isfinite(self.columns("command", COMMANDS)).any(axis=0)))


def flights(log: Log, scenario: QuadrotorScenario) -> list[Flight]:
    stand = scenario.aircraft.world.stand
    released_s = stand.until_s if stand is not None else None
    return [Flight(log, number, released_s) for number in range(scenario.aircraft.vehicle.count)]
