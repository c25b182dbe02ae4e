"""`aeroloop campaign`: many flights of a scenario with drawn parameters, and what they say together."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from aeroloop.cli import dash_commands, progress
from aeroloop.cli.console import notes, plain, print_error, print_note
from aeroloop.core import scenario_files

if TYPE_CHECKING:
    from aeroloop.campaign.campaigns import Campaign
    from aeroloop.campaign.driver import Progress
    from aeroloop.campaign.judgement import Judged
    from aeroloop.core.fleet import Plan
    from aeroloop.flight.judging import Judged as JudgedFlight
    from aeroloop.flight.supervisor import Flight

EXIT_CODES = (
    "Exit codes: 0 the campaign's checks passed, 1 one failed, 2 bad file or usage, 3 a flight could not be flown, 130 "
    "interrupted; what was flown is kept."
)
LINE_PERIOD_S = 60.0

app = typer.Typer(
    help="Many flights of a scenario with drawn parameters: run them, judge them, fly one again.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a campaign.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON alone on standard output.")]


def complete(begun: str) -> list[str]:
    from aeroloop.campaign import definition

    return [path.stem for path in definition.available() if path.stem.startswith(begun)]


@app.command(
    epilog="Examples:\n\n`aeroloop campaign run quad-wind`\n\n"
    "`aeroloop campaign run my-campaign.toml --workers 4 --out runs/mine`\n\n"
    "`aeroloop campaign run tiltrotor-mass --engine batch --on gpu`\n\n"
    "`aeroloop campaign run quad-wind --on ray://head:10001`\n\n"
    "`aeroloop campaign run tiltrotor-faults`\n\n"
    f"`aeroloop campaign run quad-wind --limit 10 --json`\n\n{EXIT_CODES}"
)
def run(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A campaign's .toml file, or a name of `aeroloop campaign list`.",
            autocompletion=complete,
        ),
    ],
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Flights at a time; one for each processor, on pil for two.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(metavar="ENGINE", help="In place of the file's: `bench`, or `batch` for thousands at once."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Fly at most so many now; the next run continues.")
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            metavar="PLACE",
            help="`local`, a ray cluster (ray://HOST:PORT, or HOST:PORT on one of its nodes), or `gpu` for batches.",
        ),
    ] = "local",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Its folder, runs/campaign-NAME by default; flights that it has are kept."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fly what is missing of a campaign, judge it, and write its report."""
    from aeroloop.campaign.campaigns import Campaign
    from aeroloop.campaign.places import checked

    campaign = Campaign(file, out=out, engine=engine)
    checked(on, campaign.definition.engine)
    if campaign.remark:
        print_note(f"note: {campaign.remark}")
    try:
        # Standard output is for the results: ray prints there when it loses a node.
        with _shown(campaign) as on_progress, redirect_stdout(sys.stderr):
            judged = campaign.run(workers=workers, limit=limit, on=on, on_progress=on_progress)
    except KeyboardInterrupt:
        print_note(f"interrupted: what was flown is in {campaign.folder}; the same command continues")
        raise
    _tell(campaign, judged, as_json, with_report=True)


@app.command("list")
def list_campaigns(
    as_json: Annotated[bool, typer.Option("--json", help="Print name, summary and file of each as JSON.")] = False,
) -> None:
    """List the campaigns that can be run by name."""
    from aeroloop.campaign import definition

    found = definition.available()
    if as_json:
        rows = [{"name": path.stem, "summary": scenario_files.summary(path), "file": str(path)} for path in found]
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("campaign", "flies", box=None, header_style="bold")
    for path in found:
        table.add_row(path.stem, plain(scenario_files.summary(path)))
    Console().print(table)


@app.command(epilog=f"Example: `aeroloop campaign status runs/campaign-quad-wind`\n\n{EXIT_CODES}")
def status(folder: Folder, as_json: AsJson = False) -> None:
    """Judge what has been flown, also while the campaign runs."""
    from aeroloop.campaign.campaigns import open_campaign

    campaign = open_campaign(folder)
    _tell(campaign, campaign.status(), as_json, with_report=False)


@app.command(epilog="Example: `aeroloop campaign report runs/campaign-quad-wind`")
def report(folder: Folder) -> None:
    """Write the report of what has been flown."""
    from aeroloop.campaign.campaigns import open_campaign

    typer.echo(open_campaign(folder).report())


@app.command(epilog="Example: `aeroloop campaign worst runs/campaign-quad-wind --count 3`")
def worst(
    folder: Folder,
    count: Annotated[int | None, typer.Option(min=1, metavar="N", help="Flights by each check; else `keep`.")] = None,
) -> None:
    """List the flights with the smallest margins to each check, with their parameters and how to fly them again."""
    from aeroloop.campaign.campaign_page import replay_command, short, values_of
    from aeroloop.campaign.campaigns import open_campaign

    for each in open_campaign(folder).worst(count):
        margin = f"{100 * each.margin:.3g} %" if math.isfinite(each.margin) else "not measured"
        typer.echo(f"{each.metric} {short(each.value)}, limit {each.limit}, margin {margin}: flight {each.row.number}")
        typer.echo(f"    seed {each.row.seed}, {values_of(each.row)}")
        typer.echo(f"    {replay_command(folder, each.row)}")


