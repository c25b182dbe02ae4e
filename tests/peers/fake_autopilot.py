"""The services with a fake logic on a real UDP socket in wall-clock time; for clients that are programs."""

from __future__ import annotations

import socket
import threading
import time

from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.services import Services
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn
from peers.fake_brain import FakeBrain
from peers.ground_peer import READINGS


class FakeAutopilot:
    """Sends to 127.0.0.1:port like PX4's SITL, and hears whoever answers."""

    def __init__(self, port: int) -> None:
        self.logic = FakeBrain()
        self.parameters = Parameters()
        self.services = Services(self.logic, self.parameters, lambda: READINGS, system=1)
        self.heard: dict[str, int] = {}
        self._to = ("127.0.0.1", port)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.settimeout(0.004)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> FakeAutopilot:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        begin_ns = time.monotonic_ns()
        parser = MavlinkIn(MavlinkCounters())
        while not self._done.is_set():
            t_ns = time.monotonic_ns() - begin_ns
            self.logic.takeoff_m = self.parameters.get("MIS_TAKEOFF_ALT")
            self.logic.step(t_ns)
            (wire,) = self.services.step(t_ns)
            if wire:
                self._socket.sendto(wire, self._to)
            try:
                chunk = self._socket.recv(65535)
            except (TimeoutError, ConnectionRefusedError):  # nobody yet
                continue
            for frame in parser.feed(chunk):
                message = frame.message()
                kind = message.get_type()
                if kind.startswith("COMMAND_"):
                    kind = f"{kind} {message.command} {getattr(message, 'param1', '')}"
                self.heard[kind] = self.heard.get(kind, 0) + 1
                answer = self.services.receive(0, frame, t_ns)
                for at in range(0, len(answer), 1400):
                    self._socket.sendto(answer[at : at + 1400], self._to)
