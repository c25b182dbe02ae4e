"""Pose packets of the Pixhawk paper: 0xAA 0x55 | type | length | payload | CRC-16; no I/O.

The paper's polynomial, 0xA001, is 0x8005 with its bits reversed: the CRC of Modbus and ARC, least significant bit
first. It names neither the CRC's initial value nor byte orders nor number types, so `PoseFormat` holds them. Nothing is
escaped and nothing is numbered: the reader must find its way back by itself, and only a rate shows what is lost.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

ATTITUDE, POSITION, RATES, MOTORS = 1, 2, 3, 4
PAYLOAD_SIZES = {ATTITUDE: 12, POSITION: 12, RATES: 12, MOTORS: 8}
LONGEST_FRAME = 4 + 12 + 2

_POLYNOMIAL = 0xA001
_FLOATS = struct.Struct("<3f")
_PLACE = struct.Struct("<3i")
_PULSES = struct.Struct("<4H")
_DEG_PER_COUNT = 1e-7
_M_PER_COUNT = 1e-3


@dataclass(frozen=True, slots=True)
class PoseFormat:
    """What the paper leaves open. float32 degrees would place an aircraft at 116° East only to 0.65 m."""

    header: bytes = b"\xaa\x55"
    crc_init: int = 0xFFFF  # Modbus; 0 is ARC
    crc_reflected: bool = True  # False: the printed constant taken most significant bit first
    crc_low_first: bool = True
    position: Literal["int32", "float32"] = "int32"  # 1e-7 deg and mm; or deg and m


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


Pose = Attitude | Position | Rates | Motors


class PoseFrame(NamedTuple):
    """A packet whose checksum holds."""

    kind: int
    payload: bytes
    wire: bytes


@dataclass(slots=True)
class PoseCounters:
    """What came over a link."""

    frames_in: int = 0
    bytes_in: int = 0
    bad_checksums: int = 0
    malformed: int = 0  # headers with a type that there is not, or a length that the type does not have
    skipped_bytes: int = 0


def crc16(data: bytes, layout: PoseFormat = DEFAULT) -> int:
    """Over type, length and payload."""
    table, crc = _table(layout.crc_reflected), layout.crc_init
    if layout.crc_reflected:
        for byte in data:
            crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    else:
        for byte in data:
            crc = (crc << 8 & 0xFF00) ^ table[crc >> 8 ^ byte]
    return crc


@cache
def _table(reflected: bool) -> tuple[int, ...]:
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
    kind, payload = _payload(pose, layout)
    body = bytes((kind, len(payload))) + payload
    return layout.header + body + crc16(body, layout).to_bytes(2, "little" if layout.crc_low_first else "big")


def _payload(pose: Pose, layout: PoseFormat) -> tuple[int, bytes]:
    match pose:
        case Attitude(roll, pitch, yaw):
            return ATTITUDE, _FLOATS.pack(roll, pitch, yaw)
        case Rates(roll, pitch, yaw):
            return RATES, _FLOATS.pack(roll, pitch, yaw)
        case Motors(pulses_us):
            return MOTORS, _PULSES.pack(*pulses_us)
        case Position(lon, lat, alt) if layout.position == "float32":
            return POSITION, _FLOATS.pack(lon, lat, alt)
        case Position(lon, lat, alt):
            return POSITION, _PLACE.pack(
                round(lon / _DEG_PER_COUNT), round(lat / _DEG_PER_COUNT), round(alt / _M_PER_COUNT)
            )


def decode(frame: PoseFrame, layout: PoseFormat = DEFAULT) -> Pose | None:
    """None for numbers that no aircraft has: not finite, or a place that is not on Earth."""
    if frame.kind == MOTORS:
        return Motors(_PULSES.unpack(frame.payload))
    if frame.kind == POSITION and layout.position == "int32":
        lon, lat, alt = _PLACE.unpack(frame.payload)
        # Divided, not multiplied: 1e7 is exact in binary and 1e-7 is not.
        values = lon / 1e7, lat / 1e7, alt / 1e3
    else:
        values = _FLOATS.unpack(frame.payload)
    if not all(map(math.isfinite, values)):
        return None
    if frame.kind == POSITION:
        lon_deg, lat_deg, _ = values
        return Position(*values) if abs(lon_deg) <= 180 and abs(lat_deg) <= 90 else None
    return Attitude(*values) if frame.kind == ATTITUDE else Rates(*values)


class PoseIn:
    """Bytes in, checked packets out, whatever lies between; memory is bounded by the longest packet."""

    def __init__(self, counters: PoseCounters, layout: PoseFormat = DEFAULT) -> None:
        self._counters = counters
        self._layout = layout
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
            if PAYLOAD_SIZES.get(kind) != length:
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
            at += 1  # one byte and no more: the true packet may begin inside the false one
            counters.skipped_bytes += 1
        self._open = stream[at:]
        return good
