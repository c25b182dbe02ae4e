"""A mission: supported items, and which of them is next.

Flown: take-off, waypoint, loiter for a time or unlimited, delay, return, land. Executed: change of speed, jump (each
with its repeat count; the number of jumps without a flown item between them is limited). Accepted and skipped, because
ground stations add them for a camera that this aircraft does not have: `SKIPPED`. All other items are refused at
upload.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, IntEnum

from aeroloop.controllers.pixhawk.limits import (
    ALTITUDE,
    HEIGHT,
    LATITUDE,
    LONGITUDE,
    MAX_ITEMS,
    MAX_JUMPS,
    REACH_M,
    SPEED,
    TIME,
    Limit,
)
from aeroloop.controllers.pixhawk.mission_geodesy import local_from_geodetic, yaw_from_heading
from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.types import MissionItem, Refusal
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import Origin

NAV_WAYPOINT = 16
NAV_LOITER_UNLIM = 17
NAV_LOITER_TIME = 19
NAV_RETURN_TO_LAUNCH = 20
NAV_LAND = 21
NAV_TAKEOFF = 22
NAV_DELAY = 93
DO_JUMP = 177
DO_CHANGE_SPEED = 178

FLOWN = {NAV_WAYPOINT, NAV_LOITER_UNLIM, NAV_LOITER_TIME, NAV_RETURN_TO_LAUNCH, NAV_LAND, NAV_TAKEOFF, NAV_DELAY}
OBEYED = {DO_JUMP, DO_CHANGE_SPEED}
SKIPPED = {
    189: "DO_LAND_START",
    195: "DO_SET_ROI_LOCATION",
    197: "DO_SET_ROI_NONE",
    200: "DO_CONTROL_VIDEO",
    201: "DO_SET_ROI",
    202: "DO_DIGICAM_CONFIGURE",
    203: "DO_DIGICAM_CONTROL",
    204: "DO_MOUNT_CONFIGURE",
    205: "DO_MOUNT_CONTROL",
    206: "DO_SET_CAM_TRIGG_DIST",
    214: "DO_SET_CAM_TRIGG_INTERVAL",
    530: "SET_CAMERA_MODE",
    531: "SET_CAMERA_ZOOM",
    532: "SET_CAMERA_FOCUS",
    1000: "DO_GIMBAL_MANAGER_PITCHYAW",
    1001: "DO_GIMBAL_MANAGER_CONFIGURE",
    2000: "IMAGE_START_CAPTURE",
    2001: "IMAGE_STOP_CAPTURE",
    2003: "DO_TRIGGER_CONTROL",
    2500: "VIDEO_START_CAPTURE",
    2501: "VIDEO_STOP_CAPTURE",
}

FRAMES_ABOVE_SEA = {0, 5}
FRAMES_ABOVE_HOME = {3, 6}


class Kind(Enum):
    TAKEOFF = "takeoff"
    FLY = "fly"
    WAIT = "wait"
    RETURN = "return"
    LAND = "land"


@dataclass(frozen=True, slots=True)
class Goal:
    """The current item in the local frame; None for a value that it leaves open."""

    kind: Kind
    xy_W: tuple[float, float] | None = None
    z_W: float | None = None
    hold_s: float = 0.0
    radius_m: float | None = None
    yaw_rad: float | None = None
    next_W: Vec3 | None = None  # where the path continues without a stop
    precision: int = 0  # of a landing: 0 off, 1 opportunistic, 2 required


class Field(IntEnum):
    """A value of an item, for its error. The numbers are those of MAVLink's parameters."""

    PARAM1 = 1
    PARAM2 = 2
    PARAM4 = 4
    LATITUDE = 5
    LONGITUDE = 6
    ALTITUDE = 7
    FRAME = 8
    COMMAND = 9


@dataclass(frozen=True, slots=True)
class Problem:
    field: Field
    reason: str


def check(items: tuple[MissionItem, ...]) -> Refusal | None:
    """Whether every item is supported and every number is valid."""
    if len(items) > MAX_ITEMS:
        return Refusal(f"A mission has at most {MAX_ITEMS} items", temporary=False)
    for number, item in enumerate(items):
        problem = item_problem(item, number, len(items))
        if problem is not None:
            supported = problem.field is not Field.COMMAND
            return Refusal(f"Item {number}: {problem.reason}", temporary=False, supported=supported)
    return None


