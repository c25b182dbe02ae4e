"""`aeroloop landings`: one landing with many seeds, by vision and by GPS."""

from __future__ import annotations

import shutil
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
from aeroloop.cli.console import plain, print_note
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK, ConfigError

if TYPE_CHECKING:
    from aeroloop.campaign.landing_table import Landings

EPILOG = (
    "Examples:\n\n`aeroloop landings quad-landing --seeds 20 --compare gps`\n\n"
    "`aeroloop landings quad-landing --seeds 5 --workers 2 --out runs/landings --json`\n\n"
    "`aeroloop landings --again runs/landings`\n\n"
    "Exit codes: 0 all checks passed, 1 a check failed, 2 bad usage, 130 interrupted."
)


def landings(
    name: Annotated[str, typer.Argument(metavar="SCENARIO", help="A scenario with [landing]; a name or a file.")] = (
        "quad-landing"
    ),
    seeds: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Fly with the seeds 1 to N.")] = 20,
    compare: Annotated[str, typer.Option(metavar="gps", help="Also land by GPS alone with each seed.")] = "",
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set any key of the scenario.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Flights at a time; one for every two processors.")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the results; must not exist yet.")] = None,
    again: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Do not fly: judge the summary.json in this folder, write its tables again."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json alone on standard output.")] = False,
) -> None:
    """Land on the pad with many seeds, and write the table of touchdown errors with checks and a page."""
    from aeroloop.api.flying import RUNS
    from aeroloop.api.scenarios import named
    from aeroloop.campaign import landing_table
    from aeroloop.campaign.landings import GPS, VISION, Flights, checked
    from aeroloop.campaign.sync_table import make_folder

    if again is not None:
        _tell(again, landing_table.read(again), as_json)
    if compare not in ("", GPS):
        raise ConfigError(f"--compare {compare}: expected {GPS}")
    scenario = checked(named(name).changed(tuple(overrides or ())))
    folder = out or RUNS / f"landings-{datetime.now():%Y%m%d-%H%M%S}"
    make_folder(folder)
    ways = (VISION, GPS) if compare else (VISION,)
    cells = [(use, seed) for use in ways for seed in range(1, seeds + 1)]
    flights = Flights(scenario, folder / landing_table.FLIGHTS)
    try:
        with _shown(len(cells)) as on_progress:
            flown = flights.fly_all(cells, workers=workers, on_progress=on_progress)
    except BaseException:
        if flights.done:  # they took minutes
            report = landing_table.write(folder, landing_table.Landings(scenario.name, sorted(flights.done)))
            print_note(f"{len(flights.done)} of {len(cells)} flights are in {report}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    _tell(folder, landing_table.Landings(scenario.name, flown), as_json)


@contextmanager
def _shown(count: int) -> Iterator[Callable[[str], None]]:
    """A bar on a terminal, otherwise a line every few seconds."""
    done = 0
    with progress.counted("landings", count, "flights") as on_progress:

        def flown(last: str) -> None:
            nonlocal done
            done += 1
            on_progress(done, last)

        yield flown


def _tell(folder: Path, judged: Landings, as_json: bool) -> NoReturn:
    """Write the files, print, and exit."""
    from aeroloop.campaign import landing_table
    from aeroloop.flight.results import as_text

    report = landing_table.write(folder, judged)
    if as_json:
        sys.stdout.write(as_text(judged.summary))
    else:
        _show(judged, report)
    raise typer.Exit(EXIT_OK if judged.ok else EXIT_CHECK_FAILED)


def _show(judged: Landings, report: Path) -> None:
    from aeroloop.campaign.landing_table import COLUMNS, cells
    from aeroloop.campaign.tables import shown

    screen = Console()
    table = Table(*COLUMNS, header_style="bold")
    for row in judged.rows:
        table.add_row(*cells(row))
    screen.print(table)
    checks = Table("check", "value", "limit", "", header_style="bold")
    for check in judged.checks:
        mark = "[green]pass[/]" if check.ok else "[red]FAIL[/]"
        checks.add_row(plain(check.name), shown(check.value), check.limit, mark)
    screen.print(checks)
    failed = sum(not check.ok for check in judged.checks)
    verdict = f"[red]{failed} failed[/]" if failed else "[green]passed[/]"
    screen.print(f"{len(judged.flights)} flights, {len(judged.checks)} checks: {verdict}", highlight=False)
    screen.print(f"report: {plain(str(report))}", highlight=False, soft_wrap=True)