@app.command(
    epilog="Examples:\n\n`aeroloop campaign export runs/campaign-quad-wind`\n\n"
    "`aeroloop campaign export runs/campaign-quad-wind --out flights.parquet`"
)
def export(
    folder: Folder,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A .csv or .parquet file; flights.csv in DIR by default.")
    ] = None,
) -> None:
    """Write a table with a row for each flight: parameters, seed, verdict, metrics, log hash."""
    from aeroloop.campaign.campaigns import open_campaign

    typer.echo(open_campaign(folder).export(out))


@app.command(
    epilog="Examples:\n\n`aeroloop campaign replay runs/campaign-quad-wind 17`\n\n"
    "`aeroloop campaign replay runs/campaign-quad-wind 17 --loop sil`\n\n"
    "`aeroloop campaign replay runs/campaign-quad-wind 17 --dash`\n\n"
    "Exit codes: 0 the log has the hash of the campaign's, 1 it differs, 2 bad usage, 3 link or board failed; on "
    "another rung or with --dash those of the flight."
)
def replay(
    folder: Folder,
    flight: Annotated[int, typer.Argument(metavar="FLIGHT", min=1, help="The number of the flight.")],
    loop: Annotated[str | None, typer.Option(help="Another rung: mil, sil or pil.")] = None,
    dash: Annotated[bool, typer.Option("--dash", help="Watch it in a browser, in real time.")] = False,
) -> None:
    """Fly one flight of a campaign again, with all its processes, log and report; its log must be the same."""
    from aeroloop.api import flying
    from aeroloop.campaign.campaigns import open_campaign, replay_exit_code

    campaign = open_campaign(folder)
    row, scenario = campaign.plan_of(flight, loop=loop)
    if dash:
        scenario = scenario.changed(("pace=real",))
    with ExitStack() as pages:

        def prepared(of: Flight) -> None:
            if dash:
                print_note(f"dashboard: {pages.enter_context(dash_commands.beside(of.id, campaign.folder, None))}")

        def fly(plan: Plan, out: Path) -> JudgedFlight:
            watcher = flying.Watcher(prepared, lambda: progress.shown(plan), print_note, failed=print_error)
            return flying.carry_out(plan, out, watcher, report=True)

        replayed = campaign.replayed(row, scenario, fly)
    typer.echo(f"flight {flight}: {replayed.words}")
    typer.echo(f"run: {replayed.folder}")
    raise typer.Exit(replay_exit_code(replayed))


@contextmanager
def _shown(campaign: Campaign) -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal, otherwise a line a minute."""
    name = campaign.definition.name
    if not notes.is_terminal:
        yield Lines(name)
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    with Bars(TextColumn("{task.fields[name]}"), BarColumn(), TextColumn("{task.description}"), console=notes) as bars:
        task = bars.add_task("preparing", total=None, name=plain(name))
        yield lambda done: bars.update(task, completed=done.done, total=done.total, description=done.words)


class Lines:
    """For a file or a CI log: the first, the last, and one a minute."""

    def __init__(
        self, name: str, tell: Callable[[str], None] = print_note, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._name, self._tell, self._now_s = name, tell, now_s
        self._next_s = -math.inf

    def __call__(self, done: Progress) -> None:
        now_s = self._now_s()
        if now_s >= self._next_s or done.done == done.total:
            self._next_s = now_s + LINE_PERIOD_S
            self._tell(f"{self._name}: {done.words}")


def _tell(campaign: Campaign, judged: Judged, as_json: bool, *, with_report: bool) -> None:
    """Print the verdict, and exit."""
    from aeroloop.flight.results import as_text

    page = campaign.report() if with_report else None
    if as_json:
        sys.stdout.write(as_text(judged.summary))
    else:
        _show(judged, campaign.folder, page)
    raise typer.Exit(judged.exit_code)


def _show(judged: Judged, folder: Path, page: Path | None) -> None:
    from aeroloop.campaign import kept

    screen = Console()

    def say(words: str) -> None:
        screen.print(words, highlight=False, soft_wrap=True)

    if judged.checks:
        table = Table("check", "lower bound", "at least", "n", "", header_style="bold")
        for check in judged.checks:
            mark = "[green]pass[/]" if check.ok else "[red]FAIL[/]"
            bound = f"{check.bound:.4f} ({check.check.confidence:g})"
            table.add_row(plain(check.check.rate), bound, f"{check.check.at_least:g}", str(check.rate.count), mark)
        screen.print(table)
    if judged.faults is not None:
        from aeroloop.campaign.fault_page import summary_words

        say(summary_words(judged.faults))
    else:
        say(f"passed: {judged.rate().words}")
    if judged.boundary is not None:
        say(plain(judged.boundary.words))
    for words in judged.remarks:
        say(plain(words))
    for row in judged.aborted:
        left = kept.place(folder, row.number)
        where = f" ({plain(str(left))})" if left.is_dir() else ""
        say(f"[yellow]aborted[/]: flight {row.number}: {plain(row.why or '')}{where}")
    others, designs = judged.not_counted
    if others:
        say(f"note: {others} flights of other editions (law, sources or libraries) are kept, and not counted")
    if designs:
        say(f"note: {designs} flights that the file does not ask for any more are kept, and not counted")
    if not judged.complete:
        say(f"note: {judged.total - len(judged.flown) - len(judged.aborted)} flights are missing; `run` continues")
    say(f"report: {plain(str(page))}" if page else f"campaign: {plain(str(folder))}")
