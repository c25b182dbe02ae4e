"""Lockstep between an autopilot and its companion, by turns: one for each frame of the companion's camera.

    frame k of t_k ─▶ t_k + latency/2: telemetry so far, to the companion  ─▶ t_k + latency + compute: its messages

The companion works while simulated time goes on, and the autopilot's process waits for it when its messages are due. So
a flight depends neither on the speed of the machine nor on that of the companion. A companion that has ended, or has
not answered for PATIENCE_S of wall time, is not waited for any more.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable
from typing import NamedTuple

from aeroloop.core.signals import NS

HEAD = struct.Struct("<Iq")
"""Number of the frame, simulated time in ns."""
MOST_BYTES = 128 * 1024
PATIENCE_S = 60.0
POLL_MS = 200


class Schedule(NamedTuple):
    rate_hz: float
    latency_s: float
    compute_s: float = 0.0
    first: int = 0  # number of the first frame

    def handed_ns(self, number: int) -> int:
        """When the companion gets the telemetry for a frame."""
        return round(number * NS / self.rate_hz + self.latency_s * NS / 2)

    def due_ns(self, number: int) -> int:
        """When its messages arrive."""
        return round(number * NS / self.rate_hz + (self.latency_s + self.compute_s) * NS)


class CompanionTurns:
    """The autopilot's end."""

    def __init__(
        self, end: socket.socket, schedule: Schedule, notify: Callable[[str], None], stopped: Callable[[], bool]
    ) -> None:
        self._socket, self._schedule, self._notify, self._stopped = end, schedule, notify, stopped
        self._out = b""
        self._handed = self._answered = schedule.first  # frames
        self._poller = select.poll()
        self._poller.register(end, select.POLLIN)
        self.closed = False

    def exchange(self, t_ns: int, telemetry: bytes) -> bytes:
        """Called in every step: what the companion sent by this time."""
        if self.closed:
            return b""
        self._out = (self._out + telemetry)[-MOST_BYTES:]
        if t_ns >= self._schedule.handed_ns(self._handed):
            self._send(HEAD.pack(self._handed, t_ns) + self._out)
            self._out = b""
            self._handed += 1
        received = b""
        while not self.closed and self._answered < self._handed and t_ns >= self._schedule.due_ns(self._answered):
            received += self._answer()
            self._answered += 1
        return received

    def close(self) -> None:
        self.closed = True
        self._socket.close()

    def _send(self, packet: bytes) -> None:
        try:
            self._socket.send(packet)
        except OSError:
            self.closed = True  # its end is reported by the supervisor

    def _answer(self) -> bytes:
        since_s = time.monotonic()
        while not self._poller.poll(POLL_MS):
            if self._stopped():
                self.closed = True
                return b""
            if time.monotonic() - since_s > PATIENCE_S:
                self.closed = True
                self._notify(
                    f"the companion has not answered frame {self._answered} for {PATIENCE_S:g} s: "
                    "the flight continues without it"
                )
                return b""
        try:
            packet = self._socket.recv(HEAD.size + MOST_BYTES)
        except OSError:
            packet = b""
        if len(packet) < HEAD.size:
            self.closed = True
        return packet[HEAD.size :]


class Turn(NamedTuple):
    number: int  # of the frame
    t_ns: int
    telemetry: bytes


class AutopilotTurns:
    """The companion's end."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._poller = select.poll()
        self._poller.register(end, select.POLLIN)

    def following(self, stopped: Callable[[], bool]) -> Turn | None:
        """None: the flight has ended."""
        while not self._poller.poll(POLL_MS):
            if stopped():
                return None
        try:
            packet = self._socket.recv(HEAD.size + MOST_BYTES)
        except OSError:
            return None
        if len(packet) < HEAD.size:
            return None
        number, t_ns = HEAD.unpack_from(packet)
        return Turn(number, t_ns, packet[HEAD.size :])

    def answer(self, turn: Turn, messages: bytes) -> None:
        try:
            self._socket.send(HEAD.pack(turn.number, turn.t_ns) + messages)
        except OSError:
            return  # the flight has ended, which the next turn says
