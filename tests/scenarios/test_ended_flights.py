"""Flights that somebody ends, as a user ends them."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

from aeroloop.core.errors import EXIT_OK, EXIT_TERMINATED, EXIT_USAGE

if TYPE_CHECKING:
    from conftest import Bench

OPEN = ("fly", "tiltrotor-joystick", "--no-report", "--out", "run")


def test_an_open_ended_flight_is_judged_when_the_command_line_ends_it(bench: Bench) -> None:
    flight = bench.start(*OPEN)
    bench.await_log(0.5)
    ending = bench.run("cmd", "end")
    assert (ending.code, ending.err) == (EXIT_OK, "")
    ended = flight.wait()
    assert ended.code == EXIT_OK, ended.err
    told = json.loads((bench.folder / "run" / "summary.json").read_bytes())
    assert (told["ended"], told["exit_code"], told["ok"]) == ("ended by user (aeroloop cmd end)", EXIT_OK, True)
    assert told["log_truncated"] is False
    nothing = bench.run("cmd", "end")
    assert (nothing.code, nothing.sentence()) == (EXIT_USAGE, "no flight is running")
    bench.assert_clean()


def test_an_open_ended_flight_is_judged_when_ctrl_c_ends_it(bench: Bench) -> None:
    flight = bench.start(*OPEN)
    bench.await_log(0.5)
    flight.process.send_signal(signal.SIGINT)
    ended = flight.wait()
    assert ended.code == EXIT_OK, ended.err
    told = json.loads((bench.folder / "run" / "summary.json").read_bytes())
    assert (told["ended"], told["exit_code"], told["ok"]) == ("ended by user (Ctrl-C)", EXIT_OK, True)
    bench.assert_clean()


def test_a_second_signal_aborts_and_the_log_is_still_reported(bench: Bench) -> None:
    flight = bench.start(*OPEN)
    bench.await_log(0.5)
    children = flight.children().values()
    for number in (signal.SIGINT, signal.SIGTERM):  # of two alike one may be lost
        flight.process.send_signal(number)
    ended = flight.wait()
    bench.await_gone(children)
    assert ended.code == EXIT_TERMINATED, ended.err
    assert "aborted by SIGTERM; for a report of what its log holds: aeroloop report run" in ended.err
    assert not (bench.folder / "run" / "summary.json").exists()
    reported = bench.run("report", "run")
    assert reported.code == EXIT_OK, reported.err
    assert json.loads((bench.folder / "run" / "summary.json").read_bytes())["ended"] == "incomplete"
    bench.assert_clean()
