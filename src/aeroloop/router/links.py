"""A router link over its lifetime: opened, lost, retried, and reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.signals import NS
from aeroloop.router.config import EndpointConfig, RouterConfig
from aeroloop.router.datagrams import DatagramPort, DatagramServerPort
from aeroloop.router.dialect import FORMATS
from aeroloop.router.messages import number_of
from aeroloop.router.numbering import Renumbering
from aeroloop.router.ports import ClientPort, DevicePort, Hub, Port, PtyPort, ServerPort
from aeroloop.router.signatures import Signatures
from aeroloop.router.simulation import SimulatedVehicles
from aeroloop.router.statistics import LinkInfo, LinkState, LinkStatistics, PeerState

FIRST_RETRY_NS = NS // 4
LONGEST_RETRY_NS = 5 * NS
PATIENCE_NS = 3 * NS
"""Programs start one after another: a link that cannot be opened is reported after this time."""
MOST_UNKNOWN = 16
REPORT_PERIOD_NS = NS
"""Minimum time between two reports of a link."""

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


class LinkHub(Hub, Protocol):
    def announce(self, words: str, about: RouterLink) -> None: ...


class RouterLink:
    """`step` opens its port when due, and reports when the link is lost or restored."""

    def __init__(self, hub: LinkHub, config: EndpointConfig, port: Port, notify: Callable[[str], None]) -> None:
        self.config = config
        self.port = port
        self.statistics = port.statistics
        self._hub = hub
        self._notify = notify
        self._open = False
        self._due_ns = 0
        self._delay_ns = FIRST_RETRY_NS
        self._reported_up: bool | None = None
        self._reported_ns: int | None = None
        self._failing_ns: int | None = None  # since when it cannot be opened
        self._reason = ""  # as reported
        self._reported_ahead = False
        self._reported_unknown: set[int] = set()  # messages reported

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
        if self._reported_up:
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
            self._notify(f"link {self.config.name} cannot be opened: {why}; retrying")

    def _notice(self, now_ns: int) -> None:
        up = self.port.up(now_ns)
        if up:
            self._reason, self._failing_ns = "", None
        if up == bool(self._reported_up) or (
            self._reported_ns is not None and now_ns - self._reported_ns < REPORT_PERIOD_NS
        ):
            return
        # Clients of a server connect and disconnect normally; for a vehicle a disconnection is a loss.
        visited = self.config.link.listen and self.config.role != "vehicle"
        if not up and not visited:
            self._hub.announce(f"link {self.config.name} lost", self)
        elif self._reported_up is not None and not visited:
            self._hub.announce(f"link {self.config.name} restored", self)
        self._reported_up = up
        self._reported_ns = now_ns

    def report_unknown(self) -> None:
        """Report each message that is in no dialect once, and a wrong clock once."""
        signatures = self.port.signatures
        if signatures is not None and signatures.ahead and not self._reported_ahead:
            self._reported_ahead = True
            self._notify(
                f"link {self.config.name}: frames signed more than a minute ahead of this machine's clock are refused: "
                "set the clock of the sender, or of this machine"
            )
        for peer in self.port.peers:
            for message in peer.wire.unknown_numbers():
                if message not in self._reported_unknown and len(self._reported_unknown) < MOST_UNKNOWN:
                    self._reported_unknown.add(message)
                    self._notify(
                        f"link {self.config.name}: message {message} is in no known MAVLink dialect: not forwarded"
                    )

    def info(self) -> LinkInfo:
        config = self.config
        return LinkInfo(config.name, config.url, config.role, config.protocol, self.statistics.baud)

    def state(self, now_ns: int, holders: frozenset[int]) -> LinkState:
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


def open_links(
    hub: LinkHub,
    config: RouterConfig,
    simulated: SimulatedVehicles,
    unix_ns: Callable[[], int],
    notify: Callable[[str], None],
) -> list[RouterLink]:
    """One link for each endpoint; ConfigError for a configuration that cannot work. Host names are resolved here
    only."""
    links = []
    for number, end in enumerate(config.endpoints):
        set_hz = {number_of(end.protocol, rate.message): rate.hz for rate in config.rates if rate.endpoint == end.name}
        statistics = LinkStatistics(number, end, set_hz, hub.now_ns())
        statistics.hil = number in simulated
        signatures = None
        if end.signing_key_file:
            signatures = Signatures(Path(end.signing_key_file), number & 0xFF, unix_ns)
        try:
            link = end.looked_up()
        except ConfigError as error:
            raise ConfigError(f"endpoint {end.name}: {error}") from None
        if link.listen and link.host and not link.host.startswith("127."):
            notify(f"warning: link {end.name} listens at {link.host}:{link.port}, where other machines can reach it")
        port = _PORTS[link.scheme, link.listen](hub, link, statistics, signatures)
        if end.role == "simulator":
            port.renumbered = Renumbering(FORMATS)
        links.append(RouterLink(hub, end, port, notify))
    return links
