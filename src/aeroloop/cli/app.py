"""The command line: what a user starts. Thin: it reads options, calls one function, and shows what came of it."""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack, nullcontext, suppress
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from typer.core import TyperGroup
from typer.main import get_group

from aeroloop import __version__
from aeroloop.cli import board_commands, dash_commands
from aeroloop.cli.console import notes, plain, program, run_program, say, say_error
from aeroloop.core import config, scenario_files
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_USAGE, ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.flight import results
from aeroloop.flight.processes.common import Orders
from aeroloop.ground.config import Ground

if TYPE_CHECKING:
    from aeroloop.flight.supervisor import Flight, Outcome


class Commands(TyperGroup):
    """`route` and `cmd` bring MAVLink along, which takes a tenth of a second that no other command should wait for."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self._take_in_the_rest()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        self._take_in_the_rest()
        return super().list_commands(ctx)

    def _take_in_the_rest(self) -> None:
        from aeroloop.cli import flight_command_line, route_commands

        for name, late in (("route", route_commands.app), ("cmd", flight_command_line.app)):
            group = get_group(late)
            group.name = name
            self.add_command(group)


app = program(
    cls=Commands,
    help="Aeroloop: fly a real controller in a simulated aircraft, over a real byte link.",
    epilog="Exit codes: 0 all checks passed, 1 a check failed, 2 bad usage or configuration, 3 link or board failed, "
    "130 or 143 interrupted.",
)
app.add_typer(board_commands.app, name="board")
app.command("dash", epilog=dash_commands.EPILOG)(dash_commands.dash)

SAME_END_S = 0.1
"""Flights in real time end a cycle sooner or later."""

RUNGS = {
    "mil": "the law as a model in Python",
    "sil": "the law as C on this host",
    "pil": "the firmware on an emulated Cortex-M4",
    "hil": "a board or an autopilot outside",
}

INCIDENTS = (
    *("law_not_finite", "implausible_commands", "implausible_sensors", "sensor_losses", "safe_commands"),
    *("references_lost", "late_cycles", "overruns", "board_restarts", "board_messages_lost", "log_lost_rows"),
    *("failsafes", "autopilot_losses", "autopilot_restarts", "actuators_refused", "orders_refused"),
)
"""Metrics that count what went wrong; none of them is told twice."""

Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set any key of the scenario, e.g. link.to_plant.delay_s=0.006"),
]


class Screen(Console):
    """A terminal whose reader may leave early: the verdict's exit code must not depend on that."""

    def on_broken_pipe(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    try:
        run_program(app)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has left: nothing to tell it
        sys.exit(EXIT_USAGE)


@app.callback(invoke_without_command=True)
def top(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        typer.echo(f"aeroloop {__version__}")
        raise typer.Exit


@app.command(
    epilog="Examples:\n\n"
    "`aeroloop fly tiltrotor-spiral`\n\n"
    "`aeroloop fly tiltrotor-spiral --loop sil --link pty:// --pace real`\n\n"
    "`aeroloop fly tiltrotor-spiral --loop pil --law my_law.py`\n\n"
    "`aeroloop fly tiltrotor-spiral --loop hil --link serial:///dev/ttyACM0?baud=921600`\n\n"
    "`aeroloop fly tiltrotor-spiral --set link.to_plant.delay_s=0.006 --json`\n\n"
    "`aeroloop fly quad-mission --loop sil`\n\n"
    "`aeroloop fly quad-free --dash`\n\n"
    "`aeroloop fly my-flight.toml --seed 7 --out runs/seven --junit result.xml`"
)
def fly(
    name: Annotated[str, typer.Argument(metavar="SCENARIO", help="A name from `aeroloop list`, or a .toml file.")],
    loop: Annotated[
        str | None,
        typer.Option(help="Rung: mil (Python law), sil (its C), pil (firmware, emulated board), hil (a board)."),
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Link to board or autopilot: loopback:// pty:// udp:// tcp:// serial://"),
    ] = None,
    pace: Annotated[
        str | None,
        typer.Option(help="lockstep (as fast as possible), real (required for a board), or a speed such as 4x."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of every random stream.")] = None,
    law: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A Python file with a control law of your own.")
    ] = None,
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the results; must not exist yet.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json alone on standard output.")] = False,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the verdict as JUnit XML.")] = None,
    with_report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write the report now, or later with `aeroloop report`.")
    ] = True,
    dash: Annotated[
        bool, typer.Option("--dash", help="Watch and fly it in a browser; in real time unless --pace says otherwise.")
    ] = False,
    dash_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port of the dashboard; 8080, or any that is free.")
    ] = None,
) -> None:
    """Fly a scenario, evaluate its checks, and write log, summary and report."""
    from aeroloop.analysis.checks import verify
    from aeroloop.flight.supervisor import Flight, Interrupted

    path = scenario_files.find(name)
    rung = (f"loop={json.dumps(loop)}",) if loop is not None else ()
    controller = scenario_files.controller_of(path, (*(overrides or ()), *rung))
    if pace is None and (dash or loop in controller.own_clock):
        pace = "real"
    if law is not None and not controller.takes_law:
        raise ConfigError("--law: an autopilot brings its own law; expected a scenario of the tilt-rotor")
    options = {"loop": loop, "link.url": link, "pace": pace, "seed": seed}
    given = tuple(f"{key}={json.dumps(value)}" for key, value in options.items() if value is not None)
    chosen = (*(overrides or ()), *given, *board_commands.law_override(law))
    flight_plan = scenario_files.load(path, chosen)
    verify(flight_plan)
    folder = out or _new_folder(flight_plan)
    if junit and not junit.parent.is_dir():
        raise ConfigError(f"--junit {junit}: the folder {junit.parent} does not exist")
    with notes.status("preparing the flight") if notes.is_terminal else nullcontext():
        prepared = Flight(flight_plan, folder)  # a firmware image that is not there yet takes seconds
    with ExitStack() as pages:
        with prepared as flight:
            if dash:
                try:
                    url = pages.enter_context(dash_commands.beside(flight.id, folder.parent, dash_port))
                except Interrupted as interrupted:
                    say_error(f"interrupted by {interrupted}")
                    raise typer.Exit(interrupted.exit_code) from None
                say(f"dashboard: {url}")
            results.make_folder(folder, flight_plan)
            outcome = _flown(flight)
        summary, report = _judged(folder, flight_plan, outcome, with_report)
        if junit:
            _write_junit(junit, summary)
        if as_json:
            sys.stdout.write((folder / results.SUMMARY).read_text(encoding="utf-8"))
        else:
            _show(summary, folder, report)
        if outcome.error:
            say_error(outcome.error)
        if dash and sys.stdin.isatty() and not as_json and not _interrupted(outcome):
            say("the dashboard runs until Ctrl-C")
            with suppress(KeyboardInterrupt):
                Event().wait()
    raise typer.Exit(summary["exit_code"])


