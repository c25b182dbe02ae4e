"""A ground station in the same process: pymavlink's own connection class, whose port is the services under test."""

from __future__ import annotations

from typing import Any

from pymavlink import mavutil
from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.services import Services
from aeroloop.controllers.pixhawk.telemetry import Readings
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn
from peers.fake_brain import FIX, FakeBrain

TICK_NS = 4_000_000
READINGS = Readings(fix=FIX, motors=(0.25, 0.5, 0.75, 1.0), attitude=(0.1, 0.2, 0.3, 0.5))


class Bench:
    """Services, the logic behind them and the time."""

    def __init__(self, links: int = 1, system: int = 1, *, knows_place: bool = True) -> None:
        self.logic = FakeBrain(knows_place=knows_place)
        self.parameters = Parameters()
        self.services = Services(self.logic, self.parameters, lambda: READINGS, system=system, links=links)
        self.t_ns = 0
        self.peers = [Peer(self, link) for link in range(links)]

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds * 1e9) // TICK_NS):
            self.t_ns += TICK_NS
            self.logic.step(self.t_ns)
            for peer, wire in zip(self.peers, self.services.step(self.t_ns), strict=True):
                peer.arrived += wire


class Peer(mavutil.mavfile):  # type: ignore[misc]
    """What `mav` sends is received at once; what comes back waits for `recv_match` and `drain`."""

    def __init__(self, bench: Bench, link: int, system: int = 255) -> None:
        self.arrived = b""
        self._bench = bench
        self._link = link
        self._in = MavlinkIn(MavlinkCounters())
        super().__init__(None, "in memory", source_system=system, source_component=190)
        self.mav = dialect.MAVLink(self, srcSystem=system, srcComponent=190)
        self.mav.robust_parsing = True
        self.target_system, self.target_component = 1, 1

    def recv(self, n: int | None = None) -> bytes:
        chunk, self.arrived = self.arrived[:n], self.arrived[n or len(self.arrived) :]
        return chunk

    def write(self, wire: bytes) -> None:
        for frame in self._in.feed(bytes(wire)):
            self.arrived += self._bench.services.receive(self._link, frame, self._bench.t_ns)

    def drain(self, *kinds: str) -> list[Any]:
        """Everything that came, or all of some kinds."""
        messages = []
        while (message := self.recv_msg()) is not None:
            assert message.get_type() != "BAD_DATA"
            if not kinds or message.get_type() in kinds:
                messages.append(message)
        return messages

    def only(self, kind: str) -> Any:
        (message,) = self.drain(kind)
        return message

    def texts(self) -> str:
        return " ".join(message.text for message in self.drain("STATUSTEXT"))

    def command(self, number: int, *params: float) -> int:
        """Its result."""
        self.drain()
        filled = [*params, *[0.0] * (7 - len(params))]
        self.mav.command_long_send(self.target_system, self.target_component, number, 0, *filled)
        ack = next(m for m in self.peek() if m.get_type() == "COMMAND_ACK")
        assert (ack.command, ack.target_system, ack.target_component) == (number, 255, 190)
        return int(ack.result)

    def peek(self) -> list[Any]:
        """What came, left where it is."""
        kept = self.arrived
        messages = self.drain()
        self.arrived = kept
        return messages
