"""The plainest interface of a board: numbered values out, a numbered row of commands back, for any law.

    board -> plant   start       says what the board is
    plant -> board   values      every control period, numbered: a bit for each group, then those groups' values
    board -> plant   command     for that period
    board -> plant   done        this period's work is over; said by the bench's end of the board, lockstep waits for it
    board -> plant   row         values that the law tells: a row of a stream
    board -> plant   cpu, task, event

In frames with checksums, as all our boards (`framing.py`); values are f32. How many there are, the law says: the image
that a board says it runs was built for one law, and another one is refused.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from aeroloop.core.common_streams import TASK_TIMES
from aeroloop.core.signals import Event, ResetCause, Task
from aeroloop.protocols import interface
from aeroloop.protocols.board import CYCLES, MOST_AHEAD, BoardReport, MissingReports, Start
from aeroloop.protocols.framing import Counters, Deframer, encode
from aeroloop.protocols.handshake import Claim
from aeroloop.protocols.interface import BOARD_EVENTS, Interface, Message

MOST_VALUES, MOST_COMMANDS = 60, 28
"""Of a board with firmware: what fits one frame of a control period, however many of its bytes are escaped."""
LONGEST_DATA = 4 + 4 * MOST_VALUES
MOST_DATA = 4096
"""Of boards on the host."""

VALUES_TASKS = (
    Task("receive", 1, "bytes on the board link"),
    Task("tell", 2, "the command is sent"),
    Task("law", 3, "values of a control period"),
)
"""The law has the lowest priority: a board whose law takes all of its time still reports that."""

VALUES = Message(
    "values",
    "plant",
    0x10,
    (("cycle", "H"), ("groups", "B")),
    "values of a control period; then those of each group with a bit in `groups`, f32 each",
)
COMMAND = Message(
    "command",
    "board",
    0x11,
    (("cycle", "H"), ("latency_s", "f")),
    "the answer to values, and how long it took; then the command, f32 each",
)
DONE = Message("done", "board", 0x12, (("cycle", "H"),), "the work of this control period is over")
ROW = Message(
    "row", "board", 0x30, (("sequence", "B"), ("row", "B")), "a telemetry row of the law; then its values, f32 each"
)
CPU = Message("cpu", "board", 0x36, interface.CPU.fields, interface.CPU.meaning)
TASK = Message("task", "board", 0x37, interface.TASK.fields, interface.TASK.meaning)
EVENT = Message("event", "board", 0x38, interface.EVENT.fields, interface.EVENT.meaning)

INTERFACE = Interface(
    revision=1,
    messages=(interface.START, VALUES, COMMAND, DONE, ROW, CPU, TASK, EVENT),
    enumerations={"Event": BOARD_EVENTS, "ResetCause": tuple(ResetCause)},
    tasks=VALUES_TASKS,
    rebuild="aeroloop board flash SCENARIO, or aeroloop board run SCENARIO",
    sizes={"LONGEST_DATA": LONGEST_DATA},
)
_TELLING = {message.number: message for message in (CPU, TASK, EVENT)}
_EVENT_CODES = frozenset(map(int, Event))


@dataclass(frozen=True, slots=True)
class Values:
    """What the plant measured for a control period, group by group; None where a group has nothing new."""

    cycle: int
    groups: tuple[tuple[float, ...] | None, ...]


@dataclass(frozen=True, slots=True)
class Command:
    cycle: int
    values: tuple[float, ...]
    latency_s: float


@dataclass(frozen=True, slots=True)
class Done:
    cycle: int


FromBoard = Start | Command | Done | BoardReport | MissingReports


@dataclass(frozen=True, slots=True)
class Shape:
    """How many values travel."""

    groups: tuple[int, ...]
    commands: int
    rows: tuple[tuple[str, int], ...] = ()  # streams of the law's telemetry, and their sizes
    restarts: bool = False  # the law restarts after values that are NaN or infinite: they are not rejected


def frame_bytes(values: int) -> int:
    """Of a `values` message on the wire, without escapes."""
    return VALUES.size + 4 * values + 4


class _End:
    def __init__(self, longest_data: int) -> None:
        self.counters = Counters()
        self._deframer = Deframer(longest_data, self.counters)

    def _sent(self, message: Message, head: Sequence[float], values: Sequence[float] = ()) -> bytes:
        frame = encode(message.pack(*head) + struct.pack(f"<{len(values)}f", *values))
        self.counters.frames_out += 1
        self.counters.bytes_out += len(frame)
        return frame

    def _tail(self, message: Message, data: bytes, *, any_value: bool = False) -> tuple[float, ...] | None:
        """The values behind a message's fields; None, and counted, where they are none or not finite."""
        size = len(data) - message.size
        if size < 0 or size % 4:
            self.counters.malformed += 1
            return None
        values = struct.unpack_from(f"<{size // 4}f", data, message.size)
        if not all(map(math.isfinite, values)):
            self.counters.implausible += 1
            return values if any_value else None
        return values


