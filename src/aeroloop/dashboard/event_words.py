"""Descriptions of events of a log, for the alert line and for replays."""

from __future__ import annotations

from collections.abc import Sequence

from aeroloop.core.faults import BOARDS
from aeroloop.core.signals import Event
from aeroloop.core.stream import Stream
from aeroloop.dashboard.theme import Severity

EVENTS = ("event", "board_event")
"""Event streams."""
EVENT_WORDS: dict[Event, tuple[Severity, str]] = {
    Event.SENSORS_LOST: ("warn", "sensor data missing in this cycle"),
    Event.SAFE_COMMAND: ("bad", "sensor data lost for too long: safe command active"),
    Event.SENSORS_BACK: ("ok", "sensor data received again"),
    Event.REFERENCE_LOST: ("warn", "no setpoint received: holding the last one"),
    Event.REFERENCE_BACK: ("ok", "setpoints received again"),
    Event.IMPLAUSIBLE_SENSORS: ("bad", "implausible sensor values rejected"),
    Event.IMPLAUSIBLE_COMMAND: ("bad", "implausible command rejected"),
    Event.DEADLINE_MISSED: ("warn", "deadline missed"),
    Event.DIVERGED: ("bad", "the aircraft left its bounds (diverged)"),
    Event.GROUND_CONTACT: ("warn", "ground contact"),
    Event.COLLISION: ("bad", "collision"),
    Event.LAW_NOT_FINITE: ("bad", "the control law returned NaN or infinity"),
    Event.LAW_FALLBACK: ("warn", "the predictive law found no solution, or has one again"),
    Event.BOARDS_DISAGREE: ("bad", "the boards disagree by more than the band, or agree again"),
    Event.NO_BOARD: ("bad", "no board has a command: the last one is held; or one has again"),
    Event.OVERRUN: ("warn", "control cycle overrun"),
    Event.LATE_CYCLE: ("warn", "sensor request late"),
    Event.BOARD_RESTARTED: ("bad", "the board restarted"),
    Event.MESSAGES_LOST: ("warn", "messages from the board were lost"),
    Event.AUTOPILOT_RESTARTED: ("bad", "the autopilot restarted"),
    Event.AUTOPILOT_LEFT: ("bad", "the autopilot disconnected"),
    Event.AUTOPILOT_BACK: ("ok", "the autopilot reconnected"),
    Event.ACTUATORS_REFUSED: ("bad", "actuator commands rejected"),
    Event.ARMED: ("ok", "armed"),
    Event.DISARMED: ("ok", "disarmed"),
    Event.FAILSAFE: ("bad", "failsafe"),
    Event.WAYPOINT_REACHED: ("info", "waypoint reached"),
    Event.COMMAND_REFUSED: ("warn", "command refused"),
    Event.LANDING_TARGETS_REFUSED: ("warn", "landing targets refused"),
    Event.ROTOR_LOST: ("bad", "motor failure: the autopilot flies without that rotor"),
}

BOARD_WORDS: dict[Event, tuple[Severity, str]] = {
    Event.BOARD_SELECTED: ("warn", "{} flies now"),
    Event.BOARD_OUT: ("bad", "{} failed or was voted out"),
    Event.BOARD_IN: ("ok", "{} is aligned and may fly again"),
}
"""Events of one of several boards; their value is its number from 1, 0 the vote of several."""


def _of_board(event: Event, number: int) -> tuple[Severity, str]:
    severity, words = BOARD_WORDS[event]
    return severity, words.format(BOARDS[number - 1] if 0 < number <= len(BOARDS) else "the vote of the boards")


def description(
    stream: Stream, row: tuple[float, ...], *, several: bool, objects: Sequence[str] = ()
) -> tuple[Severity, str] | None:
    """Description of a row of an event stream; None if it is not shown. `several`: with the aircraft's number;
    `objects`: names of those in the world."""
    values = dict(zip(stream.names, row, strict=True))
    try:
        event = Event(int(values["code"]))
        known = EVENT_WORDS.get(event)
        if event is Event.COLLISION:
            known = "bad", f"collision with {_touched(values['value'], objects)}"
        if event in BOARD_WORDS:
            known = _of_board(event, int(values["value"]))
        whose = f"aircraft {int(values['vehicle']) + 1}: " if several else ""
    except (KeyError, ValueError, OverflowError):
        return None
    return None if known is None else (known[0], whose + known[1])


def _touched(value: float, objects: Sequence[str]) -> str:
    """What an aircraft has collided with."""
    if 0 <= value < len(objects):
        return objects[int(value)]
    return "an object" if value >= 0 else "another aircraft"
