"""Several boards that fly one aircraft: the table of a scenario, and what the log says of who flies and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Annotated, Literal

from aeroloop.core.config import Config, meta, note
from aeroloop.core.faults import BOARDS
from aeroloop.core.stream import Stream, fields

MOST_BOARDS = len(BOARDS)
BY_VOTE = -1
"""In place of the number of the board that flies: the mid-value of several."""


class Redundancy(Config, frozen=True):
    """Two or three boards on links of their own fly one aircraft."""

    boards: Annotated[int, meta("-", "number of boards", ge=2, le=MOST_BOARDS)] = 2
    mode: Annotated[
        Literal["standby", "vote"],
        note("`standby`: one board flies until it fails, then the next; `vote`: the mid-value of their commands"),
    ] = "standby"
    sensors: Annotated[
        Literal["shared", "own"],
        note("`shared`: every board is sent the same values; `own`: each is sent values with noise of its own"),
    ] = "shared"
    band: Annotated[
        tuple[float, ...],
        note("two commands that differ by more disagree; one number for each element of the command, in its unit"),
    ] = (0.5, 0.5, 0.05, 0.05)
    off_cycles: Annotated[
        int, meta("-", "control periods out of the band after which a board disagrees, or is voted out", ge=1, le=1000)
    ] = 3
    return_cycles: Annotated[
        int, meta("-", "control periods aligned and in the band after which a board may fly again", ge=1, le=100_000)
    ] = 50
    wait_s: Annotated[
        float, meta("s", "a command that is later than a control period and this long is missing", gt=0, le=0.1)
    ] = 0.002
    align: Annotated[bool, note("boards take over the integrators of the one that flies, or their median")] = True

    def __post_init__(self) -> None:
        if not all(width > 0 for width in self.band):
            raise ValueError(f"band: expected numbers above zero, not {list(self.band)}")

    @property
    def numbers(self) -> range:
        return range(self.boards)


class Verdict(IntEnum):
    """State of a board, as the selector finds it, or why another flies."""

    VALID = 0
    STARTING = 1  # it has not sent a command yet
    MISSING = 2  # no command in this control period
    LATE = 3  # its command belongs to an earlier control period
    IMPLAUSIBLE = 4  # its command is not finite, or out of bounds
    NO_HEARTBEAT = 5  # none, or one whose cycle does not advance
    UNHEALTHY = 6  # it reports that it has no sensors, or that its law failed
    BABBLING = 7  # it sends more than its link is for
    DISCONNECTED = 8  # its link has ended
    OUTVOTED = 9  # its command is out of the band of the others
    RETURNING = 10  # valid again, but not for long enough


class Health(IntEnum):
    """What a board reports of itself in its heartbeat."""

    GOOD = 0
    NO_SENSORS = 1  # it holds its last command, or sends the safe one
    LAW_FAILED = 2  # its law returned NaN or infinity


VERDICT_WORDS = {
    Verdict.VALID: "valid",
    Verdict.STARTING: "has not sent a command yet",
    Verdict.MISSING: "sent no command in its control period",
    Verdict.LATE: "sent a command of an earlier control period",
    Verdict.IMPLAUSIBLE: "sent an implausible command",
    Verdict.NO_HEARTBEAT: "sent no valid heartbeat",
    Verdict.UNHEALTHY: "reported that it has no sensors, or that its law failed",
    Verdict.BABBLING: "sent far too many bytes",
    Verdict.DISCONNECTED: "disconnected",
    Verdict.OUTVOTED: "outvoted: its command was out of the band",
    Verdict.RETURNING: "valid again, not for long enough to fly",
}


def board_name(number: int) -> str:
    """As in messages and fault targets, from the number that counts from 0."""
    return BOARDS[number]


def process_name(number: int) -> str:
    return "board" if number == 0 else f"board_{number + 1}"


def stream_name(stream: str, number: int) -> str:
    """The stream of one board. The first board has the names of a flight with one; `command` is what flies."""
    return stream if number == 0 and stream != "command" else f"{stream}_{number + 1}"


REDUNDANCY = Stream(
    "redundancy",
    "plant",
    1 / 0.012,
    True,
    True,
    "which board flies and why, once a control period",
    fields(
        ("active", "-", "number of the board that flies, from 0; -1: mid-value of several"),
        ("reason", "-", "why it flies: core.redundancy.Verdict of the one before, 0 if it flew from the start"),
        ("since_s", "s", "time since which it flies"),
        *(
            (f"board_{n + 1}", "-", f"core.redundancy.Verdict of board {n + 1}; -1: no such")
            for n in range(MOST_BOARDS)
        ),
        ("spread", "-", "largest difference between two commands, as a fraction of the band"),
        ("held_cycles", "-", "control periods without a new command, up to now"),
    ),
)

PER_BOARD = ("sensors", "command", "cycle", "link", "board_event", "board_cycle", "board_link", "reference_link")
"""Streams of each board; `cpu` and `task` too where they have firmware."""


def streams_with(own: Sequence[Stream], redundancy: Redundancy) -> tuple[Stream, ...]:
    """The streams of a flight, and what several boards add to them."""
    named = {stream.name: stream for stream in own}
    more = []
    for number in redundancy.numbers:
        for name in (*PER_BOARD, "cpu", "task"):
            stream, its_name = named.get(name), stream_name(name, number)
            if stream is not None and its_name != name:
                producer = process_name(number) if stream.producer == "board" else stream.producer
                meaning = f"{board_name(number)}: {stream.meaning}"
                more.append(replace(stream, name=its_name, producer=producer, meaning=meaning))
    return (*own, REDUNDANCY, *more)
