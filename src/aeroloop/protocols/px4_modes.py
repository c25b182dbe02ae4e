"""PX4's flight modes as MAVLink carries them: a main mode and, for AUTO, a sub mode."""

from __future__ import annotations

MANUAL, ALTCTL, POSCTL, AUTO, STABILIZED = 1, 2, 3, 4, 7

PX4_MODES: dict[str, tuple[int, int]] = {
    "manual": (MANUAL, 0),
    "altitude": (ALTCTL, 0),
    "position": (POSCTL, 0),
    "takeoff": (AUTO, 2),
    "hold": (AUTO, 3),
    "mission": (AUTO, 4),
    "return": (AUTO, 5),
    "land": (AUTO, 6),
}
