"""One vehicle, many ground stations: our router against MAVProxy, and against a bare pair of UDP sockets.

The vehicle sends ATTITUDE, one frame per datagram, to the router's one port; every endpoint is a UDP socket that gets
all of them. The bare pair is no router at all: the vehicle's socket sends to each endpoint itself, within one process.
All three are up at the same time and take turns; the same code sends to them and receives from them.

- Throughput: 128 frames are kept under way, the next is sent when the slowest endpoint has had one. So nobody is
  flooded, nobody waits for a timer, and what is lost is noticed.
- Latency: one frame at a time into an idle router, until the last endpoint has it. What the bare pair needs is
  subtracted from what a router adds; the process switches that a router costs are its own.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from statistics import median, quantiles

from tests.peers.traffic import (
    LOCALHOST,
    Send,
    await_passage,
    frame,
    frames,
    free_port,
    heartbeat,
    latencies_ns,
    receiver,
    throughput,
)

from aeroloop.realtime.setup import die_with_parent, end
from benchmarks.flight_processes import PATIENCE_S
from benchmarks.measure import Aim, Outcome, row

OURS, MAVPROXY, BARE = "aeroloop", "MAVProxy", "bare UDP pair"
ENDPOINTS = (1, 4, 16)
FEW = (1, 4)
AIM_THROUGHPUT = Aim(10.0, at_least=True)
AIM_COST = Aim(1.0, at_least=False)
AIM_ALLOWED = Aim(1.0, at_least=False)
ALLOWED_US = 300.0
RESOLUTION_US = 0.1
GAP_S = 0.002
STOCK = 1 << 16
"""Different frames: a router drops those that it has seen before."""


class Contestant:
    """Somewhere to send frames to, and the sockets where they come out."""

    def __init__(self, endpoints: int) -> None:
        self.receivers = [receiver() for _ in range(endpoints)]
        self.ports = [int(sock.getsockname()[1]) for sock in self.receivers]
        self.port = free_port()
        self.lost = 0
        self.pid = 0
        self._vehicle = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.send: Send = self._vehicle.send
        self._next = 0

    def connect(self) -> None:
        self._vehicle.connect((LOCALHOST, self.port))
        await_passage(self._hello, self.receivers, PATIENCE_S)

    def _hello(self, number: int) -> None:
        with suppress(ConnectionRefusedError):  # nobody has opened the port yet
            self.send(heartbeat(number=2 * number))
            self.send(frame(2 * number + 1))

    def rate(self, stock: list[bytes], seconds: float) -> tuple[float, float]:
        """Frames a second, and the router's processor time for each, in µs."""
        first, before_ns = self._next, self._busy_ns()
        got, self._next = throughput(self.send, self.receivers, stock, first, seconds)
        self.lost += got.lost
        return got.rate_hz, (self._busy_ns() - before_ns) / 1000 / (self._next - first)

    def _busy_ns(self) -> int:
        """What all threads of the router's process have had of the processors."""
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat") if self.pid else ()
        return sum(int(path.read_text().split()[0]) for path in tasks)

    def latencies_us(self, stock: list[bytes], count: int) -> list[float]:
        taken, self._next = latencies_ns(self.send, self.receivers, stock, self._next, count, GAP_S)
        return [ns / 1000 for ns in taken]

    def close(self) -> None:
        for sock in (self._vehicle, *self.receivers):
            sock.close()


class Bare(Contestant):
    """The vehicle has a socket for every endpoint."""

    def __init__(self, endpoints: int) -> None:
        super().__init__(endpoints)
        self._direct = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in self.ports]
        for sock, port in zip(self._direct, self.ports, strict=True):
            sock.connect((LOCALHOST, port))
        self.send = self._send_to_each

    def _send_to_each(self, wire: bytes) -> None:
        for sock in self._direct:
            sock.send(wire)

    def connect(self) -> None:
        pass

    def close(self) -> None:
        super().close()
        for sock in self._direct:
            sock.close()


def run(quick: bool) -> Outcome:
    rounds, seconds, samples = (1, 0.2, 20) if quick else (7, 1.0, 150)
    stock = frames(STOCK)
    outcome = Outcome()
    costs: dict[int, list[float]] = {}
    chosen = FEW if quick else ENDPOINTS
    for endpoints in chosen:
        with arena(endpoints) as contestants:
            costs[endpoints] = _measure(contestants, endpoints, rounds, seconds, samples, stock, outcome)
    few, many = chosen[0], chosen[-1]
    what = f"processor time of a frame at one of {many} endpoints"
    outcome.rows.append(row(what, "µs", costs[many], f"{OURS}, {few} endpoint", costs[few], AIM_COST))
    outcome.notes.append("128 frames of 40 bytes under way, one per datagram; a frame counts when all have had it")
    return outcome


