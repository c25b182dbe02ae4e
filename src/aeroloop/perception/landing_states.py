"""The states of a landing on the pad: one pure step from what is known to a target and a climb rate.

    SEARCH ─▶ APPROACH ─▶ DESCEND ⇄ LAND ─▶ DONE
       ▲         ▲           │
       └─────────┴── ABORT ◀─┘            GIVEN_UP: the caller lands by GPS or holds

Heights are of the camera above the pad (or above the expected ground while the pad is unknown). No state descends when
the pad was unseen for longer than `unseen_s`, except LAND in the last `blind_m`, where no camera can focus.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

XY = tuple[float, float]


class State(Enum):
    SEARCH = "search"
    APPROACH = "approach"
    DESCEND = "descend"
    LAND = "land"
    ABORT = "abort"
    DONE = "done"
    GIVEN_UP = "given up"


@dataclass(frozen=True, slots=True)
class LandingSettings:
    """Lengths in m, speeds in m/s, times in s. `_per_m`: for each m of height."""

    frames_seen: int = 5  # of the last `frames_of`, for APPROACH
    frames_of: int = 8
    search_wait_s: float = 3.0
    search_radius_m: float = 10.0
    search_speed_m_s: float = 1.0
    search_s: float = 30.0
    fov_rad: float = 0.962  # vertical, of the camera
    approach_m: float = 0.15
    approach_per_m: float = 0.05
    approach_s: float = 0.5
    approach_unseen_s: float = 2.0
    sink_max_m_s: float = 1.2
    sink_m_s: float = 0.25
    sink_per_m: float = 0.35
    gate_m: float = 0.04
    gate_per_m: float = 0.06
    recover_m_s: float = 0.2
    wait_m: float = 0.18
    land_height_m: float = 0.22
    land_error_m: float = 0.03
    land_speed_m_s: float = 0.12
    land_sink_m_s: float = 0.35
    land_lost_m: float = 0.08
    blind_m: float = 0.1
    touch_m_s: float = -0.1  # it sinks more slowly than this: the ground holds it
    touch_s: float = 0.3  # in LAND at least, by when it sinks
    unseen_s: float = 1.0
    abort_climb_m_s: float = 0.8
    abort_height_m: float = 6.0
    abort_seen_m: float = 1.5
    abort_s: float = 15.0
    aborts: int = 3


class Seen(NamedTuple):
    """What is known at one step."""

    t_s: float
    pos_W: XY  # own, by the autopilot
    speed_m_s: float  # horizontal, relative to the pad
    height_m: float
    pad_W: XY | None  # estimate, predicted to now
    unseen_s: float  # since the last accepted sighting; infinite: never
    frames: tuple[bool, ...]  # whether the pad was seen in the last frames, newest last
    landed: bool = False
    climb_m_s: float = -math.inf  # own vertical speed


class Memory(NamedTuple):
    state: State
    since_s: float
    expected_W: XY
    aborts: int = 0
    good_since_s: float | None = None  # the error is small since then
    last_pad_W: XY | None = None


class Command(NamedTuple):
    target_W: XY
    climb_m_s: float


def begin(t_s: float, expected_W: XY) -> Memory:
    return Memory(State.SEARCH, t_s, expected_W)


def step(memory: Memory, seen: Seen, settings: LandingSettings) -> tuple[Memory, Command]:
    """The command is that of the state which was decided in this step."""
    if seen.pad_W is not None:
        memory = memory._replace(last_pad_W=seen.pad_W)
    after = _LEAVES[memory.state](memory, seen, settings)
    if after.state is not memory.state:
        after = after._replace(since_s=seen.t_s, good_since_s=None)
        if after.state is State.ABORT:
            after = after._replace(aborts=after.aborts + 1)
            if after.aborts >= settings.aborts:
                after = after._replace(state=State.GIVEN_UP)
    return after, _command(after, seen, settings)


def error_m(memory: Memory, seen: Seen) -> float:
    return math.inf if memory.last_pad_W is None else math.dist(seen.pos_W, memory.last_pad_W)


# When each state is left.


def _search(memory: Memory, seen: Seen, settings: LandingSettings) -> Memory:
    if seen.pad_W is not None and sum(seen.frames[-settings.frames_of :]) >= settings.frames_seen:
        return memory._replace(state=State.APPROACH)
    return memory._replace(state=State.GIVEN_UP) if seen.t_s - memory.since_s > settings.search_s else memory


def _approach(memory: Memory, seen: Seen, settings: LandingSettings) -> Memory:
    if seen.unseen_s > settings.approach_unseen_s:
        return memory._replace(state=State.SEARCH)
    near = error_m(memory, seen) < settings.approach_m + settings.approach_per_m * seen.height_m
    if not near or seen.unseen_s > settings.unseen_s:
        return memory._replace(good_since_s=None)
    if memory.good_since_s is None:
        return memory._replace(good_since_s=seen.t_s)
    return memory._replace(state=State.DESCEND) if seen.t_s - memory.good_since_s >= settings.approach_s else memory


def _descend(memory: Memory, seen: Seen, settings: LandingSettings) -> Memory:
    if seen.unseen_s > settings.unseen_s:
        return memory._replace(state=State.ABORT)
    low = seen.height_m < settings.land_height_m
    still = error_m(memory, seen) < settings.land_error_m and seen.speed_m_s < settings.land_speed_m_s
    return memory._replace(state=State.LAND) if low and still else memory


def _land(memory: Memory, seen: Seen, settings: LandingSettings) -> Memory:
    touched = seen.height_m < settings.blind_m and seen.climb_m_s > settings.touch_m_s
    if seen.landed or (touched and seen.t_s - memory.since_s > settings.touch_s):
        return memory._replace(state=State.DONE)
    if seen.height_m < settings.blind_m:
        return memory
    if seen.unseen_s > settings.unseen_s:
        return memory._replace(state=State.ABORT)
    return memory._replace(state=State.DESCEND) if error_m(memory, seen) > settings.land_lost_m else memory


def _abort(memory: Memory, seen: Seen, settings: LandingSettings) -> Memory:
    if seen.unseen_s <= settings.unseen_s and seen.height_m > settings.abort_seen_m:
        return memory._replace(state=State.APPROACH)
    return memory._replace(state=State.SEARCH) if seen.t_s - memory.since_s > settings.abort_s else memory


def _stays(memory: Memory, seen: Seen, settings: LandingSettings) -> Memory:
    return memory


_LEAVES: dict[State, Callable[[Memory, Seen, LandingSettings], Memory]] = {
    State.SEARCH: _search,
    State.APPROACH: _approach,
    State.DESCEND: _descend,
    State.LAND: _land,
    State.ABORT: _abort,
    State.DONE: _stays,
    State.GIVEN_UP: _stays,
}


# What each state commands.


def _command(memory: Memory, seen: Seen, settings: LandingSettings) -> Command:
    state = memory.state
    if state is State.SEARCH:
        return Command(_spiral(memory, seen, settings), 0.0)
    over_pad = memory.last_pad_W or memory.expected_W
    if state is State.DESCEND:
        return Command(over_pad, _sink(error_m(memory, seen), seen.height_m, settings))
    if state is State.LAND:
        return Command(over_pad, -settings.land_sink_m_s)
    if state is State.DONE:  # it presses down where it stands, and does not follow a pad that drives
        return Command(seen.pos_W, -settings.land_sink_m_s if seen.height_m < settings.blind_m else 0.0)
    if state is State.ABORT:
        return Command(over_pad, settings.abort_climb_m_s if seen.height_m < settings.abort_height_m else 0.0)
    return Command(over_pad if state is not State.GIVEN_UP else seen.pos_W, 0.0)


def _sink(off_m: float, height_m: float, settings: LandingSettings) -> float:
    gate_m = settings.gate_m + settings.gate_per_m * height_m
    if off_m > 2.0 * gate_m:
        return settings.recover_m_s
    if off_m > gate_m or height_m <= settings.wait_m:
        return 0.0
    return -min(settings.sink_max_m_s, settings.sink_m_s + settings.sink_per_m * height_m)


def _spiral(memory: Memory, seen: Seen, settings: LandingSettings) -> XY:
    """A spiral around the expected place whose turns are half an image apart."""
    way_m = (seen.t_s - memory.since_s - settings.search_wait_s) * settings.search_speed_m_s
    if way_m <= 0.0:
        return memory.expected_W
    pitch_m = max(0.1, math.tan(settings.fov_rad / 2) * seen.height_m)
    angle = math.sqrt(4.0 * math.pi * way_m / pitch_m)
    radius_m = min(settings.search_radius_m, pitch_m * angle / (2.0 * math.pi))
    x, y = memory.expected_W
    return x + radius_m * math.cos(angle), y + radius_m * math.sin(angle)
