"""Sets of pose packets: which types are sent together, whether a line carries them, and when a set is complete; no I/O.

A set is complete when each of its types came since the last complete set. There is no sequence number in the paper's
packets, so a set may mix packets of two instants after a loss; with type 7 the running number shows the loss.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from aeroloop.core.errors import ConfigError
from aeroloop.protocols.pose import (
    ATTITUDE,
    FORCE,
    FORMATS,
    MOTORS,
    OVERHEAD_BYTES,
    PAYLOAD_SIZES,
    POSITION,
    RATES,
    STATUS,
    VELOCITY,
    Attitude,
    Pose,
    Position,
    Rates,
    SpecificForce,
    Status,
    Velocity,
)

NAMES = {
    "attitude": ATTITUDE,
    "position": POSITION,
    "rates": RATES,
    "velocity": VELOCITY,
    "force": FORCE,
    "status": STATUS,
}
"""Types from the simulator to the board."""
DEFAULT_SETS = {"paper": ("attitude", "position", "rates"), "extended": tuple(NAMES)}
BITS_PER_BYTE = 10  # 8N1: start and stop bit
FULL = 0.8
"""Fraction of a line's capacity above which a burst delays the next set; as for MAVLink."""

_TYPE_OF: dict[type, int] = {
    Attitude: ATTITUDE,
    Position: POSITION,
    Rates: RATES,
    Velocity: VELOCITY,
    SpecificForce: FORCE,
    Status: STATUS,
}
_U32 = 1 << 32


def frame_bytes(kind: int) -> int:
    """Of one packet on the line."""
    return OVERHEAD_BYTES + PAYLOAD_SIZES[kind]


def set_types(names: Collection[str], types: str) -> frozenset[int]:
    """The types of a set; ConfigError for a set that the format cannot carry or from which nothing can be rebuilt."""
    for name in names:
        if name not in NAMES:
            raise ConfigError(f"pose.set: expected packets among {', '.join(NAMES)}, not {name!r}")
        if NAMES[name] not in FORMATS[types]:
            raise ConfigError(f"pose.set: {name!r} needs pose.format 'extended', not {types!r}")
    if missing := [name for name in ("attitude", "position") if name not in names]:
        raise ConfigError(f"pose.set: sensors cannot be rebuilt without {' and '.join(missing)}")
    return frozenset(NAMES[name] for name in names)


def set_bytes(kinds: Collection[int]) -> int:
    return sum(map(frame_bytes, kinds))


def highest_rate_hz(kinds: Collection[int], baud: int) -> float:
    return baud / (BITS_PER_BYTE * set_bytes(kinds))


@dataclass(frozen=True, slots=True)
class LineLoad:
    """Load of both directions as fractions of the line's capacity; refusal and warning are sentences, or None."""

    to_board: float
    from_board: float
    refusal: str | None
    warning: str | None


def line_load(kinds: Collection[int], rate_hz: float, baud: int, motors_hz: float = 0.0) -> LineLoad:
    """Of sets at a rate, and type 4 back at `motors_hz`. A line is full duplex: each direction has all of it."""
    to_board = rate_hz / highest_rate_hz(kinds, baud)
    from_board = motors_hz / highest_rate_hz((MOTORS,), baud)
    refusal = warning = None
    if to_board > 1:
        refusal = (
            f"pose.rate_hz: {rate_hz:g} Hz of {set_bytes(kinds)} bytes need {to_board:.0%} of {baud} baud; "
            f"expected at most {highest_rate_hz(kinds, baud):.0f} Hz, or a faster line"
        )
    elif from_board > 1:
        refusal = (
            f"pose.baud: motor packets at {motors_hz:g} Hz need {from_board:.0%} of {baud} baud; expected a faster line"
        )
    elif (need := max(to_board, from_board)) > FULL:
        warning = (
            f"Pose packets take {need:.0%} of {baud} baud: bursts will delay sets; use a faster line or lower rates."
        )
    return LineLoad(to_board, from_board, refusal, warning)


@dataclass(frozen=True, slots=True)
class PoseSet:
    """A complete set. Types that are not in the set are None."""

    time_ns: int  # type 7's time, or the arrival of the packet that completed it
    attitude: Attitude
    position: Position
    rates: Rates | None = None
    velocity: Velocity | None = None
    force: SpecificForce | None = None
    status: Status | None = None


class SetCollector:
    """Packets in, complete sets out: the latest packet of each type."""

    def __init__(self, kinds: Collection[int]) -> None:
        self._wanted = frozenset(kinds)
        self._latest: dict[int, Pose] = {}
        self._number: int | None = None
        self.complete = 0
        self.lost = 0  # sets that the running numbers of type 7 skipped
        self.other = 0  # packets of types that are not in the set

    def add(self, pose: Pose, arrival_ns: int) -> PoseSet | None:
        """The set that this packet completes."""
        kind = _TYPE_OF.get(type(pose), 0)
        if kind not in self._wanted:
            self.other += 1
            return None
        self._latest[kind] = pose
        if len(self._latest) < len(self._wanted):
            return None
        found, self._latest = self._latest, {}
        self.complete += 1
        made = _set(found, arrival_ns)
        if made.status is not None:
            self._count(made.status.number)
        return made

    def _count(self, number: int) -> None:
        """A number that did not rise by less than half of its range is a restarted sender's, and no loss."""
        if self._number is not None and 0 < (gap := (number - self._number) % _U32) < _U32 // 2:
            self.lost += gap - 1
        self._number = number


def _set(found: dict[int, Pose], arrival_ns: int) -> PoseSet:
    attitude, position, status = found[ATTITUDE], found[POSITION], found.get(STATUS)
    rates, velocity, force = found.get(RATES), found.get(VELOCITY), found.get(FORCE)
    assert isinstance(attitude, Attitude)
    assert isinstance(position, Position)
    assert rates is None or isinstance(rates, Rates)
    assert velocity is None or isinstance(velocity, Velocity)
    assert force is None or isinstance(force, SpecificForce)
    assert status is None or isinstance(status, Status)
    time_ns = arrival_ns if status is None else status.time_ms * 1_000_000
    return PoseSet(time_ns, attitude, position, rates, velocity, force, status)
