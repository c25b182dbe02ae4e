"""What the router says to a ground station whose command it did not pass on, in texts of the vehicle that it was for.

A STATUSTEXT has 50 characters, and ground stations show only those of a vehicle: hence the prefix.
"""

from __future__ import annotations

PREFIX = "router: "
HELD = "commands, not you"
"""Ends the words when somebody else commands; his name stands before it."""


def held_by(name: str) -> str:
    room = 50 - len(PREFIX) - len(HELD) - 1
    return f"{PREFIX}{name[:room]} {HELD}"


def holder(words: str) -> str | None:
    """Who commands, if these words say so."""
    if words.startswith(PREFIX) and words.endswith(f" {HELD}"):
        return words[len(PREFIX) : -len(HELD) - 1]
    return None
