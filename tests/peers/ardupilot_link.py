"""The tests' ArduPilot at the end of a link in memory: it answers while it is being written to, and time is counted."""

from __future__ import annotations

from aeroloop.exchanges.mavlink_hil import Timing
from peers.ardupilot_peer import RESEND_S, ArdupilotPeer


class PeerLink:
    """The plant's end. `wait` is the wall: where nothing has come, it passes, and ArduPilot sends again."""

    url = "memory"

    def __init__(self, peer: ArdupilotPeer) -> None:
        self.peer = peer
        self.wall_s = 0.0
        self.sent = 0
        self._packets = [peer.packet()]
        self._quiet_s = 0.0

    def send(self, data: bytes) -> None:
        self.sent += 1
        self._quiet_s = 0.0
        if packet := self.peer.receive(data):
            self._packets.append(packet)

    def datagrams(self) -> list[bytes]:
        packets, self._packets = self._packets, []
        return packets

    def close(self) -> None: ...

    def put(self, packet: bytes) -> None:
        self._packets.append(packet)

    def wait(self, timeout_s: float) -> bool:
        if self._packets:
            return True
        self.wall_s += timeout_s
        self._quiet_s += timeout_s
        if self._quiet_s >= RESEND_S and not self.peer.aborted:
            self._quiet_s = 0.0
            self._packets.append(self.peer.packet())
        return bool(self._packets)

    @property
    def timing(self) -> Timing:
        return Timing(self.wait, lambda: self.wall_s)
