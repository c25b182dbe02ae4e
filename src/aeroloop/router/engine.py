"""The router itself: one process, one epoll loop, no threads, nothing that blocks.

    with Router(load(path), tell=print) as router:
        router.run(stop)

Each turn reads a bounded amount from every line that has something, decides where each frame goes, and sends what
waits for a line in as few writes as it takes.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.router.access import COMMANDS, PRECIOUS
from aeroloop.router.commanding import Commanding
from aeroloop.router.config import RouterConfig
from aeroloop.router.decisions import MOST_ADDRESSES, MOST_DECISIONS, Decision, Target
from aeroloop.router.duplicates import Duplicates
from aeroloop.router.intervals import ACK, Intervals
from aeroloop.router.lines import Line, open_lines
from aeroloop.router.numbering import renumber
from aeroloop.router.peers import Peer
from aeroloop.router.ports import Port
from aeroloop.router.probes import Probes
from aeroloop.router.routes import Routes
from aeroloop.router.statistics import SAMPLE_NS, LineInfo, LineMessage, LineState, PeerState
from aeroloop.router.table import Table
from aeroloop.router.targets import ADDRESSES
from aeroloop.router.voice import Voice
from aeroloop.router.wire import Keyed

CHORES_NS = NS // 20
GIVE_UP_NS = NS // 10
"""An unfinished frame that nothing followed for so long was none."""
V2_KEY_SIZE = 5
V2_PAYLOAD_AT, V1_PAYLOAD_AT = 10, 6
V2_NUMBER_AT, V1_NUMBER_AT = 4, 2
OWN = 0
"""Number under which the router's own frames are remembered: they must not come back either."""


