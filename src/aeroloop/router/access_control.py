"""Access control: refuses what a link's role does not allow, answers its sender, and tracks who holds command."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.protocols.router_texts import PREFIX, held_by
from aeroloop.router import access
from aeroloop.router.decisions import Check, Decision
from aeroloop.router.own_messages import DENIED, GRANTED, OPERATOR, TAKEN, RouterMessages, releases_control
from aeroloop.router.peers import Peer
from aeroloop.router.simulation import HIL

TEXT_PERIOD_NS = NS // 4
"""Minimum time between two texts to one peer."""
AUTOPILOT = 1
"""Component that answers for a whole system."""


class MessageSender(Protocol):
    def now_ns(self) -> int: ...

    def send(self, peer: Peer, frame: bytes) -> None: ...

    def peer(self, number: int) -> Peer | None: ...


class AccessControl:
    """Access rights of all peers, with one commander for each protocol."""

    def __init__(
        self, hub: MessageSender, own_messages: RouterMessages, timeout_ns: int, notify: Callable[[str], None]
    ) -> None:
        self._hub = hub
        self._own_messages = own_messages
        self._timeout_ns = timeout_ns
        self._notify = notify
        self._controls: dict[str, access.CommandHolder] = {}
        self.simulated = False  # a simulator flies a vehicle: nobody else sends HIL messages

    def check(self, peer: Peer, decision: Decision) -> Check | None:
        """The check for every frame of this kind; None if all of them pass."""
        if peer.protocol != "mavlink":
            return {"vehicle": None, "command": self._check_commander, "observe": self._refused}[peer.role]
        if peer.role == "simulator":
            return None if decision.message in access.SIMULATING else self._refused
        if peer.role != "vehicle" and self.simulated and decision.message in HIL:
            return self._refused
        if peer.role == "observe":
            if decision.message == OPERATOR:
                return self._operator
            return None if decision.message in access.OPEN else self._observing
        if peer.role == "command":
            if decision.message == OPERATOR:
                return self._operator
            if decision.message in access.MEASURING:
                return None if peer.link.config.companion else self._measuring
            return self._check_commander if decision.message in access.COMMANDING else None
        return None

    def holders(self) -> frozenset[int]:
        return frozenset(control.holder for control in self._controls.values() if control.holder)

    def name(self, protocol: str = "mavlink") -> str:
        peer = self._hub.peer(self._control(protocol).holder)
        return peer.name if peer else ""

    def give(self, peer: Peer) -> None:
        control = self._control(peer.protocol)
        if control.holder != peer.number:
            control.holder = peer.number
            self._notify(f"{peer.name} has control")

    def left(self, peer: Peer) -> None:
        self._free(peer, "it disconnected")

    def step(self, now_ns: int) -> None:
        for control in self._controls.values():
            peer = self._hub.peer(control.holder)
            if peer is not None and peer.silent_ns(now_ns) > self._timeout_ns:
                self._free(peer, "no traffic")

    def no_room(self, peer: Peer, decision: Decision, frame: bytes, target: Peer) -> None:
        """A reliable frame was dropped: the queue of its target is full."""
        words = f"{PREFIX}{target.name}: queue full"
        self._answer(peer, decision, frame, dialect.MAV_RESULT_TEMPORARILY_REJECTED, words)

    def too_often(self, peer: Peer, decision: Decision, frame: bytes, target: Peer) -> None:
        """A forwarding rule limits this message to a lower rate than its sender's."""
        target.link.dropped += 1
        if peer.role != "vehicle":
            words = f"{PREFIX}{target.link.config.name}: rate limit"
            self._answer(peer, decision, frame, dialect.MAV_RESULT_TEMPORARILY_REJECTED, words)

    def quiet(self, peer: Peer, decision: Decision, frame: bytes, target: Peer) -> None:
        """The frame was forwarded, but nothing has been received from that address for a long time."""
        if decision.message in access.COMMANDS:
            self._send_text(peer, decision.address(frame), f"{PREFIX}link {target.link.config.name} times out")

    def nobody(self, peer: Peer, decision: Decision, frame: bytes, words: str) -> None:
        """A reliable frame has no target."""
        peer.link.refused += 1
        self._answer(peer, decision, frame, dialect.MAV_RESULT_TEMPORARILY_REJECTED, PREFIX + words)

    def not_a_vehicle(self, peer: Peer, decision: Decision) -> None:
        """A peer uses the system and component of a connected vehicle."""
        peer.link.refused += 1
        if not peer.impersonation_reported:
            peer.impersonation_reported = True
            self._notify(f"{peer.name} sends as {decision.system}/{decision.component}, the ID of a vehicle: refused")

    def _control(self, protocol: str) -> access.CommandHolder:
        return self._controls.setdefault(protocol, access.CommandHolder())

    def _free(self, peer: Peer, why: str) -> None:
        control = self._control(peer.protocol)
        if control.holder == peer.number:
            control.free(peer.number)
            self._notify(f"{peer.name} no longer has control: {why}")

    def _observing(self, peer: Peer, decision: Decision, frame: bytes) -> bool:
        if access.may_observe(decision.message, decision.payload(frame)):
            return True
        peer.link.refused += 1
        self._answer(
            peer, decision, frame, dialect.MAV_RESULT_DENIED, f"{PREFIX}{peer.link.config.name} may only observe"
        )
        return False

    def _check_commander(self, peer: Peer, decision: Decision, frame: bytes) -> bool:
        control = self._control(peer.protocol)
        if control.holder == peer.number:
            return True
        if peer.protocol == "mavlink" and not access.commands(decision.message, decision.payload(frame)):
            return True
        if control.allows(peer.number):
            self._notify(f"{peer.name} has control")
            return True
        peer.link.refused += 1
        words = held_by(self.name(peer.protocol))
        self._answer(peer, decision, frame, dialect.MAV_RESULT_TEMPORARILY_REJECTED, words)
        return False

    def _measuring(self, peer: Peer, decision: Decision, frame: bytes) -> bool:
        """Measurements are allowed only from the peer that already holds command."""
        if self._control(peer.protocol).holder == peer.number:
            return True
        peer.link.refused += 1
        self._send_text(peer, (0, 0), f"{PREFIX}{peer.link.config.name} may not send measurements")
        return False

    def _refused(self, peer: Peer, decision: Decision, frame: bytes) -> bool:
        peer.link.refused += 1
        return False

    def _operator(self, peer: Peer, decision: Decision, frame: bytes) -> bool:
        """CHANGE_OPERATOR_CONTROL is for the router, whatever system it names."""
        release = releases_control(decision.payload(frame))
        if peer.role != "command":
            peer.link.refused += 1
            answer = DENIED
        elif release:
            answer = GRANTED if self._control(peer.protocol).holder == peer.number else TAKEN
            self._free(peer, "it has released control")
        else:
            self.give(peer)
            answer = GRANTED
        self._hub.send(peer, self._own_messages.operator_answer(decision.system, int(release), answer))
        return False

    def _answer(self, peer: Peer, decision: Decision, frame: bytes, result: int, words: str) -> None:
        """Answer by the message's own protocol, so that the sender does not wait for a timeout, and by a text, at a
        limited rate."""
        if peer.protocol != "mavlink":
            return
        sender = decision.system, decision.component
        system, component = decision.address(frame)
        target = (system, component or AUTOPILOT) if system else (0, 0)
        if decision.message in access.COMMANDS:
            command = access.command_of(decision.message, decision.payload(frame))
            self._hub.send(peer, self._own_messages.command_answer(command, result, sender, target))
        elif decision.message in access.MISSION_CHANGES:
            self._hub.send(peer, self._own_messages.mission_answer(sender, target))
        self._send_text(peer, target, words)

    def _send_text(self, peer: Peer, sender: tuple[int, int], words: str) -> None:
        now_ns = self._hub.now_ns()
        if peer.text_ns is None or now_ns - peer.text_ns >= TEXT_PERIOD_NS:
            peer.text_ns = now_ns
            self._hub.send(peer, self._own_messages.text(words, sender=sender))


def able_to_command(peers: Iterable[Peer], name: str) -> Peer:
    """The peer that an endpoint's or a peer's name stands for; ConfigError if it may not command."""
    peers = list(peers)
    fitting = [peer for peer in peers if name in (peer.name, peer.link.config.name)]
    able = [peer for peer in fitting if peer.role == "command"]
    if len(able) == 1:
        return able[0]
    if able:
        raise ConfigError(f"{name} has several peers, expected one of: {', '.join(peer.name for peer in able)}")
    if fitting:
        raise ConfigError(f"{name} has the role {fitting[0].role!r}, expected a link of the role 'command'")
    known = ", ".join(peer.name for peer in peers if peer.role == "command") or "none is connected"
    raise ConfigError(f"no link {name!r} is connected to command, expected one of: {known}")
