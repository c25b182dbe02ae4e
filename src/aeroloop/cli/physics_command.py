"""`aeroloop check-physics`: whether a flight obeyed mechanics, from its log alone."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from aeroloop.cli.console import Screen, plain
from aeroloop.core.errors import EXIT_CHECK_FAILED

if TYPE_CHECKING:
    from aeroloop.analysis.physics import Examined, Finding

EPILOG = (
    "Examples:\n\n"
    "`aeroloop fly quad-hover --set log.balance=true --out runs/hover`\n\n"
    "`aeroloop check-physics runs/hover`\n\n"
    "`aeroloop check-physics runs/hover --within 1e-9 --json`\n\n"
    "Exit codes: 0 every line is within its limit, 1 one is not, 2 the log has no forces."
)


def check_physics(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `aeroloop fly` made, or a flight.mcap.")],
    within: Annotated[
        float | None,
        typer.Option(min=0, metavar="X", help="Limit of every balance, relative to its largest term."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the lines as JSON alone on standard output.")] = False,
) -> None:
    """Check the mechanics of a flight from its log: do forces, moments and energy account for its motion?"""
    from aeroloop.flight.physics_check import check_run

    found = check_run(run, within)
    if as_json:
        typer.echo(json.dumps(as_table(found), indent=2, allow_nan=False))
    else:
        _show(found)
    if not all(each.ok for part in found.values() for each in part if each.findings):
        raise typer.Exit(EXIT_CHECK_FAILED)


def as_table(found: dict[str, list[Examined]]) -> list[dict[str, Any]]:
    return [
        {
            "aircraft": name,
            "vehicle": each.vehicle,
            "steps": each.steps,
            "supported": each.supported,
            "ok": each.ok,
            "lines": [_finite({**asdict(line), "relative": line.relative, "ok": line.ok}) for line in each.findings],
        }
        for name, part in found.items()
        for each in part
    ]


def _finite(line: dict[str, Any]) -> dict[str, Any]:
    """JSON has neither NaN nor infinity."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in line.items()
    }


def _show(found: dict[str, list[Examined]]) -> None:
    screen = Screen()
    for name, part in found.items():
        for each in part:
            whose = " ".join(filter(None, (name, f"vehicle {each.vehicle}" if len(part) > 1 else "")))
            judged = each.steps - each.supported
            head = f"{f'{whose}: ' if whose else ''}{judged} of {each.steps} steps"
            held = f"; ground, stand or catapult held it in {each.supported}" if each.supported else ""
            screen.print(plain(head + held), highlight=False, soft_wrap=True)
            table = Table("", "rms", "largest", "unit", "at s", "relative", "limit", "", header_style="bold")
            for line in each.findings:
                table.add_row(*_cells(line))
            screen.print(table)


def _cells(line: Finding) -> tuple[str, ...]:
    verdict = "[green]ok[/]" if line.ok else "[red]NOT[/]"
    relative = "" if line.relative is None else f"{line.relative:.1e}"
    numbers = f"{line.rms:.1e}", f"{line.largest:.1e}", line.unit, f"{line.at_s:.3f}"
    return line.name, *numbers, relative, f"{line.limit:.1e}", verdict
