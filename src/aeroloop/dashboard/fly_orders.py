"""The commands of the fly page: what each asks of the aircraft, why it cannot be given now, and who commands.

Over the flight's router one line commands at a time, and another only when it takes over.
"""

from __future__ import annotations

import math
import time
from typing import Any

from aeroloop.core.errors import LinkError
from aeroloop.dashboard import family_page
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.ground.orders import TAKEOFF_HEIGHTS_M
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
    """Why no command can be given; empty if an autopilot is connected."""
    if not watched.running:
        return "no flight is running"
    scenario = watched.scenario
    page = family_page.of(scenario) if scenario is not None else None
    if page is not None and page.commands is None:
        return page.no_commands
    if scenario is not None and scenario.lockstep:
        return "this flight runs in lockstep with its own pilot; fly with --pace real to command it"
    if not connected(state):
        return "no MAVLink received yet"
    return ""


def impossible(order: str, state: Any, *, waypoints: int, target: bool) -> str:
    """Why an aircraft that listens would refuse it; empty if it may not. It has the last word."""
    if order == "arm" and state.armed:
        return "it is armed"
    if order == "disarm" and not state.armed:
        return "it is not armed"
    if order == "goto" and not target:
        return "choose “go there” and click the map first"
    if order == "mission-upload" and not waypoints:
        return "click waypoints on the map first"
    if order == "mission-start" and state.mission_count == 0:
        return "upload a mission first"
    if order == "takeoff" and in_air(state):
        return "it is in the air"
    if order in NEED_ARMED and not state.armed:
        return "arm it first"
    return ""


def checked(value: object, bounds: tuple[float, float], what: str) -> float:
    """A number that a person typed; ValueError with a sentence."""
    low, high = bounds
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{what}: expected a number")
    if not low <= value <= high:
        raise ValueError(f"{what}: expected {low:g} to {high:g}, not {value:g}")
    return float(value)


def takeoff_height(value: object) -> float:
    return checked(value, TAKEOFF_HEIGHTS_M, "take-off height in m")


def bench_link(watched: WatchedFlight) -> str:
    """The router's link that our commands take; empty where the aircraft takes none."""
    commands = family_page.of(watched.scenario).commands if watched.scenario is not None else None
    return commands.bench_link if commands is not None else ""


def other_commander(watched: WatchedFlight) -> str:
    """Who commands instead of us; empty when we do, or nobody.

    Other programs of the bench share our line: that one of them commands, we learn when it refuses us.
    """
    for row in watched.store.newest("line", ("line",)):
        number = int(row["line"])
        if row["role"] >= COMMANDS and row["up"]:
            name = watched.lines[number].name if 0 <= number < len(watched.lines) else f"line {number}"
            if name != bench_link(watched):
                return name
            return watched.station.holder if watched.station is not None else ""
    return ""


def take_command(watched: WatchedFlight) -> None:
    """CommandError, LinkError or ConfigError with a sentence when the router will not."""
    if watched.orders is None:
        raise LinkError("no flight is running")
    if watched.station is not None:
        watched.station.take_command()
        return
    control.take_over(watched.orders.folder_path, bench_link(watched))
