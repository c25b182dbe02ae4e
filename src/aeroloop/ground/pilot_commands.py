"""The pilot of a scenario: a mission, commands at their simulated times, and recorded sticks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3

PilotAction = Literal[
    "arm",
    "disarm",
    "takeoff",
    "mission",
    "hold",
    "return",
    "land",
    "manual",
    "altitude",
    "position",
    "guided",
    "set",
    "goto",
]
GUIDED = "guided"
"""A mode of ArduPilot alone."""

TAKEOFF_HEIGHTS_M = (0.5, 80.0)
"""Range of MIS_TAKEOFF_ALT; beyond it the parameter would keep its value, and the take-off would end there."""


ARDUPILOT_TAKEOFF_M = 10.0
"""ArduPilot has no default height of a take-off."""
PLANE_TAKEOFF = "TKOFF_ALT"
"""ArduPlane's parameter of the height of its mode takeoff."""


class PilotCommand(Config, frozen=True):
    """One command of the pilot; if refused, it is repeated every half second until `give_up_s` later."""

    at_s: Annotated[float, meta("s", "simulated time", ge=0, le=86400)]
    do: Annotated[
        PilotAction, note("`arm`, `disarm`, `takeoff`, `goto` a position, a mode to change to, or `set` a parameter")
    ]
    value: Annotated[
        float, meta("of the command", "`takeoff`: height in m above home, 0 for MIS_TAKEOFF_ALT; `set`: the value")
    ] = 0.0
    parameter: Annotated[str, note("`set`: which parameter")] = ""
    pos_m: Annotated[Vec3 | None, meta("m", "`goto`: target position, east, north and up from the vehicle's start")] = (
        None
    )
    give_up_s: Annotated[float, meta("s", "how long to retry a refused command", ge=0, le=600)] = 30.0

    def __post_init__(self) -> None:
        if (self.do == "set") != bool(self.parameter):
            raise ValueError(f"command at {self.at_s} s: parameter belongs to `set`, which needs one; do={self.do}")
        if (self.do == "goto") != (self.pos_m is not None):
            raise ValueError(f"command at {self.at_s} s: pos_m belongs to `goto`, which needs one; do={self.do}")
        lowest, highest = TAKEOFF_HEIGHTS_M
        if self.do == "takeoff" and self.value and not lowest <= self.value <= highest:
            raise ValueError(
                f"command at {self.at_s} s: expected a take-off height of {lowest:g} to {highest:g} m, "
                f"not {self.value:g}"
            )


class Waypoint(Config, frozen=True):
    """A point of a mission."""

    pos_m: Annotated[Vec3, meta("m", "east, north and up from the vehicle's start")]
    hold_s: Annotated[float, meta("s", "time to hold there", ge=0, le=3600)] = 0.0
    speed_m_s: Annotated[float, meta("m/s", "speed from here on; 0 leaves it unchanged", ge=0, le=30)] = 0.0


class PilotConfig(Config, frozen=True):
    """The source of the autopilot's commands, over MAVLink like any ground station."""

    RENAMED: ClassVar[Mapping[str, str]] = {"orders": "commands"}

    source: Annotated[
        Literal["commands", "external"],
        note("`commands`: those of the scenario, at their simulated times; `external`: ground stations only"),
    ] = "commands"
    commands: Annotated[tuple[PilotCommand, ...], note("commands in the order of time")] = ()
    waypoints: Annotated[tuple[Waypoint, ...], note("the mission: after take-off, to the first one's height")] = ()
    plan_file: Annotated[str, note("a mission of QGroundControl (`.plan`) instead of `waypoints`")] = ""
    ending: Annotated[Literal["return", "land", "hold"], note("what follows the last waypoint")] = "return"
    stick_recording: Annotated[str, note("recorded stick that flies in the manual modes")] = ""
    stick_start_s: Annotated[float, meta("s", "simulated time at which the recording begins", ge=0, le=86400)] = 0.0
    heartbeat_until_s: Annotated[
        float,
        meta("s", "simulated time at which the pilot stops sending, to test the link-loss response", ge=0, le=86400),
    ] = 86400.0

    def __post_init__(self) -> None:
        if self.waypoints and self.plan_file:
            raise ValueError("plan_file: expected waypoints or a plan file, not both")
        times_s = [command.at_s for command in self.commands]
        if times_s != sorted(times_s):
            raise ValueError("commands: expected in the order of their times")
