"""The thesis' comparison: the same flight with and without the router between simulator and autopilot.

`quad-mission` in real time over UDP, TCP and a serial pair (a pty), with and without other programs on every core, and
through the router with a ground station that never reads, whose queue is filled by another vehicle. Both ends note when
they send and receive each message (`benchmarks/tap`), on one clock: loss is what was sent and never received, delay the
time from the call that sends to the call that receives. The plant reads once in each step, so that its delay of
actuators is mostly that wait.
"""

from __future__ import annotations

import itertools
import json
import os
import pickle
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import Self

from pymavlink.dialects.v20 import common as dialect
from tests.peers.traffic import LOCALHOST, free_port

import aeroloop
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn, MavlinkOut, Message
from aeroloop.router.config import ROLES
from benchmarks.markdown import table
from benchmarks.measure import Aim, Outcome, row

LINKS = {"UDP": "udp://127.0.0.1:0", "TCP": "tcp://127.0.0.1:0", "serial pair": "pty://"}
DURATION_S = 12.0
HIL_SENSOR, HIL_ACTUATOR_CONTROLS, HIL_GPS = 107, 93, 113
FIELDS = {"IMU": 0x3F, "magnetometer": 0x1C0, "barometer": 0x1A00}
"""Bits of HIL_SENSOR's `fields_updated`, the last four bytes but one of its payload."""
FIELDS_AT = 60
TO_PLANT = ("actuators",)
SIGNALS = (*FIELDS, "GNSS", *TO_PLANT)
SAME_RATE = Aim(0.995, at_least=True)
OTHERS_HZ, BATCH = 5000.0, 25
"""Telemetry for a station that never reads, and how many frames a datagram has."""
DIRECT, ROUTED, STALLED = "direct", "router", "router, a ground station that never reads"
COLUMNS = (
    *("flight", "signal", "set, Hz", "sent, Hz", "error, %", "received, Hz", "error, %"),
    *("lost", "delay, median, ms", "99th percentile, ms"),
)


@dataclass
class Signal:
    """Times in ns by the message's own time, at the end that sends and at the end that receives."""

    sent: dict[int, int] = field(default_factory=dict)
    received: dict[int, int] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """Of what was sent until the receiver stopped reading."""
        last = max(self.received, default=0)
        return sum(t_us <= last and t_us not in self.received for t_us in self.sent)

    @property
    def delays_ms(self) -> list[float]:
        return [(at - self.sent[t_us]) / 1e6 for t_us, at in self.received.items() if t_us in self.sent]


@dataclass(frozen=True)
class Flight:
    signals: dict[str, Signal]
    dropped: int  # frames that the queue of the stalled ground station had no room for
    set_hz: Mapping[str, float]  # by signal, those that have a set rate


def run(quick: bool) -> Outcome:
    outcome = Outcome()
    rates: list[Sequence[str]] = []
    delays: list[Sequence[str]] = []
    links = {"TCP": LINKS["TCP"]} if quick else LINKS
    for name, url in links.items():
        for busy in (0, os.cpu_count() or 1):
            load = "every core busy" if busy else "no load"
            ways = (DIRECT, ROUTED) if quick else (DIRECT, ROUTED, STALLED)
            flown = {way: _flown(url, busy, way, quick) for way in ways}
            for way in ways:
                _note_rates(outcome, f"{name}, {load}, {way}", flown[way].signals)
                rates += by_signal(f"{name}, {load}, {way}", flown[way])
            for way in ways[1:]:
                _note_delays(outcome, f"{name}, {load}, {way}", flown[way].signals, flown[DIRECT].signals)
                besides = way.removeprefix(ROUTED).lstrip(", ")
                delays.append((f"{name}, {load}", besides, *added(flown[DIRECT].signals, flown[way].signals)))
            if STALLED in flown:
                outcome.notes.append(
                    f"{name}, {load}: {flown[STALLED].dropped} frames dropped for the station that never reads"
                )
    outcome.notes.append("rates at both ends, loss and delay of each signal:")
    outcome.notes += table(COLUMNS, rates)
    outcome.notes.append("delay in ms, direct → router: median; 99th percentile:")
    outcome.notes += table(("link and load", "besides", *SIGNALS), delays)
    return outcome


def added(direct: Mapping[str, Signal], ours: Mapping[str, Signal]) -> list[str]:
    """Delay of each signal without and with the router, in ms: medians; 99th percentiles."""
    cells = []
    for signal in SIGNALS:
        pairs = [[of(each[signal].delays_ms) for each in (direct, ours)] for of in (median, _p99)]
        cells.append("; ".join(" → ".join(map(_ms, pair)) for pair in pairs))
    return cells


def _ms(delay: float) -> str:
    return f"{delay:.2f}" if delay < 10.0 else f"{delay:.0f}"


def by_signal(what: str, flight: Flight) -> list[tuple[str, ...]]:
    """Rates at both ends with their errors from the set one, loss and delay of each signal of a flight."""
    cells = []
    for name, signal in flight.signals.items():
        set_hz, delays_ms = flight.set_hz.get(name), signal.delays_ms
        rates: list[str] = []
        for times in (signal.sent, signal.received):
            rate_hz = _rate_hz(times)
            rates += [f"{rate_hz:.2f}", f"{100 * (rate_hz / set_hz - 1):+.3f}" if set_hz else "-"]
        lost = f"{signal.lost} of {len(signal.sent)}"
        delays = [f"{of(delays_ms):.3f}" for of in (median, _p99)]
        cells.append((what, name, f"{set_hz:g}" if set_hz else "-", *rates, lost, *delays))
    return cells


