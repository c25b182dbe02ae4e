"""The router itself: one process, one epoll loop, no threads, nothing that blocks.

with Router(load(path), notify=print) as router: router.run(stop)

Each turn reads a bounded amount from every readable link, selects the targets of each frame, and sends the queue of
each link in as few writes as possible.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from aeroloop.core.signals import NS
from aeroloop.router.access import COMMANDS
from aeroloop.router.access_control import AccessControl, able_to_command
from aeroloop.router.config import RouterConfig
from aeroloop.router.decisions import Decision, Target
from aeroloop.router.duplicates import Duplicates
from aeroloop.router.intervals import ACK, Intervals
from aeroloop.router.links import RouterLink, open_links
from aeroloop.router.numbering import renumber
from aeroloop.router.own_messages import RouterMessages
from aeroloop.router.peers import Peer
from aeroloop.router.ports import Port, StreamPort
from aeroloop.router.probes import Probes
from aeroloop.router.routes import Routes
from aeroloop.router.selection import Selection
from aeroloop.router.statistics import SAMPLE_NS, LinkInfo, LinkMessage, LinkState, PeerState
from aeroloop.router.table import Table
from aeroloop.router.watching import Watched
from aeroloop.router.wire import Keyed

PERIODIC_NS = NS // 20
SOON_NS = NS // 500
GIVE_UP_NS = NS // 10
"""An incomplete frame is discarded after this time without bytes."""
OWN = 0
"""Number for the router's own frames in the duplicate filter: they must not be forwarded either."""


