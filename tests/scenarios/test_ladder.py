"""Rung pil in lockstep, from the user's side: the firmware image on the emulated board flies, repeats and tells."""

from __future__ import annotations

import math
from dataclasses import replace
from html import unescape
from typing import TYPE_CHECKING

import numpy as np
import pytest
from emulation import LAWS, NO_CHECKS, PIL, Flown, fly, pil

from aeroloop.core.errors import EXIT_CHECK_FAILED
from aeroloop.core.signals import TASKS, Event
from aeroloop.recording.log import log_sha256

if TYPE_CHECKING:
    from conftest import Bench

PERIOD_S = 0.012
BRIEF_S = 3.0


@pytest.fixture(scope="module")
def spiral(shared_bench: Bench) -> Flown:
    """Long enough for a dozen samples of the statistics."""
    return pil(shared_bench, "spiral", 12.5)


@pytest.fixture(scope="module")
def brief(shared_bench: Bench) -> Flown:
    return pil(shared_bench, "brief", BRIEF_S)


@pytest.mark.soak  # short: the recorded flights
def test_the_same_flight_twice_is_the_same_to_the_bit(shared_bench: Bench, spiral: Flown) -> None:
    assert pil(shared_bench, "again", 12.5).summary["log_sha256"] == spiral.summary["log_sha256"]


@pytest.mark.parametrize(
    "link",
    ["pty://", *(pytest.param(url, marks=pytest.mark.soak) for url in ("udp://127.0.0.1:0", "tcp://127.0.0.1:0"))],
)
def test_the_link_changes_nothing(shared_bench: Bench, brief: Flown, link: str) -> None:
    over = pil(shared_bench, f"over-{link[:3]}", BRIEF_S, f'link.url="{link}"', f'ground.url="{link}"')
    assert over.summary["log_sha256"] == brief.summary["log_sha256"]


def test_the_hash_covers_what_the_board_tells_of_itself(shared_bench: Bench, brief: Flown) -> None:
    """A faster processor flies the same path and says so: another hash."""
    fast = pil(shared_bench, "fast", BRIEF_S, "emulator.shift=3")
    assert np.array_equal(fast.log.rows["truth"], brief.log.rows["truth"])
    assert np.array_equal(fast.log.rows["command"], brief.log.rows["command"])
    assert fast.metrics["cpu_use_max_pct"] < brief.metrics["cpu_use_max_pct"] / 3
    assert fast.summary["log_sha256"] != brief.summary["log_sha256"] == log_sha256(brief.log)
    for stream in ("cpu", "task"):
        altered = replace(brief.log, rows={**brief.log.rows, stream: brief.log.rows[stream] + 1})
        assert log_sha256(altered) != log_sha256(brief.log)


def test_the_boards_work_takes_no_time_unless_it_is_told_to(shared_bench: Bench, brief: Flown) -> None:
    assert np.array_equal(brief.log.column("command", "t_s"), brief.log.column("sensors", "t_s")[:-1])
    timed = pil(shared_bench, "timed", BRIEF_S, "emulator.timed=true")
    applied_s, cycle_s = timed.log.column("command", "t_s"), timed.log.column("board_cycle", "t_s")
    busy_s = timed.log.column("board_cycle", "busy_s")[: len(applied_s)]
    assert len(applied_s) == pytest.approx(BRIEF_S / PERIOD_S, abs=1)
    assert np.all(busy_s > 50e-6)  # a cycle of work is thousands of instructions
    assert np.all(busy_s < PERIOD_S)
    assert applied_s - cycle_s[: len(applied_s)] == pytest.approx(busy_s, abs=1e-9)
    assert np.diff(timed.log.column("sensors", "t_s")) == pytest.approx(PERIOD_S)  # the timer does not wait for it


def test_a_law_that_is_too_slow_is_counted_and_judged(shared_bench: Bench) -> None:
    law = ("--law", str(LAWS / "slow.py"))
    slow = fly(
        shared_bench, "slow", *PIL, *NO_CHECKS, *law, "--set", "duration_s=3", "--report", code=EXIT_CHECK_FAILED
    )
    overruns = [took_s for name, _, took_s in slow.said("board") if name == "OVERRUN"]
    assert len(overruns) > 3
    assert all(PERIOD_S < took_s < 2 * PERIOD_S for took_s in overruns)
    assert slow.metrics["overruns"] == len(overruns)
    assert "overruns" in slow.failed_checks()
    # The plant sees that every second cycle is left out, and gets a command when the work is done, not before.
    late = [since_s for name, _, since_s in slow.said("plant") if name == "LATE_CYCLE"]
    assert late[:3] == pytest.approx([2 * PERIOD_S] * 3)
    assert slow.metrics["late_cycles"] == len(late)
    acted_s, sensed_s = slow.log.column("command", "t_s"), slow.log.column("sensors", "t_s")
    assert acted_s[:3] - sensed_s[:3] == pytest.approx(overruns[:3], rel=0.01)
    # Terminal and report say so.
    assert "FAIL" in next(line for line in slow.ended.out.splitlines() if "overruns" in line)
    report = (slow.folder / "report.html").read_text()
    assert "<b>Overruns:</b>" in report
    assert "late cycle" in report


