"""An endpoint over its lifetime: opened, lost, tried again with patience, and told of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.signals import NS
from aeroloop.router.config import EndpointConfig, RouterConfig
from aeroloop.router.datagrams import DatagramPort, DatagramServerPort
from aeroloop.router.messages import number_of
from aeroloop.router.ports import ClientPort, DevicePort, Hub, Port, PtyPort, ServerPort
from aeroloop.router.signatures import Signatures
from aeroloop.router.statistics import LineInfo, LineState, LineStatistics, PeerState

FIRST_RETRY_NS = NS // 4
LONGEST_RETRY_NS = 5 * NS
PATIENCE_NS = 3 * NS
"""Programs start one after another: a line that cannot be opened is told of after so long."""
MOST_STRANGE = 16
TELL_PERIOD_NS = NS
"""A line that comes and goes is told of no more often."""

_PORTS: dict[tuple[str, bool], type[Port]] = {
    ("serial", False): DevicePort,
    ("pty", False): PtyPort,
    ("tcp", False): ClientPort,
    ("tcp", True): ServerPort,
    ("loopback", False): ClientPort,
    ("loopback", True): ServerPort,
    ("udp", False): DatagramPort,
    ("udp", True): DatagramServerPort,
}


class LineHub(Hub, Protocol):
    def announce(self, words: str, about: Line) -> None: ...


class Line:
    """`step` opens its port when that is due, and tells when somebody has come or gone."""

    def __init__(self, hub: LineHub, config: EndpointConfig, port: Port, tell: Callable[[str], None]) -> None:
        self.config = config
        self.port = port
        self.statistics = port.statistics
        self._hub = hub
        self._tell = tell
        self._open = False
        self._due_ns = 0
        self._delay_ns = FIRST_RETRY_NS
        self._told_up: bool | None = None
        self._told_ns: int | None = None
        self._failing_ns: int | None = None  # since when it cannot be opened
        self._reason = ""  # that was told
        self._strange: set[int] = set()  # messages that were told of

    def step(self, now_ns: int) -> None:
        port = self.port
        if self._open:
            port.check(now_ns)
            if port.failed:
                self._again(port.failed, now_ns)
        elif now_ns >= self._due_ns:
            self._try(now_ns)
        self._notice(now_ns)

    def _try(self, now_ns: int) -> None:
        try:
            self.port.open()
        except LinkError as error:
            self._again(str(error), now_ns)
        else:
            self._open = True

    def _again(self, why: str, now_ns: int) -> None:
        if self._told_up:
            self._delay_ns = FIRST_RETRY_NS
        self.port.failed = ""
        self.port.close(why)
        self._open = False
        self._due_ns = now_ns + self._delay_ns
        self._delay_ns = min(2 * self._delay_ns, LONGEST_RETRY_NS)
        if self._failing_ns is None:
            self._failing_ns = now_ns
        elif now_ns - self._failing_ns >= PATIENCE_NS and why != self._reason:
            self._reason = why
            self._tell(f"line {self.config.name} cannot be opened: {why}; trying on")

    def _notice(self, now_ns: int) -> None:
        up = self.port.up(now_ns)
        if up:
            self._reason, self._failing_ns = "", None
        if up == bool(self._told_up) or (self._told_ns is not None and now_ns - self._told_ns < TELL_PERIOD_NS):
            return
        # Ground stations come to a server and go; a vehicle that does has vanished.
        visited = self.config.link.listen and self.config.role != "vehicle"
        if not up and not visited:
            self._hub.announce(f"line {self.config.name} is gone", self)
        elif self._told_up is not None and not visited:
            self._hub.announce(f"line {self.config.name} is back", self)
        self._told_up = up
        self._told_ns = now_ns

    def tell_strange(self) -> None:
        """Once for each message that no dialect knows."""
        for peer in self.port.peers:
            for message in peer.wire.strange():
                if message not in self._strange and len(self._strange) < MOST_STRANGE:
                    self._strange.add(message)
                    self._tell(f"line {self.config.name}: no dialect knows message {message}: it is not passed on")

    def info(self) -> LineInfo:
        config = self.config
        return LineInfo(config.name, config.url, config.role, config.protocol, self.statistics.baud)

    def state(self, now_ns: int, holders: frozenset[int]) -> LineState:
        peers = self.port.peers
        return self.statistics.state(
            now_ns,
            up=self.port.up(now_ns),
            commands=any(peer.number in holders for peer in peers),
            bad=sum(peer.wire.bad() for peer in peers),
            refused=sum(peer.wire.unknown() for peer in peers),
            dropped=sum(peer.queue.dropped for peer in peers),
            queued=sum(len(peer.queue) for peer in peers),
        )

    def peer_states(self, now_ns: int, holders: frozenset[int]) -> list[PeerState]:
        return [
            PeerState(
                self.statistics.number,
                peer.name,
                peer.number in holders,
                len(peer.queue),
                peer.queue.dropped,
                float("nan") if peer.seen_ns is None else (now_ns - peer.seen_ns) / NS,
            )
            for peer in self.port.peers
        ]


def open_lines(
    hub: LineHub, config: RouterConfig, unix_ns: Callable[[], int], tell: Callable[[str], None]
) -> list[Line]:
    """One for each endpoint; ConfigError for what will never work. Host names are looked up here and never again."""
    lines = []
    for number, end in enumerate(config.endpoints):
        set_hz = {number_of(end.protocol, rate.message): rate.hz for rate in config.rates if rate.endpoint == end.name}
        statistics = LineStatistics(number, end, set_hz, hub.now_ns())
        signatures = None
        if end.signing_key_file:
            signatures = Signatures(Path(end.signing_key_file), number & 0xFF, unix_ns)
        try:
            link = end.looked_up()
        except ConfigError as error:
            raise ConfigError(f"endpoint {end.name}: {error}") from None
        if link.listen and link.host and not link.host.startswith("127."):
            tell(f"warning: line {end.name} listens at {link.host}:{link.port}, where other machines can reach it")
        port = _PORTS[link.scheme, link.listen](hub, link, statistics, signatures)
        lines.append(Line(hub, end, port, tell))
    return lines
