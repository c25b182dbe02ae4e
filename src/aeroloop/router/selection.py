"""Which links frames of one kind go to: the rules of the table, the routes learned so far, who may send what.

It is selected once for each kind of frame, and again when a route changes, not for each frame.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aeroloop.router.access import RELIABLE
from aeroloop.router.access_control import AccessControl
from aeroloop.router.decisions import MOST_ADDRESSES, MOST_DECISIONS, Decision, Target
from aeroloop.router.links import RouterLink
from aeroloop.router.own_messages import RouterMessages
from aeroloop.router.peers import Peer
from aeroloop.router.probes import Probes
from aeroloop.router.routes import Routes
from aeroloop.router.table import Table
from aeroloop.router.targets import ADDRESSES

V2_KEY_SIZE = 5
V2_PAYLOAD_AT, V1_PAYLOAD_AT = 10, 6
V2_NUMBER_AT, V1_NUMBER_AT = 4, 2


class Selection:
    """Makes decisions, and selects their targets among the peers that are connected."""

    def __init__(
        self,
        peers: Mapping[int, Peer],
        links: Sequence[RouterLink],
        routes: Routes,
        table: Table,
        own_messages: RouterMessages,
        access: AccessControl,
        probes: Probes,
    ) -> None:
        """`peers` is the router's own, which changes."""
        self._peers = peers
        self._links = links
        self._routes = routes
        self._table = table
        self._own_messages = own_messages
        self._access = access
        self._probes = probes

    def decide(self, peer: Peer, key: bytes, frame: bytes, now_ns: int) -> Decision:
        """The part of a decision that does not depend on the other peers."""
        if len(peer.decisions) >= MOST_DECISIONS:
            for old in peer.decisions.values():
                old.settle()
            peer.decisions.clear()
            peer.numbering.clear()
        decision = Decision(key, peer.link.record(key, now_ns, outbound=False))
        if peer.protocol == "mavlink":
            second = len(key) == V2_KEY_SIZE
            decision.payload_at = V2_PAYLOAD_AT if second else V1_PAYLOAD_AT
            decision.number_at = V2_NUMBER_AT if second else V1_NUMBER_AT
            decision.numbering = peer.numbering.setdefault(key[:2], [(frame[decision.number_at] - 1) & 0xFF, 0])
            decision.urgent = self._table.simulated.urgent(peer.link.number, decision.message)
            decision.reliable = decision.message in RELIABLE
            address = None if decision.urgent else ADDRESSES.get(decision.message)
            if address is not None:
                decision.system_at = decision.payload_at + address.system_at
                if address.component_at is not None:
                    decision.component_at = decision.payload_at + address.component_at
            decision.probe = self._probes.check(decision)
            decision.check = decision.probe or self._access.check(peer, decision)
        else:
            decision.check = self._access.check(peer, decision)
        peer.decisions[key] = decision
        return decision

    def select(self, peer: Peer, decision: Decision, now_ns: int) -> None:
        """Set the current targets of such frames, and the links that would be targets."""
        decision.settle()
        decision.targets = tuple(
            target
            for other in self._peers.values()
            if (target := self._target(peer, other, decision, now_ns)) is not None
        )
        decision.absent = tuple(link.statistics for link in self._links if self._missed_at(peer, link, decision))
        decision.plain = None
        if not decision.reliable and not decision.system_at and all(t.limiter is None for t in decision.targets):
            urgent = decision.urgent
            decision.plain = tuple(
                (target.queue.first if urgent else target.queue.items).append for target in decision.targets
            )
        decision.addressed = {}

    def as_vehicle(self, peer: Peer, decision: Decision) -> bool:
        """Whether the sender uses the ID of a vehicle on another link; a companion may share its vehicle's system,
        under another component."""
        return (
            peer.role not in ("vehicle", "simulator")
            and peer.protocol == "mavlink"
            and self._routes.is_vehicle(decision.system, decision.component)
        )

    def _missed_at(self, peer: Peer, link: RouterLink, decision: Decision) -> bool:
        """Whether such frames go to a link that had a peer and has none now."""
        config = link.config
        if link.port.peers or not link.statistics.frames_in or config.protocol != peer.protocol:
            return False
        return self._rate_hz(peer, link.statistics.number, decision) is None and link.port is not peer.port

    def _rate_hz(self, peer: Peer, link: int, decision: Decision) -> float | None:
        sender = decision.system, decision.component
        return self._table.rate_hz(peer.link.number, link, decision.message, *sender, reliable=decision.reliable)

    def _target(self, peer: Peer, other: Peer, decision: Decision, now_ns: int) -> Target | None:
        if other is peer or other.protocol != peer.protocol:
            return None
        message, system, component = decision.message, decision.system, decision.component
        rate_hz = self._rate_hz(peer, other.link.number, decision)
        if rate_hz == 0:
            return None
        limiter = None
        if rate_hz is not None:
            limiter = self._table.limiter(other.number, message, system, component, rate_hz)
        return Target(other.queue, limiter, other.link.record(decision.key, now_ns, outbound=True), other)

    def addressed(self, peer: Peer, decision: Decision, frame: bytes) -> tuple[Target, ...]:
        """A message for one system is sent on the links where that system was received; for an unknown system, to the
        vehicles."""
        address = decision.address(frame)
        if not address[0]:
            return decision.targets
        targets = decision.addressed.get(address)
        if targets is None:
            where = self._routes.towards(*address)
            if peer.role != "vehicle" and self._routes.last_at(address[0]) is not None:
                where = self._routes.exactly(*address)  # its companion is not the vehicle
            if address == (self._own_messages.system, self._own_messages.component):
                targets = ()
            elif where is not None:
                targets = tuple(target for target in decision.targets if target.peer.number in where)
            elif peer.role == "vehicle":
                targets = decision.targets
            else:
                # A vehicle that has disconnected is expected on the same link again.
                link = self._routes.last_at(address[0])
                targets = tuple(
                    target
                    for target in decision.targets
                    if target.peer.role == "vehicle" and link in (None, target.peer.link.number)
                )
            # To the only system that a simulator has, its vehicle's, there is no route from the vehicle.
            others = tuple(target for target in targets if target.peer.role != "simulator")
            targets = others + tuple(target for target in decision.targets if target.peer.role == "simulator")
            if len(decision.addressed) >= MOST_ADDRESSES:
                decision.addressed.clear()
            decision.addressed[address] = targets
        return targets
