"""The board protocol of the tilt-rotor paper: the board is the client, the plant the server.

    board -> plant   start                the simulation, with the board's identity
    plant -> board   hello                interface of the bench
    board -> plant   request              a cycle begins: send sensors
    plant -> board   answer               16 floats
    board -> plant   actuators            4 floats, the end of the cycle
    board -> plant   cpu, task, counters, event    the board's reports
    plant -> board   reference            if the board has no separate reference link

`interface.py` has every message's fields. There is no cycle number on the wire, so each end counts the messages due: a
message that arrives when none is due is ignored, and counted as late if one was missed before, else as a duplicate. A
late one that arrives while the next is due cannot be distinguished from it, and is accepted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from aeroloop.core.signals import TASKS, Command, Event, Sensors
from aeroloop.protocols import interface
from aeroloop.protocols.framing import Counters, Deframer, encode
from aeroloop.protocols.handshake import Claim
from aeroloop.protocols.interface import TILTROTOR, Interface
from aeroloop.protocols.plausible import Bounds, Plausibility

REQUEST_FRAME = encode(interface.REQUEST.pack())
LONGEST_FROM_PLANT = interface.ANSWER.size


def _hello_frame(table: Interface) -> bytes:
    return encode(interface.HELLO.pack(table.revision, table.hash))


HELLO_FRAME = _hello_frame(TILTROTOR)

LATEST_CYCLES = 8
"""Messages later than this count as duplicates."""

CYCLES = 1 << 16
"""Control periods of a board on the plant's clock are counted modulo this."""
MOST_AHEAD = 127
"""Half of the sequence numbers of the board's reports: a number that seems further ahead is behind."""

Suspect = Callable[[int], None]
"""Called with the index of a value that passed the checksum but is not plausible."""

LINKS = ("board_link", "reference_link")
"""The streams that `counters` messages belong to, by their field `link`."""


@dataclass(frozen=True, slots=True)
class Start:
    """The board requests the start of the simulation; the paper's board sends no identity."""

    claim: Claim | None


@dataclass(frozen=True, slots=True)
class Request:
    """The board requests sensors: a cycle begins."""


@dataclass(frozen=True, slots=True)
class Actuators:
    """The board's command for the current cycle."""

    command: Command


@dataclass(frozen=True, slots=True)
class BoardReport:
    """A report of the board: a row of a stream, without its time."""

    stream: str
    row: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class MissingReports:
    """Number of the board's reports that were lost."""

    count: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Of one of several boards."""

    cycle: int
    health: int
    memory: int  # hash of the integrators with which the board computed
    active: bool


@dataclass(frozen=True, slots=True)
class Integrators:
    """Of one of several boards, after a cycle."""

    cycle: int
    values: tuple[float, ...]


FromBoard = Start | Request | Actuators | BoardReport | MissingReports | Heartbeat | Integrators


class _Expectation:
    """One message is due per cycle; decides which messages to accept and counts the others."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._due = False
        self._owed = 0  # cycles that ended without their message; each may still arrive late
        self._kept = 0  # consecutive cycles that had their message

    def begin(self) -> None:
        if self._due:
            self._owed += 1
            self._kept = 0
            self._counters.lost += 1
        elif self._owed:
            self._kept += 1
            if self._kept > LATEST_CYCLES:
                self._owed = 0  # it is lost: a surplus message from here on is a duplicate
        self._due = True

    def arrives(self) -> bool:
        """Whether a received message is the one that is due."""
        if self._due:
            return True
        if self._owed:
            self._owed -= 1
            self._counters.lost -= 1
            self._counters.late += 1
        else:
            self._counters.duplicates += 1
        return False

    def met(self) -> None:
        self._due = False


