"""`aeroloop base-station` and `joystick`: references for the board of a running flight."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from aeroloop.cli.console import print_note
from aeroloop.core import config
from aeroloop.ground.config import GroundStationSettings

BASE_STATION_EPILOG = (
    "Examples, with a flight in another terminal (`aeroloop fly tiltrotor-joystick`):\n\n"
    "`aeroloop base-station`\n\n"
    "`aeroloop base-station --trajectory circle --set radius_m=2 --no-feedforward`"
)
JOYSTICK_EPILOG = "Examples: `aeroloop joystick`, `aeroloop joystick --map my-stick.toml --record flight.stick`"

Wanted = Annotated[str, typer.Option("--flight", metavar="ID", help="Which flight, if several are running.")]
ReferenceLink = Annotated[
    str | None, typer.Option("--link", metavar="URL", help="Reference link; by default the running flight's.")
]


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
    chosen = config.convert({**msgspec.to_builtins(ground), **table}, GroundStationSettings, "base-station")
    drive(launch, chosen, link or launch.reference_client, None, print_note)


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
