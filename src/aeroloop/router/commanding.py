"""Access in practice: refuses what a line's role does not allow, says so to its sender, and knows who commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.signals import NS
from aeroloop.protocols.router_words import PREFIX, held_by
from aeroloop.router import access
from aeroloop.router.decisions import Check, Decision
from aeroloop.router.peers import Peer
from aeroloop.router.voice import DENIED, GRANTED, OPERATOR, TAKEN, Voice, releases_control

TEXT_PERIOD_NS = NS // 4
"""One peer is told in words no more often."""
AUTOPILOT = 1
"""Component that answers for a whole system."""


class Speaker(Protocol):
    def now_ns(self) -> int: ...

    def say(self, peer: Peer, frame: bytes) -> None: ...

    def peer(self, number: int) -> Peer | None: ...


class Commanding:
    """One seat for each protocol."""

    def __init__(self, hub: Speaker, voice: Voice, timeout_ns: int, tell: Callable[[str], None]) -> None:
        self._hub = hub
        self._voice = voice
        self._timeout_ns = timeout_ns
        self._tell = tell
        self._seats: dict[str, access.Seat] = {}

    def check(self, peer: Peer, decision: Decision) -> Check | None:
        """What to look at in every frame of this kind; None if it may pass."""
        if peer.protocol != "mavlink":
            return {"vehicle": None, "command": self._seated, "observe": self._refused}[peer.role]
        if peer.role == "observe":
            if decision.message == OPERATOR:
                return self._operator
            return None if decision.message in access.OPEN else self._observing
        if peer.role == "command":
            if decision.message == OPERATOR:
                return self._operator
            return self._seated if decision.message in access.COMMANDING else None
        return None

    def holders(self) -> frozenset[int]:
        return frozenset(seat.holder for seat in self._seats.values() if seat.holder)

    def name(self, protocol: str = "mavlink") -> str:
        peer = self._hub.peer(self._seat(protocol).holder)
        return peer.name if peer else ""

    def give(self, peer: Peer) -> None:
        seat = self._seat(peer.protocol)
        if seat.holder != peer.number:
            seat.holder = peer.number
            self._tell(f"{peer.name} commands")

    def left(self, peer: Peer) -> None:
        self._free(peer, "it has gone")

    def step(self, now_ns: int) -> None:
        for seat in self._seats.values():
            peer = self._hub.peer(seat.holder)
            if peer is not None and peer.silent_ns(now_ns) > self._timeout_ns:
                self._free(peer, "it is silent")

    def no_room(self, peer: Peer, decision: Decision, frame: bytes, target: Peer) -> None:
        """A frame that must not be lost silently was lost."""
        words = f"{PREFIX}{target.name} does not keep up"
        self._answer(peer, decision, frame, dialect.MAV_RESULT_TEMPORARILY_REJECTED, words)

    def too_often(self, peer: Peer, decision: Decision, frame: bytes, target: Peer) -> None:
        """A rule that names this message lets it pass less often than it comes."""
        target.line.dropped += 1
        if peer.role != "vehicle":
            words = f"{PREFIX}too often for {target.line.config.name}"
            self._answer(peer, decision, frame, dialect.MAV_RESULT_TEMPORARILY_REJECTED, words)

    def quiet(self, peer: Peer, decision: Decision, frame: bytes, target: Peer) -> None:
        """It was passed on, but from that address nothing has come for long."""
        if decision.message in access.COMMANDS:
            self._say(peer, decision.address(frame), f"{PREFIX}line {target.line.config.name} is silent")

    def nobody(self, peer: Peer, decision: Decision, frame: bytes, words: str) -> None:
        """A frame that must not be lost silently has nowhere to go."""
        peer.line.refused += 1
        self._answer(peer, decision, frame, dialect.MAV_RESULT_TEMPORARILY_REJECTED, PREFIX + words)

    def not_a_vehicle(self, peer: Peer, decision: Decision) -> None:
        """Somebody speaks in the name of a vehicle that is there."""
        peer.line.refused += 1
        if not peer.unmasked:
            peer.unmasked = True
            self._tell(
                f"{peer.name} says that it is {decision.system}/{decision.component}, which is a vehicle: refused"
            )

    def _seat(self, protocol: str) -> access.Seat:
        return self._seats.setdefault(protocol, access.Seat())

    def _free(self, peer: Peer, why: str) -> None:
        seat = self._seat(peer.protocol)
        if seat.holder == peer.number:
            seat.free(peer.number)
            self._tell(f"{peer.name} no longer commands: {why}")

    def _observing(self, peer: Peer, decision: Decision, frame: bytes) -> bool:
        if access.may_observe(decision.message, decision.payload(frame)):
            return True
        peer.line.refused += 1
        self._answer(
            peer, decision, frame, dialect.MAV_RESULT_DENIED, f"{PREFIX}{peer.line.config.name} may only observe"
        )
        return False

    def _seated(self, peer: Peer, decision: Decision, frame: bytes) -> bool:
        seat = self._seat(peer.protocol)
        if seat.holder == peer.number:
            return True
        if peer.protocol == "mavlink" and not access.commands(decision.message, decision.payload(frame)):
            return True
        if seat.allows(peer.number):
            self._tell(f"{peer.name} commands")
            return True
        peer.line.refused += 1
        words = held_by(self.name(peer.protocol))
        self._answer(peer, decision, frame, dialect.MAV_RESULT_TEMPORARILY_REJECTED, words)
        return False

    def _refused(self, peer: Peer, decision: Decision, frame: bytes) -> bool:
        peer.line.refused += 1
        return False

    def _operator(self, peer: Peer, decision: Decision, frame: bytes) -> bool:
        """CHANGE_OPERATOR_CONTROL is for the router, whatever system it names."""
        release = releases_control(decision.payload(frame))
        if peer.role != "command":
            peer.line.refused += 1
            answer = DENIED
        elif release:
            answer = GRANTED if self._seat(peer.protocol).holder == peer.number else TAKEN
            self._free(peer, "it has released control")
        else:
            self.give(peer)
            answer = GRANTED
        self._hub.say(peer, self._voice.operator_answer(decision.system, int(release), answer))
        return False

    def _answer(self, peer: Peer, decision: Decision, frame: bytes, result: int, words: str) -> None:
        """As its protocol answers, so that the sender need not wait; and in words, but not for every frame."""
        if peer.protocol != "mavlink":
            return
        sender = decision.system, decision.component
        system, component = decision.address(frame)
        target = (system, component or AUTOPILOT) if system else (0, 0)
        if decision.message in access.COMMANDS:
            command = access.command_of(decision.message, decision.payload(frame))
            self._hub.say(peer, self._voice.command_answer(command, result, sender, target))
        elif decision.message in access.MISSION_CHANGES:
            self._hub.say(peer, self._voice.mission_answer(sender, target))
        self._say(peer, target, words)

    def _say(self, peer: Peer, sender: tuple[int, int], words: str) -> None:
        now_ns = self._hub.now_ns()
        if peer.told_ns is None or now_ns - peer.told_ns >= TEXT_PERIOD_NS:
            peer.told_ns = now_ns
            self._hub.say(peer, self._voice.text(words, sender=sender))