def item_problem(item: MissionItem, number: int, count: int) -> Problem | None:
    """The error of item `number` of `count`."""
    if item.command in SKIPPED:
        return None
    if item.command == DO_JUMP:
        return _jump_problem(item.params[0], item.params[1], number, count)
    if item.command == DO_CHANGE_SPEED:
        speed = item.params[1]
        return None if speed in (-1.0, -2.0) else _outside(Field.PARAM2, SPEED, speed)
    if item.command not in FLOWN:
        return Problem(Field.COMMAND, f"command {item.command} is not supported")
    times = item.command in (NAV_WAYPOINT, NAV_LOITER_TIME, NAV_DELAY)
    if times and not math.isnan(item.params[0]) and (problem := _outside(Field.PARAM1, TIME, item.params[0])):
        return problem
    if item.command in (NAV_RETURN_TO_LAUNCH, NAV_DELAY):
        return None
    return _place_problem(item)


def vertical_limit(frame: int) -> Limit:
    """The limits of an item's `alt_m`: relative to home or to sea level."""
    return HEIGHT if frame in FRAMES_ABOVE_HOME else ALTITUDE


def _place_problem(item: MissionItem) -> Problem | None:
    if item.frame not in FRAMES_ABOVE_SEA | FRAMES_ABOVE_HOME:
        return Problem(Field.FRAME, f"frame {item.frame} is not supported")
    problem = None
    if not _open(item):
        problem = _outside(Field.LATITUDE, LATITUDE, item.lat_deg) or _outside(Field.LONGITUDE, LONGITUDE, item.lon_deg)
    if problem is None and item.command != NAV_LAND:
        problem = _outside(Field.ALTITUDE, vertical_limit(item.frame), item.alt_m)
    if problem is None and item.command == NAV_WAYPOINT and math.isinf(item.params[1]):
        problem = Problem(Field.PARAM2, "acceptance radius is infinite")
    if problem is None and math.isinf(item.params[3]):
        problem = Problem(Field.PARAM4, "yaw is infinite")
    return problem


def _jump_problem(target: float, times: float, number: int, count: int) -> Problem | None:
    if not (0.0 <= target < count and target == int(target)) or int(target) == number:
        return Problem(Field.PARAM1, "jump to an item that is not there")
    if not -1.0 <= times <= MAX_JUMPS:
        return Problem(Field.PARAM2, f"jump is repeated more than {MAX_JUMPS} times")
    return None


def _outside(field: Field, limit: Limit, value: float) -> Problem | None:
    reason = limit.problem(value)
    return None if reason is None else Problem(field, reason)


def _open(item: MissionItem) -> bool:
    """Whether the item leaves its position open: as NaN, or as zeros, as ground stations send landing and take-off."""
    if math.isnan(item.lat_deg) or math.isnan(item.lon_deg):
        return True
    return item.command in (NAV_TAKEOFF, NAV_LAND) and item.lat_deg == 0.0 and item.lon_deg == 0.0


