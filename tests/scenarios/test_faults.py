"""A flight that is broken off, by whatever: everything stops, the log holds what was flown, the exit code tells."""

from __future__ import annotations

import json
import os
import pty
import random
import select
import signal
import time
import tty
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest
from tiltrotor_scenarios import tiltrotor

from aeroloop.core.errors import EXIT_INTERRUPTED, EXIT_LINK, EXIT_OK, EXIT_USAGE, LinkError
from aeroloop.families.tiltrotor.build import build_world
from aeroloop.families.tiltrotor.design import parameter_file
from aeroloop.flight.results import LOG, SUMMARY
from aeroloop.links.base import Link
from aeroloop.links.open import open_link
from aeroloop.protocols.board import BoardEnd
from aeroloop.protocols.framing import encode
from aeroloop.protocols.interface import BARE_START

if TYPE_CHECKING:
    from conftest import Bench, Ended, Running

REAL = ("fly", "tiltrotor-spiral", "--no-report", "--pace", "real", "--link", "pty://", "--out", "run")
LONG = ("fly", "tiltrotor-spiral", "--no-report", "--set", "duration_s=86400", "--out", "run")
HIL = ("fly", "tiltrotor-joystick", "--no-report", "--loop", "hil", "--out", "run", "--link")
SIGTERM_CODE = 128 + signal.SIGTERM
LOG_GAP_S = 1.0
"""The log may lack this much before the event."""


def summary(bench: Bench) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((bench.folder / "run" / SUMMARY).read_bytes())
    return result


def strike(bench: Bench, flight: Running, target: str, number: int) -> Ended:
    """Send a signal to a process of a real-time flight; how the flight ends, with everything cleaned up."""
    bench.await_clock(1.5)
    children = flight.children()
    assert set(children) == {"recorder", "plant", "board", "ground"}
    pid = flight.process.pid if target == "supervisor" else children[target]
    reached_s = bench.clock_s()
    began_s = time.monotonic()
    os.kill(pid, number)
    down_s = bench.await_gone(children.values())
    ended = flight.wait()
    print(f"{signal.Signals(number).name} of {target}: down in {down_s:.2f} s (promised: 2 s), ", end="")
    print(f"command ended after {time.monotonic() - began_s:.2f} s, ", end="")
    print(f"log up to {bench.logged_s():.2f} s, flown {reached_s:.2f} s")
    assert bench.logged_s() > reached_s - LOG_GAP_S
    assert "Traceback" not in ended.err, ended.err
    return ended


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, EXIT_INTERRUPTED), (signal.SIGTERM, SIGTERM_CODE)], ids=["SIGINT", "SIGTERM"]
)
def test_a_real_time_flight_can_be_interrupted(bench: Bench, number: signal.Signals, code: int) -> None:
    ended = strike(bench, bench.start(*REAL), "supervisor", number)
    assert ended.code == code, ended.err
    by = "Ctrl-C" if number == signal.SIGINT else number.name
    assert f"ended by user ({by})" in ended.out
    told = summary(bench)
    assert (told["ended"], told["exit_code"], told["ok"]) == (f"ended by user ({by})", code, False)
    assert told["log_truncated"] is False
    bench.assert_clean()


@pytest.mark.parametrize(
    "role", ["board", "recorder", *(pytest.param(role, marks=pytest.mark.soak) for role in ("plant", "ground"))]
)
def test_a_process_that_is_killed_ends_the_flight_and_is_named(bench: Bench, role: str) -> None:
    ended = strike(bench, bench.start(*REAL), role, signal.SIGKILL)
    assert ended.code == EXIT_LINK, ended.err
    assert ended.sentence() == f"the {role} process was killed by SIGKILL"
    told = summary(bench)
    assert (told["ended"], told["error"], told["exit_code"]) == ("failed", ended.sentence(), EXIT_LINK)
    bench.assert_clean()


@pytest.mark.parametrize("role", ["ground", pytest.param("recorder", marks=pytest.mark.soak)])
def test_a_process_that_leaves_in_flight_ends_it_too(bench: Bench, role: str) -> None:
    ended = strike(bench, bench.start(*REAL), role, signal.SIGTERM)
    assert ended.code == EXIT_LINK, ended.err
    assert ended.sentence() == f"the {role} process ended before the flight did"
    bench.assert_clean()


def test_a_board_that_freezes_is_a_silent_link(bench: Bench) -> None:
    # On a path the aircraft may be out of bounds half a second later, before the silence counts; a hover lasts.
    hover = ("--set", 'ground.trajectory.kind="hover"', "--set", "link.silence_s=0.5")
    ended = strike(bench, bench.start(*REAL, *hover), "board", signal.SIGSTOP)
    assert ended.code == EXIT_LINK, ended.err
    assert "the board has sent nothing on pty://" in ended.sentence()
    assert summary(bench)["error"] == ended.sentence()
    bench.assert_clean()


def test_without_its_supervisor_no_process_stays(bench: Bench) -> None:
    """Nobody is left to write a summary: the log is whole, and the next flight clears away what lies about."""
    flight = bench.start(*REAL)
    strike(bench, flight, "supervisor", signal.SIGKILL)
    assert not (bench.folder / "run" / SUMMARY).exists()
    assert bench.log().truncated is False
    reported = bench.run("report", "run")
    assert (reported.code, reported.out.strip()) == (EXIT_OK, "run/report.html"), reported.err
    told = summary(bench)
    assert (told["ended"], told["exit_code"], told["ok"]) == ("incomplete", EXIT_LINK, False)
    assert "incomplete" in (bench.folder / "run" / "report.html").read_text()
    refusal = bench.run("base-station")
    assert refusal.code == EXIT_USAGE
    assert "no flight is running" in refusal.sentence()
    again = bench.run("fly", "tiltrotor-spiral", "--set", "duration_s=0.5", "--set", "checks=[]", "--out", "again")
    assert (again.code, again.err) == (EXIT_OK, "")
    bench.assert_clean()


