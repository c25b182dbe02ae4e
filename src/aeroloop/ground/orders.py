"""What a pilot means to do with an autopilot: a mission, orders at their times, and recorded sticks."""

from __future__ import annotations

from typing import Annotated, Literal

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3

Deed = Literal["arm", "disarm", "takeoff", "mission", "hold", "return", "land", "manual", "altitude", "position", "set"]

TAKEOFF_HEIGHTS_M = (0.5, 80.0)
"""What MIS_TAKEOFF_ALT takes; with more it would keep its value, and the take-off end there."""


class Order(Config, frozen=True):
    """One thing that the pilot asks for; refused, he asks again every half second until `give_up_s` later."""

    at_s: Annotated[float, meta("s", "simulated time", ge=0, le=86400)]
    do: Annotated[Deed, note("`arm`, `disarm`, `takeoff`, a mode to change to, or `set` a parameter")]
    value: Annotated[
        float, meta("of the order", "`takeoff`: height in m above home, 0 for MIS_TAKEOFF_ALT; `set`: the value")
    ] = 0.0
    parameter: Annotated[str, note("`set`: which parameter")] = ""
    give_up_s: Annotated[float, meta("s", "how long to go on asking", ge=0, le=600)] = 30.0

    def __post_init__(self) -> None:
        if (self.do == "set") != bool(self.parameter):
            raise ValueError(f"order at {self.at_s} s: parameter belongs to `set`, which needs one; do={self.do}")
        lowest, highest = TAKEOFF_HEIGHTS_M
        if self.do == "takeoff" and self.value and not lowest <= self.value <= highest:
            raise ValueError(
                f"order at {self.at_s} s: expected a take-off height of {lowest:g} to {highest:g} m, not {self.value:g}"
            )


class Waypoint(Config, frozen=True):
    """A point of a mission."""

    pos_m: Annotated[Vec3, meta("m", "east, north and up from where the vehicle started")]
    hold_s: Annotated[float, meta("s", "how long to stay there", ge=0, le=3600)] = 0.0
    speed_m_s: Annotated[float, meta("m/s", "from here on; 0 leaves it", ge=0, le=30)] = 0.0


class PilotConfig(Config, frozen=True):
    """Who commands the autopilot, over MAVLink as any ground station."""

    source: Annotated[
        Literal["orders", "external"],
        note("`orders`: what stands here, at its simulated times; `external`: ground stations alone"),
    ] = "orders"
    orders: Annotated[tuple[Order, ...], note("what is asked for, in the order of time")] = ()
    waypoints: Annotated[tuple[Waypoint, ...], note("the mission: after take-off to the first one's height")] = ()
    plan_file: Annotated[str, note("a mission of QGroundControl (`.plan`) instead of `waypoints`")] = ""
    ending: Annotated[Literal["return", "land", "hold"], note("what follows the last waypoint")] = "return"
    stick_recording: Annotated[str, note("recorded stick that flies in the manual modes")] = ""
    stick_start_s: Annotated[float, meta("s", "simulated time at which the recording begins", ge=0, le=86400)] = 0.0
    heartbeat_until_s: Annotated[
        float, meta("s", "the pilot's link falls silent at this simulated time, to see what happens", ge=0, le=86400)
    ] = 86400.0

    def __post_init__(self) -> None:
        if self.waypoints and self.plan_file:
            raise ValueError("plan_file: expected waypoints or a plan file, not both")
        times_s = [order.at_s for order in self.orders]
        if times_s != sorted(times_s):
            raise ValueError("orders: expected in the order of their times")
