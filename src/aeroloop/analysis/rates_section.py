"""Measured message rates beside the configured ones, of one flight or of several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aeroloop.analysis.page import number
from aeroloop.analysis.section import Column, Note, Section, Table

Rate = Mapping[str, Any]  # as in summary.json
TITLE = "Message rates, set and measured (tables 3.3 and 3.4 of the thesis)"


def rates_section(
    note: str, rates: Sequence[tuple[Rate, Sequence[Rate | None]]], runs: Sequence[str] = ("",), *, several: bool
) -> Section:
    """`rates`: signal, where it was counted and for which vehicle, and the measurement of each run."""
    about = Note(note + " Error is 100 |measured − set| / set.")
    if not rates:
        return Section("rates", TITLE, [about, Note("No signal was counted.")])
    columns = [Column("Signal", "name"), Column("Counted at", "text")]
    for run in runs:
        columns += [
            Column(f"{run}: set (Hz)" if run else "Set (Hz)"),
            Column("Measured (Hz)"),
            Column("Ratio error (%)"),
        ]
    rows = [
        (
            rate["signal"],
            rate["at"] + (f", vehicle {rate['vehicle']}" if several else ""),
            *(cell for of_run in measured for cell in _cells(of_run)),
        )
        for rate, measured in rates
    ]
    return Section("rates", TITLE, [about, Table(columns, rows)])


def _cells(rate: Rate | None) -> tuple[str, str, str]:
    if rate is None:
        return "–", "–", "–"
    measured = number(rate["measured_hz"], digits=6)
    if rate["set_hz"] is None:
        return "on event", measured, "–"
    return number(rate["set_hz"]), measured, number(rate["ratio_error_pct"], digits=3)
