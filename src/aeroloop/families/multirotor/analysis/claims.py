"""What is left of the quadrotor thesis' numbers, beside a flight with its sensors: rates, and noise of IMU and GPS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aeroloop.analysis.page import NOT_MEASURED, number
from aeroloop.analysis.section import Column, Note, Section, Table
from aeroloop.families.multirotor.scenario import QuadrotorScenario

COLUMNS = (Column("", "name"), Column("Thesis", "text"), Column("This flight", "text"))
RATES = {"IMU": 500.0, "GNSS": 5.0}
"""Section 3.2 of the thesis, Hz."""
PRESET = "thesis"
NOTE = (
    "The text that we have of the thesis lacks the numbers of Tables 3.3 to 3.5 and all results: the tables of this "
    "report have our own numbers alone. docs/papers.md has every table and figure."
)


def sections(scenario: QuadrotorScenario, summary: Mapping[str, Any]) -> list[Section]:
    """Empty unless an autopilot flew over MAVLink with the thesis' sensors."""
    if scenario.aircraft.sensors.preset != PRESET or scenario.flown_by.tells:
        return []
    rows = [(f"{signal} at the plant", f"{hz:g} Hz", _measured(summary, signal)) for signal, hz in RATES.items()]
    rows += [(name, "lost", "table below") for name in ("Rates at both ends", "RMS tracking error")]
    return [Section("paper", "Comparison with the thesis", [Table(COLUMNS, rows), Note(NOTE)])]


def _measured(summary: Mapping[str, Any], signal: str) -> str:
    found = [rate for rate in summary["rates"] if (rate["signal"], rate["at"]) == (signal, "plant")]
    if not found or found[0]["measured_hz"] is None:
        return NOT_MEASURED
    return f"set {number(found[0]['set_hz'])} Hz, measured {number(found[0]['measured_hz'], digits=5)} Hz"
