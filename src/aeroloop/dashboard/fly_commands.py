"""The commands of the fly page: the request of each, why it is not available, and which link has command.

Over the flight's router one link commands at a time; another one must take over.
"""

from __future__ import annotations

import math
import time
from typing import Any

from aeroloop.core.errors import LinkError
from aeroloop.dashboard import family_page
from aeroloop.dashboard.roles import ViewOnlyError
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.ground.pilot_commands import TAKEOFF_HEIGHTS_M
from aeroloop.router import control
from aeroloop.router.config import COMMANDS

GO_HEIGHTS_M = (0.5, 500.0)
"""Above home."""
HOLDS_S = (0.0, 3600.0)
TAKEOFF_M = 5.0

NEED_ARMED = {"takeoff", "land", "return", "hold", "goto", "mission-pause"}


def connected(state: Any) -> bool:
    return state is not None and not state.silent(time.monotonic_ns())


def in_air(state: Any) -> bool:
    return bool(state.landed in ("in_air", "takeoff", "landing"))


def no_aircraft(watched: WatchedFlight, state: Any) -> str:
    """Why no command can be sent; empty if an autopilot is connected."""
    if not watched.running:
        return "no flight is running"
    scenario = watched.scenario
    page = family_page.of(scenario) if scenario is not None else None
    if page is not None and page.commands is None:
        return page.no_commands
    if scenario is not None and scenario.lockstep:
        return "this flight runs in lockstep with a scripted pilot; fly with --pace real to command it"
    if not connected(state):
        return "no MAVLink received yet"
    return "" if watched.may_command else "this page is view-only"


def impossible(command: str, state: Any, *, waypoints: int, target: bool) -> str:
    """Why a connected aircraft would refuse it; empty if it may accept. The aircraft decides."""
    if command == "arm" and state.armed:
        return "already armed"
    if command == "disarm" and not state.armed:
        return "not armed"
    if command == "goto" and not target:
        return "choose “go there” and click the map first"
    if command == "mission-upload" and not waypoints:
        return "click waypoints on the map first"
    if command == "mission-start" and state.mission_count == 0:
        return "upload a mission first"
    if command == "takeoff" and in_air(state):
        return "already in the air"
    if command in NEED_ARMED and not state.armed:
        return "arm first"
    return ""


def checked(value: object, bounds: tuple[float, float], what: str) -> float:
    """A number typed by the user; ValueError with a sentence."""
    low, high = bounds
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{what}: expected a number")
    if not low <= value <= high:
        raise ValueError(f"{what}: expected {low:g} to {high:g}, not {value:g}")
    return float(value)


def takeoff_height(value: object) -> float:
    return checked(value, TAKEOFF_HEIGHTS_M, "take-off height in m")


def bench_link(watched: WatchedFlight) -> str:
    """The router's link for our commands; empty if the aircraft accepts none."""
    commands = family_page.of(watched.scenario).commands if watched.scenario is not None else None
    return commands.bench_link if commands is not None else ""


def other_commander(watched: WatchedFlight) -> str:
    """Which other link has command; empty if ours has, or none.

    Other programs of the bench share our link: that one of them commands is known only from a refusal.
    """
    for row in watched.store.newest("router_link", ("link",)):
        number = int(row["link"])
        if row["role"] >= COMMANDS and row["up"]:
            name = watched.links[number].name if 0 <= number < len(watched.links) else f"link {number}"
            if name != bench_link(watched):
                return name
            return watched.commander
    return ""


def take_command(watched: WatchedFlight) -> None:
    """Raises CommandError, LinkError or ConfigError if the router refuses."""
    if not watched.may_command:
        raise ViewOnlyError
    if watched.launch is None:
        raise LinkError("no flight is running")
    if watched.station is not None:
        watched.station.take_command()
        return
    control.take_over(watched.launch.folder_path, bench_link(watched))
