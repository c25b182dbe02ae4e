"""Flight modes as PX4 numbers them in `custom_mode`: a main mode in byte 2 and, for AUTO, a sub mode in byte 3."""

from __future__ import annotations

from pymavlink.dialects.v20 import common as dialect

from aeroloop.boards.pixhawk.seam import FlightMode

MANUAL, ALTCTL, POSCTL, AUTO, STABILIZED = 1, 2, 3, 4, 7
_AUTO_TAKEOFF, _AUTO_LOITER, _AUTO_MISSION, _AUTO_RTL, _AUTO_LAND = 2, 3, 4, 5, 6

_NUMBERS = {
    FlightMode.MANUAL: (MANUAL, 0),
    FlightMode.ALTITUDE: (ALTCTL, 0),
    FlightMode.POSITION: (POSCTL, 0),
    FlightMode.TAKEOFF: (AUTO, _AUTO_TAKEOFF),
    FlightMode.HOLD: (AUTO, _AUTO_LOITER),
    FlightMode.MISSION: (AUTO, _AUTO_MISSION),
    FlightMode.RETURN: (AUTO, _AUTO_RTL),
    FlightMode.LAND: (AUTO, _AUTO_LAND),
}
_MODES = {numbers: mode for mode, numbers in _NUMBERS.items()}
# A multicopter of PX4's flies both alike: sticks are attitude.
_MODES[STABILIZED, 0] = FlightMode.MANUAL

_BITS = {
    MANUAL: dialect.MAV_MODE_FLAG_MANUAL_INPUT_ENABLED,
    ALTCTL: dialect.MAV_MODE_FLAG_MANUAL_INPUT_ENABLED,
    POSCTL: dialect.MAV_MODE_FLAG_MANUAL_INPUT_ENABLED | dialect.MAV_MODE_FLAG_GUIDED_ENABLED,
    AUTO: dialect.MAV_MODE_FLAG_AUTO_ENABLED | dialect.MAV_MODE_FLAG_GUIDED_ENABLED,
}


def custom_mode(mode: FlightMode) -> int:
    main, sub = _NUMBERS[mode]
    return main << 16 | sub << 24


def base_mode(mode: FlightMode, *, armed: bool) -> int:
    bits: int = _BITS[_NUMBERS[mode][0]]
    bits |= dialect.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED | dialect.MAV_MODE_FLAG_STABILIZE_ENABLED
    return bits | (dialect.MAV_MODE_FLAG_SAFETY_ARMED if armed else 0)


def from_numbers(main: int, sub: int) -> FlightMode | None:
    """None if there is no such mode here. A sub mode counts in AUTO only."""
    return _MODES.get((main, sub if main == AUTO else 0))


def from_custom_mode(number: int) -> FlightMode | None:
    return from_numbers(number >> 16 & 0xFF, number >> 24 & 0xFF)