class Router:
    """Passes frames between its endpoints until it is closed."""

    def __init__(
        self,
        config: RouterConfig,
        *,
        clock_ns: Callable[[], int] = time.monotonic_ns,
        unix_ns: Callable[[], int] = time.time_ns,
        tell: Callable[[str], None] = lambda words: None,
    ) -> None:
        """`tell` gets a sentence for whatever a person should know: a line that is gone or back, who commands.

        `unix_ns` is for signatures alone.
        """
        self._clock_ns = clock_ns
        self._now_ns = clock_ns()
        self._tell = tell
        self._epoll = select.epoll()
        self._watched: dict[int, Port] = {}
        self._peers: dict[int, Peer] = {}
        self._routes = Routes()
        self._table = Table(config)
        self._duplicates = Duplicates(round(config.duplicate_window_s * NS))
        self._voice = Voice(config.system, config.component)
        self._commanding = Commanding(self, self._voice, round(config.commander_timeout_s * NS), tell)
        self._probes = Probes(self, self._voice, config.timesync_hz)
        self._intervals = Intervals()
        self._epoch = 0
        self._next_chores_ns = self._next_look_ns = self._now_ns
        self._closed = False
        self.peer_timeout_ns = round(config.peer_timeout_s * NS)
        self._lines: list[Line] = open_lines(self, config, unix_ns, tell)

    def open(self) -> None:
        """Begin to open every endpoint; one that cannot be opened is tried again later and is no error."""
        self._now_ns = self._clock_ns()
        for line in self._lines:
            line.step(self._now_ns)

    def turn(self, timeout_s: float) -> None:
        """Wait at most so long for something to do, and do it."""
        due_s = max(0, self._next_chores_ns - self._clock_ns()) / NS
        events = self._epoll.poll(min(timeout_s, due_s))
        self._now_ns = now_ns = self._clock_ns()
        watched = self._watched
        for fd, what in events:
            port = watched.get(fd)
            if port is not None:
                port.ready(fd, what)
        if now_ns >= self._next_chores_ns:
            self._chores(now_ns)
        for peer in tuple(self._peers.values()):
            queue = peer.queue
            if queue.items or queue.saved or queue.rest:
                peer.port.flush(peer)

    def run(self, stop: Callable[[], bool]) -> None:
        """Turn after turn until `stop()`, which is asked at least ten times a second."""
        while not stop():
            self.turn(0.1)

    def fileno(self) -> int:
        """To wait for in another loop: readable when a turn(0) has something to do; chores want 20 turns a second."""
        return self._epoll.fileno()

    def lines(self) -> list[LineState]:
        """The state of every endpoint, in their order; `state.row(t_s)` is a row of the stream `line`."""
        now_ns = self._clock_ns()
        holders = self._commanding.holders()
        return [line.state(now_ns, holders) for line in self._lines]

    def line_messages(self) -> list[LineMessage]:
        """Every message of every sender on every line; `.row(t_s)` is a row of the stream `line_message`."""
        self._settle()
        now_ns = self._clock_ns()
        return [message for line in self._lines for message in line.statistics.messages(now_ns)]

    def peers(self) -> list[PeerState]:
        """The far ends of every line: one, or the clients of a server."""
        now_ns = self._clock_ns()
        holders = self._commanding.holders()
        return [state for line in self._lines for state in line.peer_states(now_ns, holders)]

    def line_infos(self) -> list[LineInfo]:
        """What stands in lines.json, in the order of the lines' numbers."""
        return [line.info() for line in self._lines]

    @property
    def commander(self) -> str:
        """Name of the MAVLink peer that commands, empty while nobody does."""
        return self._commanding.name()

    def take_over(self, name: str) -> None:
        """Give command to an endpoint of role `command`, or to one of its peers; ConfigError if there is none."""
        fitting = [peer for peer in self._peers.values() if name in (peer.name, peer.line.config.name)]
        able = [peer for peer in fitting if peer.role == "command"]
        if len(able) == 1:
            self._commanding.give(able[0])
            return
        if able:
            raise ConfigError(f"{name} has several peers, expected one of: {', '.join(peer.name for peer in able)}")
        if fitting:
            raise ConfigError(f"{name} has the role {fitting[0].role!r}, expected a line of the role 'command'")
        known = ", ".join(peer.name for peer in self._peers.values() if peer.role == "command") or "none is there"
        raise ConfigError(f"no line {name!r} is there to command, expected one of: {known}")

    def close(self) -> None:
        """Release everything; closing twice is harmless."""
        if self._closed:
            return
        self._closed = True
        for line in self._lines:
            line.port.close()
        self._epoll.close()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # What ports need: `ports.Hub`.

    def now_ns(self) -> int:
        return self._now_ns

    def watch(self, fd: int, port: Port, events: int) -> None:
        if fd in self._watched:
            self._epoll.modify(fd, events)
        else:
            self._epoll.register(fd, events)
        self._watched[fd] = port

    def unwatch(self, fd: int) -> None:
        if self._watched.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def joined(self, peer: Peer) -> None:
        self._peers[peer.number] = peer
        self._epoch += 1

    def left(self, peer: Peer, why: str) -> None:
        """What waited for it is lost, and counted."""
        for decision in peer.decisions.values():
            decision.settle()
        peer.queue.clear()
        peer.line.dropped += peer.queue.dropped
        peer.line.bad += peer.wire.bad()
        peer.line.refused += peer.wire.unknown()
        if self._peers.pop(peer.number, None) is not None:
            self._routes.forget(peer.number)
            self._commanding.left(peer)
            self._epoch += 1

    def arrived(self, peer: Peer, chunk: bytes) -> int:
        peer.line.bytes_in += len(chunk)
        peer.read_ns = self._now_ns
        return self._route(peer, peer.feed(chunk))

    # What the router's own words need.

    def say(self, peer: Peer, frame: bytes) -> None:
        """Send a frame of the router's own."""
        self._duplicates.seen(frame, OWN)
        if peer.queue.push_precious(frame):
            self._count_own(peer, frame)

    def mavlink_peers(self) -> list[Peer]:
        return [peer for peer in self._peers.values() if peer.protocol == "mavlink"]

    def peer(self, number: int) -> Peer | None:
        return self._peers.get(number)

    def announce(self, words: str, about: Line) -> None:
        """Tell everybody on the other MAVLink lines."""
        self._tell(words)
        frame = self._voice.text(words)
        for peer in self.mavlink_peers():
            if peer.port is not about.port:
                self.say(peer, frame)

    def _count_own(self, peer: Peer, frame: bytes) -> None:
        record = peer.line.record(frame[5:10], self._now_ns, outbound=True)
        record.count += 1
        record.size += len(frame)
        record.seen_ns = self._now_ns

    # The way of a frame.

    def _route(self, peer: Peer, frames: list[Keyed]) -> int:
        line = peer.line
        signatures = peer.port.signatures
        if signatures is not None and frames:
            came = len(frames)
            frames = signatures.checked(frames, peer.signed)
            line.bad += came - len(frames)
        if not frames:
            return 0
        now_ns = self._now_ns
        line.frames_in += len(frames)
        line.seen_ns = peer.seen_ns = now_ns
        decisions = peer.decisions
        seen = self._duplicates.seen
        origin = peer.origin
        for key, frame in frames:
            decision = decisions.get(key)
            if decision is None:
                decision = self._decide(peer, key, frame)
            size = len(frame)
            record = decision.record
            record.count += 1
            record.size += size
            record.seen_ns = now_ns
            if decision.epoch != self._epoch:
                decision.as_vehicle = self._says_it_is_a_vehicle(peer, decision)
            if decision.as_vehicle:
                self._refuse_vehicle(peer, decision, frame)
                continue
            numbering = decision.numbering
            if numbering is not None:
                number = frame[decision.number_at]
                if number == (numbering[0] + 1) & 0xFF:
                    numbering[0] = number
                else:
                    line.lost += renumber(numbering, number)
                if seen(frame, origin):
                    line.duplicates += 1
                    continue
            if decision.epoch != self._epoch:
                self._compile(peer, decision)
            check = decision.check
            if check is not None and not check(peer, decision, frame):
                if numbering is not None and check != decision.probe:
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
            targets = self._addressed(peer, decision, frame) if decision.system_at else decision.targets
            if decision.precious:
                self._send_precious(peer, decision, frame, targets)
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
            if len(queue.items) > queue.limit:
                queue.trim()
        return len(frames)

    def _settle(self) -> None:
        for peer in self._peers.values():
            for decision in peer.decisions.values():
                decision.settle()

    def _send_precious(self, peer: Peer, decision: Decision, frame: bytes, targets: tuple[Target, ...]) -> None:
        now_ns = self._now_ns
        if peer.role == "vehicle":
            if decision.message == ACK:
                self._intervals.answered(decision, frame, peer)
        elif not targets:
            self._nobody(peer, decision, frame)
        for queue, limiter, out, target in targets:
            if limiter is not None and not limiter.passes(now_ns):
                self._commanding.too_often(peer, decision, frame, target)
                continue
            if target.role == "vehicle" and decision.message in COMMANDS:
                self._intervals.asked(decision, frame, target)
            if target.seen_ns is not None and not target.port.up(now_ns):
                self._commanding.quiet(peer, decision, frame, target)
            if not queue.push_precious(frame):
                self._commanding.no_room(peer, decision, frame, target)
                continue
            out.count += 1
            out.size += len(frame)
            out.seen_ns = now_ns

    def _nobody(self, peer: Peer, decision: Decision, frame: bytes) -> None:
        """What must not be lost silently is for somebody who is not there."""
        system, component = decision.address(frame)
        if not system or (system, component) == (self._voice.system, self._voice.component):
            return
        line = self._routes.last_at(system)
        words = f"no way to system {system}" if line is None else f"line {self._lines[line].config.name} is gone"
        self._commanding.nobody(peer, decision, frame, words)

    def _decide(self, peer: Peer, key: bytes, frame: bytes) -> Decision:
        """All that does not depend on who else is there."""
        if len(peer.decisions) >= MOST_DECISIONS:
            for old in peer.decisions.values():
                old.settle()
            peer.decisions.clear()
            peer.numbering.clear()
        decision = Decision(key, peer.line.record(key, self._now_ns, outbound=False))
        if peer.protocol == "mavlink":
            second = len(key) == V2_KEY_SIZE
            decision.payload_at = V2_PAYLOAD_AT if second else V1_PAYLOAD_AT
            decision.number_at = V2_NUMBER_AT if second else V1_NUMBER_AT
            decision.numbering = peer.numbering.setdefault(key[:2], [(frame[decision.number_at] - 1) & 0xFF, 0])
            decision.precious = decision.message in PRECIOUS
            address = ADDRESSES.get(decision.message)
            if address is not None:
                decision.system_at = decision.payload_at + address.system_at
                if address.component_at is not None:
                    decision.component_at = decision.payload_at + address.component_at
            decision.probe = self._probes.check(decision)
            decision.check = decision.probe or self._commanding.check(peer, decision)
        else:
            decision.check = self._commanding.check(peer, decision)
        peer.decisions[key] = decision
        return decision

    def _compile(self, peer: Peer, decision: Decision) -> None:
        """Where such frames go just now. Their sender is known to be behind this line from now on."""
        if peer.protocol == "mavlink":
            vehicle_line = peer.line.number if peer.role == "vehicle" else None
            if self._routes.learn(peer.number, decision.system, decision.component, vehicle_line):
                self._epoch += 1
        decision.settle()
        decision.targets = tuple(
            target for other in self._peers.values() if (target := self._target(peer, other, decision)) is not None
        )
        decision.absent = tuple(line.statistics for line in self._lines if self._missed_at(peer, line, decision))
        decision.plain = None
        if not decision.precious and not decision.system_at and all(t.limiter is None for t in decision.targets):
            decision.plain = tuple(target.queue.items.append for target in decision.targets)
        decision.addressed = {}
        decision.epoch = self._epoch

    def _says_it_is_a_vehicle(self, peer: Peer, decision: Decision) -> bool:
        """A companion may share its vehicle's system, under another component."""
        return (
            peer.role != "vehicle"
            and peer.protocol == "mavlink"
            and self._routes.is_vehicle(decision.system, decision.component)
        )

    def _refuse_vehicle(self, peer: Peer, decision: Decision, frame: bytes) -> None:
        """Nothing is learned or remembered of it: else the vehicle's own frame would seem to be a duplicate."""
        if self._duplicates.known(frame):
            peer.line.duplicates += 1  # an echo
        else:
            self._commanding.not_a_vehicle(peer, decision)

    def _missed_at(self, peer: Peer, line: Line, decision: Decision) -> bool:
        """Whether such frames go to a line where somebody was and nobody is."""
        config = line.config
        if line.port.peers or not line.statistics.frames_in or config.protocol != peer.protocol:
            return False
        rate_hz = self._table.rate_hz(
            peer.line.number,
            line.statistics.number,
            decision.message,
            decision.system,
            decision.component,
            precious=decision.precious,
        )
        return rate_hz is None and line.port is not peer.port

    def _target(self, peer: Peer, other: Peer, decision: Decision) -> Target | None:
        if other is peer or other.protocol != peer.protocol:
            return None
        message, system, component = decision.message, decision.system, decision.component
        rate_hz = self._table.rate_hz(
            peer.line.number, other.line.number, message, system, component, precious=decision.precious
        )
        if rate_hz == 0:
            return None
        limiter = None
        if rate_hz is not None:
            limiter = self._table.limiter(other.number, message, system, component, rate_hz)
        return Target(other.queue, limiter, other.line.record(decision.key, self._now_ns, outbound=True), other)

    def _addressed(self, peer: Peer, decision: Decision, frame: bytes) -> tuple[Target, ...]:
        """A message for one system goes where that was heard; if it never was, to the vehicles, in case."""
        address = decision.address(frame)
        if not address[0]:
            return decision.targets
        targets = decision.addressed.get(address)
        if targets is None:
            where = self._routes.towards(*address)
            if peer.role != "vehicle" and self._routes.last_at(address[0]) is not None:
                where = self._routes.exactly(*address)  # its companion is not the vehicle
            if address == (self._voice.system, self._voice.component):
                targets = ()
            elif where is not None:
                targets = tuple(target for target in decision.targets if target.peer.number in where)
            elif peer.role == "vehicle":
                targets = decision.targets
            else:
                # One that was there will come again where it was.
                line = self._routes.last_at(address[0])
                targets = tuple(
                    target
                    for target in decision.targets
                    if target.peer.role == "vehicle" and line in (None, target.peer.line.number)
                )
            if len(decision.addressed) >= MOST_ADDRESSES:
                decision.addressed.clear()
            decision.addressed[address] = targets
        return targets

    # What is due some times a second.

    def _chores(self, now_ns: int) -> None:
        self._next_chores_ns = now_ns + CHORES_NS
        self._duplicates.advance(now_ns)
        for peer in tuple(self._peers.values()):
            if now_ns - peer.read_ns >= GIVE_UP_NS:
                self._route(peer, peer.give_up())
        for line in self._lines:
            line.step(now_ns)
        self._commanding.step(now_ns)
        self._probes.step(now_ns)
        if now_ns >= self._next_look_ns:
            self._next_look_ns = now_ns + SAMPLE_NS
            self._settle()
            for line in self._lines:
                line.statistics.look(now_ns)
                line.tell_strange()
