"""`aeroloop sync-table`: controllers by disturbances, flown on the bench and written as tables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from aeroloop.cli import progress
from aeroloop.cli.console import plain
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK, ConfigError

if TYPE_CHECKING:
    from aeroloop.campaign.plant import Cell
    from aeroloop.campaign.sync_table import Judged

EPILOG = (
    "Examples:\n\n`aeroloop sync-table`\n\n"
    "`aeroloop sync-table --plant rrr --out runs/robot`\n\n"
    "`aeroloop sync-table --plant quad --laws pid,smc-sync-pidnn --disturbances weak,load`\n\n"
    "`aeroloop sync-table --plant rrr --laws pid,smc,pid-high --seed 7 --json`\n\n"
    "`aeroloop sync-table --again runs/robot`\n\n"
    "Exit codes: 0 all checks passed, 1 a check failed, 2 bad usage."
)
BOTH = "both"


def sync_table(
    plant: Annotated[
        str, typer.Option(help="rrr (joints of a 3-RRR robot), quad (rotors of a quadrotor) or both.")
    ] = BOTH,
    laws: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Controllers, with commas: esc, pid, pid-ff, smc, smc-sync, smc-sync-pidnn, pid-equal, pid-high, "
            "no-learning, smc-linear.",
        ),
    ] = "",
    disturbances: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Disturbances, with commas: load, payload, weak, noise, all; of rrr also friction, capped; of quad "
            "also gust, weak70. The undisturbed flight is always flown.",
        ),
    ] = "",
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random stream.")] = 1,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Flights at a time; one for each processor.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the results; must not exist yet.")] = None,
    again: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Do not fly: judge the summary.json in this folder, write its tables again."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json alone on standard output.")] = False,
) -> None:
    """Fly controllers by disturbances on the bench, and write the synchronisation tables with checks, and where the law
    is not better."""
    from aeroloop.api.flying import RUNS
    from aeroloop.campaign import sync_table as campaign
    from aeroloop.campaign.plants import PLANTS, selected

    if again is not None:
        _tell(again, campaign.read(again), as_json)
    if plant != BOTH and plant not in PLANTS:
        raise ConfigError(f"--plant {plant}: expected one of: {', '.join((*PLANTS, BOTH))}")
    cells = selected(tuple(PLANTS) if plant == BOTH else (plant,), _names(laws), _names(disturbances))
    folder = out or RUNS / f"sync-table-{datetime.now():%Y%m%d-%H%M%S}"
    campaign.make_folder(folder)
    try:
        with _shown(len(cells)) as on_progress:
            judged = campaign.fly(cells, seed, workers=workers, on_progress=on_progress)
    except BaseException:
        folder.rmdir()
        raise
    _tell(folder, judged, as_json)


def _tell(folder: Path, judged: Judged, as_json: bool) -> NoReturn:
    """Write the files, print, and exit."""
    from aeroloop.campaign import sync_table as campaign
    from aeroloop.flight.results import as_text

    report = campaign.write(folder, judged)
    if as_json:
        sys.stdout.write(as_text(judged.summary))
    else:
        _show(judged, report)
    raise typer.Exit(EXIT_OK if judged.ok else EXIT_CHECK_FAILED)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


@contextmanager
def _shown(count: int) -> Iterator[Callable[[Cell], None]]:
    """A bar on a terminal, otherwise a line every few seconds."""
    done = 0
    with progress.counted("sync-table", count, "flights") as on_progress:

        def flown(cell: Cell) -> None:
            nonlocal done
            done += 1
            on_progress(done, str(cell))

        yield flown


def _show(judged: Judged, report: Path) -> None:
    from aeroloop.campaign import tables

    screen = Console()
    for plant in judged.results.plants:
        screen.print(_table(judged, plant))
    for statement in judged.statements:
        mark = "" if statement.holds else " [red]does not hold[/]"
        screen.print(f"not better {statement.number}: {plain(statement.title)}{mark}", highlight=False, soft_wrap=True)
    checks = Table("check", "value", "limit", "", header_style="bold")
    for check in judged.every:
        mark = "[green]pass[/]" if check.ok else "[red]FAIL[/]"
        checks.add_row(plain(check.name), tables.shown(check.value), check.limit, mark)
    screen.print(checks)
    failed = sum(not check.ok for check in judged.every)
    verdict = f"[red]{failed} failed[/]" if failed else "[green]passed[/]"
    screen.print(f"{len(judged.results.numbers)} flights, {len(judged.every)} checks: {verdict}", highlight=False)
    screen.print(f"report: {plain(str(report))}", highlight=False, soft_wrap=True)


def _table(judged: Judged, plant: str) -> Table:
    """Synchronisation errors alone: the whole tables are in the folder."""
    from aeroloop.campaign import tables
    from aeroloop.campaign.plants import PLANTS

    results, of = judged.results, PLANTS[plant]
    laws = results.laws(plant)
    table = Table(f"sync ({of.unit})", *laws, title=of.title, title_justify="left", header_style="bold")
    for disturbance in results.disturbances(plant):
        table.add_row(disturbance, *(tables.shown(results.of(plant, law, disturbance, "sync")) for law in laws))
    return table