def _flown(flight: Flight) -> Outcome:
    """The flight with a progress bar; one that never began leaves no folder."""
    plan = flight.scenario
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:5.1f} / {task.total:.1f} s"),
        TimeRemainingColumn(),
        console=notes,
        transient=True,
        disable=not notes.is_terminal,
    ) as bar:
        task = bar.add_task(f"{plan.name} ({plan.loop}, {plan.pace})", total=plan.duration_s)
        return flight.fly(
            lambda flown_s: bar.update(task, completed=flown_s),
            lambda orders: _tell_where(orders, flight.id),
            say,
        )


def _judged(folder: Path, plan: Scenario, outcome: Outcome, with_report: bool) -> tuple[dict[str, Any], Path | None]:
    if not outcome.began:
        results.discard(folder, plan)
        say_error(outcome.error or outcome.ended)
        raise typer.Exit(outcome.exit_code)
    for remark in outcome.remarks:
        say(f"note: {remark}")
    log = results.read_log(folder, plan)
    summary = results.write_summary(folder, plan, log, msgspec.to_builtins(outcome))
    drawn = with_report and not _interrupted(outcome)
    return summary, results.write_report(folder, plan, log, summary) if drawn else None


def _interrupted(outcome: Outcome) -> bool:
    return outcome.ended.startswith("interrupted")