def _note_rates(outcome: Outcome, what: str, flown: dict[str, Signal]) -> None:
    for signal, times in flown.items():
        rates = [_rate_hz(times.received)], [_rate_hz(times.sent)]
        outcome.rows.append(row(f"{what}: {signal}, rate received", "Hz", rates[0], "sent", rates[1], SAME_RATE))
    lost = [f"{signal} {times.lost} of {len(times.sent)}" for signal, times in flown.items()]
    outcome.notes.append(f"{what}, lost: {', '.join(lost)}")


def _note_delays(outcome: Outcome, what: str, ours: dict[str, Signal], direct: dict[str, Signal]) -> None:
    for signal in SIGNALS:
        for statistic, of in (("median", median), ("99th percentile", _p99)):
            delays = [of(each[signal].delays_ms) for each in (ours, direct)]
            words = f"{what}: {signal}, delay, {statistic}"
            outcome.rows.append(row(words, "ms", delays[:1], DIRECT, delays[1:]))


def _dropped(run: Path) -> int:
    links = aeroloop.open_run(run).log["router_link"]
    return int(max(links["dropped"][links["role"] == ROLES.index("observe")]))


def _rate_hz(times: dict[int, int]) -> float:
    span_ns = max(times.values()) - min(times.values())
    return (len(times) - 1) * 1e9 / max(span_ns, 1)


def _p99(values: list[float]) -> float:
    return quantiles(values, n=100)[98]


def _flown(url: str, busy: int, way: str, quick: bool) -> Flight:
    duration_s = 2.0 if quick else DURATION_S
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="aeroloop-bench-"))
        endpoints = stack.enter_context(StalledStation()).endpoints if way == STALLED else ""
        command = [sys.executable, "-m", "aeroloop.cli", "fly", "quad-mission", "--pace", "real", "--no-report"]
        command += ["--link", url, "--out", f"{folder}/run", "--set", f"busy_processes={busy}"]
        command += ["--set", f"duration_s={duration_s}", "--set", "checks=[]", "--set", "autopilot.ground_links=[]"]
        command += ["--set", f"router.hil={str(way != DIRECT).lower()}", "--set", f"router.endpoints=[{endpoints}]"]
        path = os.pathsep.join((str(Path(__file__).with_name("tap")), os.environ.get("PYTHONPATH", "")))
        # A program each: the tap is where an interpreter starts.
        environment = {**os.environ, "AEROLOOP_TAP": folder, "PYTHONPATH": path, "AEROLOOP_NO_FORK": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        flown = signals(Path(folder) / "plant.pickle", Path(folder) / "board.pickle")
        run = Path(folder) / "run"
        summary = json.loads((run / "summary.json").read_text("utf-8"))
        set_hz = {rate["signal"]: rate["set_hz"] for rate in summary["rates"] if rate["set_hz"]}
        return Flight(flown, _dropped(run) if way == STALLED else 0, set_hz)


class StalledStation:
    """A TCP client of the router that reads nothing, and another vehicle whose telemetry fills its queue."""

    def __init__(self) -> None:
        self._port, self._other_port = free_port(), free_port()
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._stall, self._send)]

    @property
    def endpoints(self) -> str:
        stalled = f'{{name="stalled", url="tcp://127.0.0.1:{self._port}?listen", role="observe", queue_frames=64}}'
        return f'{stalled}, {{name="other", url="udp://127.0.0.1:{self._other_port}?listen", role="vehicle"}}'

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _stall(self) -> None:
        with socket.socket() as station:
            station.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            while not self._ended.wait(0.05) and station.connect_ex((LOCALHOST, self._port)):
                pass
            self._ended.wait()

    def _send(self) -> None:
        out = MavlinkOut(MavlinkCounters(), 9, 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as vehicle:
            vehicle.connect((LOCALHOST, self._other_port))
            for turn in itertools.count():
                if self._ended.wait(BATCH / OTHERS_HZ):
                    return
                batch = [attitude(turn * BATCH + n) for n in range(BATCH)]
                with suppress(ConnectionRefusedError):  # the flight has not begun
                    vehicle.send(b"".join(map(out.pack, batch)))


def attitude(t_ms: int) -> Message:
    return dialect.MAVLink_attitude_message(t_ms, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)


def signals(plant: Path, board: Path) -> dict[str, Signal]:
    """What crossed the HIL link, from the notes of both ends."""
    found = {signal: Signal() for signal in SIGNALS}
    for path, sends in ((plant, frozenset(found) - set(TO_PLANT)), (board, frozenset(TO_PLANT))):
        parsers = {True: MavlinkIn(MavlinkCounters()), False: MavlinkIn(MavlinkCounters())}
        for t_ns, is_sent, data in pickle.loads(path.read_bytes()):
            for frame in parsers[is_sent].feed(data):
                for signal in _signals_of(frame.msg_id, frame.payload):
                    if (signal in sends) is is_sent:
                        (t_us,) = struct.unpack_from("<Q", frame.payload)
                        times = found[signal].sent if is_sent else found[signal].received
                        times.setdefault(t_us, t_ns)
    return found


def _signals_of(message: int, payload: bytes) -> list[str]:
    if message == HIL_SENSOR:
        (updated,) = struct.unpack_from("<I", payload, FIELDS_AT)
        return [signal for signal, bits in FIELDS.items() if updated & bits]
    return {HIL_GPS: ["GNSS"], HIL_ACTUATOR_CONTROLS: ["actuators"]}.get(message, [])