class Mission:
    """The items, and the progress of the flight; the caller reads the goal and reports when it is reached."""

    def __init__(self) -> None:
        self.items: tuple[MissionItem, ...] = ()
        self.load(())

    def load(self, items: tuple[MissionItem, ...]) -> None:
        self.items = items
        self.reached = -1
        self.restart()

    def restart(self) -> None:
        self.select(0)
        self.reached = -1

    def select(self, number: int) -> None:
        self.current = number
        self.finished = False
        self.speed_m_s: float | None = None
        self._jumps_left: dict[int, int] = {}
        self._goal: Goal | None = None

    def too_far(self, origin: Origin, home_W: Vec3, parameters: Parameters) -> Refusal | None:
        """Whether a waypoint is farther away than allowed."""
        first_m = parameters.get("MIS_DIST_1WP")
        first = True
        for number, item in enumerate(self.items):
            if item.command not in (NAV_WAYPOINT, NAV_LOITER_TIME, NAV_LOITER_UNLIM, NAV_LAND) or _open(item):
                continue
            x, y = local_from_geodetic(origin, item.lat_deg, item.lon_deg)
            distance = math.hypot(x - home_W[0], y - home_W[1])
            if first and first_m > 0.0 and distance > first_m:
                return Refusal(f"Item {number} is over {first_m:g} m from home")
            if distance > REACH_M:
                return Refusal(f"Item {number} is over {REACH_M / 1000:g} km from home")
            first = False
        return None

    def goal(self, origin: Origin, home_W: Vec3) -> Goal | None:
        """The next goal; None when the mission is complete. Items that are not flown are executed on the way."""
        hops = 0
        while self._goal is None and not self.finished:
            if not self.items or hops > 2 * len(self.items) + 2:
                self.finished = True
                break
            hops += 1
            item = self.items[self.current]
            if item.command in FLOWN:
                self._goal = self._resolve(item, origin, home_W)
            elif item.command == DO_JUMP and self._jumps(self.current, item) > 0:
                self._jumps_left[self.current] = self._jumps(self.current, item) - 1
                self.reached = self.current
                self.current = int(item.params[0])
            else:
                if item.command == DO_CHANGE_SPEED and item.params[1] != -1.0:
                    self.speed_m_s = item.params[1] if item.params[1] > 0.0 else None
                self._next()
        return self._goal

    def advance(self) -> bool:
        """The goal is reached. False when the mission must wait there for a command of the pilot."""
        goes_on = self.items[self.current].autocontinue
        self._next()
        return goes_on

    def _next(self) -> None:
        self.reached = self.current
        self._goal = None
        if self.current + 1 < len(self.items):
            self.current += 1
        else:
            self.finished = True

    def _jumps(self, number: int, item: MissionItem) -> int:
        return self._jumps_left.get(number, MAX_JUMPS if item.params[1] < 0.0 else int(item.params[1]))

    def _resolve(self, item: MissionItem, origin: Origin, home_W: Vec3) -> Goal:
        hold_s = item.params[0] if item.params[0] > 0.0 else 0.0
        yaw = yaw_from_heading(item.params[3]) if math.isfinite(item.params[3]) else None
        xy = None if _open(item) else local_from_geodetic(origin, item.lat_deg, item.lon_deg)
        above = home_W[2] if item.frame in FRAMES_ABOVE_HOME else -origin.alt_m
        z = item.alt_m + above
        if item.command == NAV_TAKEOFF:
            return Goal(Kind.TAKEOFF, z_W=z, yaw_rad=yaw)
        if item.command == NAV_LAND:
            precision = int(item.params[1]) if item.params[1] in (1.0, 2.0) else 0
            return Goal(Kind.LAND, xy_W=xy, yaw_rad=yaw, precision=precision)
        if item.command == NAV_RETURN_TO_LAUNCH:
            return Goal(Kind.RETURN)
        if item.command == NAV_DELAY:
            return Goal(Kind.WAIT, hold_s=hold_s)
        if item.command == NAV_LOITER_UNLIM:
            return Goal(Kind.FLY, xy, z, math.inf, None, yaw)
        if item.command == NAV_LOITER_TIME:
            return Goal(Kind.FLY, xy, z, hold_s, None, yaw)
        radius = item.params[1] if item.params[1] > 0.0 else None
        onwards = self._onwards(origin, home_W) if hold_s == 0.0 and item.autocontinue else None
        return Goal(Kind.FLY, xy, z, hold_s, radius, yaw, onwards)

    def _onwards(self, origin: Origin, home_W: Vec3) -> Vec3 | None:
        """Position of the next waypoint after the current one, if the next flown item has one."""
        number = self.current + 1
        used: set[int] = set()
        for _ in range(2 * len(self.items)):
            if number >= len(self.items):
                return None
            item = self.items[number]
            if item.command in FLOWN:
                if item.command not in (NAV_WAYPOINT, NAV_LOITER_TIME, NAV_LOITER_UNLIM) or _open(item):
                    return None
                x, y = local_from_geodetic(origin, item.lat_deg, item.lon_deg)
                return x, y, item.alt_m + (home_W[2] if item.frame in FRAMES_ABOVE_HOME else -origin.alt_m)
            if item.command == DO_JUMP and number not in used and self._jumps(number, item) > 0:
                used.add(number)
                number = int(item.params[0])
            else:
                number += 1
        return None