@app.command("list")
def list_scenarios() -> None:
    """List the scenarios that can be flown by name."""
    table = Table("scenario", "flies", box=None, header_style="bold")
    for path in scenario_files.available():
        table.add_row(path.stem, plain(scenario_files.summary(path)))
    Console().print(table)


@app.command(epilog="Example: `aeroloop report runs/tiltrotor-spiral-mil-20260101-120000`")
def report(run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `aeroloop fly` made.")]) -> None:
    """Write the report of a run again, from its log and summary."""
    typer.echo(results.report_again(run))


@app.command(
    epilog="Examples:\n\n"
    "`aeroloop compare runs/spiral-mil runs/spiral-sil`\n\n"
    "`aeroloop compare runs/spiral-mil runs/spiral-sil runs/spiral-pil --within 0.005`\n\n"
    "`aeroloop compare before after --out compare.html --json`"
)
def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Two or more folders that `aeroloop fly` made.")],
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
) -> None:
    """Compare runs: how far each flew from the first, and all metrics on one page."""
    page = out or results.comparison_path(runs)
    comparison = results.compare_runs(runs, page)
    if as_json:
        typer.echo(json.dumps(comparison, indent=2, allow_nan=False))
    else:
        _show_comparison(comparison, page)
    if within is not None and (farther := _farther_than(within, comparison)):
        say_error(f"not within {within:g} m of {comparison['runs'][0]['label']}: {', '.join(farther)}")
        raise typer.Exit(EXIT_CHECK_FAILED)


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False) -> None:
    """Report what this machine can do, and how to install what is missing."""
    from aeroloop.cli.doctor import examine, render

    findings = examine()
    if as_json:
        typer.echo(json.dumps([finding.as_dict() for finding in findings], indent=2))
    else:
        Console().print(render(findings))


Wanted = Annotated[str, typer.Option("--flight", metavar="ID", help="Which flight, if several are running.")]
ReferenceLink = Annotated[
    str | None, typer.Option("--link", metavar="URL", help="Reference link; by default the running flight's.")
]


@app.command(
    "base-station",
    epilog="Examples, with a flight in another terminal (`aeroloop fly tiltrotor-joystick`):\n\n"
    "`aeroloop base-station`\n\n"
    "`aeroloop base-station --trajectory circle --set radius_m=2 --no-feedforward`",
)
def base_station(
    trajectory: Annotated[
        str | None, typer.Option(help="spiral, hover, circle, lemniscate or waypoints; by default the scenario's.")
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a key of the trajectory.")
    ] = None,
    feedforward: Annotated[
        bool | None,
        typer.Option("--feedforward/--no-feedforward", help="Send the path's velocity too; by default as flown."),
    ] = None,
    wanted: Wanted = "",
    link: ReferenceLink = None,
) -> None:
    """Stream a trajectory to the board of a running flight, in step with its clock."""
    from aeroloop.controllers.law.ground_station import drive, find_flight

    orders, ground = find_flight(wanted)
    table: dict[str, Any] = {"source": "base-station"}
    if feedforward is not None:
        table["velocity_feedforward"] = feedforward
    if trajectory:
        table["trajectory"] = {"kind": trajectory}
    elif overrides:
        table["trajectory"] = msgspec.to_builtins(ground.trajectory)
    config.apply_overrides(table, tuple(f"trajectory.{override}" for override in overrides or ()))
    chosen = config.convert({**msgspec.to_builtins(ground), **table}, Ground, "base-station")
    drive(orders, chosen, link or orders.reference_client, None, say)


