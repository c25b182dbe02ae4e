"""The sections of every flight's report, from its summary.json."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from aeroloop.analysis.checks import digits
from aeroloop.analysis.page import number, verdict
from aeroloop.analysis.section import Block, Column, Facts, Listing, Note, Section, Table, Text, bold, check_grade, code
from aeroloop.analysis.statistics import FAULT_SWITCHED
from aeroloop.core.fleet import Plan
from aeroloop.core.scenario import Scenario

Summary = Mapping[str, Any]

VERDICT = "verdict"
FAULTS_SHOWN = 8
STATISTICS = {"mean": "Mean", "p50": "p50", "p95": "p95", "p99": "p99", "p99_9": "p99.9", "max": "Max"}
OF_A_VEHICLE = re.compile(r"v(\d+)_")
"""Prefix of metrics of one of several vehicles."""


def verdict_section(summary: Summary) -> Section:
    checks, metrics = summary["checks"], summary["metrics"]
    passed = sum(check["ok"] for check in checks)
    blocks = [Text(f"{passed} of {len(checks)} checks passed. Ended: {summary['ended']}.")]
    if summary["error"]:
        blocks.append(Text(bold(summary["error"])))
    if faults := [f"{event['value']} at {number(event['t_s'], digits=6)} s" for event in switched(summary)]:
        more = f" and {len(faults) - FAULTS_SHOWN} more" if len(faults) > FAULTS_SHOWN else ""
        blocks.append(Text(bold("Faults:") + f" {'; '.join(faults[:FAULTS_SHOWN])}{more}."))
    if overruns := metrics.get("overruns"):
        cycles = f"{number(overruns)} {'cycle' if overruns == 1 else 'cycles'}"
        blocks.append(Text(bold("Overruns:") + f" in {cycles} the board's work took longer than its control period."))
    if summary["log_truncated"]:
        blocks.append(Text("The log is truncated: it and everything below end at its last flush."))
    if metrics.get("log_lost_rows"):
        blocks.append(
            Text(
                f"The recorder lost {number(metrics['log_lost_rows'])} rows, which are missing from the numbers below."
            )
        )
    return Section(VERDICT, verdict(summary["exit_code"])[1], blocks)


def switched(summary: Summary) -> list[Mapping[str, Any]]:
    """The faults of a flight, planned or manual, as events."""
    return [event for event in summary["events"] if event["event"] == FAULT_SWITCHED]


def settings(summary: Summary) -> Facts:
    return Facts(
        (
            "loop " + bold(summary["loop"]),
            "pace " + bold(summary["pace"]),
            "seed " + bold(str(summary["seed"])),
            "flown " + bold(f"{number(summary['metrics']['flown_s'])} s") + f" of {number(summary['duration_s'])} s",
            "real-time factor " + bold(number(summary["real_time_factor"], digits=3)),
        )
    )


def checks_section(summary: Summary) -> Section:
    rows = [
        (
            check_grade(check["ok"]),
            code(check["name"]),
            number(check["value"], digits=digits(check["limit"], 5)),
            check["limit"],
        )
        for check in summary["checks"]
    ]
    columns = (Column("Result", "text"), Column("Metric", "name"), Column("Value"), Column("Limit"))
    return Section("checks", "Checks", [Table(columns, rows)])


def timing_section(scenario: Scenario, summary: Summary) -> Section:
    timing = summary["timing"]
    clock = (
        "Lockstep: these times show the speed of the host, not real-time pacing."
        if scenario.lockstep
        else f"Wall clock; {number(timing['missed_deadlines'])} deadlines missed."
    )
    measured = {name: row for name, row in timing.items() if isinstance(row, Mapping) and "mean" in row}
    columns = (Column("Measurement", "name"), Column("Count"), *map(Column, STATISTICS.values()))
    rows = [
        (_words(name.removesuffix("_s")), str(row["count"]), *(number(row[key], scale=1000) for key in STATISTICS))
        for name, row in measured.items()
    ]
    return Section("timing", "Timing of the loop", [Note(f"{clock} All in milliseconds."), Table(columns, rows)])


def links_section(summary: Summary) -> Section:
    links: Mapping[str, Mapping[str, int] | None] = summary["links"]
    counters = dict.fromkeys(name for link in links.values() for name in link or ())
    rows = [
        (_words(name), *(str(link[name]) if link and name in link else "–" for link in links.values()))
        for name in counters
    ]
    table = Table((Column("Counter", "name"), *(Column(_words(name)) for name in links)), rows)
    return Section("links", "Link counters", [table if rows else Note("No link was counted.")])


def events_section(summary: Summary, names: Mapping[str, type[IntEnum]]) -> Section:
    """`names`: of the events whose value is a number in an enumeration."""
    events, total = summary["events"], summary["events_total"]
    if not events:
        return Section("events", "Events", [Note("No events.")])
    several = bool(vehicles(summary))
    rows = [
        (
            number(event["t_s"], digits=6),
            event["source"] + (f" of vehicle {event['vehicle']}" if several and "vehicle" in event else ""),
            _words(event["event"]),
            value_words(event, names),
        )
        for event in events
    ]
    columns = (Column("Time (s)"), Column("Where", "text"), Column("Event", "text"), Column("Value"))
    cut = [Note(f"The first {len(events)} of {total}.")] if total > len(events) else []
    return Section("events", "Events", [*cut, Table(columns, rows)])


def value_words(event: Mapping[str, Any], names: Mapping[str, type[IntEnum]]) -> str:
    """The value of an event, by name if it has one."""
    value, kind = event["value"], names.get(event["event"])
    if isinstance(value, str):
        return value
    return _words(kind(int(value)).name) if kind and value in list(kind) else number(value)


def metrics_section(summary: Summary) -> Section:
    """If there are several vehicles, each has a column, beside the worst of them."""
    metrics: Mapping[str, float | None] = summary["metrics"]
    own = vehicles(summary)
    rows = [
        (code(name), number(value, digits=5), *(_own_number(metrics, f"v{vehicle}_{name}") for vehicle in own))
        for name, value in metrics.items()
        if not OF_A_VEHICLE.match(name)
    ]
    columns = (
        Column("Metric", "name"),
        Column("Worst" if own else "Value"),
        *(Column(f"v{vehicle}") for vehicle in own),
    )
    order = [Note("The worst value of all vehicles first, then the value of each.")] if own else []
    return Section("metrics", "All metrics", [*order, Table(columns, rows)])


def reproduce_section(plan: Plan, summary: Summary) -> Section:
    command = "aeroloop fly scenario.toml"
    if isinstance(plan, Scenario):
        command += f" --loop {summary['loop']} --pace {summary['pace']} --seed {summary['seed']}"
    blocks: list[Block] = [
        Text("In the folder of this report, whose " + code("scenario.toml") + " holds every setting:"),
        Listing(command),
    ]
    if plan.lockstep:
        blocks.append(Note("In lockstep the same versions give the same log hash."))
    blocks += [
        Note("Log hash (SHA-256 of the simulated streams): " + code(summary["log_sha256"])),
        Note(", ".join(f"{name} {version}" for name, version in summary["versions"].items())),
    ]
    return Section("reproduce", "Reproduce this flight", blocks)


def vehicles(summary: Summary) -> list[int]:
    """The numbers of the aircraft that flew; empty if there was only one."""
    found = (OF_A_VEHICLE.match(name) for name in summary["metrics"])
    return sorted({int(match[1]) for match in found if match})


def _own_number(metrics: Mapping[str, float | None], name: str) -> str:
    return number(metrics[name], digits=5) if name in metrics else "–"


def _words(name: str) -> str:
    return name.replace("_", " ").lower()
