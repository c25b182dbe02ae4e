"""Gaps in a MAVLink sender's numbering, which wraps at 256."""

from __future__ import annotations

OVERTAKEN = 256 - 16
RESTARTED = 128
"""Numbers that seem so far ahead are those of one that comes late, or of a sender that began anew."""


def renumber(numbering: list[int], number: int) -> int:
    """How many frames of a sender a jump in its numbers tells to be missing; `numbering` is the last, and how many are.

    One that was overtaken was counted as missing before. A sender that always says the same number has no numbering.
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
