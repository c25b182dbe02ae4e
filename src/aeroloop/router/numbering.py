"""Gaps in a MAVLink sender's sequence numbers, which wrap at 256."""

from __future__ import annotations

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
