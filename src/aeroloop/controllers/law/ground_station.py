"""The base station and the joystick reader as separate programs, for a flight in another terminal.

They find the running flight, follow its clock and send on its reference link, one at a time.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

from aeroloop.controllers.law.ground_process import build_source, run_wall, setpoint_publisher
from aeroloop.controllers.law.request_tables import RequestTables
from aeroloop.core.errors import AeroloopError, ConfigError, LinkError
from aeroloop.core.scenario import with_value
from aeroloop.core.stream import Stream
from aeroloop.core.streams import named
from aeroloop.flight import running
from aeroloop.flight.processes.common import LaunchSettings, stop
from aeroloop.ground.config import GroundStationSettings, ground_of
from aeroloop.ground.lock import claim
from aeroloop.ground.trajectories import REST, Point
from aeroloop.links.open import open_link
from aeroloop.realtime.topics import Topics

ENDING_S = 2.0
"""Time for a flight to remove its files."""
HOW_TO_START = "start one: aeroloop fly tiltrotor-joystick"


def find_flight(wanted: str = "") -> tuple[LaunchSettings, GroundStationSettings]:
    """The running flight whose board takes references, or the one whose folder ends in `wanted`; and its ground
    tables."""
    flights = running.flights()
    if wanted:
        flights = [launch for launch in flights if launch.folder.endswith(wanted)]
    if not flights:
        raise ConfigError(f"no {'such ' if wanted else ''}flight is running; {HOW_TO_START}")
    with_board = [(launch, ground) for launch in flights if (ground := ground_of(launch.scenario))]
    if not with_board:
        raise ConfigError(
            f"the running flight, {flights[0].scenario.name}, takes no references: its autopilot uses MAVLink, so "
            f"fly it from a ground station (docs/qgroundcontrol.md); for a flight with a board, {HOW_TO_START}"
        )
    if len(with_board) > 1:
        names = ", ".join(running.flight_id(launch) for launch, _ in with_board)
        raise ConfigError(f"several flights are running; choose one with --flight: {names}")
    return with_board[0]


def _present(topics: Topics, stream: Stream, over: Callable[[], bool]) -> tuple[Point, float]:
    """Position of the aircraft and time: a reference that starts elsewhere would be a step."""
    truth = topics.subscriber(stream)
    while (row := truth.latest()) is None:
        if over():
            raise ConfigError("the flight has ended")
        time.sleep(0.01)
    now = dict(zip(stream.names, row, strict=True))
    return Point((now["x_m"], now["y_m"], now["z_m"]), now["yaw_rad"], REST, 0.0), now["t_s"]


def drive(
    launch: LaunchSettings, ground: GroundStationSettings, url: str, record: Path | None, say: Callable[[str], None]
) -> None:
    """Stream references until the flight ends or the program is stopped."""
    scenario = with_value(launch.flown_by(RequestTables), "ground", ground)
    if scenario.lockstep:
        raise ConfigError("that flight runs in lockstep with its own base station; fly with --pace real")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop.request)

    def over() -> bool:
        return stop.requested or not launch.folder_path.exists()

    with claim(url, ground.source):
        topics, streams = Topics(launch.folder_path, wait=False), named(scenario)
        source = build_source(scenario, record, _present(topics, streams["truth"], over))
        clock, publish = topics.subscriber(streams["clock"]), setpoint_publisher(topics, scenario)
        link = open_link(url)
        say(f"{ground.source} sends to {url}; Ctrl-C stops it, and the board then holds its last reference")
        try:
            run_wall(source, link, publish, clock, over=over)
        except LinkError as error:
            # At the end of a flight the board ends first, and its folder is removed last.
            deadline_s = time.monotonic() + ENDING_S
            while not over() and time.monotonic() < deadline_s:
                time.sleep(0.02)
            if not over():
                raise AeroloopError(f"{error}; the flight may have ended") from None
        finally:
            link.close()
    say("stopped" if stop.requested else "the flight has ended")
