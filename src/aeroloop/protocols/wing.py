"""Both ends of the fixed wing's interface (`interface.WING`): encode and decode messages, robust against any bytes.

Sensors and their answer carry the number of their control period, modulo 2^16; the board's reports carry a separate
sequence number, modulo 2^8, so that the plant can count losses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from aeroloop.core.signals import Event
from aeroloop.core.wing_signals import (
    WING_TASKS,
    BoardParameter,
    PlanStatus,
    Step,
    UserAnswer,
    WingCommand,
    WingSensors,
)
from aeroloop.protocols import interface
from aeroloop.protocols.board import CYCLES, MOST_AHEAD, BoardReport, MissingReports, Start
from aeroloop.protocols.framing import Counters, Deframer, encode
from aeroloop.protocols.handshake import Claim
from aeroloop.protocols.interface import DEGREES, WING

NUMBERS = 1 << 8
"""User commands are counted modulo this."""
LONGEST_FROM_BOARD = WING.longest("board")
LONGEST_TO_BOARD = WING.longest("plant", "ground")

MOST_ANGLE_RAD = math.pi / 2
"""Largest accepted surface angle; the servo has the actual limits."""
MOST_POSITION_M = 1e6
MOST_RATE_RAD_S, MOST_FORCE_M_S2, MOST_FIELD_T, MOST_SPEED_M_S = 100.0, 1000.0, 1.0, 1000.0
MOST_STATIC_PA, MOST_DYNAMIC_PA = 2e5, 1e5

KNOWN: dict[str, dict[str, frozenset[int]]] = {
    "guidance": {"step": frozenset(map(int, Step))},
    "mission_step": {"step": frozenset(map(int, Step))},
    "plan": {"status": frozenset(map(int, PlanStatus))},
    "path": {"kind": frozenset(range(4))},
    "task": {"task": frozenset(range(len(WING_TASKS)))},
    "board_event": {"code": frozenset(map(int, Event))},
    "user_answer": {"answer": frozenset(map(int, UserAnswer))},
    "parameter": {"parameter": frozenset(map(int, BoardParameter))},
}
"""Enumerated values, by stream and field: others have no meaning."""


@dataclass(frozen=True, slots=True)
class Servos:
    """The board's answer to the sensors of a control period."""

    cycle: int
    command: WingCommand
    latency_s: float


@dataclass(frozen=True, slots=True)
class Done:
    """The board has done the work of a control period."""

    cycle: int
    busy_s: float


@dataclass(frozen=True, slots=True)
class Goal:
    """A user's command: fly to this position."""

    number: int
    x_m: float
    y_m: float


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A command of the operator. Numbers of commands and parameters that do not exist are for the board to refuse."""

    number: int
    command: int  # UserCommand
    parameter: int = 0  # BoardParameter, with SET
    x: float = 0.0  # m east with GOAL; with SET the value
    y: float = 0.0  # m north with GOAL


FromBoard = Start | Servos | Done | BoardReport | MissingReports
ToBoard = WingSensors | Goal | UserMessage


class PlantEnd:
    """The bench's end: simulator and ground."""

    def __init__(self) -> None:
        self.counters = Counters()
        self._deframer = Deframer(LONGEST_FROM_BOARD, self.counters)
        self._sequence: int | None = None

    def sensors(self, sensors: WingSensors) -> bytes:
        place = round(sensors.lat_deg * DEGREES), round(sensors.lon_deg * DEGREES), round(sensors.alt_m * 1000)
        return self._sent(
            interface.SENSORS.pack(
                sensors.cycle % CYCLES,
                sensors.t_ms,
                *sensors.gyro_B,
                *sensors.accel_B,
                *sensors.field_B,
                sensors.static_Pa,
                sensors.dynamic_Pa,
                sensors.fix,
                *place,
                *sensors.vel_W,
            )
        )

    def goal(self, goal: Goal) -> bytes:
        return self._sent(interface.GOAL.pack(goal.number, goal.x_m, goal.y_m))

    def user(self, message: UserMessage) -> bytes:
        row = message.number % NUMBERS, message.command, message.parameter, message.x, message.y
        return self._sent(interface.USER.pack(*row))

    def receive(self, chunk: bytes) -> list[FromBoard]:
        return [message for data in self._deframer.feed(chunk) for message in self._messages(data)]

    def new_board(self) -> None:
        """The board has restarted and counts its messages from the beginning."""
        self._sequence = None

    def _messages(self, data: bytes) -> list[FromBoard]:
        if data[0] == interface.SERVOS.number and len(data) == interface.SERVOS.size:
            cycle, aileron, elevator, rudder, throttle, latency_s = interface.SERVOS.unpack(data)
            angles = aileron, elevator, rudder
            # Written so that NaN is refused too.
            if all(abs(angle) <= MOST_ANGLE_RAD for angle in angles) and 0 <= throttle <= 1 and 0 <= latency_s < 3600:
                return [Servos(int(cycle), (*angles, throttle), latency_s)]
            self.counters.implausible += 1
            return []
        if data[0] == interface.DONE.number and len(data) == interface.DONE.size:
            cycle, busy_s = interface.DONE.unpack(data)
            return [Done(int(cycle), busy_s if 0 <= busy_s < 3600 else 0.0)]
        claim = Claim.of(data)
        if claim:
            return [Start(claim)]
        return self._telling(data)

    def _telling(self, data: bytes) -> list[FromBoard]:
        stream = _STREAMS.get((data[0], len(data)))
        if stream is None:
            self.counters.malformed += 1
            return []
        sequence, *values = interface.TELLING[stream].unpack(data)
        missing = self._missing(int(sequence))
        if missing is None:
            return []
        if not (all(map(math.isfinite, values)) and all(values[at] in known for at, known in _CHECKS[stream])):
            self.counters.implausible += 1
            return [*missing]
        return [*missing, BoardReport(stream, tuple(values))]

    def _missing(self, sequence: int) -> list[MissingReports] | None:
        """Number of lost messages by a sequence number; None for a duplicate or an old message."""
        ahead = 1 if self._sequence is None else (sequence - self._sequence) & 0xFF
        if not 0 < ahead <= MOST_AHEAD:
            self.counters.duplicates += 1
            return None
        self._sequence = sequence
        self.counters.lost += ahead - 1
        return [MissingReports(ahead - 1)] if ahead > 1 else []

    def _sent(self, data: bytes) -> bytes:
        return _sent(self.counters, data)