def test_a_lockstep_flight_can_be_interrupted(bench: Bench) -> None:
    flight = bench.start(*LONG)
    logged_s = bench.await_log(5.0)
    children = flight.children().values()
    flight.process.send_signal(signal.SIGINT)
    bench.await_gone(children)
    ended = flight.wait()
    assert (ended.code, ended.err) == (EXIT_INTERRUPTED, "")
    assert summary(bench)["ended"] == "ended by user (Ctrl-C)"
    assert summary(bench)["metrics"]["flown_s"] == bench.logged_s() >= logged_s
    bench.assert_clean()


def test_a_lockstep_flight_does_not_wait_for_a_dead_recorder(bench: Bench) -> None:
    flight = bench.start(*LONG)
    logged_s = bench.await_log(2.0)
    children = flight.children()
    os.kill(children["recorder"], signal.SIGKILL)
    bench.await_gone(children.values())
    ended = flight.wait()
    assert ended.code == EXIT_LINK, ended.err
    assert ended.sentence() == "the recorder process was killed by SIGKILL"
    assert summary(bench)["log_truncated"] is True
    assert bench.logged_s() >= logged_s
    bench.assert_clean()


class PlayedBoard:
    """The board outside, played by the test: whatever it measures, it commands the hover."""

    def __init__(self) -> None:
        self._end = BoardEnd(parameter_file().plausible.sensors, lambda index: None)
        _, self._hover = build_world(tiltrotor(name="hover"))
        self.cycles = 0

    def play(self, link: Link, more: Callable[[], bool], noise: Callable[[], bytes] = bytes) -> None:
        """A cycle every 12 ms: request, answer, actuators, with noise between the frames; like the paper's board
        it does not say what it is, and repeats its start message until it is answered."""
        while more():
            start = b"" if self.cycles else encode(BARE_START)
            link.send(noise() + start + self._end.request() + noise())
            due_s = time.monotonic() + 0.012
            while (left_s := due_s - time.monotonic()) > 0:
                if select.select([link.fileno()], [], [], left_s)[0] and self._end.receive(link.poll()):
                    self.cycles += 1
                    link.send(self._end.actuators(self._hover))


class MasterEnd:
    """The far end of a serial line: the master of a pty whose slave is the flight's port."""

    url = "pty master"

    def __init__(self) -> None:
        self._fd, slave = pty.openpty()
        tty.setraw(slave)
        self.port = os.ttyname(slave)
        self._slave = slave

    def fileno(self) -> int:
        return self._fd

    def send(self, data: bytes) -> None:
        os.write(self._fd, data)

    def poll(self) -> bytes:
        return os.read(self._fd, 65536)

    def next_due_ns(self) -> None:
        return None

    def close(self) -> None:
        os.close(self._slave)
        os.close(self._fd)


def test_a_board_that_is_unplugged_ends_the_flight(bench: Bench) -> None:
    line, board = MasterEnd(), PlayedBoard()
    flight = bench.start(*HIL, f"serial://{line.port}")
    board.play(line, more=lambda: board.cycles < 80 and flight.process.poll() is None)
    children = flight.children()
    reached_s = bench.clock_s()
    line.close()
    bench.await_gone(children.values())
    ended = flight.wait()
    assert ended.code == EXIT_LINK, ended.err
    board_waits, waits, sentence = ended.err.splitlines()
    assert f"waits for the board on serial://{line.port}" in board_waits
    assert "waits for references" in waits
    assert line.port in sentence
    assert "Traceback" not in ended.err
    assert line.port in summary(bench)["error"]
    assert bench.logged_s() > reached_s - LOG_GAP_S
    bench.assert_clean()


def test_megabytes_of_garbage_between_the_frames_do_not_bring_it_down(bench: Bench) -> None:
    rng = random.Random(1)
    flight = bench.start(*HIL, "tcp://127.0.0.1:0", "--set", "duration_s=2", "--json")
    orders = json.loads((bench.flight() / "launch.json").read_bytes())
    link, board = open_link(orders["link_client"]), PlayedBoard()
    with closing(link), suppress(LinkError):  # the plant closes it when the flight is over
        board.play(link, more=lambda: flight.process.poll() is None, noise=lambda: rng.randbytes(6000))
    ended = flight.wait()
    assert ended.code == EXIT_OK, ended.err
    told = json.loads(ended.out)
    assert told["ended"] == "completed"
    counters = told["links"]["link"]
    print(f"{board.cycles} cycles, {counters}")
    assert counters["bytes_in"] > 1_000_000
    assert counters["malformed"] > 100
    assert counters["bad_checksums"] > 100
    assert counters["frames_in"] > 100
    bench.assert_clean()


def test_a_board_that_never_speaks(bench: Bench) -> None:
    line = MasterEnd()
    ended = bench.run(*HIL, f"serial://{line.port}", "--set", "link.start_timeout_s=0.5")
    line.close()
    assert ended.code == EXIT_LINK, ended.err
    assert f"no start message from the board over serial://{line.port} within 0.5 s" in ended.err
    assert (bench.folder / "run" / LOG).exists()
    bench.assert_clean()
