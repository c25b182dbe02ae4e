"""The command line: reads options, calls one function, and prints the result."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from typer.main import get_group

from aeroloop import __version__
from aeroloop.cli import (
    board_commands,
    camera_commands,
    campaign_commands,
    dash_commands,
    export_commands,
    flown_commands,
    import_commands,
    landing_commands,
    live_commands,
    new_aircraft,
    pad_commands,
    progress,
    px4_module_command,
    redundancy_commands,
    replay_commands,
    slam_commands,
    sync_commands,
    trajectory_command,
    video_commands,
)
from aeroloop.cli.console import Program, notes, plain, print_error, print_note, program, run_program
from aeroloop.core import config, scenario_files, trust
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_USAGE, ConfigError
from aeroloop.core.fleet import AIRCRAFT
from aeroloop.flight import results
from aeroloop.ground.config import Ground

if TYPE_CHECKING:
    from aeroloop.flight.supervisor import Flight


class Commands(Program):
    """`route` and `cmd` import MAVLink, which takes a tenth of a second that other commands should not need."""

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
    add_completion=True,
    help="Aeroloop: fly a real controller in a simulated aircraft, over a real byte link.",
    epilog="Exit codes: 0 all checks passed, 1 a check failed, 2 bad usage or configuration, 3 link or board failed, "
    "130 or 143 interrupted by Ctrl-C or SIGTERM.",
)
app.add_typer(board_commands.app, name="board")
app.add_typer(camera_commands.app, name="camera")
app.add_typer(campaign_commands.app, name="campaign")

SAME_END_S = 0.1
"""A flight in real time may end one cycle early or late."""

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

Trusted = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Execute Python files that a scenario names (law_file, a family's folder) from anywhere.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set any key of the scenario, e.g. link.to_plant.delay_s=0.006"),
]


class Screen(Console):
    """Standard output whose reader may close it early: the exit code of the verdict must not depend on that."""

    def on_broken_pipe(self) -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main() -> None:
    try:
        run_program(app)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has closed our output
        sys.exit(EXIT_USAGE)


@app.callback(invoke_without_command=True)
def top(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    trusted: Trusted = False,
) -> None:
    if trusted:
        trust.trust_all()
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
    "`aeroloop fly fixedwing-loiter --view flightgear`\n\n"
    "`aeroloop fly quad-landing --companion tcp://0.0.0.0:5600`\n\n"
    "`aeroloop fly my-flight.toml --seed 7 --out runs/seven --junit result.xml`"
)
def fly(
    name: board_commands.Name,
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
        Path | None, typer.Option(metavar="FILE", help="A Python file with a control law of your own; it is executed.")
    ] = None,
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder for the results; must not exist yet.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json alone on standard output.")] = False,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the verdict as JUnit XML.")] = None,
    with_report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write the report now, or later with `aeroloop report`.")
    ] = True,
    view: Annotated[
        str | None,
        typer.Option(metavar="PROGRAM", help="Show it in another program: flightgear; in real time as with --dash."),
    ] = None,
    companion: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Frames for a companion outside that lands it, e.g. tcp://0.0.0.0:5600; MAVLink on UDP port 14540.",
        ),
    ] = None,
    dash: Annotated[
        bool, typer.Option("--dash", help="Watch and fly it in a browser; in real time unless --pace says otherwise.")
    ] = False,
    dash_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port of the dashboard; 8080, or any that is free.")
    ] = None,
    paused: Annotated[
        bool, typer.Option("--paused", help="Stand at the start until `aeroloop cmd resume`, `step` or the page.")
    ] = False,
    trusted: Trusted = False,
) -> None:
    """Fly a scenario, evaluate its checks, and write log, summary and report."""
    if trusted:
        trust.trust_all()
    from aeroloop.api import flying, scenarios

    asked = scenarios.named(name).changed(tuple(overrides or ()))
    chosen = flying.choose(
        asked, loop=loop, link=link, pace=pace, seed=seed, law=law, view=view, companion=companion, watched=dash
    )
    flight_plan = flying.verified(chosen)
    folder = out or flying.new_folder(flight_plan)
    if junit and not junit.parent.is_dir():
        raise ConfigError(f"--junit {junit}: the folder {junit.parent} does not exist")
    with ExitStack() as pages:
        preparing, shown = notes.status("preparing the flight") if notes.is_terminal else None, list[str]()

        def prepared(flight: Flight) -> None:
            if preparing:
                preparing.stop()
            if dash and not shown:  # a restarted flight has one
                shown.append(pages.enter_context(dash_commands.beside(flight.id, folder.parent, dash_port)))
                print_note(f"dashboard: {shown[0]}")

        with preparing or nullcontext():  # building a missing firmware image takes seconds
            watcher = flying.Watcher(prepared, lambda: progress.shown(flight_plan), print_note, failed=print_error)
            judged = flying.carry_out(flight_plan, folder, watcher, report=with_report, paused=paused)
        if junit:
            _write_junit(junit, judged.summary)
        if as_json:
            sys.stdout.write(results.as_text(judged.summary))
        else:
            _show(judged.summary, judged.folder, judged.report)
        for error in judged.errors:
            print_error(error)
        if dash and sys.stdin.isatty() and not as_json and judged.exit_code not in flying.SIGNALS:
            print_note("the dashboard runs until Ctrl-C")
            with suppress(KeyboardInterrupt):
                Event().wait()
    raise typer.Exit(judged.exit_code)


@app.command("list")
def list_scenarios(
    as_json: Annotated[bool, typer.Option("--json", help="Print name, summary and file of each as JSON.")] = False,
) -> None:
    """List the scenarios that can be flown by name."""
    if as_json:
        found = scenario_files.available()
        rows = [{"name": path.stem, "summary": scenario_files.summary(path), "file": str(path)} for path in found]
        typer.echo(json.dumps(rows, indent=2))
        return
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

    launch, ground = find_flight(wanted)
    table: dict[str, Any] = {"source": "base-station"}
    if feedforward is not None:
        table["velocity_feedforward"] = feedforward
    if trajectory:
        table["trajectory"] = {"kind": trajectory}
    elif overrides:
        table["trajectory"] = msgspec.to_builtins(ground.trajectory)
    config.apply_overrides(table, tuple(f"trajectory.{override}" for override in overrides or ()))
    chosen = config.convert({**msgspec.to_builtins(ground), **table}, Ground, "base-station")
    drive(launch, chosen, link or launch.reference_client, None, print_note)


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

    launch, ground = find_flight(wanted)
    chosen = msgspec.structs.replace(
        ground,
        source="joystick",
        joystick_device=device,
        joystick_map=axis_map,
        joystick_recording=recording,
    )
    drive(launch, chosen, link or launch.reference_client, record, print_note)


# After those above: --help lists commands in this order, and flying comes first.
app.command("dash", epilog=dash_commands.EPILOG)(dash_commands.dash)
app.command("landings", epilog=landing_commands.EPILOG)(landing_commands.landings)
app.command("live", epilog=live_commands.EPILOG)(live_commands.live)
app.command("export", epilog=export_commands.EPILOG)(export_commands.export)
app.command("export px4-module", epilog=px4_module_command.EPILOG)(px4_module_command.px4_module)
app.command("pad", epilog=pad_commands.EPILOG)(pad_commands.pad)
app.command("replay", epilog=replay_commands.EPILOG)(replay_commands.replay)
app.command("slam", epilog=slam_commands.EPILOG)(slam_commands.slam)
app.command("sync-table", epilog=sync_commands.EPILOG)(sync_commands.sync_table)
app.command("redundancy-matrix", epilog=redundancy_commands.EPILOG)(redundancy_commands.redundancy_matrix)
app.command("import", epilog=import_commands.EPILOG)(import_commands.import_aircraft)
app.command("trajectory", epilog=trajectory_command.EPILOG)(trajectory_command.trajectory)
app.command("video", epilog=video_commands.EPILOG)(video_commands.video)
app.command("new", epilog=new_aircraft.EPILOG)(new_aircraft.new)


def _write_junit(path: Path, summary: Mapping[str, Any]) -> None:
    from aeroloop.analysis.summary import junit_xml

    try:
        path.write_text(junit_xml(summary), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--junit {path}: cannot be written: {error.strerror}") from None


def _show(summary: Mapping[str, Any], folder: Path, report: Path | None) -> None:
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


if __name__ == "__main__":
    main()
