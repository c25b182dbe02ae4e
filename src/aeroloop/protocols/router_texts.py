"""Texts of the router to a ground station whose command it did not forward, sent in the name of the target vehicle.

A STATUSTEXT has 50 characters, and ground stations show only texts of a vehicle: hence the prefix.
"""

from __future__ import annotations

PREFIX = "router: "
HELD = "has control"
"""End of the text when another station has control; its name precedes it."""


def held_by(name: str) -> str:
    room = 50 - len(PREFIX) - len(HELD) - 1
    return f"{PREFIX}{name[:room]} {HELD}"


def holder(words: str) -> str | None:
    """The station that has control, if the text names it."""
    if words.startswith(PREFIX) and words.endswith(f" {HELD}"):
        return words[len(PREFIX) : -len(HELD) - 1]
    return None
