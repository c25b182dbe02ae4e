"""From writing a sensor request on a pty to having read the whole answer: the plant process against a bare echo.

Both are asked once per control period, half a period apart, by the same code. In between the client flies the
aircraft with the board's law, so the plant is in flight. The client's timer runs a little slow: over a round
its requests meet every phase of the plant's own step.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

from aeroloop.boards.host import HostBoard
from aeroloop.controllers.law.request_shell import build_host_board
from aeroloop.core.scenario_files import find
from aeroloop.core.signals import NS, SENSOR_COUNT, Mode
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario, load_tiltrotor
from aeroloop.protocols.board import REQUEST_FRAME
from aeroloop.protocols.framing import FLAG, encode
from aeroloop.realtime.setup import BOARD_PRIORITY, PLANT_PRIORITY
from benchmarks.flight_processes import PATIENCE_S, FlightProcesses, flight_folder
from benchmarks.measure import Aim, Outcome, row

AIM = Aim(2.0, at_least=False)
DRIFT = 1.003
ORDINARY, FIFO = "ordinary priority", "SCHED_FIFO"
SETTLING_CYCLES = 50

Latencies = tuple[list[float], list[float]]
"""Of the plant and of the echo, in µs."""


def run(quick: bool) -> Outcome:
    rounds, cycles = (1, 40) if quick else (7, 400)
    outcome = Outcome()
    with flight_folder() as folder, bare_echo(encode(bytes(4 * SENSOR_COUNT))) as echo:
        scenario = hil_scenario(folder / "link.pty")
        board, _ = build_host_board(scenario, lambda *_: None)
        with FlightProcesses(folder, scenario, scenario.link_url) as processes:
            processes.start("recorder")
            processes.start("plant")
            client = Client(
                board, folder / "link.pty", echo.path, round(scenario.controller.control.period_s * NS * DRIFT)
            )
            servers = (processes.pids["plant"], echo.pid)
            taken = measure(client, servers, rounds, cycles, outcome.notes)
    for policy, latencies in taken.items():
        plants, echoes = [plant for plant, _ in latencies], [echoed for _, echoed in latencies]
        middle = [median(each) for each in plants], [median(each) for each in echoes]
        tail = [_p99(each) for each in plants], [_p99(each) for each in echoes]
        outcome.rows.append(row(f"median, {policy}", "µs", middle[0], "bare pty echo", middle[1], AIM))
        outcome.rows.append(row(f"99th percentile, {policy}", "µs", tail[0], "bare pty echo", tail[1]))
    return outcome


def measure(
    client: Client, servers: tuple[int, ...], rounds: int, cycles: int, notes: list[str]
) -> dict[str, list[Latencies]]:
    """Rounds at each priority in turn, all in one flight."""
    taken: dict[str, list[Latencies]] = {ORDINARY: []}
    client.start()
    client.fly(SETTLING_CYCLES)
    try:
        set_policy(servers, os.SCHED_FIFO)
        taken[FIFO] = []
    except PermissionError as error:
        notes.append(f"{FIFO} was not measured ({error.strerror}); `aeroloop doctor` says how to get it")
    try:
        for _ in range(rounds):
            for policy, latencies in taken.items():
                set_policy(servers, os.SCHED_FIFO if policy == FIFO else os.SCHED_OTHER)
                latencies.append(client.fly(cycles))
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return taken


def set_policy(servers: tuple[int, ...], policy: int) -> None:
    """Plant and echo alike; the client is what a host board is."""
    fifo = policy == os.SCHED_FIFO
    for pid in servers:
        os.sched_setscheduler(pid, policy, os.sched_param(PLANT_PRIORITY if fifo else 0))
    os.sched_setscheduler(0, policy, os.sched_param(BOARD_PRIORITY if fifo else 0))


class Client:
    """The board's side of both ptys."""

    def __init__(self, board: HostBoard, plant: Path, echo: Path, period_ns: int) -> None:
        self._board = board
        self._plant, self._echo = (os.open(path, os.O_RDWR | os.O_NOCTTY) for path in (plant, echo))
        self._period_ns = period_ns
        self._timer_ns = 0

    def start(self) -> None:
        """The first cycles, not timed: the start message is repeated until the plant listens and answers."""
        deadline_s = time.monotonic() + PATIENCE_S
        while self._board.mode is Mode.WAITING:
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"the plant did not start within {PATIENCE_S:g} s")
            t_ns = self._board.next_timer_ns
            os.write(self._plant, b"".join(self._board.on_timer(t_ns)))
            while select.select([self._plant], [], [], self._period_ns / NS)[0]:
                os.write(self._plant, self._board.on_link(os.read(self._plant, 4096), t_ns))
        self._timer_ns = time.monotonic_ns() + self._period_ns

    def fly(self, cycles: int) -> Latencies:
        plant_us, echo_us = [], []
        for _ in range(cycles):
            t_ns = self._board.next_timer_ns
            request = b"".join(self._board.on_timer(t_ns))
            _sleep_until(self._timer_ns)
            answer, took_us = exchange(self._plant, request)
            plant_us.append(took_us)
            actuators = self._board.on_link(answer, t_ns)
            os.write(self._plant, actuators)
            _sleep_until(self._timer_ns + self._period_ns // 2)
            _, took_us = exchange(self._echo, request)
            echo_us.append(took_us)
            os.write(self._echo, actuators)
            self._timer_ns += self._period_ns
        return plant_us, echo_us


def exchange(fd: int, request: bytes) -> tuple[bytes, float]:
    """(answer, how long it took in µs)."""
    began_ns = time.perf_counter_ns()
    os.write(fd, request)
    answer = _whole_answer(fd)
    return answer, (time.perf_counter_ns() - began_ns) / 1e3


def _whole_answer(fd: int) -> bytes:
    answer = b""
    while answer.count(FLAG) < 2:
        if not select.select([fd], [], [], PATIENCE_S)[0]:
            raise RuntimeError(f"{os.ttyname(fd)}: no answer within {PATIENCE_S:g} s")
        answer += os.read(fd, 4096)
    return answer


def _sleep_until(deadline_ns: int) -> None:
    early_ns = deadline_ns - time.monotonic_ns()
    if early_ns > 0:
        time.sleep(early_ns / NS)


def hil_scenario(pty: Path) -> TiltrotorScenario:
    """A hover in wall time, with the board outside: the plant process does not know that this is a benchmark."""
    changes = ("loop=hil", "pace=real", "ground.source=external", "ground.trajectory.kind=hover", "duration_s=86400")
    return load_tiltrotor(find("tiltrotor-spiral"), (*changes, f"link.url=pty://{pty}"))


class Echo:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.pid = process.pid
        self.path = Path(process.stdout.readline().strip())


@contextmanager
def bare_echo(answer: bytes) -> Iterator[Echo]:
    command = [sys.executable, "-m", "benchmarks.pty_echo", REQUEST_FRAME.hex(), answer.hex()]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield Echo(process)
    finally:
        process.terminate()
        process.wait()


def _p99(values: list[float]) -> float:
    return quantiles(values, n=100, method="inclusive")[98]
