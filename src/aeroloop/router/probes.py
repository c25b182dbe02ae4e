"""Round-trip times, measured with TIMESYNC for vehicles and PING for others; answers to the router are not
forwarded."""

from __future__ import annotations

from typing import Protocol

from aeroloop.core.signals import NS
from aeroloop.router.decisions import Check, Decision
from aeroloop.router.own_messages import PING, TIMESYNC, RouterMessages, ping_token, timesync_token
from aeroloop.router.peers import Peer


class MessageSender(Protocol):
    def now_ns(self) -> int: ...

    def send(self, peer: Peer, frame: bytes) -> None: ...

    def mavlink_peers(self) -> list[Peer]: ...


class Probes:
    def __init__(self, hub: MessageSender, own_messages: RouterMessages, rate_hz: float) -> None:
        self._hub = hub
        self._own_messages = own_messages
        self._period_ns = round(NS / rate_hz) if rate_hz else 0
        self._due_ns: int | None = None
        self._token = 0

    def step(self, now_ns: int) -> None:
        if not self._period_ns or (self._due_ns is not None and now_ns < self._due_ns):
            return
        self._due_ns = now_ns + self._period_ns
        for peer in self._hub.mavlink_peers():
            # Each token is unique: an answer to another program's TIMESYNC must not match.
            self._token = (self._token + 1) & 0xFFFF
            token = (now_ns & 0xFFFF_FFFF_0000) | self._token
            if peer.role == "vehicle":
                frame = self._own_messages.timesync(token)
            else:
                token &= 0xFFFFFFFF
                frame = self._own_messages.ping(token)
            peer.probe = (token, now_ns)
            self._hub.send(peer, frame)

    def check(self, decision: Decision) -> Check | None:
        if decision.message == TIMESYNC:
            return self._timesync
        return self._ping if decision.message == PING else None

    def _timesync(self, peer: Peer, decision: Decision, frame: bytes) -> bool:
        token = timesync_token(decision.payload(frame))
        return token is None or not self._answered(peer, token)

    def _ping(self, peer: Peer, decision: Decision, frame: bytes) -> bool:
        if decision.address(frame) != (self._own_messages.system, self._own_messages.component):
            return True
        self._answered(peer, ping_token(decision.payload(frame)))
        return False

    def _answered(self, peer: Peer, token: int) -> bool:
        if peer.probe is None or peer.probe[0] != token:
            return False
        peer.link.round_trip_ns = self._hub.now_ns() - peer.probe[1]
        return True
