"""What the pages call the numbers of a multirotor flight."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from aeroloop.control.flight_gains import GAINS
from aeroloop.controllers.pixhawk.parameters import TABLE
from aeroloop.controllers.pixhawk.seam import Failsafe, FlightMode
from aeroloop.core.signals import Event

VEHICLE_NUMBERS = {
    "flown_s": "flown (s)",
    "airborne_s": "in the air (s)",
    "height_max_m": "greatest height (m)",
    "pos_rms_m": "position, RMS (m)",
    "yaw_rms_deg": "yaw, RMS (deg)",
    "waypoint_rms_m": "waypoints, RMS (m)",
    "est_pos_rms_m": "estimated position, RMS (m)",
    "touchdown_speed_max_m_s": "touchdown (m/s)",
    "battery_used_pct": "battery used (%)",
}
"""What the report says of each of several vehicles."""
EVENT_VALUES: Mapping[str, type[IntEnum]] = {Event.MODE_CHANGED.name: FlightMode, Event.FAILSAFE.name: Failsafe}
"""Events whose value is a number in an enumeration."""
PARAMETERS = tuple(sorted({row.name for row in TABLE} | {gain.name for gain in GAINS}))
"""The virtual Pixhawk's, in the order of their numbers in the log."""


def change_words(number: float, old: float, new: float) -> str:
    name = PARAMETERS[int(number)] if 0 <= number < len(PARAMETERS) else f"parameter {number:g}"
    return f"{name} {old:g} -> {new:g}"
