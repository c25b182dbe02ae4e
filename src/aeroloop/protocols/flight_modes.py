"""Flight modes of PX4 and of ArduPilot's copter and plane in one table, as MAVLink carries them.

PX4 has a main mode and, for AUTO, a sub mode; ArduPilot one number, which differs between its vehicles. A name that
several of them have is one row; ArduPilot's own names follow, and are those that its modes are shown by.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from pymavlink.dialects.v20 import common as dialect

MANUAL, ALTCTL, POSCTL, AUTO, ACRO, OFFBOARD, STABILIZED = 1, 2, 3, 4, 5, 6, 7
"""PX4's main modes."""


class Firmware(Enum):
    """Whose modes a heartbeat numbers."""

    PX4 = "PX4"
    COPTER = "ArduCopter"
    PLANE = "ArduPlane"

    @property
    def is_ardupilot(self) -> bool:
        return self is not Firmware.PX4


class ModeRow(NamedTuple):
    """None where an autopilot has no such mode."""

    px4: tuple[int, int] | None
    copter: int | None = None
    plane: int | None = None


FLIGHT_MODES: dict[str, ModeRow] = {
    "manual": ModeRow((MANUAL, 0), 0, 0),
    "altitude": ModeRow((ALTCTL, 0), 2, 6),
    "position": ModeRow((POSCTL, 0), 5),
    "takeoff": ModeRow((AUTO, 2), None, 13),
    "hold": ModeRow((AUTO, 3), 17, 12),
    "mission": ModeRow((AUTO, 4), 3, 10),
    "return": ModeRow((AUTO, 5), 6, 11),
    "land": ModeRow((AUTO, 6), 9),
    "offboard": ModeRow((OFFBOARD, 0), 4, 15),
    "acro": ModeRow((ACRO, 0), 1, 4),
    "stabilized": ModeRow((STABILIZED, 0), 0, 2),
    "orbit": ModeRow((POSCTL, 1)),
    "ready": ModeRow((AUTO, 1)),
    "follow": ModeRow((AUTO, 8), 23),
    "precland": ModeRow((AUTO, 9)),
    "stabilize": ModeRow(None, 0, 2),
    "alt_hold": ModeRow(None, 2),
    "auto": ModeRow(None, 3, 10),
    "guided": ModeRow(None, 4, 15),
    "loiter": ModeRow(None, 5, 12),
    "rtl": ModeRow(None, 6, 11),
    "circle": ModeRow(None, 7, 1),
    "drift": ModeRow(None, 11),
    "sport": ModeRow(None, 13),
    "flip": ModeRow(None, 14),
    "autotune": ModeRow(None, 15, 8),
    "poshold": ModeRow(None, 16),
    "brake": ModeRow(None, 17),
    "throw": ModeRow(None, 18),
    "guided_nogps": ModeRow(None, 20),
    "smart_rtl": ModeRow(None, 21),
    "flowhold": ModeRow(None, 22),
    "zigzag": ModeRow(None, 24),
    "training": ModeRow(None, None, 3),
    "fbwa": ModeRow(None, None, 5),
    "fbwb": ModeRow(None, None, 6),
    "cruise": ModeRow(None, None, 7),
}
PX4_MODES: dict[str, tuple[int, int]] = {name: row.px4 for name, row in FLIGHT_MODES.items() if row.px4 is not None}

_PLANES = frozenset((dialect.MAV_TYPE_FIXED_WING, *range(19, 26)))
"""And the types of aircraft that take off vertically and fly as planes."""
_COPTERS = frozenset(
    (
        dialect.MAV_TYPE_QUADROTOR,
        dialect.MAV_TYPE_COAXIAL,
        dialect.MAV_TYPE_HELICOPTER,
        dialect.MAV_TYPE_HEXAROTOR,
        dialect.MAV_TYPE_OCTOROTOR,
        dialect.MAV_TYPE_TRICOPTER,
        dialect.MAV_TYPE_DODECAROTOR,
    )
)


def firmware(autopilot: int, kind: int) -> Firmware | None:
    """By the MAV_AUTOPILOT and MAV_TYPE of a heartbeat; None for one whose modes are not known."""
    if autopilot == dialect.MAV_AUTOPILOT_PX4:
        return Firmware.PX4
    if autopilot != dialect.MAV_AUTOPILOT_ARDUPILOTMEGA:
        return None
    if kind in _PLANES:
        return Firmware.PLANE
    return Firmware.COPTER if kind in _COPTERS else None


def modes_of(of: Firmware) -> dict[str, int]:
    """The `custom_mode` of each name that this autopilot has, common names first."""
    found = {}
    for name, row in FLIGHT_MODES.items():
        if of is Firmware.PX4:
            number = None if row.px4 is None else row.px4[0] << 16 | row.px4[1] << 24
        else:
            number = row.copter if of is Firmware.COPTER else row.plane
        if number is not None:
            found[name] = number
    return found


_NUMBERS = {of: modes_of(of) for of in Firmware}
_SHOWN = {of: {number: name for name, number in modes.items()} for of, modes in _NUMBERS.items()}
_COMMON = {of: {number: name for name, number in reversed(modes.items())} for of, modes in _NUMBERS.items()}


def mode_params(of: Firmware, name: str) -> tuple[float, float] | None:
    """Parameters 2 and 3 of MAV_CMD_DO_SET_MODE; None where this autopilot has no such mode."""
    number = _NUMBERS[of].get(name)
    if number is None:
        return None
    return (float(number), 0.0) if of.is_ardupilot else (float(number >> 16 & 0xFF), float(number >> 24 & 0xFF))


def mode_name(of: Firmware | None, custom_mode: int) -> str:
    """What a mode is called where it is shown; numbers for an unknown one."""
    if of is None:
        return f"custom {custom_mode}"
    number = custom_mode & 0xFFFF0000 if of is Firmware.PX4 else custom_mode
    unknown = f"{custom_mode >> 16 & 0xFF}.{custom_mode >> 24 & 0xFF}" if of is Firmware.PX4 else f"mode {custom_mode}"
    return _SHOWN[of].get(number) or unknown


def common_name(of: Firmware | None, custom_mode: int) -> str:
    """The first name of a mode in the table, which all autopilots share; empty for an unknown one."""
    return "" if of is None else _COMMON[of].get(custom_mode, "")
