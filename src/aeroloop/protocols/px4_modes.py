"""PX4's flight modes as MAVLink carries them: a main mode and, for AUTO, a sub mode."""

from __future__ import annotations

MANUAL, ALTCTL, POSCTL, AUTO, ACRO, OFFBOARD, STABILIZED = 1, 2, 3, 4, 5, 6, 7

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

MORE_PX4_MODES: dict[str, tuple[int, int]] = {
    "acro": (ACRO, 0),
    "offboard": (OFFBOARD, 0),
    "stabilized": (STABILIZED, 0),
    "orbit": (POSCTL, 1),
    "ready": (AUTO, 1),
    "follow": (AUTO, 8),
    "precision land": (AUTO, 9),
}
"""Those that PX4 has besides; the virtual Pixhawk does not fly them."""

_NAMES = {numbers: name for name, numbers in {**PX4_MODES, **MORE_PX4_MODES}.items()}


def mode_name(custom_mode: int) -> str:
    """Of a heartbeat's `custom_mode`; a mode that is not known here by its numbers."""
    main, sub = custom_mode >> 16 & 0xFF, custom_mode >> 24 & 0xFF
    return _NAMES.get((main, sub)) or f"{main}.{sub}"
