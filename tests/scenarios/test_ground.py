"""The ground side in another terminal: who may drive a flight, one at a time, and what comes of it."""

from __future__ import annotations

import json
import math
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from aeroloop.core.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE
from aeroloop.core.signals import Event

if TYPE_CHECKING:
    from conftest import Bench

OPEN_FLIGHT = ("fly", "tiltrotor-joystick", "--no-report", "--out", "run", "--set")
SLOW = "0.25x"  # programs that start beside it may hold up the plant for some ms
CIRCLE = ("base-station", "--trajectory", "circle", "--set", "radius_m=1")
HEADER = '{"axes":{"ABS_X":[-100,100],"ABS_Y":[-100,100],"ABS_RX":[-100,100],"ABS_RY":[-100,100]}}\n'
CLIMB_M_S = 1.0
"""Full deflection of the up axis, in the map that ships."""


def recording(folder: Path, *events: str) -> str:
    path = folder / "flown.stick"
    path.write_text(HEADER + "".join(f"{event}\n" for event in events))
    return str(path)


def summary(bench: Bench, run: str = "run") -> dict[str, Any]:
    result: dict[str, Any] = json.loads((bench.folder / run / "summary.json").read_bytes())
    return result


def test_a_base_station_in_another_terminal_drives_the_flight(bench: Bench) -> None:
    flight = bench.start(*OPEN_FLIGHT, "duration_s=16")
    flight.says("waits for references")
    station = bench.start("base-station", "--trajectory", "circle")
    station.says("base-station sends to")
    ended, left = flight.wait(), station.wait()
    assert ended.code == EXIT_OK, ended.err
    assert summary(bench)["ended"] == "completed"
    assert left.code == EXIT_OK, left.err
    assert left.err.endswith("the flight has ended\n")
    log = bench.log()
    t_s, path_W = log.column("setpoint", "t_s"), log.rows["setpoint"][:, 2:5]
    assert np.all(np.diff(t_s) > 0)
    # It joins where the aircraft hovers and leads it to the circle without a jump: 3 m away, and a metre higher.
    assert path_W[0] == pytest.approx((0, 0, 2), abs=0.05)
    assert np.max(np.abs(np.diff(path_W, axis=0)).max(axis=1) / np.diff(t_s)) < 3.0
    assert np.hypot(path_W[-1, 0], path_W[-1, 1]) == pytest.approx(3.0, abs=1e-6)
    assert path_W[-1, 2] == pytest.approx(3.0)
    assert log.column("truth", "z_m")[-1] == pytest.approx(3.0, abs=0.2)
    assert summary(bench)["metrics"]["roll_max_deg"] < 20
    assert summary(bench)["metrics"]["log_lost_rows"] == 0
    bench.assert_clean()


def test_only_one_drives_and_the_next_may_take_over(bench: Bench) -> None:
    stick = recording(bench.folder, "0,ABS_Y,-100")
    flight = bench.start(*OPEN_FLIGHT, "duration_s=120", "--pace", SLOW)
    flight.says("waits for references")
    station = bench.start(*CIRCLE)
    station.says("base-station sends to")

    second = bench.run("joystick", "--recording", stick)
    assert second.code == EXIT_USAGE, second.err
    assert f"used by base-station (process {station.process.pid})" in second.sentence()
    assert station.process.poll() is None, station.err

    station.process.send_signal(signal.SIGINT)
    left = station.wait()
    assert left.code == EXIT_OK, left.err
    assert left.err.splitlines()[1:] == ["stopped"]
    assert flight.process.poll() is None, flight.err
    bench.await_clock(bench.clock_s() + 1.0)  # a silence that the board notices, however fast the next one starts

    pilot = bench.start("joystick", "--recording", stick)
    pilot.says("joystick sends to")
    bench.await_clock(bench.clock_s() + 1.0)
    assert flight.process.poll() is None, flight.err
    flight.process.send_signal(signal.SIGINT)
    ended, landed = flight.wait(), pilot.wait()
    assert ended.code == EXIT_OK, ended.err  # open-ended: judged by its checks
    assert landed.code == EXIT_OK, landed.err
    assert landed.err.endswith("the flight has ended\n")

    rows = bench.log().rows["setpoint"]
    first_of_stick = int(np.argmax(np.diff(rows[:, 0]))) + 1  # after the longest silence
    assert 1 < first_of_stick < len(rows) - 10
    # The stick takes over from where the aircraft is, and goes straight up from there.
    assert np.ptp(rows[first_of_stick:, 2:4], axis=0) == pytest.approx((0, 0), abs=1e-6)
    assert rows[first_of_stick, 2:5] == pytest.approx(rows[first_of_stick - 1, 2:5], abs=0.5)
    climbed_m = rows[-1, 4] - rows[first_of_stick, 4]
    assert climbed_m == pytest.approx(CLIMB_M_S * (rows[-1, 0] - rows[first_of_stick, 0]), rel=1e-6)
    events = bench.log().column("board_event", "code")
    assert Event.REFERENCE_BACK in events
    bench.assert_clean()


