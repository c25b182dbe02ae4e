"""The peer of the codec: the paper's frame, byte by byte, as one writes it down from the text.

0x7E | escaped(data + Fletcher-16, low byte first) | 0x7E, where 0x7E and 0x7D become 0x7D and the byte XOR 0x20.
"""

from __future__ import annotations

FLAG, ESCAPE, TOGGLE = 0x7E, 0x7D, 0x20


def encode(data: bytes) -> bytes:
    sum1 = sum2 = 0
    for byte in data:
        sum1 = (sum1 + byte) % 255
        sum2 = (sum2 + sum1) % 255
    frame = bytearray([FLAG])
    for byte in (*data, sum1, sum2):
        if byte in (FLAG, ESCAPE):
            frame.append(ESCAPE)
            frame.append(byte ^ TOGGLE)
        else:
            frame.append(byte)
    frame.append(FLAG)
    return bytes(frame)


class Decoder:
    """A state machine that is given one byte at a time."""

    def __init__(self) -> None:
        self._body = bytearray()
        self._escaped = False

    def feed(self, chunk: bytes) -> list[bytes]:
        found = []
        for byte in chunk:
            if byte == FLAG:
                data = self._finish()
                if data is not None:
                    found.append(data)
            elif byte == ESCAPE:
                self._escaped = True
            elif self._escaped:
                self._escaped = False
                self._body.append(byte ^ TOGGLE)
            else:
                self._body.append(byte)
        return found

    def _finish(self) -> bytes | None:
        body, self._body = self._body, bytearray()
        if len(body) < 3:
            return None
        sum1 = sum2 = 0
        for byte in body[:-2]:
            sum1 = (sum1 + byte) % 255
            sum2 = (sum2 + sum1) % 255
        return bytes(body[:-2]) if (body[-2], body[-1]) == (sum1, sum2) else None
