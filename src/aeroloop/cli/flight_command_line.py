"""`aeroloop cmd`: one flight command to an aircraft over MAVLink, and its answer; or one command to the simulation
(`cli/simulation_commands.py`)."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from aeroloop.cli import operator_command_line, simulation_commands
from aeroloop.cli.console import notes, plain, print_note
from aeroloop.core import geodesy
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import Origin
from aeroloop.core.suggest import did_you_mean
from aeroloop.flight import running
from aeroloop.ground.commands import (
    MODES,
    HeldError,
    InvalidError,
    NoAnswerError,
    Patience,
    Vehicle,
    VehicleState,
    write_plan,
)
from aeroloop.ground.commands.transaction import Partner
from aeroloop.ground.waypoint_lists import read_mission

app = typer.Typer(
    help="Command the simulation of a flight (pause, step, speed, change ...), or an aircraft over MAVLink.",
    epilog="Exit codes: 0 done, 1 the autopilot refused, 2 bad usage, 3 no answer or no link.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
mission_app = typer.Typer(help="Missions: upload, download, clear, start, pause.", no_args_is_help=True)
param_app = typer.Typer(help="Parameters of the autopilot: get, set, list.", no_args_is_help=True)
simulation_commands.register(app)
app.add_typer(mission_app, name="mission")
app.add_typer(param_app, name="param")
app.add_typer(operator_command_line.app, name="board")

DEFAULT_LINK = "udp://127.0.0.1:14540?listen"
"""Default destination of PX4 and the virtual Pixhawk."""
ME: Partner = (253, 190)
"""Differs from the dashboard's system ID, so that answers are not confused."""
THERE_M = 1.0
GLANCE_S = 2.0
"""Time that `status` waits for the values it prints."""
NEGATIVE = {"ignore_unknown_options": True}  # -33.8 is a latitude, not an option