class PlantEnd(_End):
    def __init__(self, shape: Shape) -> None:
        super().__init__(MOST_DATA)
        self._shape = shape
        self._sequence: int | None = None

    def values(self, cycle: int, groups: Sequence[Sequence[float] | None]) -> bytes:
        bits = sum(1 << index for index, group in enumerate(groups) if group is not None)
        return self._sent(VALUES, (cycle % CYCLES, bits), [v for group in groups if group is not None for v in group])

    def new_board(self) -> None:
        """The board has restarted and counts its messages from the beginning."""
        self._sequence = None

    def receive(self, chunk: bytes) -> list[FromBoard]:
        return [message for data in self._deframer.feed(chunk) for message in self._messages(data)]

    def _messages(self, data: bytes) -> list[FromBoard]:
        kind, whole = data[0], len(data)
        if kind == COMMAND.number:
            return self._command(data)
        if kind == DONE.number and whole == DONE.size:
            return [Done(int(DONE.unpack(data)[0]))]
        if kind == ROW.number and whole >= ROW.size:
            return self._row(data)
        claim = Claim.of(data)
        if claim:
            return [Start(claim)]
        message = _TELLING.get(kind)
        if message is not None and whole == message.size:
            return self._telling(message, data)
        self.counters.malformed += 1
        return []

    def _command(self, data: bytes) -> list[FromBoard]:
        command = self._tail(COMMAND, data)
        if command is None:
            return []
        if len(command) != self._shape.commands:
            self.counters.malformed += 1
            return []
        cycle, latency_s = COMMAND.unpack(data[: COMMAND.size])
        return [Command(int(cycle), command, latency_s)]

    def _row(self, data: bytes) -> list[FromBoard]:
        sequence, index = (int(number) for number in ROW.unpack(data[: ROW.size]))
        missing, values = self._missing(sequence), self._tail(ROW, data)
        if missing is None or values is None:
            return missing or []
        if index >= len(self._shape.rows) or len(values) != self._shape.rows[index][1]:
            self.counters.malformed += 1
            return missing
        return [*missing, BoardReport(self._shape.rows[index][0], values)]

    def _telling(self, message: Message, data: bytes) -> list[FromBoard]:
        sequence, *values = message.unpack(data)
        missing = self._missing(int(sequence))
        if missing is None:
            return []
        known = message is CPU or values[0] in (_EVENT_CODES if message is EVENT else range(len(VALUES_TASKS)))
        if not (known and all(map(math.isfinite, values))):
            self.counters.implausible += 1
            return missing
        if message is CPU:
            values[-1] /= 1000  # uptime
        return [*missing, BoardReport("board_event" if message is EVENT else message.name, tuple(values))]

    def _missing(self, sequence: int) -> list[FromBoard] | None:
        """What a message's sequence number implies for those before it; None for a duplicate, or one that is too
        old."""
        ahead = 1 if self._sequence is None else (sequence - self._sequence) & 0xFF
        if not 0 < ahead <= MOST_AHEAD:
            self.counters.duplicates += 1
            return None
        self._sequence = sequence
        self.counters.lost += ahead - 1
        return [MissingReports(ahead - 1)] if ahead > 1 else []


class BoardEnd(_End):
    """The board's side, of boards on the host."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(MOST_DATA)
        self._sizes, self._restarts = shape.groups, shape.restarts
        self._sequence = -1

    def start(self, claim: Claim) -> bytes:
        return encode(claim.data())

    def command(self, command: Command) -> bytes:
        return self._sent(COMMAND, (command.cycle, command.latency_s), command.values)

    def done(self, cycle: int) -> bytes:
        return self._sent(DONE, (cycle,))

    def row(self, index: int, values: Sequence[float]) -> bytes:
        return self._sent(ROW, (self._next(), index), values)

    def event(self, event: Event, value: float) -> bytes:
        return self._sent(EVENT, (self._next(), event, value))

    def receive(self, chunk: bytes) -> list[Values]:
        return [values for data in self._deframer.feed(chunk) if (values := self._values(data)) is not None]

    def _next(self) -> int:
        self._sequence = (self._sequence + 1) & 0xFF
        return self._sequence

    def _values(self, data: bytes) -> Values | None:
        values = self._tail(VALUES, data, any_value=self._restarts) if data[0] == VALUES.number else ()
        if values is None:
            return None
        cycle, bits = VALUES.unpack(data[: VALUES.size]) if values else (0, 0)
        groups: list[tuple[float, ...] | None] = []
        at = 0
        for index, size in enumerate(self._sizes):
            there = bool(int(bits) & 1 << index)
            groups.append(values[at : at + size] if there else None)
            at += size if there else 0
        if not values or at != len(values) or int(bits) >> len(self._sizes):
            self.counters.malformed += 1
            return None
        return Values(int(cycle), tuple(groups))


CPU_COLUMNS = (
    ("overruns", "-", "control periods since the start whose command was later than the period"),
    ("worst_cycle_s", "s", "longest time from values to command since the start"),
    ("uptime_s", "s", "time since the board's first values"),
)
"""Of the stream `cpu`, behind its common ones."""
assert [name for name, _ in TASK.fields[1:]] == [name for name, _, _ in TASK_TIMES]
