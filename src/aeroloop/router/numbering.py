"""Gaps in a MAVLink sender's sequence numbers, which wrap at 256; new numbers for a receiver of some of its frames."""

from __future__ import annotations

from aeroloop.protocols.mavlink_framing import V2, Formats, message_key, sealed
from aeroloop.protocols.mavlink_signing import strip

OVERTAKEN = 256 - 16
RESTARTED = 128
"""A larger jump is a late frame, or a restart of the sender."""


def renumber(numbering: list[int], number: int) -> int:
    """Number of frames lost according to a jump of the sequence number; `numbering` is [last number, missing so far].

    A late frame was counted as missing before. A sender with a constant number has no numbering.
    """
    ahead = (number - numbering[0]) & 0xFF
    if ahead == 0:
        return 0
    if ahead >= OVERTAKEN:
        if not numbering[1]:
            return 0
        numbering[1] -= 1
        return -1
    numbering[0] = number
    if ahead >= RESTARTED:
        return 0
    numbering[1] += ahead - 1
    return ahead - 1


class Renumbering:
    """Numbers the frames of each sender anew, for a receiver that gets only a part of them: a gap is a loss again."""

    def __init__(self, formats: Formats) -> None:
        self._formats = formats
        self._next: dict[bytes, int] = {}

    def __call__(self, wire: bytes) -> bytes:
        """The frame without a signature, which would not match."""
        at = 4 if wire[0] == V2 else 2
        sender = wire[at + 1 : at + 3]
        number = self._next.get(sender, 0)
        self._next[sender] = (number + 1) & 0xFF
        body = strip(wire)[:-2]
        return sealed(body[:at] + bytes((number,)) + body[at + 1 :], self._formats[message_key(wire, 0)].extra)
