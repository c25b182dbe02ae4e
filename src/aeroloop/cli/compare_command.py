"""`aeroloop compare`: how far runs flew from the first, or how well logs agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from aeroloop.cli import flown_commands
from aeroloop.cli.console import Screen, plain, print_error
from aeroloop.core.errors import EXIT_CHECK_FAILED
from aeroloop.core.fleet import AIRCRAFT
from aeroloop.flight import results

SAME_END_S = 0.1
"""A flight in real time may end one cycle early or late."""

EPILOG = (
    "Examples:\n\n"
    "`aeroloop compare runs/spiral-mil runs/spiral-sil`\n\n"
    "`aeroloop compare runs/spiral-mil runs/spiral-sil runs/spiral-pil --within 0.005`\n\n"
    "`aeroloop compare before after --out compare.html --json`\n\n"
    "`aeroloop compare flight.bin runs/quad-mission-mil`\n\n"
    "`aeroloop compare flight.ulg table.csv --map columns.toml --from 20 --to 80`"
)


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Two or more folders that `aeroloop fly` made; or two logs: a run, .bin, .log, .ulg, .csv.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The .html page; by default beside the first run.")
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(min=0, metavar="M", help="Fail, exit code 1, where a run is farther than this from the first."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the numbers as JSON alone on standard output.")
    ] = False,
    table: flown_commands.TableName = None,
    from_s: flown_commands.FromTime = None,
    to_s: flown_commands.ToTime = None,
    max_lag_s: flown_commands.MaxLag = None,
    mappings: flown_commands.Mappings = None,
) -> None:
    """Compare runs: how far each flew from the first, and all metrics on one page. Compare logs, flown or simulated:
    aligned in time, each signal scored."""
    of_logs = flown_commands.LogOptions(table, from_s, to_s, max_lag_s, tuple(mappings or ()))
    if of_logs.given or any(run.is_file() for run in runs):
        flown_commands.compare_logs(runs, out, of_logs, within, as_json=as_json)
        return
    page = out or results.comparison_path(runs)
    comparison = results.compare_runs(runs, page)
    if as_json:
        typer.echo(json.dumps(comparison, indent=2, allow_nan=False))
    else:
        _show_comparison(comparison, page)
    compared = comparison.get(AIRCRAFT, [comparison])
    farther = [words for each in compared for words in _farther_than(within, each)] if within is not None else []
    if farther:
        print_error(f"not within {within:g} m of {compared[0]['runs'][0]['label']}: {', '.join(farther)}")
        raise typer.Exit(EXIT_CHECK_FAILED)


def _show_comparison(comparison: dict[str, Any], page: Path) -> None:
    screen = Screen()
    for each in comparison.get(AIRCRAFT, [comparison]):
        _show_differences(screen, each)
    screen.print(f"page: {plain(str(page))}", highlight=False, soft_wrap=True)


def _show_differences(screen: Screen, comparison: dict[str, Any]) -> None:
    """The comparison of runs of one scenario, or of a fleet's part."""
    whose = f"{plain(comparison['name'])}: " if "name" in comparison else ""
    first = comparison["runs"][0]
    screen.print(f"{whose}differences to {plain(first['label'])}", highlight=False)
    table = Table("", *(plain(difference["label"]) for difference in comparison["differences"]), header_style="bold")
    for key in comparison["differences"][0]:
        if key not in ("label", "to"):
            values = [difference[key] for difference in comparison["differences"]]
            table.add_row(key, *("not known" if value is None else f"{value:.5g}" for value in values))
    screen.print(table)
    for run in comparison["runs"]:
        verdict = "[green]passed[/]" if run["ok"] else f"[red]not passed[/] ({plain(run['ended'])})"
        screen.print(f"{plain(run['label'])}: {plain(run['name'])}, {verdict}", highlight=False, soft_wrap=True)
    screen.print("log hashes are equal" if comparison["log_hashes_equal"] else "log hashes differ", highlight=False)
    for remark in comparison["remarks"]:
        screen.print(f"note: {plain(remark)}", highlight=False, soft_wrap=True)


def _farther_than(within_m: float, comparison: dict[str, Any]) -> list[str]:
    """An unknown distance is not within the limit, nor is one that is known for part of the flight only."""
    farther = []
    first_s = comparison["runs"][0]["flown_s"]
    for run, difference in zip(comparison["runs"][1:], comparison["differences"], strict=True):
        distance_m, flown_s = difference["position_max_m"], max(first_s, run["flown_s"])
        if distance_m is None or distance_m > within_m:
            why = "unknown distance" if distance_m is None else f"{distance_m:.4g} m"
        elif flown_s - difference["to_s"] > SAME_END_S:
            why = f"compared up to {difference['to_s']:g} s of {flown_s:g} s only"
        else:
            continue
        whose = f"{comparison['name']} " if "name" in comparison else ""
        farther.append(f"{whose}{difference['label']} ({why})")
    return farther
