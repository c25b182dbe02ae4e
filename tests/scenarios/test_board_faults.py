"""What goes wrong on the emulated board and on its line: the reaction of both sides, and what the summary says.

Then what goes wrong with the emulator itself: exit code 3, a sentence that names it, and nothing left behind.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from emulation import PIL, Flown, emulators, fly, pil, play_program, without_programs

from aeroloop.core.errors import EXIT_LINK
from aeroloop.core.scenario_files import find
from aeroloop.core.signals import WATCHDOG_PERIODS, ResetCause
from aeroloop.families.tiltrotor.design import design
from aeroloop.families.tiltrotor.scenario import load_tiltrotor

if TYPE_CHECKING:
    from conftest import Bench, Ended, Running

PERIOD_S = 0.012
FAULT_S = 3.0  # a multiple of the period
SINGLE = 1e-6  # of a value that crossed the wire
LOG_GAP_S = 1.0

NOT_FINITE_LAW = '''
import casadi as ca

from aeroloop.control import toolkit as tk


def law(design):
    """The LQR, but for NOT_FINITE cycles from the 100th on its third value is none."""
    sensors, reference, memory = tk.inputs(memory=5)
    error = tk.error(sensors, reference, design.state_eq)
    integral = memory[:4] + design.period_s * ca.vertcat(error[tk.X], error[tk.Y], error[tk.Z], error[tk.YAW])
    command = ca.DM(design.u_eq) - ca.DM(design.K) @ ca.vertcat(error, integral)
    ill = ca.logic_and(memory[4] >= 100, memory[4] < 100 + NOT_FINITE)
    broken = ca.vertcat(command[0], command[1], command[2] + ca.sqrt(-ill), command[3])
    return tk.function(sensors, reference, memory, broken, ca.vertcat(integral, memory[4] + 1))
'''


def safe_command() -> list[float]:
    plan = load_tiltrotor(find("tiltrotor-spiral"))
    made = design(plan.aircraft.vehicle.parameters, plan.controller.control.weights, plan.controller.control.period_s)
    return list(made.safe_command(plan.controller.board.safe_thrust_ratio))


def fault(kind: str) -> str:
    return f"emulator.faults=[{{at_s={FAULT_S},kind='{kind}'}}]"


def restarts(flown: Flown) -> list[tuple[float, float]]:
    return [(t_s, cause) for name, t_s, cause in flown.said("plant") if name == "BOARD_RESTARTED"]


def test_a_hang_ends_with_the_watchdog_and_the_flight_goes_on(shared_bench: Bench) -> None:
    flown = pil(shared_bench, "hang", 8, fault("hang"), code=1)
    back_s = FAULT_S + (WATCHDOG_PERIODS + 1) * PERIOD_S
    assert restarts(flown) == [(pytest.approx(back_s), ResetCause.WATCHDOG)]
    assert ("LATE_CYCLE", pytest.approx(back_s), pytest.approx(back_s - FAULT_S)) in flown.said("plant")
    assert [(name, t_s) for name, t_s, _ in flown.said("board")] == [("STARTED", 0), ("STARTED", pytest.approx(back_s))]
    assert flown.metrics["board_restarts"] == 1
    assert flown.failed_checks() == {"board_restarts"}

    commands_s = flown.log.column("command", "t_s")
    silent = (commands_s > FAULT_S - PERIOD_S / 2) & (commands_s < back_s - PERIOD_S / 2)
    assert not silent.any()
    effort_s = flown.log.column("effort", "t_s")
    without = (effort_s > FAULT_S - PERIOD_S / 2) & (effort_s <= back_s)
    held = flown.log.column("effort", "thrust_right_N")[without]
    last_N = flown.log.column("command", "thrust_right_N")[commands_s < FAULT_S][-1]
    assert held == pytest.approx(last_N)  # the plant holds the last command

    assert flown.metrics["pos_max_m"] < 0.2
    assert commands_s[-1] == pytest.approx(8, abs=2 * PERIOD_S)
    uptime_s = flown.log.column("cpu", "uptime_s")
    assert np.count_nonzero(np.diff(uptime_s) < 0) == 1
    assert flown.metrics["board_messages_lost"] == 0  # it counts its messages anew, and nobody takes that for a loss


def test_a_scenario_may_allow_the_restart(shared_bench: Bench) -> None:
    flown = fly(shared_bench, "watchdog", "fly", "tiltrotor-watchdog")
    assert flown.summary["loop"] == "pil"
    assert [cause for _, cause in restarts(flown)] == [ResetCause.WATCHDOG]


def test_a_reset_is_told_from_a_watchdog(shared_bench: Bench) -> None:
    flown = pil(shared_bench, "reset", 6, fault("reset"), code=1)
    assert restarts(flown) == [(pytest.approx(FAULT_S + PERIOD_S), ResetCause.COMMANDED)]
    assert flown.failed_checks() == {"board_restarts"}
    assert flown.metrics["late_cycles"] == 0  # it is back before its next timer
    assert flown.metrics["pos_max_m"] < 0.2
    assert flown.log.column("command", "t_s")[-1] == pytest.approx(6, abs=2 * PERIOD_S)


@pytest.mark.soak  # short: tiltrotor-watchdog among the recorded flights
def test_several_faults_are_several_restarts_and_repeat_to_the_bit(shared_bench: Bench) -> None:
    faults = "emulator.faults=[{at_s=1.5,kind='hang'},{at_s=0.5,kind='reset'},{at_s=2.5,kind='hang'}]"
    first, again = (pil(shared_bench, run, 3.5, faults, code=1) for run in ("several", "several-again"))
    causes = [cause for _, cause in restarts(first)]
    assert causes == [ResetCause.COMMANDED, ResetCause.WATCHDOG, ResetCause.WATCHDOG]
    assert first.metrics["board_restarts"] == 3
    assert first.summary["log_sha256"] == again.summary["log_sha256"]


def test_lost_sensors_are_held_then_safe_then_taken_up_again(shared_bench: Bench) -> None:
    flown = pil(shared_bench, "silent", 3, "link.to_board.loss=0.8", code=1)
    names = flown.names("board")
    assert names[0] == "STARTED"
    assert names.index("SENSORS_LOST") < names.index("SAFE_COMMAND")
    assert names[names.index("SAFE_COMMAND") + 1] == "SENSORS_BACK"
    safe_at_s, silent_s = next((t_s, value) for name, t_s, value in flown.said("board") if name == "SAFE_COMMAND")
    assert silent_s == pytest.approx(6 * PERIOD_S)  # the first whole period beyond the 60 ms of hold
    commands = flown.log.rows["command"]
    at = int(np.argmin(np.abs(commands[:, 0] - safe_at_s)))
    assert commands[at, 2:] == pytest.approx(safe_command(), abs=SINGLE * 10)
    assert np.array_equal(commands[at - 1, 2:], commands[at - 2, 2:])  # held before
    assert flown.metrics["safe_commands"] == names.count("SAFE_COMMAND") > 0
    assert flown.metrics["sensor_losses"] == names.count("SENSORS_LOST") > 0


def test_a_board_that_never_hears_sensors_hovers_and_asks_on(shared_bench: Bench) -> None:
    flown = pil(shared_bench, "deaf", 3, "link.to_board.loss=1", code=None)
    assert flown.names("board") == []  # not even STARTED
    commands = flown.log.rows["command"]
    assert len(commands) > 0.9 * 3 / PERIOD_S
    assert np.ptp(commands[:, 2:], axis=0) == pytest.approx(0)
    counters = flown.summary["links"]["board_link"]
    assert counters["frames_in"] == 0
    assert counters["lost"] > 0.5 * 3 / PERIOD_S
    assert restarts(flown) == []  # start messages that are repeated are no new start


def test_damaged_frames_are_counted_at_both_ends_and_acted_on_at_none(shared_bench: Bench) -> None:
    damage = ("link.to_board.corrupt=2e-4", "link.to_plant.corrupt=5e-4")
    flown = pil(shared_bench, "damaged", 12, *damage)
    plant, board = flown.summary["links"]["link"], flown.summary["links"]["board_link"]
    assert plant["bad_checksums"] + plant["malformed"] > 3
    assert board["bad_checksums"] + board["malformed"] > 3
    assert flown.metrics["sensor_losses"] > 3
    names = flown.names("board")
    assert abs(names.count("SENSORS_LOST") - names.count("SENSORS_BACK")) <= 1
    assert flown.metrics["board_restarts"] == 0
    assert flown.metrics["pos_max_m"] < 0.5


@pytest.fixture(scope="module")
def not_finite(shared_bench: Bench) -> Flown:
    (shared_bench.folder / "ill.py").write_text(
        NOT_FINITE_LAW.replace("NOT_FINITE cycles", "3 cycles").replace("NOT_FINITE", "3")
    )
    return fly(shared_bench, "not-finite", *PIL, "--law", "ill.py", "--set", "duration_s=6", "--set", "checks=[]")


def test_a_law_that_gives_no_number_is_replaced_by_the_safe_command(not_finite: Flown) -> None:
    told = [(t_s, index) for name, t_s, index in not_finite.said("board") if name == "LAW_NOT_FINITE"]
    assert told == [(pytest.approx(cycle * PERIOD_S), 2) for cycle in (100, 101, 102)]
    commands = not_finite.log.rows["command"]
    replaced = np.isin(np.round(commands[:, 0] / PERIOD_S), (100, 101, 102))
    assert np.count_nonzero(replaced) == 3
    for command in commands[replaced, 2:]:
        assert command == pytest.approx(safe_command(), abs=SINGLE * 10)
    assert not_finite.metrics["law_not_finite"] == 3
    assert not_finite.metrics["implausible_commands"] == 0
    assert not_finite.metrics["pos_max_m"] < 0.3


def test_absurd_sensors_are_refused_on_the_board_and_absurd_commands_at_the_plant(shared_bench: Bench) -> None:
    noise = ("sensors.pos_std_m=10", "sensors.angle_std_rad=1")
    flown = pil(shared_bench, "absurd", 3, *noise, code=1)
    refused = [value for name, _, value in flown.said("board") if name == "IMPLAUSIBLE_SENSORS"]
    assert len(refused) > 10
    assert all(value == int(value) and 0 <= value < 16 for value in refused)
    assert {"SENSORS_LOST", "SAFE_COMMAND"} <= set(flown.names("board"))
    assert flown.metrics["implausible_sensors"] >= len(refused)
    assert flown.metrics["implausible_commands"] == flown.summary["links"]["link"]["implausible"]


def test_references_that_never_come_are_said_and_the_aircraft_stays(shared_bench: Bench) -> None:
    flown = pil(shared_bench, "unled", 4, "ground.impair.loss=1")
    assert flown.said("board")[1:] == [("REFERENCE_LOST", pytest.approx(0.504), pytest.approx(0.504))]
    assert flown.metrics["references_lost"] == 1
    assert flown.summary["links"]["reference_link"]["frames_in"] == 0
    truth = flown.log.rows["truth"]
    assert np.abs(truth[-1, 2:5] - truth[0, 2:5]).max() < 1.0


def test_references_that_come_and_go_are_held_as_on_the_first_rung(shared_bench: Bench) -> None:
    """Without their velocity, which would drag the aircraft on: the law in Python does the same."""
    gaps = ("ground.impair.loss=0.9", "board.reference_timeout_s=0.1", "ground.trajectory.period_s=300")
    flown, mil = (pil(shared_bench, f"gaps-{rung}", 4, f'loop="{rung}"', *gaps) for rung in ("pil", "mil"))
    names = flown.names("board")
    assert names.count("REFERENCE_LOST") == flown.metrics["references_lost"] > 2
    assert names.count("REFERENCE_BACK") >= names.count("REFERENCE_LOST") - 1
    assert flown.log.rows["truth"][:, 2:5] == pytest.approx(mil.log.rows["truth"][:, 2:5], abs=0.005)


def summary(bench: Bench) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((bench.folder / "run" / "summary.json").read_bytes())
    return result


def strike_emulator(bench: Bench, flight: Running, role: str, number: int, reached_s: float) -> Ended:
    """Send a signal to the emulator in flight, whose log held `reached_s`; how that ends, with nothing left of it."""
    (emulator,) = emulators(flight.children()[role])
    children = flight.children()
    os.kill(emulator, number)
    ended = flight.wait()
    bench.await_gone([*children.values(), emulator])
    assert ended.code == EXIT_LINK, ended.err
    assert "Traceback" not in ended.err, ended.err
    told = summary(bench)
    assert (told["ended"], told["exit_code"], told["log_truncated"]) == ("failed", EXIT_LINK, False)
    assert told["error"] in ended.err
    assert told["metrics"]["flown_s"] == bench.logged_s() >= reached_s
    bench.assert_clean()
    return ended


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGKILL, "the emulator was killed by SIGKILL"),
        (signal.SIGSTOP, "the emulator did not answer within 5 s"),
    ],
    ids=["killed", "stopped"],
)
def test_an_emulator_that_fails_in_lockstep_is_named(bench: Bench, number: signal.Signals, words: str) -> None:
    flight = bench.start(*PIL, "--set", "duration_s=3600", "--out", "run")
    reached_s = bench.await_log(0.5)
    assert strike_emulator(bench, flight, "plant", number, reached_s).sentence() == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGKILL, "the emulator was killed by SIGKILL"),
        (signal.SIGSTOP, "the emulated board has sent nothing on"),
    ],
    ids=["killed", "stopped"],
)
def test_an_emulator_that_fails_in_real_time_is_named(bench: Bench, number: signal.Signals, words: str) -> None:
    # Without its board the aircraft must stay in bounds until the silence is noticed. On a path it falls within half
    # a second; in a hover the last command holds it for about ten.
    hover = ("--set", 'ground.trajectory.kind="hover"', "--set", "link.silence_s=0.5")
    flight = bench.start(*PIL, "--pace", "real", *hover, "--out", "run")
    bench.await_clock(1.5)
    ended = strike_emulator(bench, flight, "emulator", number, bench.logged_s())
    assert words in ended.sentence()
    assert bench.logged_s() > 1.5 - LOG_GAP_S


def test_a_flight_of_the_emulated_board_can_be_interrupted(bench: Bench) -> None:
    flight = bench.start(*PIL, "--set", "duration_s=3600", "--out", "run")
    bench.await_log(0.5)
    children = flight.children()
    (emulator,) = emulators(children["plant"])
    flight.process.send_signal(signal.SIGINT)
    assert flight.wait().code == 130
    bench.await_gone([*children.values(), emulator])
    assert summary(bench)["ended"] == "ended by user (Ctrl-C)"
    bench.assert_clean()


@pytest.mark.parametrize(
    ("role", "options"),
    [
        ("plant", ("--pace", "lockstep")),
        pytest.param("board", ("--pace", "lockstep", "--link", "loopback://"), marks=pytest.mark.soak),
        ("emulator", ("--pace", "real")),
    ],
)
def test_a_process_that_is_killed_takes_its_emulator_along(bench: Bench, role: str, options: tuple[str, ...]) -> None:
    flight = bench.start(*PIL, *options, "--set", "duration_s=3600", "--out", "run")
    bench.await_log(0.5)
    children = flight.children()
    (emulator,) = emulators(children[role])
    os.kill(children[role], signal.SIGKILL)
    assert flight.wait().sentence() == f"the {role} process was killed by SIGKILL"
    bench.await_gone([*children.values(), emulator])
    bench.assert_clean()


def refused(bench: Bench, env: dict[str, str], *args: str) -> str:
    ended = bench.run(*PIL, *args, "--out", "run", env={**bench.env, **env})
    assert ended.code == EXIT_LINK, ended.err
    assert bench.tree() == {}  # the flight never began
    bench.assert_clean()
    return ended.sentence()


@pytest.mark.parametrize("pace", ["lockstep", pytest.param("real", marks=pytest.mark.soak)])
def test_without_an_emulator_the_rung_says_what_to_install(bench: Bench, tmp_path: Path, pace: str) -> None:
    path = without_programs(tmp_path / "bin", "qemu-system-arm")
    sentence = refused(bench, {"PATH": path}, "--pace", pace)
    assert "qemu-system-arm" in sentence
    assert "apt install qemu-system-arm" in sentence


@pytest.mark.parametrize(
    ("pace", "script", "words"),
    [
        pytest.param("lockstep", "exit 0", "the emulator ended with status 0", id="leaves"),
        pytest.param(
            "lockstep",
            "echo qemu-system-arm: bad machine >&2; echo Use -machine help >&2; exit 1",
            "the emulator ended with status 1: qemu-system-arm: bad machine",
            id="refuses",
        ),
        pytest.param("lockstep", "exec sleep 1000", "the emulator did not answer within 5 s", id="sleeps"),
        pytest.param(
            "lockstep", "head -c 500 /dev/zero > board.out; exec sleep 1000", "answer is invalid", id="garbage"
        ),
        pytest.param("real", "exit 0", "the emulator ended with status 0", id="leaves in real time"),
        pytest.param(
            "real", "echo bad >&2; exit 1", "the emulator ended with status 1: bad", id="refuses in real time"
        ),
        pytest.param("real", "exec sleep 1000", "the emulator was not ready within", id="sleeps in real time"),
    ],
)
def test_an_emulator_that_is_none_is_named(bench: Bench, tmp_path: Path, pace: str, script: str, words: str) -> None:
    play_program(tmp_path / "bin", "qemu-system-arm", f"echo $$ > {tmp_path}/pid\n{script}")
    sentence = refused(bench, {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}, "--pace", pace)
    assert words in sentence
    assert "emulat" in sentence
    bench.await_gone([int((tmp_path / "pid").read_text())])