class Router:
    """Forwards frames between its endpoints until it is closed."""

    def __init__(
        self,
        config: RouterConfig,
        *,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        unix_ns: Callable[[], int] = time.time_ns,
        notify: Callable[[str], None] = lambda words: None,
    ) -> None:
        """`notify` is called with messages for the user: a link is lost or restored, a change of commander.

        `unix_ns` is used for signatures only.
        """
        self._clock_ns = clock_ns
        self._now_ns = clock_ns()
        self._notify = notify
        self._watched = Watched()
        self._peers: dict[int, Peer] = {}
        self._routes = Routes()
        self._table = Table(config)
        self._simulated = self._table.simulated
        self._duplicates = Duplicates(round(config.duplicate_window_s * NS))
        self._own_messages = RouterMessages(config.system, config.component)
        self._access = AccessControl(self, self._own_messages, round(config.commander_timeout_s * NS), notify)
        self._access.simulated = bool(self._simulated)
        self._probes = Probes(self, self._own_messages, config.timesync_hz)
        self._intervals = Intervals()
        self._epoch = 0
        self._next_periodic_ns = self._next_sample_ns = self._soon_ns = self._now_ns
        self._closed = False
        self.peer_timeout_ns = round(config.peer_timeout_s * NS)
        self._links: list[RouterLink] = open_links(self, config, self._simulated, unix_ns, notify)
        self._selection = Selection(
            self._peers, self._links, self._routes, self._table, self._own_messages, self._access, self._probes
        )

    def open(self) -> None:
        """Start to open every endpoint; one that cannot be opened is retried later and is not an error."""
        self._now_ns = self._clock_ns()
        for link in self._links:
            link.step(self._now_ns)

    def turn(self, timeout_s: float) -> None:
        """Wait for events, at most for the timeout, and handle them."""
        now_ns = self._clock_ns()
        due_ns = self._next_periodic_ns if self._soon_ns <= now_ns else min(self._soon_ns, self._next_periodic_ns)
        events = self._watched.wait(min(timeout_s, max(0, due_ns - now_ns) / NS))
        self._now_ns = now_ns = self._clock_ns()
        self._serve_hil()
        for port, fd, what in self._watched.others(events):
            port.ready(fd, what)
            self._serve_hil()
        if now_ns >= self._next_periodic_ns:
            self._run_periodic(now_ns)
        for peer in tuple(self._peers.values()):
            queue = peer.queue
            if queue.items or queue.saved or queue.rest:
                peer.port.flush(peer)

    def _serve_hil(self) -> None:
        """Forward the HIL messages that have arrived, before the router reads from another link."""
        for port, fd, what in self._watched.hil():
            self._now_ns = self._clock_ns()
            port.ready(fd, what)

    def run(self, stop: Callable[[], bool]) -> None:
        """Run until `stop()`, which is called at least ten times a second."""
        while not stop():
            self.turn(0.1)

    def fileno(self) -> int:
        """For use in another loop: readable when `turn(0)` has work; periodic work requires 20 turns a second."""
        return self._watched.fileno()

    def links(self) -> list[LinkState]:
        """The state of every endpoint, in order; `state.row(t_s)` is a row of the stream `router_link`."""
        now_ns = self._clock_ns()
        holders = self._access.holders()
        return [link.state(now_ns, holders) for link in self._links]

    def link_messages(self) -> list[LinkMessage]:
        """Every message of every sender on every link; `.row(t_s)` is a row of the stream `router_message`."""
        self._settle()
        now_ns = self._clock_ns()
        return [message for link in self._links for message in link.statistics.messages(now_ns)]

    def peers(self) -> list[PeerState]:
        """The peers of every link: one, or the clients of a server."""
        now_ns = self._clock_ns()
        holders = self._access.holders()
        return [state for link in self._links for state in link.peer_states(now_ns, holders)]

    def link_infos(self) -> list[LinkInfo]:
        """The content of links.json, in the order of the links' numbers."""
        return [link.info() for link in self._links]

    @property
    def commander(self) -> str:
        """Name of the MAVLink peer that holds command; empty: none."""
        return self._access.name()

    def take_over(self, name: str) -> None:
        """Give command to an endpoint of role `command`, or to one of its peers; ConfigError if there is none."""
        self._access.give(able_to_command(self._peers.values(), name))

    def close(self) -> None:
        """Release everything; may be called twice."""
        if self._closed:
            return
        self._closed = True
        for link in self._links:
            link.port.close()
        self._watched.close()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Interface for ports: `ports.Hub`.

    def now_ns(self) -> int:
        return self._now_ns

    def soon(self) -> None:
        self._soon_ns = self._now_ns + SOON_NS

    def watch(self, fd: int, port: Port, events: int) -> None:
        self._watched.add(fd, port, events)

    def unwatch(self, fd: int) -> None:
        self._watched.remove(fd)

    def joined(self, peer: Peer) -> None:
        self._peers[peer.number] = peer
        self._epoch += 1

    def left(self, peer: Peer, why: str) -> None:
        """Frames queued for it are lost, and counted."""
        for decision in peer.decisions.values():
            decision.settle()
        peer.queue.clear()
        peer.link.dropped += peer.queue.dropped
        peer.link.bad += peer.wire.bad()
        peer.link.refused += peer.wire.unknown()
        if self._peers.pop(peer.number, None) is not None:
            self._routes.forget(peer.number)
            self._access.left(peer)
            self._epoch += 1
            self._pass_on_loss(peer, why)
        peer.release()

    def _pass_on_loss(self, peer: Peer, why: str) -> None:
        """A vehicle's stream has ended: so does that of its simulator, which would not notice otherwise, and is opened
        again."""
        simulator = self._simulated.simulator_of(peer.link.number)
        if simulator is not None and isinstance(peer.port, StreamPort) and self._links[simulator].port.peers:
            self._links[simulator].port.failed = f"its vehicle is disconnected: {why}"

    def arrived(self, peer: Peer, chunk: bytes) -> int:
        peer.link.bytes_in += len(chunk)
        peer.read_ns = self._now_ns
        frames = self._route(peer, peer.feed(chunk))
        if peer.hil:
            for other in tuple(self._peers.values()):
                if other.queue.first:
                    other.port.flush(other)
        return frames

    # Interface for the router's own messages.

    def send(self, peer: Peer, frame: bytes) -> None:
        """Send a frame of the router's own."""
        self._duplicates.seen(frame, OWN)
        if peer.queue.push_reliable(frame):
            self._count_own(peer, frame)

    def mavlink_peers(self) -> list[Peer]:
        """Those that the router itself sends to."""
        return [peer for peer in self._peers.values() if peer.protocol == "mavlink" and peer.role != "simulator"]

    def peer(self, number: int) -> Peer | None:
        return self._peers.get(number)

    def announce(self, words: str, about: RouterLink) -> None:
        """Send a text to all peers on the other MAVLink links."""
        self._notify(words)
        frame = self._own_messages.text(words)
        for peer in self.mavlink_peers():
            if peer.port is not about.port:
                self.send(peer, frame)

    def _count_own(self, peer: Peer, frame: bytes) -> None:
        record = peer.link.record(frame[5:10], self._now_ns, outbound=True)
        record.count += 1
        record.size += len(frame)
        record.seen_ns = self._now_ns

    # Forwarding.

    def _route(self, peer: Peer, frames: list[Keyed]) -> int:
        link = peer.link
        signatures = peer.port.signatures
        if signatures is not None and frames:
            came = len(frames)
            frames = signatures.checked(frames, peer.signed)
            link.bad += came - len(frames)
        if not frames:
            return 0
        now_ns = self._now_ns
        link.frames_in += len(frames)
        link.seen_ns = peer.seen_ns = now_ns
        decisions = peer.decisions
        seen = self._duplicates.seen
        origin = peer.origin
        for key, frame in frames:
            decision = decisions.get(key)
            if decision is None:
                decision = self._selection.decide(peer, key, frame, now_ns)
            size = len(frame)
            record = decision.record
            record.count += 1
            record.size += size
            record.seen_ns = now_ns
            if decision.epoch != self._epoch:
                decision.as_vehicle = self._selection.as_vehicle(peer, decision)
            if decision.as_vehicle:
                self._refuse_vehicle(peer, decision, frame)
                continue
            numbering = decision.numbering
            if numbering is not None:
                number = frame[decision.number_at]
                if number == (numbering[0] + 1) & 0xFF:
                    numbering[0] = number
                else:
                    link.lost += renumber(numbering, number)
                if not decision.urgent and seen(frame, origin):
                    link.duplicates += 1
                    continue
            if decision.epoch != self._epoch:
                self._compile(peer, decision)
            check = decision.check
            if check is not None and not check(peer, decision, frame):
                if numbering is not None and check != decision.probe and not decision.urgent:
                    self._duplicates.take_back(frame, origin)
                continue
            plain = decision.plain
            if plain is not None:
                for append in plain:
                    append(frame)
                for missed in decision.absent:
                    missed.dropped += 1
                decision.passed += 1
                decision.passed_size += size
                decision.passed_ns = now_ns
                continue
            targets = self._selection.addressed(peer, decision, frame) if decision.system_at else decision.targets
            if decision.reliable:
                self._send_reliable(peer, decision, frame, targets)
                continue
            for missed in decision.absent:
                missed.dropped += 1
            for queue, limiter, out, _ in targets:
                if limiter is not None and not limiter.passes(now_ns):
                    continue
                items = queue.items
                items.append(frame)
                out.count += 1
                out.size += size
                out.seen_ns = now_ns
                if len(items) > queue.limit:
                    queue.trim()
        for other in self._peers.values():
            queue = other.queue
            if len(queue.items) > queue.limit or len(queue.first) > queue.limit:
                queue.trim()
        return len(frames)

    def _settle(self) -> None:
        for peer in self._peers.values():
            for decision in peer.decisions.values():
                decision.settle()

    def _send_reliable(self, peer: Peer, decision: Decision, frame: bytes, targets: tuple[Target, ...]) -> None:
        now_ns = self._now_ns
        if peer.role == "vehicle":
            if decision.message == ACK:
                self._intervals.answered(decision, frame, peer)
        elif not targets:
            self._nobody(peer, decision, frame)
        for queue, limiter, out, target in targets:
            if limiter is not None and not limiter.passes(now_ns):
                self._access.too_often(peer, decision, frame, target)
                continue
            if target.role == "vehicle" and decision.message in COMMANDS:
                self._intervals.requested(decision, frame, target)
            if target.seen_ns is not None and not target.port.up(now_ns):
                self._access.quiet(peer, decision, frame, target)
            if not queue.push_reliable(frame):
                self._access.no_room(peer, decision, frame, target)
                continue
            out.count += 1
            out.size += len(frame)
            out.seen_ns = now_ns

    def _nobody(self, peer: Peer, decision: Decision, frame: bytes) -> None:
        """The target of a reliable frame is not connected."""
        system, component = decision.address(frame)
        if not system or (system, component) == (self._own_messages.system, self._own_messages.component):
            return
        link = self._routes.last_at(system)
        words = f"no route to system {system}" if link is None else f"link {self._links[link].config.name} lost"
        self._access.nobody(peer, decision, frame, words)

    def _refuse_vehicle(self, peer: Peer, decision: Decision, frame: bytes) -> None:
        """Nothing is learned or recorded from it: otherwise the vehicle's own frame would count as a duplicate."""
        if self._duplicates.known(frame):
            peer.link.duplicates += 1  # an echo
        else:
            self._access.not_a_vehicle(peer, decision)

    def _compile(self, peer: Peer, decision: Decision) -> None:
        """Select the current targets of such frames, and learn that their sender is on this link."""
        if peer.protocol == "mavlink" and peer.role != "simulator":
            vehicle_link = peer.link.number if peer.role == "vehicle" else None
            if self._routes.learn(peer.number, decision.system, decision.component, vehicle_link):
                self._epoch += 1
        self._selection.select(peer, decision, self._now_ns)
        decision.epoch = self._epoch

    # Periodic work.

    def _run_periodic(self, now_ns: int) -> None:
        self._next_periodic_ns = now_ns + PERIODIC_NS
        self._duplicates.advance(now_ns)
        for peer in tuple(self._peers.values()):
            if now_ns - peer.read_ns >= GIVE_UP_NS:
                self._route(peer, peer.give_up())
        for link in self._links:
            link.step(now_ns)
        self._access.step(now_ns)
        self._probes.step(now_ns)
        if now_ns >= self._next_sample_ns:
            self._next_sample_ns = now_ns + SAMPLE_NS
            self._settle()
            for link in self._links:
                link.statistics.sample(now_ns)
                link.report_unknown()
