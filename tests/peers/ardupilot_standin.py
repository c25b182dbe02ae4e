"""An ArduPilot SITL for tests of the whole bench: the strict peer, linked as ArduPilot is.

    UDP   to the simulator's port: servo packets out, answers in; an unanswered packet is sent again after 1.1 s
    UDP   to a ground station's port (--serial0 udpclient): telemetry out, commands in

It needs nobody there: who starts first does not matter.
"""

from __future__ import annotations

import socket
import threading

from peers.ardupilot_peer import RESEND_S, ArdupilotPeer

GUARD_S = 120.0
LARGEST_B = 65536


class StandIn(threading.Thread):
    def __init__(self, peer: ArdupilotPeer, port: int, telemetry_port: int = 0) -> None:
        super().__init__(daemon=True)
        self.peer = peer
        self.frames_answered = threading.Event()
        self._stopped = threading.Event()
        self._line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._line.connect(("127.0.0.1", port))
        self._line.settimeout(RESEND_S)
        self._serial = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._serial.setblocking(False)
        self._ground = ("127.0.0.1", telemetry_port) if telemetry_port else None

    def run(self) -> None:
        packet = self.peer.packet()
        while not self._stopped.is_set() and packet:
            self._send(packet)
            packet = self._next()
        self._line.close()
        self._serial.close()

    def stop(self) -> None:
        """As SIGKILL does."""
        self._stopped.set()
        self.join(GUARD_S)

    def _send(self, packet: bytes) -> None:
        try:
            self._line.send(packet)
        except ConnectionRefusedError:
            return

    def _next(self) -> bytes:
        """The packet after the next answer, or the same again."""
        try:
            answer = self._line.recv(LARGEST_B)
        except TimeoutError:
            return self.peer.packet()
        except ConnectionRefusedError:
            self._stopped.wait(RESEND_S)
            return self.peer.packet()
        packet = self.peer.receive(answer)
        self.frames_answered.set()
        if self._ground is not None:
            self._telemetry(self._ground)
        return packet

    def _telemetry(self, ground: tuple[str, int]) -> None:
        if said := self.peer.telemetry():
            try:
                self._serial.sendto(said, ground)
            except OSError:
                return
            try:
                while True:
                    self.peer.hear(self._serial.recv(LARGEST_B))
            except OSError:
                return
