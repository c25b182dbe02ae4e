"""What `aeroloop fly` prints of a flight that has ended, and its verdict as JUnit XML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from aeroloop.cli.console import Screen, plain
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import AIRCRAFT

RUNGS = {
    "mil": "the law as a model in Python",
    "sil": "the law as C on this host",
    "pil": "the firmware on an emulated Cortex-M4",
    "hil": "an external board or autopilot",
}

INCIDENTS = (
    *("law_not_finite", "implausible_commands", "implausible_sensors", "sensor_losses", "safe_commands"),
    *("references_lost", "late_cycles", "overruns", "board_restarts", "board_messages_lost", "log_lost_rows"),
    *("failsafes", "rotors_lost", "autopilot_losses", "autopilot_restarts", "actuators_refused", "commands_refused"),
    "landing_targets_refused",
)
"""Metrics that count incidents; each is printed once."""


def write_junit(path: Path, summary: Mapping[str, Any]) -> None:
    from aeroloop.analysis.summary import junit_xml

    try:
        path.write_text(junit_xml(summary), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--junit {path}: cannot be written: {error.strerror}") from None


def show(summary: Mapping[str, Any], folder: Path, report: Path | None) -> None:
    from aeroloop.analysis.checks import digits

    screen = Screen()
    table = Table("check", "value", "limit", "", header_style="bold")
    for check in summary["checks"]:
        value = "not measured" if check["value"] is None else f"{check['value']:.{digits(check['limit'], 4)}g}"
        table.add_row(check["name"], value, check["limit"], "[green]pass[/]" if check["ok"] else "[red]FAIL[/]")
    screen.print(table)
    told = {check["name"] for check in summary["checks"]}
    counts = {name: count for name, count in summary["metrics"].items() if _incident(name) and name not in told}
    incidents = ", ".join(f"{name} {count:g}" for name, count in counts.items() if count)
    if incidents:
        screen.print(f"[yellow]incidents in flight[/]: {incidents}", highlight=False, soft_wrap=True)
    for own in summary.get(AIRCRAFT, [summary]):
        failed = [plan for plan in own.get("plans", ()) if plan["why"]]
        if not failed:
            continue
        words = f"{len(failed)} of {len(own['plans'])} plans failed; last reason: {failed[-1]['why']}"
        screen.print(f"[yellow]{words}[/]", highlight=False, soft_wrap=True)
    verdict = "[green]passed[/]" if summary["ok"] else f"[red]{'failed' if summary['exit_code'] == 1 else 'aborted'}[/]"
    factor = summary["real_time_factor"]
    speed = f", {factor:.1f} times real time" if factor else ""
    rung = f"rung {summary['loop']} ({', '.join(RUNGS[rung] for rung in summary['loop'].split('+'))})"
    screen.print(
        f"{summary['scenario']} on {rung}: {verdict} ({summary['ended']}{speed})", highlight=False, soft_wrap=True
    )
    missed = summary["timing"]["missed_deadlines"]
    if missed:
        deadlines = "deadline" if missed == 1 else "deadlines"
        screen.print(f"[yellow]{missed} {deadlines} missed[/]: this machine was too slow at times")
    where = report or f"{folder} (no report yet: aeroloop report {folder})"
    screen.print(f"{'report' if report else 'run'}: {plain(str(where))}", highlight=False, soft_wrap=True)


def _incident(metric: str) -> bool:
    """A metric name, also of a fleet's part: `wing/log_lost_rows`."""
    return metric.rpartition("/")[2] in INCIDENTS
