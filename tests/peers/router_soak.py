"""Sixteen endpoints at a router, some of which are cut, stalled and restored at random, and every frame is numbered.

Endpoints talk in pairs, over UDP, TCP and ptys. Half of the pairs are left alone: what they lose is the router's fault.
The others are cut (socket or pty closed) or stalled (nobody reads), one end at a time, by a plan drawn from a seed. In
the end every frame that was sent has been delivered or stands in a counter: of the router, or of the kernel.
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from statistics import linear_regression, median

from aeroloop.flight.routing import RouterStatus, places

from .traffic import FRAME_SIZE, LOCALHOST, frame, free_ports, heartbeat, numbers

TICK_S = 0.004
MARGIN_S = 0.6
"""Around a disturbance: queues fill and drain, peers are found again."""
BACK_S = 0.3
"""Until the router has noticed that a peer is there again."""
SETTLE_S = 2.0
START_S = 20.0
PAIRS = 2 * (("udp-client", "udp"), ("tcp", "tcp"), ("udp", "tcp"), ("pty", "udp"))
"""The second half of them is disturbed."""
CUT, STALLED = "cut", "stalled"
NAME = "soak"
ATTITUDE = 30


@dataclass(frozen=True)
class Disturbance:
    start_s: float
    end_s: float
    endpoint: int
    kind: str


def plan(seconds: float, seed: int) -> list[Disturbance]:
    """One end of a disturbed pair at a time, several pairs at once; all is well at the end."""
    draw = random.Random(seed)
    last_s = seconds - 2 * MARGIN_S
    events = []
    for pair in range(len(PAIRS) // 2, len(PAIRS)):
        t_s = draw.uniform(0.3, 1.0)
        while (end_s := t_s + draw.uniform(0.3, 1.5)) < last_s:
            events.append(Disturbance(t_s, end_s, 2 * pair + draw.randrange(2), draw.choice((CUT, STALLED))))
            t_s = end_s + draw.uniform(0.5, 3.0)
    return events


@dataclass
class Flow:
    """Frames from one endpoint to its partner, as the peers saw it."""

    sent: int = 0
    delivered: int = 0
    twice: int = 0
    garbled: int = 0
    away: int = 0  # sent while nobody was at the other end, or only just
    owed: list[range] = field(default_factory=list)  # numbers that were sent while both ends were well
    seen: bytearray = field(default_factory=bytearray)

    def missing(self) -> int:
        return sum(1 for numbers in self.owed for n in numbers if n >= len(self.seen) or not self.seen[n])


@dataclass(frozen=True)
class Books:
    """One direction of a pair: what the peers and what the router counted."""

    kind: str
    disturbed: bool
    sent: int
    delivered: int
    owed: int
    missing: int  # of those owed
    twice: int
    router_in: int
    router_out: int
    dropped: int
    duplicates: int
    refused: int
    bad: int
    queued: int
    overflow: int  # datagrams that the receiving peer's full buffer cost; one may hold several frames
    away: int  # sent while the receiver was cut
    cuts: int  # of either end

    @property
    def lost_before(self) -> int:
        """Sent, but the router never had it whole: it was on its way when its line was cut."""
        return self.sent - self.router_in

    @property
    def unaccounted(self) -> int:
        """Frames that the router had and that stand nowhere: nobody was there to be sent them."""
        return self.router_in - self.router_out - self.dropped - self.duplicates - self.refused - self.queued

    @property
    def lost_behind(self) -> int:
        """Given to the kernel by the router, and never read: the peer was cut, or had no room."""
        return self.router_out - self.delivered


@dataclass(frozen=True)
class Soak:
    books: list[Books]
    rss_kib: list[tuple[float, float]]
    seconds: float  # that it took
    sent: int
    behind_s: float  # how far the sender fell behind its own clock

    @property
    def rate_hz(self) -> float:
        return self.sent / self.seconds

    def rss_slope_kib_s(self) -> float:
        """Over the second half."""
        late = [(t, kib) for t, kib in self.rss_kib if t > self.seconds / 2]
        return linear_regression(*zip(*late, strict=True)).slope

    def rss_thirds_kib(self) -> tuple[float, float]:
        """Medians of the middle third and of the last."""
        shares = [(t / self.seconds, kib) for t, kib in self.rss_kib]
        return (
            median(kib for share, kib in shares if 1 / 3 < share <= 2 / 3),
            median(kib for share, kib in shares if share > 2 / 3),
        )


class Peer:
    """One far end. `step` gives whole bytes to the transport and takes what has come."""

    def __init__(self, index: int, kind: str, folder: Path, port: int, own_port: int) -> None:
        self.index, self.kind = index, kind
        self.partner = index ^ 1
        self.state = ""
        self.port, self.own_port = port, own_port
        self.path = folder / f"line{index}.pty"
        self.kernel_lost = 0
        self.cuts = 0
        self.number = 0
        self._link: socket.socket | int | None = None
        self._router: tuple[str, int] | None = None
        self._out = bytearray()
        self._open = b""

    @property
    def url(self) -> str:
        match self.kind:
            case "udp-client":
                return f"udp://{LOCALHOST}:{self.own_port}"
            case "udp":
                return f"udp://{LOCALHOST}:{self.port}?listen"
            case "tcp":
                return f"tcp://{LOCALHOST}:{self.port}?listen"
            case _:
                return f"pty://{self.path}"

    @property
    def up(self) -> bool:
        return self._link is not None

    def connect(self) -> None:
        """Tried again with every step until it works."""
        with suppress(OSError, termios.error):
            if self.kind == "pty":
                self._link = os.open(self.path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
                tty.setraw(self._link)
            elif self.kind == "tcp":
                self._link = socket.create_connection((LOCALHOST, self.port), timeout=1.0)
                self._link.setblocking(False)
            else:
                link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                link.bind((LOCALHOST, self.own_port))
                link.setblocking(False)
                self._link = link

    def cut(self) -> None:
        """At once, with whatever is in the buffers."""
        self.cuts += 1
        self._forget_overflow()
        if isinstance(self._link, int):
            os.close(self._link)
        elif self._link is not None:
            self._link.close()
        self._link = None
        self._open = b""
        self.number -= len(self._out) // FRAME_SIZE  # never left this process
        self._out.clear()

    def close(self) -> None:
        self.cut()

    def send(self, frames: list[bytes]) -> int:
        """How many have been given away, now or as what waits here."""
        if isinstance(self._link, socket.socket) and self.kind != "tcp":
            address = (LOCALHOST, self.port) if self.kind == "udp" else self._router
            if address is None:
                return 0
            for done, wire in enumerate(frames):
                try:
                    self._link.sendto(wire, address)
                except OSError:
                    return done
            return len(frames)
        if self._link is None or self._out:
            self._push()
            return 0
        self._out += b"".join(frames)
        self._push()
        return len(frames)

    def receive(self) -> list[bytes]:
        """Whole runs of frames."""
        runs = []
        with suppress(OSError):
            for _ in range(256):
                if self._link is None:
                    break
                if isinstance(self._link, int):
                    chunk = os.read(self._link, 65536)
                elif self.kind == "tcp":
                    chunk = self._link.recv(65536)
                else:
                    chunk, self._router = self._link.recvfrom(65536)
                    runs.append(chunk)
                    continue
                if not chunk:
                    self.cut()  # by the router
                    break
                whole, self._open = _whole_frames(self._open + chunk)
                runs.append(whole)
        return runs

    def _push(self) -> None:
        with suppress(OSError):
            while self._out and self._link is not None:
                done = os.write(self._link, self._out) if isinstance(self._link, int) else self._link.send(self._out)
                del self._out[:done]

    def _forget_overflow(self) -> None:
        """What the kernel threw away for want of room in this socket goes with the socket."""
        if self.kind.startswith("udp") and self._link is not None:
            self.kernel_lost += udp_overflow(self.own_port)

    def overflow(self) -> int:
        return self.kernel_lost + (udp_overflow(self.own_port) if self.kind.startswith("udp") and self.up else 0)


def udp_overflow(port: int) -> int:
    """Datagrams that the socket bound to this port had no room for."""
    wanted = f":{port:04X}"
    for line in Path("/proc/net/udp").read_text().splitlines()[1:]:
        words = line.split()
        if words[1].endswith(wanted):
            return int(words[-1])
    return 0


def _whole_frames(stream: bytes) -> tuple[bytes, bytes]:
    at = 0
    while at + 12 <= len(stream):
        size = 12 + stream[at + 1] + (13 if stream[at + 2] & 1 else 0)
        if at + size > len(stream):
            break
        at += size
    return stream[:at], stream[at:]


def soak(seconds: float, rate_hz: float, seed: int, folder: Path) -> Soak:
    """`rate_hz` frames a second in total, for so long."""
    kinds = list(chain.from_iterable(PAIRS))
    listening = (socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM for kind in kinds)
    ports = free_ports(*listening, *(socket.SOCK_DGRAM for _ in kinds))
    peers = [Peer(i, kind, folder, ports[i], ports[len(kinds) + i]) for i, kind in enumerate(kinds)]
    flows = [Flow() for _ in peers]
    events = plan(seconds, seed)
    with _router(peers, folder) as (process, place):
        watched = RouterStatus(place)
        try:
            _introduce(peers)
            began_s = time.monotonic()
            rss_kib, behind_s = _run(peers, flows, events, seconds, rate_hz / len(peers), process.pid, watched)
            took_s = time.monotonic() - began_s
            _drain(peers, flows, watched)
            books = [_books(peer, peers, flows, watched, events) for peer in peers]
        finally:
            watched.close()
            for peer in peers:
                peer.close()
    return Soak(books, rss_kib, took_s, sum(flow.sent for flow in flows), behind_s)


@contextmanager
def _router(peers: list[Peer], folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    lines = [f'name = "{NAME}-{os.getpid()}"', "timesync_hz = 0.0", "peer_timeout_s = 3600.0"]
    for peer in peers:
        lines += ["[[endpoints]]", f'name = "end{peer.index}"', f'url = "{peer.url}"']
    for peer in peers:
        lines += ["[[forward]]", f'from = "end{peer.index}"', f'to = "end{peer.partner}"']
    lines += ["[[forward]]", 'from = "*"', 'to = "*"', "max_rate_hz = 0.0"]
    config = folder / "soak.toml"
    config.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-c", "from aeroloop.cli.route_commands import main; main()", str(config)]
    with (folder / "router.log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        deadline_s = time.monotonic() + START_S
        while not (found := [p for p in places() if p.name == f"{NAME}-{os.getpid()}"]):
            assert process.poll() is None and time.monotonic() < deadline_s, (folder / "router.log").read_text()
            time.sleep(0.02)
        yield process, found[0].folder
        assert process.poll() is None, (folder / "router.log").read_text()
    finally:
        process.terminate()
        process.wait()


def _introduce(peers: list[Peer]) -> None:
    """Until every peer has a way to the router and the router a way to it, with heartbeats, which are not counted."""
    heard: set[int] = set()
    deadline_s = time.monotonic() + START_S
    round_number = 0
    while len(heard) < len(peers):
        assert time.monotonic() < deadline_s, f"only {sorted(heard)} of {len(peers)} hear their partners"
        for peer in peers:
            if not peer.up:
                peer.connect()
            wire = heartbeat(peer.index + 1, 1, round_number)
            if peer.kind == "udp-client" and peer._router is None:
                # The router's own port is told by its first datagram, which somebody must cause.
                continue
            peer.send([wire])
        time.sleep(0.05)
        for peer in peers:
            if peer.receive():
                heard.add(peer.index)
        round_number += 1
    time.sleep(0.3)
    for peer in peers:
        peer.receive()


def _run(
    peers: list[Peer],
    flows: list[Flow],
    events: list[Disturbance],
    seconds: float,
    rate_hz: float,
    pid: int,
    watched: RouterStatus,
) -> tuple[list[tuple[float, float]], float]:
    pending = sorted(events, key=lambda event: event.start_s, reverse=True)
    current: dict[int, Disturbance] = {}
    rss_kib: list[tuple[float, float]] = []
    ill_times = [_ill_times(events, pair) for pair in range(len(PAIRS))]
    back_s = [-BACK_S] * len(peers)
    began_s = time.monotonic()
    behind_s = next_rss_s = 0.0
    tick = 0
    while (tick := tick + 1) * TICK_S <= seconds:
        wait_s = began_s + tick * TICK_S - time.monotonic()
        behind_s = max(behind_s, -wait_s)
        if wait_s > 0:
            time.sleep(wait_s)
        t_s = time.monotonic() - began_s
        _disturb(peers, pending, current, t_s)
        due = round(rate_hz * tick * TICK_S) - round(rate_hz * (tick - 1) * TICK_S)
        for peer, flow in zip(peers, flows, strict=True):
            well = not any(start_s <= t_s <= end_s for start_s, end_s in ill_times[peer.index // 2])
            done = _send(peer, flow, due, well)
            partner = peers[peer.partner]
            if not partner.up or t_s - back_s[partner.index] < BACK_S:
                flow.away += done
        for peer in peers:
            if not peer.up:
                back_s[peer.index] = t_s
        _take(peers, flows)
        if t_s >= next_rss_s:
            rss_kib.append((t_s, _rss_kib(pid)))
            next_rss_s += 0.25
            watched.look()
    return rss_kib, behind_s


def _disturb(peers: list[Peer], pending: list[Disturbance], current: dict[int, Disturbance], t_s: float) -> None:
    while pending and pending[-1].start_s <= t_s:
        event = pending.pop()
        current[event.endpoint] = event
        peers[event.endpoint].state = event.kind
        if event.kind == CUT:
            peers[event.endpoint].cut()
    for endpoint, event in list(current.items()):
        if t_s >= event.end_s:
            peers[endpoint].state = ""
            del current[endpoint]
    for peer in peers:
        if not peer.up and peer.state != CUT:
            peer.connect()


def _ill_times(events: list[Disturbance], pair: int) -> list[tuple[float, float]]:
    """When one end or the other is disturbed, and for a while before and after."""
    return [(event.start_s - MARGIN_S, event.end_s + MARGIN_S) for event in events if event.endpoint // 2 == pair]


def _send(peer: Peer, flow: Flow, due: int, well: bool) -> int:
    if not peer.up or peer.state == CUT:
        return 0
    first = peer.number
    done = peer.send([frame(number, peer.index + 1) for number in range(first, first + due)])
    peer.number += done
    if well:
        if flow.owed and flow.owed[-1].stop == first:
            flow.owed[-1] = range(flow.owed[-1].start, first + done)
        else:
            flow.owed.append(range(first, first + done))
    return done


def _take(peers: list[Peer], flows: list[Flow]) -> None:
    for peer in peers:
        if peer.state:
            continue
        flow = flows[peer.partner]
        for run in peer.receive():
            for system, number in numbers(run):
                if system != peer.partner + 1:
                    flow.garbled += 1
                    continue
                if number >= len(flow.seen):
                    flow.seen.extend(bytes(number + 4096 - len(flow.seen)))
                flow.twice += flow.seen[number]
                flow.seen[number] = 1
                flow.delivered += 1


def _drain(peers: list[Peer], flows: list[Flow], watched: RouterStatus) -> None:
    end_s = time.monotonic() + SETTLE_S
    while time.monotonic() < end_s:
        for peer in peers:
            peer.send([])
        _take(peers, flows)
        watched.look()
        time.sleep(TICK_S)
    for peer, flow in zip(peers, flows, strict=True):
        flow.sent = peer.number


def _books(peer: Peer, peers: list[Peer], flows: list[Flow], watched: RouterStatus, events: list[Disturbance]) -> Books:
    flow, partner = flows[peer.index], peers[peer.partner]
    line_in, line_out = watched.links[peer.index], watched.links[partner.index]
    counts: Mapping[tuple[int, int, int, int, int], int] = {key: m.count for key, m in watched.messages.items()}
    system = peer.index + 1
    return Books(
        kind=peer.kind,
        disturbed=any(event.endpoint // 2 == peer.index // 2 for event in events),
        sent=flow.sent,
        delivered=flow.delivered,
        owed=sum(map(len, flow.owed)),
        missing=flow.missing(),
        twice=flow.twice + flow.garbled,
        router_in=counts.get((peer.index, 0, system, 1, ATTITUDE), 0),
        router_out=counts.get((partner.index, 1, system, 1, ATTITUDE), 0),
        dropped=line_out.dropped,
        duplicates=line_in.duplicates,
        refused=line_in.refused,
        bad=line_in.bad_checksums,
        queued=line_out.queued,
        overflow=partner.overflow(),
        away=flow.away,
        cuts=peer.cuts + partner.cuts,
    )


def _rss_kib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return float(line.split()[1])
    raise AssertionError("the router has gone")
