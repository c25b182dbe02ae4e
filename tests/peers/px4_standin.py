"""A PX4 SITL for tests of the whole bench: flown by the virtual Pixhawk's estimator and laws, linked as PX4 is.

    TCP   to the bench: HIL_SENSOR in, HIL_ACTUATOR_CONTROLS out, in lockstep; it tries until somebody listens
    UDP   to a ground station's port: telemetry out, commands in; its clock counts from the first sample, as PX4's does

A link that ends makes PX4 spin at full speed, with real-time priority as root: whoever still has to write starves. What
was not finished when its link ended is in `unfinished`; from then on it spins until it is stopped.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

from pymavlink.dialects.v20 import common as mavlink

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.controllers.pixhawk.virtual_pixhawk import VirtualPixhawk, parameters
from aeroloop.estimation.error_state import Runner
from aeroloop.families.multirotor import airframe
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn
from aeroloop.world.earth import Home
from aeroloop.world.magnetic import MagneticModel

GUARD_S = 240
SERVICE_NS = 10_000_000


def connect(port: int) -> socket.socket:
    """Again and again, as PX4 does, until the bench listens."""
    for _ in range(600):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=GUARD_S)
        except ConnectionRefusedError:
            threading.Event().wait(0.1)
    raise TimeoutError(f"nobody listens on port {port}")


class StandIn(threading.Thread):
    def __init__(
        self,
        port: int,
        telemetry_port: int = 0,
        *,
        finished: Callable[[], list[str]] = list,
        changes: Mapping[str, float] | None = None,
        deaf: bool = False,
        runner: Runner = Evaluator,
    ) -> None:
        """`finished` names what is not, in the moment in which the link ends; `deaf` takes no commands; `runner` runs
        estimator and law."""
        super().__init__(daemon=True)
        self._port, self._ground = port, ("127.0.0.1", telemetry_port)
        self._finished, self._deaf = finished, deaf
        self.pixhawk = VirtualPixhawk(
            airframe.load("iris"),
            parameters(changes or {}),
            number=0,
            period_s=0.004,
            runner=runner,
            field_at=MagneticModel(Home().date).field_T,
            lockstep=True,
            ground_links=1,
        )
        self.heard: list[tuple[float, str, float]] = []  # simulated time, message, and of a command its number
        self.unfinished: list[str] | None = None  # until the link ends
        self._stopped = threading.Event()
        self.turns = 0  # of its loops while it spins
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.setblocking(False)
        self._parser = MavlinkIn(MavlinkCounters())
        self._first_ns: int | None = None
        self._served_ns = 0

    def run(self) -> None:
        with connect(self._port) as line:
            line.sendall(self.pixhawk.first_messages())
            try:
                while chunk := line.recv(65536):
                    line.sendall(self.pixhawk.receive(chunk, self._step))
            except OSError:
                pass
            self.unfinished = self._finished()
        self._spin()

    def _spin(self) -> None:
        """As PX4's loops do once their clock has gone, but polite enough to let the test's own thread run."""
        while True:
            self.turns += 1
            if self._stopped.wait(0.0):
                return

    def stop(self) -> None:
        """As the bench says that one may; returns when the thread has ended."""
        self._stopped.set()
        self.join(GUARD_S)
        self._udp.close()

    def _step(self, t_ns: int) -> None:
        if self._first_ns is None:
            self._first_ns = t_ns
        if t_ns < self._served_ns:
            return
        self._served_ns = t_ns + SERVICE_NS
        own_ns, services, out = t_ns - self._first_ns, self.pixhawk.services, b""
        while (datagram := self._datagram()) is not None:
            for frame in self._parser.feed(datagram):
                self._note(t_ns, frame.message())
                if not self._deaf:
                    out += services.receive(0, frame, own_ns)
        out += services.step(own_ns)[0]
        if out and self._ground[1]:
            self._udp.sendto(out, self._ground)

    def _datagram(self) -> bytes | None:
        try:
            return self._udp.recv(65536)
        except OSError:
            return None

    def _note(self, t_ns: int, message: Any) -> None:
        number = message.command if isinstance(message, mavlink.MAVLink_command_long_message) else 0
        self.heard.append((t_ns / 1e9, message.get_type(), number))

    def commands(self, number: int) -> list[float]:
        """When a command came, in simulated time."""
        return [t_s for t_s, _, command in self.heard if command == number]
