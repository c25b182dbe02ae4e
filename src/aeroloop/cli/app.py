"""The command line: reads options, calls one function, and prints the result."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack, nullcontext, suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from typer.main import get_group

from aeroloop import __version__
from aeroloop.cli import (
    board_commands,
    camera_commands,
    campaign_commands,
    compare_command,
    dash_commands,
    export_commands,
    flight_result,
    ground_commands,
    import_commands,
    landing_commands,
    live_commands,
    new_aircraft,
    pad_commands,
    physics_command,
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
from aeroloop.core import scenario_files, trust
from aeroloop.core.errors import EXIT_USAGE, ConfigError
from aeroloop.flight import results

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
            flight_result.write_junit(junit, judged.summary)
        if as_json:
            sys.stdout.write(results.as_text(judged.summary))
        else:
            flight_result.show(judged.summary, judged.folder, judged.report)
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
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `aeroloop fly` made.")],
    allan: Annotated[
        float | None,
        typer.Option(
            "--allan", metavar="HOURS", help="Also simulate its IMU at rest this long, and draw Allan deviations."
        ),
    ] = None,
) -> None:
    """Write the report of a run again, from its log and summary."""
    typer.echo(results.report_again(run, allan_h=allan))


app.command("compare", epilog=compare_command.EPILOG)(compare_command.compare)
app.command("check-physics", epilog=physics_command.EPILOG)(physics_command.check_physics)


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False) -> None:
    """Report what this machine can do, and how to install what is missing."""
    from aeroloop.cli.doctor import examine, render

    findings = examine()
    if as_json:
        typer.echo(json.dumps([finding.as_dict() for finding in findings], indent=2))
    else:
        Console().print(render(findings))


# After those above: --help lists commands in this order, and flying comes first.
app.command("base-station", epilog=ground_commands.BASE_STATION_EPILOG)(ground_commands.base_station)
app.command("joystick", epilog=ground_commands.JOYSTICK_EPILOG)(ground_commands.joystick)
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


if __name__ == "__main__":
    main()
