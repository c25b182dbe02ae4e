"""PX4's flight modes as MAVLink carries them: main and sub mode in bytes 2 and 3 of `custom_mode`."""

from __future__ import annotations

PX4_MODES: dict[str, tuple[int, int]] = {
    "manual": (7, 0),  # PX4's "stabilized": sticks are attitude; its "manual" is the same on a multirotor
    "altitude": (2, 0),
    "position": (3, 0),
    "takeoff": (4, 2),
    "hold": (4, 3),
    "mission": (4, 4),
    "return": (4, 5),
    "land": (4, 6),
}
ALIASES: dict[tuple[int, int], str] = {(1, 0): "manual"}


def custom_mode(name: str) -> int:
    main, sub = PX4_MODES[name]
    return main << 16 | sub << 24


def mode_name(main: int, sub: int) -> str | None:
    """None for a mode that is none of these. Ground stations send any sub mode with modes that have none."""
    if (main, 0) in ALIASES:
        return ALIASES[main, 0]
    wanted = (main, sub) if main == 4 else (main, 0)
    return next((name for name, numbers in PX4_MODES.items() if numbers == wanted), None)