class PlantEnd:
    """The server: frames in, accepted messages out."""

    def __init__(
        self,
        bounds: Bounds,
        suspect: Suspect,
        first_command: Command | None = None,
        table: Interface = TILTROTOR,
    ) -> None:
        self.counters = Counters()
        self._deframer = Deframer(table.longest("board"), self.counters)
        self._hello = _hello_frame(table)
        self._expected = _Expectation(self.counters)
        self._plausibility = Plausibility(bounds, first_command)
        self._suspect = suspect
        self._sequence: int | None = None

    def receive(self, chunk: bytes) -> list[FromBoard]:
        return [message for data in self._deframer.feed(chunk) for message in self._messages(data)]

    def answer(self, sensors: Sensors) -> bytes:
        return self._sent(encode(interface.ANSWER.pack(*sensors)))

    def hello(self) -> bytes:
        return self._sent(self._hello)

    def new_board(self) -> None:
        """The board has restarted and counts its messages from the beginning."""
        self._sequence = None

    def _sent(self, frame: bytes) -> bytes:
        self.counters.frames_out += 1
        self.counters.bytes_out += len(frame)
        return frame

    def _messages(self, data: bytes) -> list[FromBoard]:
        kind = data[0]
        if kind == interface.REQUEST.number and len(data) == interface.REQUEST.size:
            self._expected.begin()
            self._plausibility.cycle()
            return [Request()]
        if kind == interface.ACTUATORS.number and len(data) == interface.ACTUATORS.size:
            accepted = self._actuators(interface.ACTUATORS.unpack(data))
            return [accepted] if accepted else []
        claim = Claim.of(data)
        if claim or data == interface.BARE_START:
            return [Start(claim)]
        told = _told(data)
        if told is None:
            return self._others(data)
        return self._in_order(data[1], told)

    def _others(self, data: bytes) -> list[FromBoard]:
        """A message that the interface of a single board does not have."""
        self.counters.malformed += 1
        return []

    def _actuators(self, command: Command) -> Actuators | None:
        if not self._expected.arrives():
            return None
        fault = self._plausibility.fault(command)
        if fault is not None:
            self.counters.implausible += 1
            self._suspect(fault)
            return None
        self._expected.met()
        return Actuators(command)

    def _in_order(self, sequence: int, told: BoardReport) -> list[FromBoard]:
        """The message and, before it, the number of lost ones by its sequence number; a duplicate is dropped."""
        ahead = 1 if self._sequence is None else (sequence - self._sequence) & 0xFF
        if ahead == 0:
            self.counters.duplicates += 1
            return []
        if ahead > MOST_AHEAD:  # it was overtaken, and has been counted as lost
            self.counters.late += 1
            return [told]
        self._sequence = sequence
        return [MissingReports(ahead - 1), told] if ahead > 1 else [told]


def _told(data: bytes) -> BoardReport | None:
    """The content of a report of the board; None if it is invalid."""
    message = _TELLING.get((data[0], len(data)))
    if message is None:
        return None
    _, *values = message.unpack(data)
    if not all(map(math.isfinite, values)):
        return None
    if message is interface.EVENT:
        return BoardReport("board_event", tuple(values)) if values[0] in _EVENT_CODES else None
    if message is interface.TASK:
        return BoardReport("task", tuple(values)) if values[0] < len(TASKS) else None
    if message is interface.COUNTERS:
        return BoardReport(LINKS[int(values[0])], tuple(values[1:])) if values[0] < len(LINKS) else None
    *rest, uptime_ms = values
    return BoardReport("cpu", (*rest, uptime_ms / 1000))


_TELLING = {
    (message.number, message.size): message
    for message in (interface.CPU, interface.TASK, interface.COUNTERS, interface.EVENT)
}
_EVENT_CODES = frozenset(map(int, Event))


class BoardEnd:
    """The client."""

    def __init__(
        self,
        bounds: Bounds,
        suspect: Suspect,
        refer: Callable[[bytes], None] = lambda _: None,
        table: Interface = TILTROTOR,
    ) -> None:
        self.table = table
        self.counters = Counters()
        self._refer = refer
        self.refused = False  # the bench uses another interface: its messages have another meaning
        self._deframer = Deframer(LONGEST_FROM_PLANT, self.counters)
        self._expected = _Expectation(self.counters)
        self._plausibility = Plausibility(bounds)
        self._suspect = suspect

    def start(self, claim: Claim) -> bytes:
        return self._sent(encode(claim.data()))

    def request(self) -> bytes:
        self._expected.begin()
        self._plausibility.cycle()
        return self._sent(REQUEST_FRAME)

    def actuators(self, command: Command) -> bytes:
        return self._sent(encode(interface.ACTUATORS.pack(*command)))

    def receive(self, chunk: bytes) -> Sensors | None:
        """The answer to the request of this cycle, if `chunk` completes it."""
        accepted = None
        for data in self._deframer.feed(chunk):
            if len(data) == interface.ANSWER.size:
                accepted = self._answer(interface.ANSWER.unpack(data)) or accepted
            elif len(data) == interface.HELLO.size and data[0] == interface.HELLO.number:
                self.refused = self.refused or interface.HELLO.unpack(data)[1] != self.table.hash
            elif len(data) == interface.REFERENCE.size:
                self._refer(data)
            else:
                self._others(data)
        return accepted

    def _others(self, data: bytes) -> None:
        """A message that the interface of a single board does not have."""
        self.counters.malformed += 1

    def _answer(self, sensors: Sensors) -> Sensors | None:
        if self.refused or not self._expected.arrives():
            return None
        fault = self._plausibility.fault(sensors)
        if fault is not None:
            self.counters.implausible += 1
            self._suspect(fault)
            return None
        self._expected.met()
        return sensors

    def _sent(self, frame: bytes) -> bytes:
        self.counters.frames_out += 1
        self.counters.bytes_out += len(frame)
        return frame
