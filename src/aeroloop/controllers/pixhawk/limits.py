"""What the virtual Pixhawk may be asked for: one table of limits for the MAVLink protocols and for the flight logic.

The protocols check first, so that a ground station is refused with the result and the sentence that belong to its
command; the flight logic checks again, for whoever calls it without MAVLink.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from aeroloop.controllers.pixhawk.seam import Refusal


@dataclass(frozen=True, slots=True)
class Limit:
    """Both ends are allowed; NaN and infinity never are."""

    name: str
    low: float
    high: float
    unit: str

    def allows(self, value: float) -> bool:
        return self.low <= value <= self.high

    def problem(self, value: float) -> str | None:
        """What to tell the pilot; None when the value is allowed."""
        if self.allows(value):
            return None
        return f"{self.name} {value:g}, allowed {self.low:g} to {self.high:g} {self.unit}"


LATITUDE = Limit("latitude", -90.0, 90.0, "deg")
LONGITUDE = Limit("longitude", -180.0, 180.0, "deg")
ALTITUDE = Limit("altitude", -500.0, 10_000.0, "m")  # above mean sea level
HEIGHT = Limit("height", -10_000.0, 10_000.0, "m")  # above home, which may be a mountain over a valley
TAKEOFF_HEIGHT = Limit("take-off height", 0.5, 500.0, "m")  # above home
HEADING = Limit("heading", -4.0 * math.pi, 4.0 * math.pi, "rad")
SPEED = Limit("speed", 0.1, 20.0, "m/s")
TIME = Limit("time", 0.0, 36_000.0, "s")

MAX_ITEMS = 1000
MAX_JUMPS = 1000
REACH_M = 20_000.0
"""No place to fly to is farther from home: a local frame is flat."""


def place_problem(lat_deg: float, lon_deg: float, alt_m: float) -> str | None:
    """Of a place to fly to, above mean sea level."""
    return LATITUDE.problem(lat_deg) or LONGITUDE.problem(lon_deg) or ALTITUDE.problem(alt_m)


def refused(problem: str) -> Refusal:
    """Asking again does not help."""
    return Refusal(problem.capitalize(), temporary=False)