def _measure(
    contestants: Mapping[str, Contestant],
    endpoints: int,
    rounds: int,
    seconds: float,
    samples: int,
    stock: list[bytes],
    outcome: Outcome,
) -> list[float]:
    """Our router's processor time for a frame at one endpoint, round by round."""
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    costs: dict[str, list[float]] = {name: [] for name in contestants}
    waits: dict[str, list[list[float]]] = {name: [] for name in contestants}
    for index in range(rounds):
        order = list(contestants) if index % 2 == 0 else list(contestants)[::-1]
        for name in order:
            rate_hz, cost_us = contestants[name].rate(stock, seconds)
            rates[name].append(rate_hz)
            costs[name].append(cost_us)
        for name in order:
            waits[name].append(contestants[name].latencies_us(stock, samples))
    name = f"{endpoints} endpoint{'s' if endpoints > 1 else ''}"
    outcome.rows.append(row(f"{name}, frames", "/s", rates[OURS], MAVPROXY, rates[MAVPROXY], AIM_THROUGHPUT))
    outcome.rows.append(row(f"{name}, frames, no router", "/s", rates[OURS], BARE, rates[BARE]))
    outcome.rows.append(row(f"{name}, processor time of a frame", "µs", costs[OURS], MAVPROXY, costs[MAVPROXY]))
    spent = {who: [median(each) for each in waits[who]] for who in contestants}
    tail = {who: [_p99(each) for each in waits[who]] for who in contestants}
    added = [max(mine - bare, RESOLUTION_US) for mine, bare in zip(spent[OURS], spent[BARE], strict=True)]
    allowed = [ALLOWED_US] * rounds
    outcome.rows.append(row(f"{name}, added latency, median", "µs", added, "allowed", allowed, AIM_ALLOWED))
    for peer, words in ((MAVPROXY, ""), (BARE, ", no router")):
        outcome.rows.append(row(f"{name}, latency{words}, median", "µs", spent[OURS], peer, spent[peer]))
        outcome.rows.append(row(f"{name}, latency{words}, 99th percentile", "µs", tail[OURS], peer, tail[peer]))
    for who, contestant in contestants.items():
        sent = sum(rates[who]) * seconds * endpoints
        if contestant.lost:
            outcome.notes.append(f"{name}: {who} lost {contestant.lost} frames ({100 * contestant.lost / sent:.3g} %)")
    return [cost / endpoints for cost in costs[OURS]]


def _p99(values: list[float]) -> float:
    return quantiles(values, n=100)[98]


@contextmanager
def arena(endpoints: int) -> Iterator[dict[str, Contestant]]:
    """All three, ready; nothing of them stays."""
    contestants = {OURS: Contestant(endpoints), MAVPROXY: Contestant(endpoints), BARE: Bare(endpoints)}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for contestant in contestants.values():
            stack.callback(contestant.close)
        commands = {OURS: _our_command(contestants[OURS], folder), MAVPROXY: _mavproxy_command(contestants[MAVPROXY])}
        for name, command in commands.items():
            contestants[name].pid = stack.enter_context(_program(command, folder))
        for contestant in contestants.values():
            contestant.connect()
        yield contestants


def _our_command(contestant: Contestant, folder: Path) -> list[str]:
    lines = ['name = "benchmark"', *_endpoint("vehicle", f"udp://{LOCALHOST}:{contestant.port}?listen", "vehicle")]
    for index, port in enumerate(contestant.ports):
        lines += _endpoint(f"ground{index}", f"udp://{LOCALHOST}:{port}", "command")
    path = folder / "router.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [sys.executable, "-c", "from aeroloop.cli.route_commands import main; main()", str(path)]


def _endpoint(name: str, url: str, role: str) -> list[str]:
    return ["[[endpoints]]", f'name = "{name}"', f'url = "{url}"', f'role = "{role}"']


def _mavproxy_command(contestant: Contestant) -> list[str]:
    """Without modules, logs and its own requests: only what passes frames on."""
    outs = chain.from_iterable(("--out", f"udp:{LOCALHOST}:{port}") for port in contestant.ports)
    return [
        *(sys.executable, "-m", "MAVProxy.mavproxy", f"--master=udpin:{LOCALHOST}:{contestant.port}"),
        *("--non-interactive", "--no-state", "--default-modules=", "--streamrate=-1", *outs),
    ]


@contextmanager
def _program(command: list[str], folder: Path) -> Iterator[int]:
    """Its process id, while it runs."""
    with (folder / f"{Path(command[-1]).name}.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=_ended_with_us
        )
    try:
        yield process.pid
    finally:
        end(process, PATIENCE_S)


def _ended_with_us() -> None:
    die_with_parent(signal.SIGTERM)
