"""Measured rate of each signal beside the configured one: the thesis' Tables 3.3 and 3.4.

Over wall time; in lockstep, where wall time has no meaning, over simulated time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from aeroloop.analysis.statistics import Array
from aeroloop.core.signals import LINK_SIGNALS
from aeroloop.families.multirotor.analysis.flight import Flight, flights
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.recording.log import Log

COUNTED_AT = {"plant": "signal_count", "autopilot": "telemetry_count"}
CLOCKS = {
    "wall": "Measured over wall time.",
    "simulated": "Lockstep: measured over simulated time, since wall time has no meaning there.",
}


@dataclass(frozen=True)
class Rate:
    signal: str
    at: str  # plant or autopilot
    vehicle: int
    set_hz: float  # NaN: irregular
    measured_hz: float

    @property
    def ratio_error_pct(self) -> float:
        return round(100 * abs(self.measured_hz - self.set_hz) / self.set_hz, 9)  # rounding of a division is no error

    def row(self) -> dict[str, Any]:
        return {
            "signal": self.signal,
            "at": self.at,
            "vehicle": self.vehicle,
            "set_hz": self.set_hz,
            "measured_hz": self.measured_hz,
            "ratio_error_pct": self.ratio_error_pct,
        }


def clock(scenario: QuadrotorScenario) -> str:
    """Which of the CLOCKS the rates are measured with."""
    return "simulated" if scenario.lockstep else "wall"


def clock_words(scenario: QuadrotorScenario) -> str:
    scaled = "" if scenario.speed == 1 else f" Rates are per simulated second: a wall second has {scenario.speed:g}."
    return CLOCKS[clock(scenario)] + scaled


def rates(log: Log, scenario: QuadrotorScenario) -> list[Rate]:
    """Of every signal that was counted anywhere."""
    return [
        _rate(flight, at, number, scenario)
        for flight in flights(log, scenario)
        for at, stream in COUNTED_AT.items()
        for number in range(len(LINK_SIGNALS))
        if np.any(flight.column(stream, "count")[flight.column(stream, "signal") == number] > 0)
    ]


def counts(flight: Flight, at: str, signal: int, scenario: QuadrotorScenario) -> tuple[Array, Array]:
    """Times in s on the clock of the rates, and the count then; from the first that counted, since the last start."""
    stream = COUNTED_AT[at]
    of_signal = flight.column(stream, "signal") == signal
    count = flight.column(stream, "count")[of_signal]
    clock_s = flight.column(stream, "t_s" if scenario.lockstep else "wall_s")[of_signal] * (
        1.0 if scenario.lockstep else scenario.speed
    )
    restarts = np.flatnonzero(np.diff(count) < 0) + 1
    begin = restarts[-1] if restarts.size else 0
    counted = count[begin:] > 0
    clock_s, count = clock_s[begin:][counted], count[begin:][counted]
    whole = _whole_stretches(clock_s) if scenario.lockstep else len(clock_s)
    return clock_s[:whole], count[:whole]


def _whole_stretches(t_s: Array) -> int:
    """Simulated time is the row's, not the newest sample's: a last row soon after the one before, from the flight's
    end, would make a slow signal look slower or faster than it was."""
    stretches_s = np.diff(t_s)
    cut_short = len(stretches_s) > 1 and stretches_s[-1] < np.median(stretches_s[:-1]) - 1e-6
    return len(t_s) - int(cut_short)


def _rate(flight: Flight, at: str, signal: int, scenario: QuadrotorScenario) -> Rate:
    clock_s, count = counts(flight, at, signal, scenario)
    stream = COUNTED_AT[at]
    set_hz = flight.column(stream, "set_hz")[flight.column(stream, "signal") == signal][-1]
    lasted_s = clock_s[-1] - clock_s[0] if clock_s.size else 0.0
    measured_hz = (count[-1] - count[0]) / lasted_s if lasted_s > 0 else math.nan
    name = LINK_SIGNALS[signal]
    return Rate(name, at, flight.number, float(set_hz) if set_hz > 0 else math.nan, float(measured_hz))
