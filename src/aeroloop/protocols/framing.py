"""The byte frame of the tilt-rotor paper, after PPP: 0x7E | escaped(data + Fletcher-16) | 0x7E.

0x7E and 0x7D inside are sent as 0x7D followed by the byte XOR 0x20. The checksum sums modulo 255 over the unescaped
data and travels low byte first. It cannot distinguish 0x00 from 0xFF: `plausible.py` is the next check.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import accumulate

FLAG = b"\x7e"
ESCAPE = b"\x7d"
_ESCAPED_FLAG = b"\x7d\x5e"
_ESCAPED_ESCAPE = b"\x7d\x5d"


@dataclass(slots=True)
class Counters:
    """Statistics of one end of a link; the fields are those of the `*_link` streams."""

    frames_in: int = 0
    frames_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    bad_checksums: int = 0
    malformed: int = 0
    lost: int = 0
    duplicates: int = 0
    late: int = 0
    implausible: int = 0

    def row(self) -> tuple[float, ...]:
        return tuple(float(getattr(self, f.name)) for f in fields(self))


def fletcher16(data: bytes) -> int:
    """(sum2 << 8) | sum1, both modulo 255 and starting at 0."""
    return (sum(accumulate(data)) % 255) << 8 | (sum(data) % 255)


def encode(data: bytes) -> bytes:
    body = data + fletcher16(data).to_bytes(2, "little")
    # The escape byte first, or the escapes of the flags would be escaped again.
    return FLAG + body.replace(ESCAPE, _ESCAPED_ESCAPE).replace(FLAG, _ESCAPED_FLAG) + FLAG


class Deframer:
    """Bytes in, checked data out, with any bytes between frames; memory is bounded by the longest legal frame."""

    def __init__(self, longest_data: int, counters: Counters) -> None:
        self._longest = longest_data + 2
        self._longest_escaped = 2 * self._longest
        self._counters = counters
        self._open = b""
        self._skipping = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The data of every frame that `chunk` completes, in order."""
        if not chunk:
            return []
        self._counters.bytes_in += len(chunk)
        *bodies, self._open = (self._open + chunk).split(FLAG)
        good = [data for body in bodies if (data := self._check(body)) is not None]
        if len(self._open) > self._longest_escaped:
            if not self._skipping:
                self._counters.malformed += 1
            self._skipping = True
            self._open = b""
        return good

    def _check(self, body: bytes) -> bytes | None:
        if self._skipping:
            # The end of an overlong frame: its flag may also open the next one.
            self._skipping = False
            return None
        if not body:
            return None
        if ESCAPE in body:
            pairs = body.count(_ESCAPED_FLAG) + body.count(_ESCAPED_ESCAPE)
            if pairs != body.count(ESCAPE):
                self._counters.malformed += 1
                return None
            body = body.replace(_ESCAPED_FLAG, FLAG).replace(_ESCAPED_ESCAPE, ESCAPE)
        if len(body) < 3 or len(body) > self._longest:
            self._counters.malformed += 1
            return None
        data = body[:-2]
        if fletcher16(data) != int.from_bytes(body[-2:], "little"):
            self._counters.bad_checksums += 1
            return None
        self._counters.frames_in += 1
        return data


class FrameCutter:
    """Cuts a byte stream after each closing flag, so that an impaired link can lose a frame as a whole."""

    LONGEST = 4096

    def __init__(self) -> None:
        self._open = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        stream = self._open + chunk
        units = []
        start = 0
        while True:
            body = start
            while body < start + self.LONGEST and stream[body : body + 1] == FLAG:
                body += 1
            end = stream.find(FLAG, body, start + self.LONGEST)
            if end >= 0:
                cut = end + 1
            elif len(stream) - start >= self.LONGEST:
                cut = start + self.LONGEST  # by position, so that chunking has no effect
            else:
                break
            units.append(stream[start:cut])
            start = cut
        self._open = stream[start:]
        return units

    def rest(self) -> bytes:
        """Returns and clears the bytes of an unfinished frame."""
        rest, self._open = self._open, b""
        return rest
