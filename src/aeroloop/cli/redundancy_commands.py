"""`aeroloop redundancy-matrix`: failures of one of several boards, flown on the bench and written as a matrix."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from aeroloop.cli import progress
from aeroloop.cli.console import plain, print_note
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK, ConfigError

if TYPE_CHECKING:
    from aeroloop.campaign.redundancy_failures import Cell
    from aeroloop.campaign.redundancy_matrix import Result

EPILOG = (
    "Examples:\n\n`aeroloop redundancy-matrix`\n\n"
    "`aeroloop redundancy-matrix --loop pil --at 2,4.5,8 --out runs/boards`\n\n"
    "`aeroloop redundancy-matrix --failures 'dead,bias of 1 N' --json`\n\n"
    "Exit codes: 0 every cell is as good as its boards can be, 1 one is not, 2 bad usage."
)


MOST_S = 3600.0


def redundancy_matrix(
    scenario: Annotated[str, typer.Argument(help="A scenario of the tilt-rotor; its own faults are left out.")] = (
        "tiltrotor-spiral"
    ),
    failures: Annotated[
        str, typer.Option(metavar="NAMES", help="Failures, with commas, as the matrix names them; empty for all.")
    ] = "",
    at: Annotated[
        str, typer.Option(metavar="TIMES", help="When the failure begins, in s, with commas; a cell shows the worst.")
    ] = "2,4,6",
    lasts: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Flown after the last of these times.")
    ] = 6.0,
    loop: Annotated[str, typer.Option(help="mil, sil or pil.")] = "mil",
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random stream.")] = 1,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Flights at a time; one for each processor.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for the results: a new one, or one that was interrupted.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json alone on standard output.")] = False,
) -> None:
    """Fly every failure of a board, at several times, against standby and vote of two and three boards, and write which
    board was identified as faulty and what it cost."""
    from aeroloop.api.flying import RUNS
    from aeroloop.campaign import redundancy_failures, redundancy_page
    from aeroloop.campaign import redundancy_matrix as matrix
    from aeroloop.campaign.redundancy_flown import FLIGHTS
    from aeroloop.flight.results import as_text

    wanted = [name.strip() for name in failures.split(",") if name.strip()]
    known = [failure.name for failure in redundancy_failures.FAILURES]
    for name in wanted:
        if name not in known:
            raise ConfigError(f"--failures {name}: expected one of: {', '.join(known)}")
    if loop not in ("mil", "sil", "pil"):
        raise ConfigError(f"--loop {loop}: expected mil, sil or pil")
    times_s = _times_s(at)
    cells = redundancy_failures.cells(tuple(wanted), times_s)
    setting = matrix.Setting(scenario, loop, seed, times_s[-1] + lasts)
    matrix.scenario_of(cells[0], setting)  # refused before a folder is made
    folder = out or RUNS / f"redundancy-matrix-{datetime.now():%Y%m%d-%H%M%S}"
    _make_folder(folder)
    done = 0
    try:
        with progress.counted("redundancy-matrix", len(cells), "flights") as on_progress:

            def flown(cell: Cell) -> None:
                nonlocal done
                done += 1
                on_progress(done, f"{cell.mode} {cell.boards} {cell.failure}, {cell.at_s:g} s")

            flights = matrix.fly_all(cells, setting, folder / FLIGHTS, workers=workers, on_progress=flown)
    except KeyboardInterrupt:
        print_note(f"interrupted: what was flown is in {folder}; the same command with --out {folder} continues")
        raise
    results = matrix.judged(flights)
    about = f"{len(cells)} flights of {scenario} on {loop}, seed {seed}; failures at {at.replace(',', ', ')} s."
    report = redundancy_page.write(folder, results, about)
    shutil.rmtree(folder / FLIGHTS)
    if as_json:
        sys.stdout.write(as_text(redundancy_page.summary(results, about)))
    else:
        _show(results, report)
    raise typer.Exit(EXIT_OK if all(one.ok for one in results) else EXIT_CHECK_FAILED)


def _make_folder(folder: Path) -> None:
    """A new one, unless it has flights and no report yet."""
    from aeroloop.campaign.redundancy_flown import FLIGHTS
    from aeroloop.campaign.sync_table import make_folder
    from aeroloop.flight.results import REPORT

    if not (folder / FLIGHTS).is_dir() or (folder / REPORT).exists():
        make_folder(folder)
        make_folder(folder / FLIGHTS)


def _times_s(text: str) -> tuple[float, ...]:
    try:
        times_s = tuple(sorted({float(each) for each in text.split(",")}))
    except ValueError:
        times_s = ()
    if not times_s or not all(0 < time_s <= MOST_S for time_s in times_s):
        raise ConfigError(f"--at {text}: expected times in s, above 0 and at most {MOST_S:g}, with commas")
    return times_s


def _show(results: Sequence[Result], report: Path) -> None:
    from aeroloop.campaign.redundancy_failures import COMBINATIONS
    from aeroloop.campaign.redundancy_matrix import worst
    from aeroloop.campaign.redundancy_page import title

    cells = worst(results)
    table = Table("failure", *(title(*each) for each in COMBINATIONS), header_style="bold")
    for name in dict.fromkeys(one.cell.failure for one in cells):
        row = [one for one in cells if one.cell.failure == name]
        table.add_row(name, *(f"[{'green' if one.ok else 'red'}]{plain(one.outcome)}[/]" for one in row))
    screen = Console()
    screen.print(table)
    failed = sum(not one.ok for one in cells)
    verdict = f"[red]{failed} not as expected[/]" if failed else "[green]all as expected[/]"
    screen.print(f"{len(cells)} cells: {verdict}", highlight=False)
    screen.print(f"report: {plain(str(report))}", highlight=False, soft_wrap=True)
