"""The section of a free body's report: its state at chosen times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aeroloop.analysis.generic_sections import sections as all_signals
from aeroloop.analysis.section import Column, Section, Table
from aeroloop.families.freebody.analysis import metric_name
from aeroloop.families.freebody.scenario import FreeBodyScenario
from aeroloop.families.freebody.streams import GEODETIC
from aeroloop.recording.log import Log


def sections(scenario: FreeBodyScenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    times_s, found = scenario.aircraft.metrics_at_s, summary["metrics"]
    rows = [
        (meaning, *(_number(found[metric_name(column, time_s)]) for time_s in times_s), unit)
        for column, unit, meaning in GEODETIC
    ]
    columns = [Column("", "text"), *(Column(f"at {time_s:g} s") for time_s in times_s), Column("unit", "text")]
    return [Section("states", "State at chosen times", [Table(columns, rows)]), *all_signals(scenario, log, summary)]


def _number(value: float | None) -> str:
    return "not reached" if value is None else f"{value:.9g}"
