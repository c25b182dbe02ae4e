"""A Pixhawk on one USB port, as PX4 in HITL: HIL messages, telemetry and commands on one serial link.

It is flown by the virtual Pixhawk's estimator and laws; the link is a pty, whose other end the bench opens as a serial
port. As a board on USB it sends nothing before the first bytes from the other end.
"""

from __future__ import annotations

import select
import threading
from pathlib import Path

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.controllers.pixhawk.virtual_pixhawk import VirtualPixhawk, parameters
from aeroloop.families.multirotor import airframe
from aeroloop.links.lasting import LastingPty
from aeroloop.links.url import parse
from aeroloop.protocols.mavlink import Frame
from aeroloop.world.earth import Home
from aeroloop.world.magnetic import MagneticModel

SERVICE_NS = 10_000_000


class UsbBoard(threading.Thread):
    """`path` is where its port appears."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self._link = LastingPty(parse(f"pty://{path}"))
        self.pixhawk = VirtualPixhawk(
            airframe.load("iris"),
            parameters({}),
            number=0,
            period_s=0.004,
            runner=Evaluator,
            field_at=MagneticModel(Home().date).field_T,
            lockstep=False,
            ground_links=1,
        )
        self.heard: list[Frame] = []  # what is not the simulator's, so far
        self._waiting: list[Frame] = []
        self._send = self.pixhawk.serve_on_hil_link(0, self._waiting.append)
        self._served_ns = 0
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.is_set():
            if not select.select([self._link], [], [], 0.1)[0]:
                continue
            chunk = self._link.poll()
            if chunk and not self.pixhawk.t_ns:  # PX4 sends heartbeats also without a simulator
                self._link.send(self.pixhawk.first_messages())
            self._link.send(self.pixhawk.receive(chunk, self._step))

    def stop(self) -> None:
        self._stopped.set()
        self.join()
        self._link.close()

    def _step(self, t_ns: int) -> None:
        if t_ns < self._served_ns:
            return
        self._served_ns = t_ns + SERVICE_NS
        out = b""
        for frame in self._waiting:
            self.heard.append(frame)
            out += self.pixhawk.services.receive(0, frame, t_ns)
        self._waiting.clear()
        self._send(out + self.pixhawk.services.step(t_ns)[0])
