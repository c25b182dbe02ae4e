"""Camera frames on a byte link: a header of 80 bytes, then the colour image and the depth image.

A reader takes bytes in any pieces. A wrong magic, version, size or checksum is counted, and it continues at the next
magic. Values are little endian; the checksum is CRC-32 of everything after the header.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import NamedTuple

MAGIC = b"ALFR"
VERSION = 1
MOST_BYTES = 8 << 20
"""Of both images together."""
HEADER = struct.Struct("<4s4BIqIHH4f5ffIII")
"""Magic, version, camera, coding, flags, number, t_ns, exposure_us, width, height, fx fy cx cy, distortion,
depth unit, bytes of colour, bytes of depth, checksum."""


class Coding(IntEnum):
    RAW = 0
    JPEG = 1
    PNG16 = 2
    JPEG_PNG16 = 3


@dataclass(frozen=True, slots=True)
class Frame:
    camera: int
    coding: int
    number: int
    t_ns: int  # simulated: middle row, middle of the exposure
    size_px: tuple[int, int]
    intrinsics_px: tuple[float, float, float, float]  # fx fy cx cy; pixel centres are whole numbers
    distortion: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0)  # k1 k2 p1 p2 k3
    exposure_us: int = 0
    depth_unit_m: float = 0.0
    flags: int = 0
    rgb: bytes = b""
    depth: bytes = b""


def encode(frame: Frame) -> bytes:
    """ValueError if the images are larger than a reader accepts."""
    body = frame.rgb + frame.depth
    if len(body) > MOST_BYTES:
        raise ValueError(f"frame {frame.number}: {len(body)} bytes, expected at most {MOST_BYTES}")
    return header_of(frame, zlib.crc32(body)) + body


def header_of(frame: Frame, checksum: int = 0) -> bytes:
    return HEADER.pack(
        MAGIC,
        VERSION,
        frame.camera,
        frame.coding,
        frame.flags,
        frame.number,
        frame.t_ns,
        frame.exposure_us,
        *frame.size_px,
        *frame.intrinsics_px,
        *frame.distortion,
        frame.depth_unit_m,
        len(frame.rgb),
        len(frame.depth),
        checksum,
    )


class Announced(NamedTuple):
    """What a header says of the bytes behind it."""

    version: int
    rgb_bytes: int
    depth_bytes: int
    checksum: int


def of_header(header: bytes | bytearray) -> tuple[Frame, Announced]:
    """The frame without its images; nothing is checked."""
    _, version, camera, coding, flags, number, t_ns, exposure_us, width, height, *rest = HEADER.unpack_from(header)
    fx, fy, cx, cy, k1, k2, p1, p2, k3, unit_m, rgb_bytes, depth_bytes, checksum = rest
    frame = Frame(
        camera=camera,
        coding=coding,
        number=number,
        t_ns=t_ns,
        size_px=(width, height),
        intrinsics_px=(fx, fy, cx, cy),
        distortion=(k1, k2, p1, p2, k3),
        exposure_us=exposure_us,
        depth_unit_m=unit_m,
        flags=flags,
    )
    return frame, Announced(version, rgb_bytes, depth_bytes, checksum)


@dataclass
class FrameReader:
    """Cuts frames out of a byte stream; `refused` counts what was wrong, by its reason."""

    refused: dict[str, int] = field(default_factory=dict)
    _buffer: bytearray = field(default_factory=bytearray)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that `data` completes. At most one frame of bytes is kept."""
        self._buffer += data
        while (found := self._next()) is not None:
            if isinstance(found, Frame):
                yield found

    def _next(self) -> Frame | bool | None:
        """A frame; True after a step without one; None if more bytes are needed."""
        buffer = self._buffer
        at = buffer.find(MAGIC)
        if at != 0:
            # The end of the buffer may be the beginning of a magic.
            keep = at if at > 0 else len(buffer) - _begun(buffer)
            if keep:
                self._count("magic")
                del buffer[:keep]
            if at < 0:
                return None
        if len(buffer) < HEADER.size:
            return None
        frame, (version, rgb_bytes, depth_bytes, checksum) = of_header(buffer)
        total = HEADER.size + rgb_bytes + depth_bytes
        if version != VERSION:
            return self._refuse("version")
        if rgb_bytes + depth_bytes > MOST_BYTES:
            return self._refuse("size")
        if len(buffer) < total:
            return None
        body = bytes(buffer[HEADER.size : total])
        if zlib.crc32(body) != checksum:
            return self._refuse("checksum")
        del buffer[:total]
        return replace(frame, rgb=body[:rgb_bytes], depth=body[rgb_bytes:])

    def _refuse(self, reason: str) -> bool:
        """Continue behind this magic: what follows may hold a whole frame."""
        self._count(reason)
        del self._buffer[: len(MAGIC)]
        return True

    def _count(self, reason: str) -> None:
        self.refused[reason] = self.refused.get(reason, 0) + 1


def _begun(buffer: bytearray) -> int:
    """How many bytes at the end are the beginning of a magic."""
    return next((n for n in range(len(MAGIC) - 1, 0, -1) if buffer.endswith(MAGIC[:n])), 0)
