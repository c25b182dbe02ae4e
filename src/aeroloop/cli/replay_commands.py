"""`aeroloop replay`: a past run in the browser, or with an airframe a log flown again in the simulator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from aeroloop.cli import dash_commands, flown_commands
from aeroloop.cli.console import notes, plain, print_note
from aeroloop.core.errors import ConfigError, not_written
from aeroloop.flight.results import LOG

if TYPE_CHECKING:
    from aeroloop.reflight.replay import Number, Replayed

EPILOG = (
    "Examples:\n\n`aeroloop replay runs/quad-mission`\n\n`aeroloop replay runs/quad-mission/flight.mcap --open`\n\n"
    "`aeroloop replay flight.bin --vehicle my_quad.toml --fit`\n\n"
    "`aeroloop replay flight.ulg --vehicle iris --replay pulses --restart 0.5 --json`\n\n"
    "`aeroloop replay flight.bin --vehicle my_quad.toml --fit --unknown mass,lag --from 20 --to 60`"
)


def replay(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG", help="A folder that `aeroloop fly` made; with --vehicle also a .bin, .log, .ulg or .csv."
        ),
    ],
    vehicle: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Fly the log again with this airframe: a .toml, or an included one's name."),
    ] = None,
    driven_by: Annotated[
        str | None,
        typer.Option(
            "--replay", metavar="DRIVE", help="What drives the simulator: setpoints (default), route or pulses."
        ),
    ] = None,
    fit: Annotated[
        bool, typer.Option("--fit", help="Fit the aircraft's unknown numbers on the first half, judge on the second.")
    ] = False,
    unknown: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="What to fit, with commas: mass, inertia_x, inertia_y, inertia_z, lag, delay."
        ),
    ] = None,
    restart_s: Annotated[
        float | None,
        typer.Option("--restart", metavar="S", help="With pulses: set to the log's motion this often; 1 s."),
    ] = None,
    from_s: Annotated[
        float | None, typer.Option("--from", metavar="S", help="Fly again from this time of the log.")
    ] = None,
    to_s: Annotated[float | None, typer.Option("--to", metavar="S", help="Fly again up to this time.")] = None,
    mapping: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="Of a CSV: which column is which signal.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for page and airframe; else beside the log.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the numbers as JSON alone on standard output.")
    ] = False,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="In the browser: port; 8080, or any that is free.")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="In the browser: open one.")] = False,
) -> None:
    """Show a past run in a browser with a time slider; with --vehicle fly a log again in the simulator."""
    given = {
        "--replay": driven_by,
        "--fit": fit or None,
        "--unknown": unknown,
        "--restart": restart_s,
        "--from": from_s,
        "--to": to_s,
        "--map": mapping,
        "--out": out,
        "--json": as_json or None,
    }
    if vehicle is None:
        refused = [name for name, value in given.items() if value is not None]
        if refused:
            raise ConfigError(f"{refused[0]}: expected --vehicle too, the airframe to fly the log again with")
        if log.is_file() and log.name != LOG:
            raise ConfigError(f"{log}: to fly a log again expected --vehicle, an airframe (a .toml, or a name)")
        dash_commands.replay(log, port, open_browser)
        return
    if unknown is not None and not fit:
        raise ConfigError("--unknown: expected --fit too")
    from aeroloop.analysis import page as pages
    from aeroloop.flown.read import Options as Reading
    from aeroloop.flown.read import read
    from aeroloop.reflight import as_json as words
    from aeroloop.reflight import fitted_airframe, page
    from aeroloop.reflight.drives import RESTART_S
    from aeroloop.reflight.replay import Options
    from aeroloop.reflight.replay import replay as fly_again

    record = read(log, Reading(mapping, progress=flown_commands.reading(log)))
    options = Options(
        replay=driven_by or "setpoints",
        fit=fit,
        unknowns=tuple(name.strip() for name in (unknown or "").split(",") if name.strip()),
        restart_s=RESTART_S if restart_s is None else restart_s,
        from_s=from_s,
        to_s=to_s,
    )
    with _shown(record.name) as told:
        replayed = fly_again(record, vehicle, options, told)
    file, airframe_file = _files(log, out)
    pages.write(file, page.render(replayed), "replay")
    if replayed.numbers:
        try:
            airframe_file.write_text(fitted_airframe.toml(replayed), encoding="utf-8")
        except OSError as error:
            raise not_written(airframe_file, error, "airframe") from None
        _check_flies(airframe_file)
    if as_json:
        typer.echo(json.dumps(words.numbers(replayed), indent=2, allow_nan=False))
        return
    _show(replayed, file)
    if replayed.numbers:
        screen = Console()
        screen.print(f"airframe: {plain(str(airframe_file))}", highlight=False, soft_wrap=True)
        command = fitted_airframe.fly_command(replayed, str(airframe_file))
        screen.print(f"fly it: {plain(command)}", highlight=False, soft_wrap=True)


def _files(log: Path, out: Path | None) -> tuple[Path, Path]:
    """The page and the fitted airframe: in the run's folder, or with the log's name beside it."""
    if log.is_dir() or log.name == LOG:
        folder, prefix = log if log.is_dir() else log.parent, ""
    else:
        folder, prefix = log.parent, f"{log.stem}-"
    folder = out or folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_written(folder, error, "folder") from None
    return folder / f"{prefix}replay.html", folder / f"{prefix}fitted.toml"


def _check_flies(file: Path) -> None:
    """A fit may end at numbers that no aircraft has: said now rather than at take-off."""
    from aeroloop.reflight import fitted_airframe

    try:
        fitted_airframe.check(file)
    except ConfigError as error:
        print_note(f"the fitted airframe does not fly: {error}")


@contextmanager
def _shown(name: str) -> Iterator[Callable[[str, float], None]]:
    """A bar on a terminal."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        console=notes,
        transient=True,
        disable=not notes.is_terminal,
    ) as shown:
        task = shown.add_task(name, total=1.0)
        yield lambda what, done: shown.update(task, description=f"{name}: {what}", completed=done)


def _show(replayed: Replayed, file: Path) -> None:
    from aeroloop.reflight.page import summary

    screen = Console()
    if replayed.numbers:
        titles = ("number", "fitted", "+-", "", "file", "unit", "by", "")
        table = Table(*titles, box=None, padding=(0, 1, 0, 0), header_style="bold")
        for column in table.columns:
            column.no_wrap = True
        for each in replayed.numbers:
            table.add_row(*_cells(each))
        screen.print(table)
    for half in reversed(replayed.halves):
        screen.print(f"[bold]{half.role}[/]")
        screen.print(flown_commands.score_table(half.comparison))
    for line in summary(replayed):
        screen.print(plain(line), highlight=False, soft_wrap=True)
    screen.print(f"page: {plain(str(file))}", highlight=False, soft_wrap=True)


def _cells(each: Number) -> tuple[str, ...]:
    fitted = each.fitted
    relative = f"{100 * fitted.relative_std:.2g} %" if fitted.unknown.relative else ""
    word = "this flight" if fitted.unknown.nuisance else "" if fitted.determined else "not determined"
    numbers = f"{fitted.value:.4g}", f"{fitted.std:.2g}", relative, f"{fitted.before:.4g}"
    return (fitted.name, *numbers, fitted.unknown.unit, each.by, word)
