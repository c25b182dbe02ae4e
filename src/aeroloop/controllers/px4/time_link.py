"""Between the plant and the telemetry process of an external autopilot, beside the link being timed: simulated time,
and with `telemetry.url = "link"` the MAVLink frames that are no part of HIL.

    plant ──(t)──────▶ telemetry      fifty times a simulated second
    plant ◀─(t)─────── telemetry      in lockstep with a pilot: the commands of this time are sent
    plant ──(frame)──▶ telemetry      received from a board on the simulator's own link
    plant ◀─(frames)── telemetry      to be sent to it there

At a wall-clock pace, and without a pilot, the plant never waits: a packet that does not fit into the buffer is lost. In
lockstep simulated time stops until the pilot's commands of this time are sent, so that a flight repeats.
"""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Callable
from contextlib import suppress

from aeroloop.core.signals import NS

PERIOD_NS = NS // 50
PATIENCE_S = 10.0
"""Wall time after which a telemetry process that does not answer is no longer waited for."""
_PACKET = struct.Struct("<q")
"""Size of a time; every frame of MAVLink is longer."""
LARGEST_B = 65536


class TimeOut:
    """The plant's end."""

    def __init__(
        self,
        fd: int,
        notify: Callable[[str], None],
        *,
        awaited: bool,
        send: Callable[[bytes], None] | None = None,
    ) -> None:
        """`send` sends frames of the telemetry process on the autopilot's link, if that carries its telemetry."""
        self._send = send
        self._socket = socket.socket(fileno=fd)
        self._socket.setblocking(False)
        self._notify, self._awaited = notify, awaited
        self._next_ns = 0

    def tell(self, t_ns: int) -> None:
        """Called after the step to `t_ns`."""
        if t_ns < self._next_ns:
            return
        self._next_ns = t_ns - t_ns % PERIOD_NS + PERIOD_NS
        try:
            self._socket.send(_PACKET.pack(t_ns))
        except OSError:
            return  # buffer full, or no reader: the supervisor reports that
        if self._awaited and not self._answered(t_ns):
            self._awaited = False
            self._notify("the telemetry process does not answer: the times of the pilot's commands are no longer exact")
        if self._send is not None:
            self._pass_back(self._send)

    def forward(self, wire: bytes) -> None:
        """A frame sent by the autopilot; lost if the buffer is full."""
        with suppress(OSError):
            self._socket.send(wire)

    def _pass_back(self, send: Callable[[bytes], None]) -> None:
        while True:
            try:
                packet = self._socket.recv(LARGEST_B)
            except OSError:
                return
            if not packet:
                return
            if len(packet) > _PACKET.size:
                send(packet)

    def _answered(self, t_ns: int) -> bool:
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        while poller.poll(PATIENCE_S * 1000):
            try:
                packet = self._socket.recv(_PACKET.size)
            except BlockingIOError:
                continue
            except OSError:
                return False
            if not packet:
                return True  # it has ended: the supervisor reports whether that is an error
            if len(packet) == _PACKET.size and _PACKET.unpack(packet)[0] >= t_ns:
                return True
        return False

    def close(self) -> None:
        self._socket.close()


class TimeIn:
    """The telemetry process' end."""

    def __init__(self, fd: int) -> None:
        self._socket = socket.socket(fileno=fd)
        self._socket.setblocking(False)
        self._frames = b""  # received and not yet read

    def fileno(self) -> int:
        return self._socket.fileno()

    def poll(self) -> list[int]:
        """The times received."""
        times: list[int] = []
        while True:
            try:
                packet = self._socket.recv(LARGEST_B)
            except OSError:
                return times
            if not packet:
                return times
            if len(packet) == _PACKET.size:
                times.append(_PACKET.unpack(packet)[0])
            else:
                self._frames += packet

    def frames(self) -> bytes:
        """Frames of the autopilot on the simulator's link, since the last call."""
        frames, self._frames = self._frames, b""
        return frames

    def send(self, data: bytes) -> None:
        """Send to the autopilot, on the simulator's link; lost if the buffer is full."""
        with suppress(OSError):
            self._socket.send(data)

    def answer(self, t_ns: int) -> None:
        try:
            self._socket.send(_PACKET.pack(t_ns))
        except OSError:
            return  # the plant has ended, or does not wait

    def close(self) -> None:
        self._socket.close()
