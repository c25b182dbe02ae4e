"""The fixed wing's board behind a serial line: served by the emulator on a pty, and flown like one on a desk."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from emulation import NO_CHECKS, emulators, end, fly, serve

from aeroloop.core.errors import EXIT_LINK
from aeroloop.links.url import DEFAULT_BAUD
from aeroloop.protocols.interface import GOAL, SENSORS, USER

if TYPE_CHECKING:
    from conftest import Bench, Running

SCENARIO = "fixedwing-hierarchical"
HIL = ("fly", SCENARIO, "--no-report", "--loop", "hil", *NO_CHECKS, "--set", "mission.command_at_s=0.5", "--link")
OPERATOR = 'operator=[{at_s=1.0, command="set", parameter="airspeed_m_s", value=21.0}]'


@pytest.fixture
def served(bench: Bench) -> Iterator[tuple[Running, str]]:
    board, line = serve(bench, SCENARIO)
    yield board, line
    end(bench, board)


def test_a_period_fits_its_line_with_room_to_spare() -> None:
    longest = sum(2 * (message.size + 2) + 2 for message in (SENSORS, GOAL, USER))  # every byte escaped
    assert longest * 10 / DEFAULT_BAUD < 0.1 * 0.05  # on the line, 8N1
    assert longest * 38e-6 < 0.2 * 0.05  # into the emulated UART


def test_a_served_board_plans_and_flies_again_and_falls_silent(bench: Bench, served: tuple[Running, str]) -> None:
    board, line = served
    flown = fly(bench, "first", *HIL, line, "--set", "duration_s=4", "--set", OPERATOR)
    assert (flown.summary["loop"], flown.summary["ended"]) == ("hil", "completed")
    assert flown.summary["board"]["clock"] == "board"
    assert flown.names("board")[0] == "STARTED"
    assert "BOARD_RESTARTED" not in flown.names("plant")
    (plan,) = flown.summary["plans"]
    assert plan["began_s"] == pytest.approx(0.5, abs=0.2)  # in the flight's time, not the board's
    assert plan["took_s"] >= 0.0
    (told,) = flown.summary["operator"]
    assert (told["answer"], told["applied"]) == ("ACCEPTED", 21.0)
    assert flown.log.column("command", "cycle").size > 60
    assert flown.log.column("estimate", "airspeed_m_s")[-1] == pytest.approx(20.0, abs=3.0)
    flight = bench.start(*HIL, line, "--set", "duration_s=600", "--out", "run")
    bench.await_log(0.5)  # without a reset: the board has begun anew by itself
    (emulator,) = emulators(board.process.pid)
    os.kill(emulator, signal.SIGSTOP)
    ended = flight.wait()
    os.kill(emulator, signal.SIGCONT)
    assert ended.code == EXIT_LINK
    assert "the board has sent nothing on serial://" in ended.err
    assert "Traceback" not in ended.err


def test_the_image_for_the_discovery_has_the_schedulers_name(bench: Bench) -> None:
    chosen = ("--set", 'board.scheduler="cooperative"', "--target", "discovery", "--out", "images")
    ended = bench.run("board", "build", SCENARIO, *chosen)
    assert (ended.code, ended.err) == (0, "")
    assert (bench.folder / "images" / "wing-cooperative-uart-discovery.bin").stat().st_size > 10_000