def test_a_flight_with_its_own_base_station_refuses_another(bench: Bench) -> None:
    flight = bench.start("fly", "tiltrotor-spiral", "--pace", "real", "--out", "run")
    bench.await_clock(0.5)
    ground = flight.children()["ground"]
    refusal = bench.run(*CIRCLE)
    assert refusal.code == EXIT_USAGE, refusal.err
    assert f"used by base-station (process {ground})" in refusal.sentence()
    assert flight.process.poll() is None, flight.err
    flight.process.send_signal(signal.SIGINT)
    assert flight.wait().code == EXIT_INTERRUPTED
    assert np.all(np.diff(bench.log().column("setpoint", "t_s")) > 0)
    bench.assert_clean()


@pytest.mark.parametrize("command", ["base-station", "joystick"])
def test_without_a_flight_there_is_nothing_to_drive(bench: Bench, command: str) -> None:
    ended = bench.run(command)
    assert ended.code == EXIT_USAGE
    assert ended.sentence() == "no flight is running; start one: aeroloop fly tiltrotor-joystick"
    assert "no such flight is running" in bench.run(command, "--flight", "abcd").sentence()


def test_a_flight_with_an_autopilot_takes_no_references(bench: Bench) -> None:
    """Nobody need come for that: it is enough that it waits for one."""
    waiting = bench.start("fly", "quad-px4", "--no-report", "--pace", "real", "--link", "udp://127.0.0.1:9")
    waiting.says("waits for an autopilot")
    for command in ("base-station", "joystick"):
        refused = bench.run(command)
        assert refused.code == EXIT_USAGE
        assert "the running flight, quad-px4, takes no references" in refused.sentence()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("base-station", "--trajectory", "zigzag"), ("trajectory.kind", "'zigzag'", "lemniscate")),
        (("base-station", "--trajectory", "circle", "--set", "radius_m=-1"), ("trajectory.radius_m", "> 0")),
        (("base-station", "--trajectory", "waypoints", "--set", "file=none.csv"), ("none.csv", "cannot be read")),
        (("joystick", "--recording", "none.stick"), ("none.stick", "cannot be read")),
        (("joystick", "--map", "none.toml", "--recording", "flown.stick"), ("none.toml", "cannot be read")),
    ],
)
def test_a_driver_that_cannot_is_told_why_and_the_flight_goes_on(
    shared_bench: Bench, args: tuple[str, ...], words: tuple[str, ...]
) -> None:
    recording(shared_bench.folder)
    if not (shared_bench.folder / "run").exists():
        shared_bench.start(*OPEN_FLIGHT, "duration_s=600").says("waits for references")
    ended = shared_bench.run(*args)
    assert ended.code == EXIT_USAGE, ended.err
    sentence = ended.sentence()
    assert [word for word in words if word not in sentence] == [], sentence
    reached_s = shared_bench.clock_s()
    shared_bench.await_clock(reached_s + 0.1)


@pytest.mark.soak  # short: quad-manual among the recorded flights
def test_a_recorded_stick_flies_the_same_in_lockstep_every_time(bench: Bench) -> None:
    stick = recording(bench.folder, "1,ABS_RY,-100", "3,ABS_RY,0", "3,ABS_Y,-100", "4,ABS_Y,0")
    args = ("fly", "tiltrotor-joystick", "--pace", "lockstep", "--set", "duration_s=10")
    args += ("--set", "ground.source=joystick", "--set", f"ground.joystick_recording={stick}")
    for run in ("one", "two"):
        ended = bench.run(*args, "--out", run)
        assert ended.code == EXIT_OK, ended.err
    assert summary(bench, "one")["log_sha256"] == summary(bench, "two")["log_sha256"]

    log = bench.log("one")
    moved_m = {
        stream: [log.column(stream, axis)[-1] - log.column(stream, axis)[0] for axis in ("x_m", "y_m", "z_m")]
        for stream in ("setpoint", "truth")
    }
    # Two seconds forward at 1.5 m/s, then one second up at 1 m/s; an event counts from the next cycle of 12 ms.
    assert moved_m["setpoint"] == pytest.approx([3.0, 0.0, 1.0], abs=0.02)
    assert math.dist(moved_m["truth"], moved_m["setpoint"]) < 0.3
    bench.assert_clean()