Link = Annotated[
    str, typer.Option(metavar="URL", help="Link to the aircraft; without it the running flight's, else UDP port 14540.")
]
System = Annotated[
    int, typer.Option(metavar="N", min=0, max=255, help="MAVLink system id; 0 for the first one received.")
]
Timeout = Annotated[float, typer.Option(metavar="S", min=0.1, max=600, help="Timeout for an answer, in seconds.")]
Wait = Annotated[float, typer.Option(metavar="S", min=0, max=3600, help="Wait up to S seconds for completion.")]
TakeOver = Annotated[bool, typer.Option("--take-over", help="Take command from another program at the router.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


def _example(*lines: str) -> str:
    return "Examples:\n\n" + "\n\n".join(f"`aeroloop cmd {line}`" for line in lines)


@app.command(epilog=_example("arm", "arm --wait", "arm --link udp://127.0.0.1:14550?listen --system 2"))
def arm(
    force: Annotated[bool, typer.Option(help="Override the autopilot's arming checks.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the autopilot is ready.")] = False,
    within: Annotated[
        float, typer.Option(metavar="S", min=0.1, max=3600, help="With --wait: timeout in seconds.")
    ] = 120.0,
    link: Link = "",
    system: System = 0,
    timeout: Timeout = 10.0,
    take_over: TakeOver = False,
) -> None:
    """Arm the motors."""
    with _vehicle(link, system, timeout, take_over) as vehicle:
        if wait and not force:
            _arm_when_ready(vehicle, within)
        else:
            vehicle.arm(force=force)
        typer.echo("armed")


@app.command(epilog=_example("disarm"))
def disarm(
    force: Annotated[bool, typer.Option(help="Also in the air: the motors stop.")] = False,
    link: Link = "",
    system: System = 0,
    timeout: Timeout = 10.0,
    take_over: TakeOver = False,
) -> None:
    """Disarm the motors."""
    with _vehicle(link, system, timeout, take_over) as vehicle:
        vehicle.disarm(force=force)
        typer.echo("disarmed")


@app.command(epilog=_example("takeoff 5", "takeoff 5 --wait 30"))
def takeoff(
    height: Annotated[float, typer.Argument(metavar="HEIGHT", help="In m above home.")],
    wait: Wait = 0.0,
    link: Link = "",
    system: System = 0,
    timeout: Timeout = 10.0,
    take_over: TakeOver = False,
) -> None:
    """Take off; if not armed, as soon as it is."""
    with _vehicle(link, system, timeout, take_over) as vehicle:
        vehicle.takeoff(height)
        # PX4 accepts the command on the ground too, and takes off as soon as it is armed.
        typer.echo(f"{'takes off' if vehicle.state.armed else 'not armed: will take off once it is,'} to {height:g} m")
        if wait:
            vehicle.wait(lambda s: s.height_m is not None and s.height_m > height - THERE_M, wait, "takeoff")


@app.command(epilog=_example("land", "land --wait 60", "land --precision"))
def land(
    precision: Annotated[
        bool, typer.Option("--precision", help="On the pad that a companion computer detects.")
    ] = False,
    wait: Wait = 0.0,
    link: Link = "",
    system: System = 0,
    timeout: Timeout = 10.0,
    take_over: TakeOver = False,
) -> None:
    """Land at the current position."""
    with _vehicle(link, system, timeout, take_over) as vehicle:
        vehicle.land(precision=precision)
        typer.echo("lands")
        _wait_down(vehicle, wait, "land")


@app.command("return", epilog=_example("return"))
def return_home(
    wait: Wait = 0.0, link: Link = "", system: System = 0, timeout: Timeout = 10.0, take_over: TakeOver = False
) -> None:
    """Return home and land."""
    with _vehicle(link, system, timeout, take_over) as vehicle:
        vehicle.return_home()
        typer.echo("returns")
        _wait_down(vehicle, wait, "return")


@app.command(epilog=_example("hold"))
def hold(link: Link = "", system: System = 0, timeout: Timeout = 10.0, take_over: TakeOver = False) -> None:
    """Stop and hold the position."""
    with _vehicle(link, system, timeout, take_over) as vehicle:
        vehicle.hold()
        typer.echo("holds")


@app.command(
    epilog=_example("goto 47.3978 8.5456 500", "goto 47.3978 8.5456 10 --above-home"), context_settings=NEGATIVE
)
def goto(
    lat: Annotated[float, typer.Argument(metavar="LAT", help="Degrees north.")],
    lon: Annotated[float, typer.Argument(metavar="LON", help="Degrees east.")],
    alt: Annotated[float, typer.Argument(metavar="ALT", help="m above mean sea level.")],
    above_home: Annotated[bool, typer.Option("--above-home", help="ALT is above home.")] = False,
    yaw: Annotated[float | None, typer.Option(metavar="DEG", help="Nose, clockwise from north.")] = None,
    wait: Wait = 0.0,
    link: Link = "",
    system: System = 0,
    timeout: Timeout = 10.0,
    take_over: TakeOver = False,
) -> None:
    """Fly to a position and hold there."""
    with _vehicle(link, system, timeout, take_over) as vehicle:
        if above_home:
            seen = vehicle.wait(lambda s: s.alt_m is not None, timeout, "go to: no position received")
            alt += (seen.alt_m or 0.0) - (seen.height_m or 0.0)
        vehicle.go_to(lat, lon, alt, yaw)
        typer.echo(f"goes to {lat:.7f} {lon:.7f}, {alt:.1f} m above sea level")
        if wait:
            vehicle.wait(lambda s: _distance_m(s, lat, lon, alt) < THERE_M, wait, "go to")


@app.command(epilog=_example("mode position"))
def mode(
    name: Annotated[str, typer.Argument(metavar="NAME", help=", ".join(MODES))],
    link: Link = "",
    system: System = 0,
    timeout: Timeout = 10.0,
    take_over: TakeOver = False,
) -> None:
    """Change the flight mode."""
    if name not in MODES:
        raise InvalidError(f"mode {name}: unknown mode{did_you_mean(name, MODES)}; expected one of: {', '.join(MODES)}")
    with _vehicle(link, system, timeout, take_over) as vehicle:
        vehicle.set_mode(name)
        typer.echo(f"mode {name}")


@mission_app.command("upload", epilog=_example("mission upload survey.plan"))
def mission_upload(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A plan of QGroundControl (.plan), or a list (.waypoints).")
    ],
    link: Link = "",
    system: System = 0,
    timeout: Timeout = 10.0,
    take_over: TakeOver = False,
) -> None:
    """Upload a mission in place of the old one."""
    items = read_mission(file)
    with _vehicle(link, system, timeout, take_over) as vehicle:
        vehicle.upload_mission(items)
        typer.echo(f"{len(items)} mission items uploaded")


@mission_app.command("download", epilog=_example("mission download flown.plan"))
def mission_download(
    file: Annotated[Path, typer.Argument(metavar="FILE.plan", help="Where to write it.")],
    link: Link = "",
    system: System = 0,
    timeout: Timeout = 10.0,
) -> None:
    """Read the aircraft's mission into a plan of QGroundControl."""
    with _vehicle(link, system, timeout) as vehicle:
        items = vehicle.download_mission()
        write_plan(file, items, vehicle.state.home)
        typer.echo(f"{len(items)} mission items in {file}")


@mission_app.command("clear", epilog=_example("mission clear"))
def mission_clear(link: Link = "", system: System = 0, timeout: Timeout = 10.0, take_over: TakeOver = False) -> None:
    """Remove the aircraft's mission."""
    with _vehicle(link, system, timeout, take_over) as vehicle:
        vehicle.clear_mission()
        typer.echo("mission cleared")


@mission_app.command("start", epilog=_example("mission start", "mission start --first 3"))
def mission_start(
    first: Annotated[int | None, typer.Option(metavar="N", min=0, help="From this item on.")] = None,
    link: Link = "",
    system: System = 0,
    timeout: Timeout = 10.0,
    take_over: TakeOver = False,
) -> None:
    """Start or resume the mission; arms if necessary."""
    with _vehicle(link, system, timeout, take_over) as vehicle:
        vehicle.start_mission(first)
        typer.echo("mission started")


@mission_app.command("pause", epilog=_example("mission pause"))
def mission_pause(link: Link = "", system: System = 0, timeout: Timeout = 10.0, take_over: TakeOver = False) -> None:
    """Pause the mission and hold; `mission start` resumes it."""
    with _vehicle(link, system, timeout, take_over) as vehicle:
        vehicle.pause_mission()
        typer.echo("mission paused")


@param_app.command("get", epilog=_example("param get MPC_XY_CRUISE"))
def param_get(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    link: Link = "",
    system: System = 0,
    timeout: Timeout = 10.0,
) -> None:
    """Read one parameter."""
    with _vehicle(link, system, timeout) as vehicle:
        typer.echo(f"{name} {_value(vehicle.parameter(name))}")


@param_app.command("set", epilog=_example("param set MPC_XY_CRUISE 3.5"), context_settings=NEGATIVE)
def param_set(
    name: Annotated[str, typer.Argument(metavar="NAME")],
    value: Annotated[float, typer.Argument(metavar="VALUE")],
    link: Link = "",
    system: System = 0,
    timeout: Timeout = 10.0,
    take_over: TakeOver = False,
) -> None:
    """Set one parameter and print its new value."""
    with _vehicle(link, system, timeout, take_over) as vehicle:
        typer.echo(f"{name} {_value(vehicle.set_parameter(name, value))}")


@param_app.command("list", epilog=_example("param list", "param list --json"))
def param_list(as_json: Json = False, link: Link = "", system: System = 0, timeout: Timeout = 10.0) -> None:
    """Read all parameters."""
    with _vehicle(link, system, timeout) as vehicle, notes.status("reading parameters") as status:
        found = vehicle.parameters(lambda so_far, of: status.update(f"parameter {so_far} of {of}"))
    if as_json:
        typer.echo(json.dumps({name: value if math.isfinite(value) else None for name, value in found.items()}))
        return
    for name, value in found.items():
        typer.echo(f"{name:16} {_value(value)}")


@app.command(epilog=_example("status", "status --json"))
def status(as_json: Json = False, link: Link = "", system: System = 0, timeout: Timeout = 10.0) -> None:
    """Print the aircraft's state."""
    with _vehicle(link, system, timeout) as vehicle:
        try:
            vehicle.wait(lambda s: None not in (s.alt_m, s.roll_deg, s.battery_V, s.mission_current), GLANCE_S)
        except NoAnswerError:
            if vehicle.station.lost:
                raise
        state, now_ns = vehicle.state, vehicle.station.now_ns()
    if as_json:
        typer.echo(json.dumps(asdict(state), allow_nan=False))
    else:
        Console().print(_table(state, now_ns))


@app.command(epilog=_example("watch"))
def watch(link: Link = "", system: System = 0, timeout: Timeout = 10.0) -> None:
    """Show the aircraft's state live; Ctrl-C ends it."""
    with _vehicle(link, system, timeout) as vehicle, Live(console=Console(), refresh_per_second=5) as live:
        try:
            while not vehicle.station.lost:
                live.update(_table(vehicle.state, vehicle.station.now_ns()))
                time.sleep(0.2)
        except KeyboardInterrupt:
            return
        raise NoAnswerError(f"watch: link lost: {vehicle.station.lost}")


@contextmanager
def _vehicle(link: str, system: int, timeout_s: float, take_over: bool = False) -> Iterator[Vehicle]:
    url = link or running_link() or DEFAULT_LINK
    with Vehicle.connect(url, system or None, timeout_s, me=ME, patience=Patience.of(timeout_s)) as vehicle:
        if take_over:
            vehicle.station.take_command()
        try:
            yield vehicle
        except HeldError as error:
            raise HeldError(f"{error}: repeat with --take-over", error.holder) from None


def _arm_when_ready(vehicle: Vehicle, within_s: float) -> None:
    """Wait, showing the autopilot's reasons: beside a spinner on a terminal, otherwise one line for each new reason."""
    if notes.is_terminal:
        with notes.status("waiting for the autopilot") as status:
            vehicle.arm_when_ready(within_s, lambda why: status.update(f"waiting: {plain(why)}"))
        return
    told: set[str] = set()

    def tell(why: str) -> None:
        if why not in told:
            told.add(why)
            print_note(f"waiting: {why}")

    vehicle.arm_when_ready(within_s, tell)


def running_link() -> str:
    """The running flight's router link for commands; empty: none."""
    links = {str(link) for launch in running.flights() if (link := getattr(launch, "dash_link", ""))}
    if len(links) > 1:
        raise ConfigError(f"several flights are running; choose one with --link: {', '.join(sorted(links))}")
    return links.pop() if links else ""


def _wait_down(vehicle: Vehicle, wait_s: float, what: str) -> None:
    if wait_s:
        vehicle.wait(lambda s: s.landed == "on_ground" and not s.armed, wait_s, what)


def _distance_m(state: VehicleState, lat_deg: float, lon_deg: float, alt_m: float) -> float:
    if state.lat_deg is None or state.lon_deg is None or state.alt_m is None:
        return math.inf
    return math.hypot(*geodesy.local(Origin(state.lat_deg, state.lon_deg, state.alt_m), lat_deg, lon_deg, alt_m))


def _value(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.7g}"


def _table(state: VehicleState, now_ns: int) -> Table:
    table = Table(box=None, show_header=False)
    for name, words in _rows(state, now_ns):
        table.add_row(name, words)
    for text in state.texts[-5:]:
        table.add_row("", text.words.replace("[", r"\["))
    return table


def _rows(s: VehicleState, now_ns: int) -> Iterator[tuple[str, str]]:
    heard = f"silent for {(now_ns - s.heartbeat_ns) / 1e9:.0f} s" if s.silent(now_ns) else s.status
    yield "system", f"{s.system} ({heard})"
    yield "mode", f"{s.mode}, {'armed' if s.armed else 'disarmed'}, {s.landed.replace('_', ' ')}"
    if s.lat_deg is not None and s.lon_deg is not None:
        yield (
            "place",
            f"{s.lat_deg:.7f} {s.lon_deg:.7f}, {s.alt_m:.1f} m above sea level, {s.height_m:.1f} m above home",
        )
    if s.vel_W is not None:
        yield "speed", f"{math.hypot(*s.vel_W[:2]):.1f} m/s, climbs {s.vel_W[2]:+.1f} m/s"
    if s.heading_deg is not None:
        yield "heading", f"{s.heading_deg:.0f} deg"
    if s.battery_V is not None:
        left = "" if s.battery_remaining is None else f", {100 * s.battery_remaining:.0f} %"
        yield "battery", f"{s.battery_V:.2f} V{left}"
    if s.satellites is not None:
        yield "satellites", str(s.satellites)
    if s.mission_count:
        yield "mission", f"item {s.mission_current} of {s.mission_count}, {s.mission_state.replace('_', ' ')}"
