"""Checks whether a link can carry a set of MAVLink messages at their rates.

Worst case: no payload is shortened by MAVLink 2's truncation of trailing zeros, and a byte on a serial link takes ten
bits. A link is full duplex, so each direction is compared with the capacity separately.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.errors import ConfigError

OVERHEAD_BYTES = 12  # header and checksum of MAVLink 2, unsigned
BITS_PER_BYTE = 10  # start and stop bit
SLOWEST_HIL_BYTES_S = 5000
"""PX4 starts HIL only on a link above this."""
FASTEST_FLOWN_HZ = 300
"""HIL_SENSOR at 250 to 300 Hz worked on real boards; 500 Hz overloaded them."""
FULL = 0.8
"""Fraction of a link's capacity above which a burst delays samples. Our choice."""

_SIZES = {kind.msgname: kind.unpacker.size for kind in dialect.mavlink_map.values()}

Rates = Mapping[str, float]  # message name -> Hz


@dataclass(frozen=True, slots=True)
class LinkLoad:
    """Load of the messages and capacity of the link; refusal and warning are sentences, or None."""

    to_board_bytes_s: float
    from_board_bytes_s: float
    capacity_bytes_s: float | None  # None: a network, assumed without limit
    refusal: str | None
    warning: str | None


def frame_bytes(message: str) -> int:
    """The longest frame of a message."""
    if message not in _SIZES:
        raise ConfigError(f"{message} is not a message of MAVLink's common dialect.")
    return OVERHEAD_BYTES + int(_SIZES[message])


def bytes_per_second(rates_Hz: Rates) -> float:
    return sum(rate * frame_bytes(message) for message, rate in rates_Hz.items())


def link_load(to_board_Hz: Rates, from_board_Hz: Rates, baud: int | None) -> LinkLoad:
    """Checks a HITL link before flight; `baud` None is for UDP and USB, whose capacity is no baud rate."""
    to_board, from_board = bytes_per_second(to_board_Hz), bytes_per_second(from_board_Hz)
    capacity = None if baud is None else baud / BITS_PER_BYTE
    refusal = None if capacity is None else _refusal(to_board, from_board, capacity)
    warning = None if refusal else _warning(to_board, from_board, capacity, to_board_Hz)
    return LinkLoad(to_board, from_board, capacity, refusal, warning)


def _refusal(to_board: float, from_board: float, capacity: float) -> str | None:
    if capacity <= SLOWEST_HIL_BYTES_S:
        return (
            f"A link of {capacity * BITS_PER_BYTE:.0f} baud carries {capacity:.0f} bytes/s, "
            f"but PX4 starts HIL only above {SLOWEST_HIL_BYTES_S}."
        )
    for direction, need in (("to", to_board), ("from", from_board)):
        if need > capacity:
            return (
                f"The messages {direction} the board need {need / 1000:.1f} kB/s, {need / capacity:.0%} of what "
                f"{capacity * BITS_PER_BYTE:.0f} baud carries: use a faster link or lower rates."
            )
    return None


def _warning(to_board: float, from_board: float, capacity: float | None, to_board_Hz: Rates) -> str | None:
    sensor_Hz = to_board_Hz.get("HIL_SENSOR", 0.0)
    if sensor_Hz > FASTEST_FLOWN_HZ:
        return f"HIL_SENSOR at {sensor_Hz:g} Hz: 500 Hz overloaded real boards; 250 to {FASTEST_FLOWN_HZ} Hz worked."
    if capacity is not None and (need := max(to_board, from_board)) > FULL * capacity:
        return (
            f"The messages take {need / capacity:.0%} of the capacity of the link: bursts will delay samples; "
            f"use a faster link or lower rates."
        )
    return None