@pytest.mark.soak  # short: tests/board has the counters
def test_a_noisy_line_is_flown_and_its_counters_come_from_the_board(shared_bench: Bench) -> None:
    flown = fly(shared_bench, "noisy", "fly", "tiltrotor-noisy-link", "--loop", "pil", "--set", "duration_s=30")
    plant, board = flown.summary["links"]["link"], flown.summary["links"]["board_link"]
    assert plant["bad_checksums"] > 5
    assert board["bad_checksums"] > 5
    assert board["lost"] > 5
    assert flown.metrics["sensor_losses"] > 5
    # Frames that the plant sent either arrived, were damaged, or were lost on the way.
    assert 0 < board["frames_in"] + board["bad_checksums"] <= plant["frames_out"]
    assert flown.summary["links"]["reference_link"]["frames_in"] > 2300


def test_the_statistics_hold_together(spiral: Flown) -> None:
    cpu, tasks = spiral.log, spiral.log.rows["task"]
    times_s = cpu.column("cpu", "t_s")
    assert len(times_s) == 12
    assert np.diff(times_s) == pytest.approx(1.0, abs=PERIOD_S)
    for t_s, use_pct in zip(times_s, cpu.column("cpu", "use_pct"), strict=True):
        sample = tasks[(tasks[:, 0] > t_s) & (tasks[:, 0] < t_s + 0.5)]  # its messages follow, one a cycle
        numbers, exec_s, share_pct, worst_s, runs = sample[:, 2:].T
        assert numbers.tolist() == list(range(len(TASKS)))
        assert np.sum(share_pct) == pytest.approx(100, abs=0.01)
        assert share_pct == pytest.approx(100 * exec_s / np.sum(exec_s), abs=0.01)
        assert np.sum(exec_s) <= PERIOD_S
        assert use_pct == pytest.approx(100 * np.sum(exec_s) / PERIOD_S, rel=0.01)
        assert runs == pytest.approx(1 / PERIOD_S, abs=2)
        assert np.all(worst_s >= exec_s * 0.99)
    used_B, size_B = cpu.column("cpu", "stack_used_B"), cpu.column("cpu", "stack_size_B")
    assert np.all((used_B > 0) & (used_B < size_B))
    assert np.all(np.diff(used_B) >= 0)
    assert np.all(np.diff(cpu.column("cpu", "worst_cycle_s")) >= 0)
    # Six runs a period, each begun and ended by a switch; by how many of them that begin another, fewer.
    switches_per_period = cpu.column("cpu", "switches_per_s") * PERIOD_S
    assert np.all((switches_per_period >= len(TASKS)) & (switches_per_period <= 2 * len(TASKS) + 1))
    assert np.diff(cpu.column("cpu", "uptime_s")) == pytest.approx(np.diff(times_s), abs=0.002)


def test_summary_and_report_show_the_boards_processor(shared_bench: Bench, spiral: Flown) -> None:
    board = spiral.summary["board"]
    assert board["clock"] == "instruction-count"
    assert set(board["tasks"]) == {task.name for task in TASKS}
    assert math.fsum(task["share_mean_pct"] for task in board["tasks"].values()) == pytest.approx(100, abs=0.1)
    assert board["overruns"] == 0
    assert shared_bench.run("report", spiral.folder.name).code == 0
    report = unescape((spiral.folder / "report.html").read_text())
    assert "Processor load of the board" in report
    assert "instruction-count" in report
    assert all(task.name in report for task in TASKS)


def test_a_flight_without_faults_says_only_that_the_board_started(spiral: Flown) -> None:
    assert spiral.names("plant") == []
    assert spiral.names("board") == [Event.STARTED.name]
    assert spiral.metrics["board_messages_lost"] == 0


def test_the_bench_answers_a_start_message_with_what_it_speaks(brief: Flown) -> None:
    """One hello beside the answers: without it a board could not tell that the bench is of another time."""
    assert brief.summary["links"]["link"]["frames_out"] == len(brief.log.rows["sensors"]) + 1
