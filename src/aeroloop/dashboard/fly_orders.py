"""The commands of the fly page: what each asks of the aircraft, and why it cannot be given now."""

from __future__ import annotations

import math
import time
from typing import Any

from aeroloop.dashboard import family_page
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.ground.orders import TAKEOFF_HEIGHTS_M

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