class BoardEnd:
    """The board's end, for boards written in Python."""

    def __init__(self) -> None:
        self.counters = Counters()
        self._deframer = Deframer(LONGEST_TO_BOARD, self.counters)
        self._sequence = -1

    def receive(self, chunk: bytes) -> list[ToBoard]:
        return [message for data in self._deframer.feed(chunk) if (message := self._message(data)) is not None]

    def start(self, claim: Claim) -> bytes:
        return self._sent(claim.data())

    def servos(self, servos: Servos) -> bytes:
        return self._sent(interface.SERVOS.pack(servos.cycle % CYCLES, *servos.command, servos.latency_s))

    def done(self, done: Done) -> bytes:
        return self._sent(interface.DONE.pack(done.cycle % CYCLES, done.busy_s))

    def report(self, stream: str, row: tuple[float, ...]) -> bytes:
        """Send a row of one of the board's streams, without its time."""
        self._sequence = (self._sequence + 1) & 0xFF
        message = interface.TELLING[stream]
        values = [
            value if kind == "f" else int(value) for (_, kind), value in zip(message.fields[1:], row, strict=True)
        ]
        return self._sent(message.pack(self._sequence, *values))

    def _message(self, data: bytes) -> ToBoard | None:
        if data[0] == interface.SENSORS.number and len(data) == interface.SENSORS.size:
            sensors = _sensors(interface.SENSORS.unpack(data))
            if sensors is None:
                self.counters.implausible += 1
            return sensors
        if data[0] == interface.GOAL.number and len(data) == interface.GOAL.size:
            number, x_m, y_m = interface.GOAL.unpack(data)
            if max(abs(x_m), abs(y_m)) <= MOST_POSITION_M and x_m == x_m and y_m == y_m:
                return Goal(int(number), x_m, y_m)
            self.counters.implausible += 1
            return None
        if data[0] == interface.USER.number and len(data) == interface.USER.size:
            number, command, parameter, x, y = interface.USER.unpack(data)
            if abs(x) <= MOST_POSITION_M and abs(y) <= MOST_POSITION_M:  # also refuses NaN
                return UserMessage(int(number), int(command), int(parameter), x, y)
            self.counters.implausible += 1
            return None
        self.counters.malformed += 1
        return None

    def _sent(self, data: bytes) -> bytes:
        return _sent(self.counters, data)


_STREAMS = {(message.number, message.size): stream for stream, message in interface.TELLING.items()}
_CHECKS: dict[str, tuple[tuple[int, frozenset[int]], ...]] = {
    stream: tuple(
        ([name for name, _ in message.fields[1:]].index(field), known) for field, known in KNOWN.get(stream, {}).items()
    )
    for stream, message in interface.TELLING.items()
}


def _sensors(row: tuple[float, ...]) -> WingSensors | None:
    """None if a value is implausible."""
    cycle, t_ms, *values = row
    gyro_B, accel_B, field_B = values[0:3], values[3:6], values[6:9]
    static_Pa, dynamic_Pa, fix, lat, lon, alt_mm = values[9:15]
    vel_W = values[15:18]
    believable = (
        all(abs(value) <= MOST_RATE_RAD_S for value in gyro_B)
        and all(abs(value) <= MOST_FORCE_M_S2 for value in accel_B)
        and all(abs(value) <= MOST_FIELD_T for value in field_B)
        and all(abs(value) <= MOST_SPEED_M_S for value in vel_W)
        and 0 <= static_Pa <= MOST_STATIC_PA
        and abs(dynamic_Pa) <= MOST_DYNAMIC_PA
        and abs(lat) <= 90 * DEGREES
        and abs(lon) <= 180 * DEGREES
        and fix in (0, 1)
    )
    if not believable:
        return None
    return WingSensors(
        int(cycle),
        int(t_ms),
        (gyro_B[0], gyro_B[1], gyro_B[2]),
        (accel_B[0], accel_B[1], accel_B[2]),
        (field_B[0], field_B[1], field_B[2]),
        static_Pa,
        dynamic_Pa,
        bool(fix),
        lat / DEGREES,
        lon / DEGREES,
        alt_mm / 1000,
        (vel_W[0], vel_W[1], vel_W[2]),
    )


def _sent(counters: Counters, data: bytes) -> bytes:
    frame = encode(data)
    counters.frames_out += 1
    counters.bytes_out += len(frame)
    return frame
