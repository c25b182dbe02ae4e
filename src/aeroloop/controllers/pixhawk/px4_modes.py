"""Flight modes as PX4 numbers them in `custom_mode`: a main mode in byte 2 and, for AUTO, a sub mode in byte 3."""

from __future__ import annotations

from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk.types import FlightMode
from aeroloop.protocols.flight_modes import ALTCTL, AUTO, MANUAL, OFFBOARD, POSCTL, PX4_MODES, STABILIZED

_NUMBERS = {mode: PX4_MODES[mode.name.lower()] for mode in FlightMode}
_MODES = {numbers: mode for mode, numbers in _NUMBERS.items()}
# PX4's multicopters treat both equally: sticks command attitude.
_MODES[STABILIZED, 0] = FlightMode.MANUAL

_BITS = {
    MANUAL: dialect.MAV_MODE_FLAG_MANUAL_INPUT_ENABLED,
    ALTCTL: dialect.MAV_MODE_FLAG_MANUAL_INPUT_ENABLED,
    POSCTL: dialect.MAV_MODE_FLAG_MANUAL_INPUT_ENABLED | dialect.MAV_MODE_FLAG_GUIDED_ENABLED,
    AUTO: dialect.MAV_MODE_FLAG_AUTO_ENABLED | dialect.MAV_MODE_FLAG_GUIDED_ENABLED,
    OFFBOARD: dialect.MAV_MODE_FLAG_AUTO_ENABLED | dialect.MAV_MODE_FLAG_GUIDED_ENABLED,
}


def custom_mode(mode: FlightMode) -> int:
    main, sub = _NUMBERS[mode]
    return main << 16 | sub << 24


def base_mode(mode: FlightMode, *, armed: bool) -> int:
    bits: int = _BITS[_NUMBERS[mode][0]]
    bits |= dialect.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED | dialect.MAV_MODE_FLAG_STABILIZE_ENABLED
    return bits | (dialect.MAV_MODE_FLAG_SAFETY_ARMED if armed else 0)


def from_numbers(main: int, sub: int) -> FlightMode | None:
    """None if there is no such mode here. A sub mode is used in AUTO only."""
    return _MODES.get((main, sub if main == AUTO else 0))


def from_custom_mode(number: int) -> FlightMode | None:
    return from_numbers(number >> 16 & 0xFF, number >> 24 & 0xFF)
