"""The board protocol of the tilt-rotor paper: the board is the client, the plant the server.

    board -> plant   1                    start the simulation
    board -> plant   2                    a cycle begins: send sensors
    plant -> board   16 floats            the answer
    board -> plant   3, 4 floats          actuators, the end of the cycle

Floats are little-endian single precision. There is no cycle number on the wire, so each end keeps count of what is
due: a message that comes when none is due is ignored, and counted as late where one was missed before, else as a
duplicate. A late one that comes while the next is due cannot be told from it, and is taken.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from aeroloop.protocols.framing import Counters, Deframer, encode
from aeroloop.protocols.plausible import Bounds, Plausibility
from aeroloop.signals import COMMAND_COUNT, SENSOR_COUNT, Command, Sensors

START, SENSORS, ACTUATORS = 1, 2, 3

_ANSWER = struct.Struct(f"<{SENSOR_COUNT}f")
_COMMAND = struct.Struct(f"<B{COMMAND_COUNT}f")
START_FRAME = encode(bytes([START]))
REQUEST_FRAME = encode(bytes([SENSORS]))

LATEST_CYCLES = 8
"""A message that is later than this is not told from a duplicate."""

Suspect = Callable[[int], None]
"""Called with the index of a value that passed the checksum and is not plausible."""


@dataclass(frozen=True, slots=True)
class Start:
    """The board asks for the simulation to start."""


@dataclass(frozen=True, slots=True)
class Request:
    """The board asks for sensors: a cycle begins."""


@dataclass(frozen=True, slots=True)
class Actuators:
    """The board's command for the current cycle."""

    command: Command


class _Expectation:
    """One message is due per cycle; says which ones to take and counts the others."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._due = False
        self._owed = 0  # cycles that ended without their message; each may still come, late
        self._kept = 0  # cycles in a row that had theirs

    def begin(self) -> None:
        if self._due:
            self._owed += 1
            self._kept = 0
            self._counters.lost += 1
        elif self._owed:
            self._kept += 1
            if self._kept > LATEST_CYCLES:
                self._owed = 0  # it never comes: a surplus message from here on is a duplicate
        self._due = True

    def arrives(self) -> bool:
        """Whether a message that has just come is the one that is due."""
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
    """The server's side: frames in, accepted messages out."""

    def __init__(self, bounds: Bounds, suspect: Suspect, first_command: Command | None = None) -> None:
        self.counters = Counters()
        self._deframer = Deframer(_COMMAND.size, self.counters)
        self._expected = _Expectation(self.counters)
        self._plausibility = Plausibility(bounds, first_command)
        self._suspect = suspect

    def receive(self, chunk: bytes) -> list[Start | Request | Actuators]:
        messages = (self._message(data) for data in self._deframer.feed(chunk))
        return [message for message in messages if message is not None]

    def answer(self, sensors: Sensors) -> bytes:
        frame = encode(_ANSWER.pack(*sensors))
        self.counters.frames_out += 1
        self.counters.bytes_out += len(frame)
        return frame

    def _message(self, data: bytes) -> Start | Request | Actuators | None:
        if data[0] == SENSORS and len(data) == 1:
            self._expected.begin()
            self._plausibility.cycle()
            return Request()
        if data[0] == ACTUATORS and len(data) == _COMMAND.size:
            return self._actuators(_COMMAND.unpack(data)[1:])
        if data[0] == START and len(data) == 1:
            return Start()
        self.counters.malformed += 1
        return None

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


class BoardEnd:
    """The client's side."""

    def __init__(self, bounds: Bounds, suspect: Suspect) -> None:
        self.counters = Counters()
        self._deframer = Deframer(_ANSWER.size, self.counters)
        self._expected = _Expectation(self.counters)
        self._plausibility = Plausibility(bounds)
        self._suspect = suspect

    def start(self) -> bytes:
        return self._sent(START_FRAME)

    def request(self) -> bytes:
        self._expected.begin()
        self._plausibility.cycle()
        return self._sent(REQUEST_FRAME)

    def actuators(self, command: Command) -> bytes:
        return self._sent(encode(_COMMAND.pack(ACTUATORS, *command)))

    def receive(self, chunk: bytes) -> Sensors | None:
        """The answer to the request of this cycle, if `chunk` completes it."""
        accepted = None
        for data in self._deframer.feed(chunk):
            if len(data) != _ANSWER.size:
                self.counters.malformed += 1
            elif self._expected.arrives():
                sensors = _ANSWER.unpack(data)
                fault = self._plausibility.fault(sensors)
                if fault is None:
                    self._expected.met()
                    accepted = sensors
                else:
                    self.counters.implausible += 1
                    self._suspect(fault)
        return accepted

    def _sent(self, frame: bytes) -> bytes:
        self.counters.frames_out += 1
        self.counters.bytes_out += len(frame)
        return frame
