"""Verdict of a fleet: each part is evaluated as if alone, then all of them together.

In summary.json the numbers of a part are under `aircraft`, and again among those of the fleet, prefixed by the part's
name: `wing/flown_s`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from aeroloop.analysis import checks
from aeroloop.analysis.collisions import aircraft_names
from aeroloop.analysis.summary import EVENTS_SHOWN, json_safe, summarise, versions
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK, ConfigError
from aeroloop.core.fleet import AIRCRAFT, Fleet, Plan, part_key, prefix
from aeroloop.recording.log import Log, log_sha256, part_of

Summary = Mapping[str, Any]
ONCE = ("versions",)
"""Keys of a summary that are the same for all parts."""


def logs(fleet: Fleet, log: Log) -> list[Log]:
    """The summary of each part, as if it had flown alone."""
    return [part_of(log, prefix(fleet, part)) for part in fleet.parts]


def verify(plan: Plan) -> None:
    """Refuse a check of an unknown metric before the flight, not after it."""
    if not isinstance(plan, Fleet):
        checks.verify(plan)
        return
    for part in plan.parts:
        try:
            checks.verify(part)
        except ConfigError as error:
            raise ConfigError(f"{part_key(plan, part)}.{error}") from None


def summarise_fleet(fleet: Fleet, log: Log, *, outcome: Mapping[str, Any]) -> dict[str, Any]:
    """As `summary.summarise`, with the summary of each part under `aircraft`."""
    aircraft = aircraft_names(fleet)
    of_parts = [
        summarise(part, own, outcome=outcome, aircraft=aircraft)
        for part, own in zip(fleet.parts, logs(fleet, log), strict=True)
    ]
    exit_code = outcome["exit_code"]
    if exit_code == EXIT_OK and not all(summary["ok"] for summary in of_parts):
        exit_code = EXIT_CHECK_FAILED
    events = sorted(
        (
            {**event, "source": f"{summary['scenario']}/{event['source']}"}
            for summary in of_parts
            for event in summary["events"]
        ),
        key=lambda event: float(event["t_s"]),
    )
    flown_s, wall_s = _most(of_parts, "flown_s"), outcome["wall_s"]
    summary = {
        "scenario": fleet.name,
        "loop": fleet.loop,
        "pace": fleet.pace,
        "seed": fleet.seed,
        "duration_s": fleet.duration_s,
        "real_time_factor": flown_s / wall_s if wall_s > 0 else math.nan,
        "ok": exit_code == EXIT_OK,
        "exit_code": exit_code,
        "ended": outcome["ended"],
        "error": outcome["error"],
        "checks": [
            {**check, "name": f"{summary['scenario']}/{check['name']}"}
            for summary in of_parts
            for check in summary["checks"]
        ],
        "metrics": {
            "flown_s": flown_s,
            "deadlines_missed": _most(of_parts, "deadlines_missed"),
            "log_lost_rows": _most(of_parts, "log_lost_rows"),
            **_prefixed(of_parts, "metrics"),
        },
        "timing": {"missed_deadlines": max((_missed(summary) for summary in of_parts), default=0)},
        "links": _prefixed(of_parts, "links"),
        "events": events[:EVENTS_SHOWN],
        "events_total": sum(summary["events_total"] for summary in of_parts),
        "log_sha256": log_sha256(log),
        "log_truncated": log.truncated,
        "versions": versions(log),
        AIRCRAFT: [
            {"name": part.name, "kind": part.kind, "controller": part.flown_by.name, "vehicles": part.aircraft.count}
            | {key: value for key, value in own.items() if key not in ONCE}
            for part, own in zip(fleet.parts, of_parts, strict=True)
        ],
    }
    safe: dict[str, Any] = json_safe(summary)
    return safe


def _most(summaries: Sequence[Summary], metric: str) -> float:
    """The largest of the parts that have it."""
    found = [summary["metrics"].get(metric) for summary in summaries]
    return max((value for value in found if value is not None), default=0.0)


def _missed(summary: Summary) -> int:
    return int(summary["timing"]["missed_deadlines"] or 0)


def _prefixed(summaries: Sequence[Summary], key: str) -> dict[str, Any]:
    return {f"{summary['scenario']}/{name}": value for summary in summaries for name, value in summary[key].items()}


def of_part(summary: Summary, index: int) -> dict[str, Any]:
    """A part's summary, as it would be alone."""
    return {**summary[AIRCRAFT][index], **{key: summary[key] for key in ONCE}}
