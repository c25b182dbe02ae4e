"""Metrics of a free body: its state at chosen times, and its trim."""

from __future__ import annotations

import math

import numpy as np

from aeroloop.analysis import generic
from aeroloop.analysis.family import Analysis
from aeroloop.families.freebody.initial import initial
from aeroloop.families.freebody.scenario import FreeBodyScenario
from aeroloop.families.freebody.streams import GEODETIC
from aeroloop.recording.log import Log


def metric_name(column: str, time_s: float) -> str:
    """`height_m` at 10 s is `height_10s_m`: the unit stays last."""
    for unit in ("_deg_s", "_m_s", "_deg", "_m"):
        if column.endswith(unit):
            return f"{column.removesuffix(unit)}_{time_s:g}s{unit}"
    raise ValueError(column)


def metrics(log: Log, scenario: FreeBodyScenario) -> dict[str, float]:
    found = generic.metrics(log, scenario)
    t_s, half_s = log.column("geodetic", "t_s"), scenario.aircraft.world.step_s / 2
    for time_s in scenario.aircraft.metrics_at_s:
        at = np.flatnonzero(np.abs(t_s - time_s) < half_s)
        for column, *_ in GEODETIC:
            value = float(log.column("geodetic", column)[at[0]]) if at.size else math.nan
            found[metric_name(column, time_s)] = value
    if scenario.aircraft.start.trim:
        begins = initial(scenario.aircraft)
        found["trim_pitch_deg"] = begins.pitch_deg
        found["trim_elevator_deg"] = begins.controls.elevator_deg
        found["trim_power_percent"] = begins.controls.power_percent
    return found


ANALYSIS = Analysis[FreeBodyScenario](metrics=metrics)
