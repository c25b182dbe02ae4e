"""Pose packets of the Pixhawk paper: 0xAA 0x55 | type | length | payload | CRC-16; no I/O.

The paper has types 1 to 4. The format `extended` adds 5 velocity, 6 specific force and 7 status, in the same frame;
a receiver of the format `paper` counts them as malformed. Axes are north, east, down and forward, right, down.

The paper's polynomial, 0xA001, is 0x8005 with its bits reversed: the CRC of Modbus and ARC, least significant bit
first. It defines neither the CRC's initial value nor byte orders nor number types, so `PoseFormat` holds them. There is
no escaping and no sequence number: the reader must resynchronise by itself, and only the rate shows losses.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

ATTITUDE, POSITION, RATES, MOTORS, VELOCITY, FORCE, STATUS = range(1, 8)
PAYLOAD_SIZES = {ATTITUDE: 12, POSITION: 12, RATES: 12, MOTORS: 8, VELOCITY: 12, FORCE: 12, STATUS: 12}
FORMATS = {"paper": frozenset((ATTITUDE, POSITION, RATES, MOTORS)), "extended": frozenset(PAYLOAD_SIZES)}
"""Types that a sender or receiver of each format knows."""
OVERHEAD_BYTES = 4 + 2
LONGEST_FRAME = OVERHEAD_BYTES + max(PAYLOAD_SIZES.values())

_POLYNOMIAL = 0xA001
_FLOATS = struct.Struct("<3f")
_PLACE = struct.Struct("<3i")
_MOTORS = struct.Struct("<4H")
_STATUS = struct.Struct("<3I")
_DEG_PER_COUNT = 1e-7
_M_PER_COUNT = 1e-3
_U32 = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class PoseFormat:
    """Parameters that the paper does not define. float32 degrees would resolve a position at 116° East only to 0.65
    m."""

    header: bytes = b"\xaa\x55"
    crc_init: int = 0xFFFF  # Modbus; 0 is ARC
    crc_reflected: bool = True  # False: the printed constant taken most significant bit first
    crc_low_first: bool = True
    position: Literal["int32", "float32"] = "int32"  # 1e-7 deg and mm; or deg and m
    types: Literal["paper", "extended"] = "paper"
    motors: Literal["pulses", "speeds"] = (
        "pulses"  # type 4 in us, as in the paper's Figure 3; or in rpm, as in its text
    )


DEFAULT = PoseFormat()


@dataclass(frozen=True, slots=True)
class Attitude:
    roll_rad: float
    pitch_rad: float
    yaw_rad: float


@dataclass(frozen=True, slots=True)
class Position:
    lon_deg: float
    lat_deg: float
    alt_m: float


@dataclass(frozen=True, slots=True)
class Rates:
    roll_rad_s: float
    pitch_rad_s: float
    yaw_rad_s: float


@dataclass(frozen=True, slots=True)
class Motors:
    pulses_us: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class RotorSpeeds:
    """Type 4 of a format with `motors = "speeds"`."""

    speeds_rpm: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Velocity:
    north_m_s: float
    east_m_s: float
    down_m_s: float


@dataclass(frozen=True, slots=True)
class SpecificForce:
    """What an accelerometer measures: at rest (0, 0, -g)."""

    forward_m_s2: float
    right_m_s2: float
    down_m_s2: float


@dataclass(frozen=True, slots=True)
class Status:
    """Sent once with each set; both numbers restart at 0 after 2^32 - 1."""

    time_ms: int  # simulated
    number: int  # of the set: a gap shows loss


Pose = Attitude | Position | Rates | Motors | RotorSpeeds | Velocity | SpecificForce | Status


_OF_FLOATS: dict[int, Callable[[float, float, float], Pose]] = {
    ATTITUDE: Attitude,
    POSITION: Position,
    RATES: Rates,
    VELOCITY: Velocity,
    FORCE: SpecificForce,
}


class PoseFrame(NamedTuple):
    """A packet with a valid checksum."""

    kind: int
    payload: bytes
    wire: bytes


@dataclass(slots=True)
class PoseCounters:
    """Statistics of received packets."""

    frames_in: int = 0
    bytes_in: int = 0
    bad_checksums: int = 0
    malformed: int = 0  # headers with a type that the format does not have, or a length that does not match the type
    skipped_bytes: int = 0


def crc16(data: bytes, layout: PoseFormat = DEFAULT) -> int:
    """Over type, length and payload."""
    table, crc = crc_table(layout.crc_reflected), layout.crc_init
    if layout.crc_reflected:
        for byte in data:
            crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    else:
        for byte in data:
            crc = (crc << 8 & 0xFF00) ^ table[crc >> 8 ^ byte]
    return crc


@cache
def crc_table(reflected: bool) -> tuple[int, ...]:
    return tuple(_remainder(byte, reflected) for byte in range(256))


def _remainder(byte: int, reflected: bool) -> int:
    crc = byte if reflected else byte << 8
    for _ in range(8):
        if reflected:
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
        else:
            crc = crc << 1 & 0xFFFF ^ (_POLYNOMIAL if crc & 0x8000 else 0)
    return crc


def encode(pose: Pose, layout: PoseFormat = DEFAULT) -> bytes:
    """ValueError for a packet that the format does not have."""
    kind, payload = _payload(pose, layout)
    if kind not in FORMATS[layout.types]:
        raise ValueError(f"the format {layout.types!r} has no packets of type {kind}")
    body = bytes((kind, len(payload))) + payload
    return layout.header + body + crc16(body, layout).to_bytes(2, "little" if layout.crc_low_first else "big")


def _payload(pose: Pose, layout: PoseFormat) -> tuple[int, bytes]:
    match pose:
        case Attitude(x, y, z):
            return ATTITUDE, _FLOATS.pack(x, y, z)
        case Rates(x, y, z):
            return RATES, _FLOATS.pack(x, y, z)
        case Velocity(x, y, z):
            return VELOCITY, _FLOATS.pack(x, y, z)
        case SpecificForce(x, y, z):
            return FORCE, _FLOATS.pack(x, y, z)
        case Status(time_ms, number):
            return STATUS, _STATUS.pack(time_ms & _U32, number & _U32, 0)
        case Position(lon, lat, alt) if layout.position == "float32":
            return POSITION, _FLOATS.pack(lon, lat, alt)
        case Position():
            return POSITION, _PLACE.pack(*position_counts(pose))
        case Motors(values) if layout.motors == "pulses":
            return MOTORS, _MOTORS.pack(*values)
        case RotorSpeeds(values) if layout.motors == "speeds":
            return MOTORS, _MOTORS.pack(*values)
    raise ValueError(f"the format sends {layout.motors} as type {MOTORS}, not {type(pose).__name__}")


def position_counts(position: Position) -> tuple[int, int, int]:
    """Longitude and latitude in 1e-7 deg, altitude in mm."""
    return (
        round(position.lon_deg / _DEG_PER_COUNT),
        round(position.lat_deg / _DEG_PER_COUNT),
        round(position.alt_m / _M_PER_COUNT),
    )


def decode(frame: PoseFrame, layout: PoseFormat = DEFAULT) -> Pose | None:
    """None for impossible numbers: not finite, a position that is not on Earth, or a reserved field that is not 0."""
    if frame.kind == MOTORS:
        numbers = _MOTORS.unpack(frame.payload)
        return Motors(numbers) if layout.motors == "pulses" else RotorSpeeds(numbers)
    if frame.kind == STATUS:
        time_ms, number, reserved = _STATUS.unpack(frame.payload)
        return Status(time_ms, number) if reserved == 0 else None
    if frame.kind == POSITION and layout.position == "int32":
        lon, lat, alt = _PLACE.unpack(frame.payload)
        # Divided, not multiplied: 1e7 is exact in binary and 1e-7 is not.
        place = Position(lon / 1e7, lat / 1e7, alt / 1e3)
        return place if _on_earth(place) else None
    values = _FLOATS.unpack(frame.payload)
    if not all(map(math.isfinite, values)):
        return None
    pose = _OF_FLOATS[frame.kind](*values)
    return None if isinstance(pose, Position) and not _on_earth(pose) else pose


def _on_earth(place: Position) -> bool:
    return abs(place.lon_deg) <= 180 and abs(place.lat_deg) <= 90


class PoseIn:
    """Bytes in, checked packets out, with any bytes between; memory is bounded by the longest packet."""

    def __init__(self, counters: PoseCounters, layout: PoseFormat = DEFAULT) -> None:
        self._counters = counters
        self._layout = layout
        self._sizes = {kind: PAYLOAD_SIZES[kind] for kind in FORMATS[layout.types]}
        self._order: Literal["little", "big"] = "little" if layout.crc_low_first else "big"
        self._open = b""

    def feed(self, chunk: bytes) -> list[PoseFrame]:
        """Every packet that `chunk` completes, in order."""
        if not chunk:
            return []
        counters, layout = self._counters, self._layout
        counters.bytes_in += len(chunk)
        stream = self._open + chunk
        good: list[PoseFrame] = []
        at = 0
        while True:
            begin = stream.find(layout.header, at)
            if begin < 0:
                # The last byte may be the first half of a header.
                begin = len(stream) - stream.endswith(layout.header[:1])
                counters.skipped_bytes += max(0, begin - at)
                at = max(at, begin)
                break
            counters.skipped_bytes += begin - at
            at = begin
            if len(stream) - begin < 4:
                break
            kind, length = stream[begin + 2], stream[begin + 3]
            if self._sizes.get(kind) != length:
                counters.malformed += 1
            else:
                end = begin + 4 + length
                if len(stream) < end + 2:
                    break
                if crc16(stream[begin + 2 : end], layout) == int.from_bytes(stream[end : end + 2], self._order):
                    good.append(PoseFrame(kind, stream[begin + 4 : end], stream[begin : end + 2]))
                    counters.frames_in += 1
                    at = end + 2
                    continue
                counters.bad_checksums += 1
            at += 1  # only one byte: the true packet may begin inside the false one
            counters.skipped_bytes += 1
        self._open = stream[at:]
        return good