@app.command(epilog="Examples: `aeroloop joystick`, `aeroloop joystick --map my-stick.toml --record flight.stick`")
def joystick(
    device: Annotated[str, typer.Option(help="/dev/input/event*; by default the first stick found.")] = "",
    axis_map: Annotated[str, typer.Option("--map", metavar="FILE", help="Axis map; by default the one we ship.")] = "",
    recording: Annotated[str, typer.Option(metavar="FILE", help="Fly a recorded stick instead of a real one.")] = "",
    record: Annotated[Path | None, typer.Option(metavar="FILE", help="Record the stick while flying.")] = None,
    wanted: Wanted = "",
    link: ReferenceLink = None,
) -> None:
    """Fly the aircraft of a running flight with a joystick."""
    from aeroloop.controllers.law.ground_station import drive, find_flight

    orders, ground = find_flight(wanted)
    chosen = msgspec.structs.replace(
        ground,
        source="joystick",
        joystick_device=device,
        joystick_map=axis_map,
        joystick_recording=recording,
    )
    drive(orders, chosen, link or orders.reference_client, record, say)


def _new_folder(plan: Scenario) -> Path:
    stem = f"runs/{plan.name}-{plan.loop}-{datetime.now():%Y%m%d-%H%M%S}"
    folder, n = Path(stem), 1
    while folder.exists():
        n += 1
        folder = Path(f"{stem}-{n}")
    return folder


def _tell_where(orders: Orders, flight_id: str) -> None:
    for sentence in orders.scenario.notices(orders, flight_id):
        say(sentence)


def _write_junit(path: Path, summary: dict[str, Any]) -> None:
    from aeroloop.analysis.summary import junit_xml

    try:
        path.write_text(junit_xml(summary), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--junit {path}: cannot be written: {error.strerror}") from None


def _show(summary: dict[str, Any], folder: Path, report: Path | None) -> None:
    screen = Screen()
    table = Table("check", "value", "limit", "", header_style="bold")
    for check in summary["checks"]:
        value = "not measured" if check["value"] is None else f"{check['value']:.4g}"
        table.add_row(check["name"], value, check["limit"], "[green]pass[/]" if check["ok"] else "[red]FAIL[/]")
    screen.print(table)
    told = {check["name"] for check in summary["checks"]}
    counts = {name: summary["metrics"].get(name) for name in INCIDENTS if name not in told}
    incidents = ", ".join(f"{name} {count:g}" for name, count in counts.items() if count)
    if incidents:
        screen.print(f"[yellow]incidents in flight[/]: {incidents}", highlight=False, soft_wrap=True)
    failed = [plan for plan in summary.get("plans", ()) if plan["why"]]
    if failed:
        words = f"{len(failed)} of {len(summary['plans'])} plans failed; last reason: {failed[-1]['why']}"
        screen.print(f"[yellow]{words}[/]", highlight=False, soft_wrap=True)
    verdict = "[green]passed[/]" if summary["ok"] else f"[red]{'failed' if summary['exit_code'] == 1 else 'aborted'}[/]"
    factor = summary["real_time_factor"]
    speed = f", {factor:.1f} times real time" if factor else ""
    rung = f"rung {summary['loop']} ({RUNGS[summary['loop']]})"
    screen.print(
        f"{summary['scenario']} on {rung}: {verdict} ({summary['ended']}{speed})", highlight=False, soft_wrap=True
    )
    missed = summary["timing"]["missed_deadlines"]
    if missed:
        deadlines = "deadline" if missed == 1 else "deadlines"
        screen.print(f"[yellow]{missed} {deadlines} missed[/]: this machine was too slow at times")
    where = report or f"{folder} (no report yet: aeroloop report {folder})"
    screen.print(f"{'report' if report else 'run'}: {plain(str(where))}", highlight=False, soft_wrap=True)


def _show_comparison(comparison: dict[str, Any], page: Path) -> None:
    screen = Screen()
    first = comparison["runs"][0]
    screen.print(f"differences to {plain(first['label'])}", highlight=False)
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
    screen.print(f"page: {plain(str(page))}", highlight=False, soft_wrap=True)


def _farther_than(within_m: float, comparison: dict[str, Any]) -> list[str]:
    """A distance that is not known is not within, nor is one that is known for a part of the flight."""
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
        farther.append(f"{difference['label']} ({why})")
    return farther


if __name__ == "__main__":
    main()
