"""`python -m benchmarks [NAME ...] [--json FILE] [--markdown FILE] [--quick]`, from the root of the repository."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import (
    ardupilot_json,
    batch,
    batch_report,
    bench_step,
    camera_timing,
    campaign_flight,
    campaign_report,
    campaign_spirals,
    codec,
    dashboard_timing,
    dataflash_rows,
    effects,
    emulated_board,
    flight,
    hil_router,
    hil_simulator,
    inline,
    log_fit,
    markdown,
    mppi,
    nmpc,
    pairs,
    planning,
    plant_step,
    pose_cost,
    pty_answer,
    quad_tick,
    router,
    router_soak,
    schedulers,
    selector,
    slam_frame,
    start_up,
    stitches,
    thesis_tables,
    topics,
    vehicle_step,
    video,
    world_objects,
)
from benchmarks.measure import Outcome, Row, Spread

BENCHMARKS: dict[str, Callable[[bool], Outcome]] = {
    "flight": flight.run,
    "start-up": start_up.run,
    "inline": inline.run,
    "batch-report": batch_report.run,
    "campaign-flight": campaign_flight.run,
    "campaign-report": campaign_report.run,
    "campaign-spirals": campaign_spirals.run,
    "hil-simulator": hil_simulator.run,
    "ardupilot-json": ardupilot_json.run,
    "emulated-board": emulated_board.run,
    "pose-cost": pose_cost.run,
    "plant-step": plant_step.run,
    "selector": selector.run,
    "vehicle-step": vehicle_step.run,
    "effects": effects.run,
    "batch": batch.run,
    "mppi": mppi.run,
    "world-objects": world_objects.run,
    "bench-step": bench_step.run,
    "quad-tick": quad_tick.run,
    "thesis-tables": thesis_tables.run,
    "hil-router": hil_router.run,
    "dashboard-timing": dashboard_timing.run,
    "camera-timing": camera_timing.run,
    "video": video.run,
    "pty-answer": pty_answer.run,
    "codec": codec.run,
    "dataflash-rows": dataflash_rows.run,
    "log-fit": log_fit.run,
    "slam-frame": slam_frame.run,
    "topics": topics.run,
    "nmpc": nmpc.run,
    "planning": planning.run,
    "schedulers": schedulers.run,
    "pairs": pairs.run,
    "stitches": stitches.run,
    "router": router.run,
    "router-soak": router_soak.run,
}
BUSY_LOAD = 0.5
"""Load average per core above which somebody else's work is in the numbers."""

FILE_WIDTH = 150
"""Columns of the table when it does not go to a terminal."""


def main() -> None:
    options = _options()
    load_before = os.getloadavg()[0]
    outcomes: dict[str, Outcome] = {}
    screen = Console(width=None if sys.stdout.isatty() else FILE_WIDTH)
    for name in options.names or BENCHMARKS:
        outcomes[name] = BENCHMARKS[name](options.quick)
        screen.print(_table(name, outcomes[name].rows))
        for note in outcomes[name].notes:
            screen.print(f"note: {note}", highlight=False, markup=False)
    if load_before > BUSY_LOAD * (os.cpu_count() or 1):
        screen.print(f"note: the machine was busy before the first benchmark (load {load_before:.2f})", highlight=False)
    if options.json:
        options.json.write_text(json.dumps(_document(outcomes, options.quick, load_before), indent=2) + "\n")
    if options.markdown:
        options.markdown.write_text(markdown.document(outcomes), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; by default all")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every number to FILE")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="also write tables and notes to FILE, to be pasted"
    )
    parser.add_argument("--quick", action="store_true", help="as little as shows that it works: no numbers to quote")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; expected one of {', '.join(BENCHMARKS)}")
    if options.json and not options.json.parent.is_dir():
        parser.error(f"--json {options.json}: the folder {options.json.parent} does not exist")
    if options.markdown and not options.markdown.parent.is_dir():
        parser.error(f"--markdown {options.markdown}: the folder {options.markdown.parent} does not exist")
    return options


def _table(name: str, rows: list[Row]) -> Table:
    table = Table(
        "what", "value", "peer", "ratio", "aim", "met?", title=name, title_justify="left", header_style="bold"
    )
    for row in rows:
        met = {True: "[green]yes[/]", False: "[red]NO[/]", None: ""}[row.met]
        peer = f"{row.peer_name}: {_number(row.peer)} {row.unit}"
        table.add_row(
            row.what, f"{_number(row.value)} {row.unit}", peer, _number(row.ratio), markdown.bound(row.aim), met
        )
    return table


def _number(of: Spread) -> str:
    """With the rounds' range dimmed."""
    text, bracket, rounds = markdown.number(of).partition(" (")
    return f"{text} [dim]({rounds}[/]" if bracket else text


def _document(outcomes: dict[str, Outcome], quick: bool, load_before: float) -> dict[str, Any]:
    return {
        "quick": quick,
        "machine": {
            "cores": os.cpu_count(),
            "architecture": platform.machine(),
            "python": platform.python_version(),
            "load_before": load_before,
        },
        "benchmarks": {
            name: {
                "rows": [{**dataclasses.asdict(row), "met": row.met} for row in outcome.rows],
                "notes": outcome.notes,
            }
            for name, outcome in outcomes.items()
        },
    }


if __name__ == "__main__":
    main()
