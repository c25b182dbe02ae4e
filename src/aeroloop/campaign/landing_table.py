"""The results of many landings as Markdown, CSV, JSON and a page with the touchdowns.

tables.md       statistics and checks       landings.csv   every landing
summary.json    the same for scripts        report.html    with a picture
flights/        the runs
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from aeroloop.analysis import page as pages
from aeroloop.analysis.section import Block, Column, Facts, Figures, Note, Section, Table, Text, check_grade
from aeroloop.analysis.summary import json_safe, versions
from aeroloop.campaign.landings import METRICS, Flown, Statistics, checks, statistics
from aeroloop.campaign.results import Check
from aeroloop.campaign.tables import shown
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK, ConfigError, not_written
from aeroloop.flight.results import REPORT, SUMMARY, as_text

TABLES, CSV, FLIGHTS = "tables.md", "landings.csv", "flights"
COLUMNS = ("", "rms (cm)", "median", "p95", "worst", "touchdown (s)", "landed")
DRAWN = (
    "Of the seed depend all noise of the sensors, the GNSS error of the scenario, the turbulence, the direction of the "
    "steady wind (any, its speed is the scenario's) and the place of the last waypoint (1.2 m rms). Every flight "
    "lands at the coordinates of the pad; touchdown: mean simulated time."
)


@dataclass(frozen=True)
class Landings:
    scenario: str
    flights: Sequence[Flown]

    @cached_property
    def rows(self) -> list[Statistics]:
        return [statistics(use, self.flights) for use in dict.fromkeys(flight.use for flight in self.flights)]

    @cached_property
    def checks(self) -> list[Check]:
        return checks(self.rows)

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)

    @property
    def summary(self) -> dict[str, Any]:
        told: dict[str, Any] = json_safe(
            {
                "ok": self.ok,
                "scenario": self.scenario,
                "statistics": [asdict(row) for row in self.rows],
                "checks": [
                    {"name": one.name, "value": one.value, "limit": one.limit, "ok": one.ok} for one in self.checks
                ],
                "flights": [asdict(flight) for flight in self.flights],
                "versions": versions(),
            }
        )
        return told


def read(folder: Path) -> Landings:
    """Judge what a folder holds again."""
    path = folder / SUMMARY
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return Landings(str(told["scenario"]), [_flown(one) for one in told["flights"]])
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}; expected a folder of landings") from None
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"{path}: expected the summary that landings writes") from None


def _flown(one: dict[str, Any]) -> Flown:
    east_m, north_m = one["start_m"]
    numbers = {name: math.nan if one["numbers"][name] is None else float(one["numbers"][name]) for name in METRICS}
    start_m = float(east_m), float(north_m)
    return Flown(str(one["use"]), int(one["seed"]), str(one["ended"]), float(one["wind_deg"]), start_m, numbers)


def write(folder: Path, landings: Landings) -> Path:
    """Returns the report's path."""
    texts = {TABLES: markdown(landings), SUMMARY: as_text(landings.summary), CSV: csv_text(landings)}
    for name, text in texts.items():
        try:
            (folder / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise not_written(folder / name, error) from None
    report = folder / REPORT
    pages.write(report, render(landings), "report")
    return report


def cells(row: Statistics) -> tuple[str, ...]:
    """A row under COLUMNS."""
    numbers = (row.rms_cm, row.median_cm, row.p95_cm, row.worst_cm, row.touchdown_s)
    return row.use, *(shown(value) for value in numbers), f"{row.landed}/{row.flights}"


def markdown(landings: Landings) -> str:
    lines = [f"# Landings of {landings.scenario}", "", f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(cells(row))} |" for row in landings.rows]
    lines += ["", DRAWN, "", "| check | value | limit | |", "|---|---|---|---|"]
    for check in landings.checks:
        word = "passed" if check.ok else "failed"
        lines.append(f"| {check.name} | {shown(check.value)} | {check.limit} | {word} |")
    return "\n".join([*lines, ""])


def csv_text(landings: Landings) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["use", "seed", "ended", "off_m", *METRICS, "wind_deg", "start_east_m", "start_north_m"])
    for one in landings.flights:
        numbers = (one.off_m, *(one.numbers[name] for name in METRICS), one.wind_deg, *one.start_m)
        told = ("" if math.isnan(value) else f"{value:.6g}" for value in numbers)
        writer.writerow([one.use, one.seed, one.ended, *told])
    return out.getvalue()


def render(landings: Landings) -> str:
    from aeroloop.campaign.landing_plots import touchdowns  # drawing is slow to import

    failed = [check for check in landings.checks if not check.ok]
    style, word = pages.verdict(EXIT_CHECK_FAILED if failed else EXIT_OK)
    passed = f"{len(landings.checks) - len(failed)} of {len(landings.checks)} checks passed"
    verdict: list[Block] = [Text(f"{word}. {passed}. {len(landings.flights)} flights.")]
    if failed:
        verdict.append(Facts([f"{check.name} is {shown(check.value)}, expected {check.limit}." for check in failed]))
    statistic = Table([Column(COLUMNS[0], "name"), *map(Column, COLUMNS[1:])], [cells(row) for row in landings.rows])
    names = [Column("check", "name"), Column("value"), Column("limit", "text"), Column("", "text")]
    judged = [(check.name, shown(check.value), check.limit, check_grade(check.ok)) for check in landings.checks]
    return pages.render(
        pages.Document(
            title=f"Landings of {landings.scenario}",
            heading=f"Landings of {landings.scenario}",
            subtitle="Where the aircraft touched down, with many seeds.",
            style=style,
            verdict=Section("verdict", "", verdict),
            sections=[
                Section("statistics", "Distance from the pad's middle", [statistic, Note(DRAWN)]),
                Section("touchdowns", "Touchdowns", [Figures(touchdowns(landings.flights))]),
                Section("checks", "Checks", [Table(names, judged)]),
                Section("flights", "Flights", [_flights(landings)]),
            ],
        )
    )


def _flights(landings: Landings) -> Table:
    names = ("distance (cm)", "east (cm)", "north (cm)", "touchdown (s)", "sideways (m/s)", "seen (%)", "wind to (deg)")
    rows = []
    for one in landings.flights:
        of = one.numbers
        values = (100 * one.off_m, 100 * of["east_m"], 100 * of["north_m"], of["touchdown_s"], of["speed_m_s"])
        rows.append(
            (one.use, str(one.seed), *(shown(value) for value in (*values, of["seen_pct"], one.wind_deg)), one.ended)
        )
    columns = [Column("", "name"), Column("seed"), *map(Column, names), Column("ended", "text")]
    return Table(columns, rows)
