"""Limits of commands to the virtual Pixhawk: one table for the MAVLink protocols and the flight logic.

The protocols check first, so that a ground station gets the result and text for its command; the flight logic checks
again, for callers without MAVLink.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from aeroloop.controllers.pixhawk.types import Refusal


@dataclass(frozen=True, slots=True)
class Limit:
    """Both limits are allowed values; NaN and infinity are not."""

    name: str
    low: float
    high: float
    unit: str

    def allows(self, value: float) -> bool:
        return self.low <= value <= self.high

    def problem(self, value: float) -> str | None:
        """Text for the pilot; None if the value is allowed."""
        if self.allows(value):
            return None
        return f"{self.name} {value:g}, allowed {self.low:g} to {self.high:g} {self.unit}"


LATITUDE = Limit("latitude", -90.0, 90.0, "deg")
LONGITUDE = Limit("longitude", -180.0, 180.0, "deg")
ALTITUDE = Limit("altitude", -500.0, 10_000.0, "m")  # above mean sea level
HEIGHT = Limit("height", -10_000.0, 10_000.0, "m")  # above home, which may be on a mountain above a valley
TAKEOFF_HEIGHT = Limit("take-off height", 0.5, 500.0, "m")  # above home
HEADING = Limit("heading", -4.0 * math.pi, 4.0 * math.pi, "rad")
SPEED = Limit("speed", 0.1, 20.0, "m/s")
TIME = Limit("time", 0.0, 36_000.0, "s")

MAX_ITEMS = 1000
MAX_JUMPS = 1000
REACH_M = 20_000.0
"""Maximum distance of a target from home: the local frame is flat."""


def place_problem(lat_deg: float, lon_deg: float, alt_m: float) -> str | None:
    """Altitude of a target, above mean sea level."""
    return LATITUDE.problem(lat_deg) or LONGITUDE.problem(lon_deg) or ALTITUDE.problem(alt_m)


def refused(problem: str) -> Refusal:
    """A refusal that is permanent."""
    return Refusal(problem.capitalize(), temporary=False)
