"""The kernel in the emulator: preemption against a golden trace, and figures that add up (see firmware/preemption)."""

from __future__ import annotations

import socket
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from images import images

from aeroloop.boards.qemu import lockstep_command, realtime_command
from aeroloop.core.signals import NS, ResetCause
from aeroloop.protocols.framing import Counters, Deframer
from aeroloop.protocols.interface import START

GOLDEN = Path(__file__).parents[1] / "golden" / "preemption.txt"
SHIFT = 5
NS_AN_INSTRUCTION = 1 << SHIFT
TICK_NS = 2_000_000
PERIODS = 3
RUN_S = 20


@dataclass(frozen=True)
class TaskFigures:
    exec_ns: int
    worst_ns: int
    runs: int


@dataclass(frozen=True)
class Flight:
    """What the preemption image said."""

    text: str

    def rows(self, word: str) -> list[list[str]]:
        return [line.split()[1:] for line in self.text.splitlines() if line.startswith(word + " ")]

    @property
    def trace(self) -> list[tuple[str, str]]:
        return [(what, task) for what, task in self.rows("trace")]

    @property
    def times_ns(self) -> list[int]:
        return [int(time) for (time,) in self.rows("time")]

    @property
    def tasks(self) -> dict[str, TaskFigures]:
        return {name: TaskFigures(*map(int, figures)) for name, *figures in self.rows("task")}

    def numbers(self, word: str) -> list[int]:
        (row,) = self.rows(word)
        return [int(number) for number in row]


def fly() -> Flight:
    command = lockstep_command(images() / "preemption-qemu.elf", SHIFT)
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, check=True, stdin=subprocess.DEVNULL)
    return Flight(done.stdout + done.stderr)


@cache
def flight() -> Flight:
    return fly()


def test_tasks_preempt_one_another_as_the_golden_trace_says() -> None:
    depth, lines = 0, []
    for what, task in flight().trace:
        depth -= what == "end"
        lines.append("    " * depth + f"{what} {task}")
        depth += what == "begin"
    assert "\n".join(lines) + "\n" == GOLDEN.read_text()


def test_times_are_identical_from_run_to_run() -> None:
    assert fly() == flight()
    assert len(flight().times_ns) == len(flight().trace)


def test_the_tick_keeps_its_period() -> None:
    begins = [t for t, row in zip(flight().times_ns, flight().trace, strict=True) if row == ("begin", "tick")]
    periods = [after - before for before, after in pairwise(begins)]
    assert len(periods) == PERIODS - 1
    assert all(abs(period - TICK_NS) <= 2 * NS_AN_INSTRUCTION for period in periods)


def test_execution_times_add_up() -> None:
    window_ns, busy_ns, switches = flight().numbers("kernel")
    tasks = flight().tasks.values()
    total_ns = sum(task.exec_ns for task in tasks)
    assert total_ns == busy_ns
    assert 0 < total_ns <= window_ns
    assert abs(sum(100 * task.exec_ns / total_ns for task in tasks) - 100) < 1e-9
    exec_a_period_ns = sum(task.exec_ns / (window_ns / TICK_NS) for task in tasks)
    assert exec_a_period_ns <= TICK_NS
    assert abs(100 * exec_a_period_ns / TICK_NS - 100 * busy_ns / window_ns) < 1e-9
    # Into every run and out of it: each of the nine preemptions cost two.
    assert switches == 2 * sum(task.runs for task in tasks) == len(flight().trace)


def test_a_run_is_charged_without_what_preempted_it() -> None:
    when = dict(zip(flight().trace, flight().times_ns, strict=True))  # of each task's last run
    long = flight().tasks["long"]
    span_ns = when["end", "long"] - when["begin", "long"]
    preempted_ns = sum(flight().tasks[name].exec_ns for name in ("tick", "middle", "urgent"))
    assert long.runs == 1
    assert long.exec_ns == long.worst_ns
    assert preempted_ns > 0.2 * span_ns
    # The trace is taken inside the task: entering and leaving it, and its preemptors, is the rest.
    assert abs(long.exec_ns - (span_ns - preempted_ns)) < 0.01 * span_ns
    for name, runs in (("tick", PERIODS), ("middle", PERIODS), ("urgent", PERIODS), ("background", 1)):
        figures = flight().tasks[name]
        assert figures.runs == runs
        assert figures.exec_ns / runs <= figures.worst_ns <= figures.exec_ns


def test_floats_survive_preemption_and_busy_time_never_goes_back() -> None:
    wrong_results, busy_went_back, background_waited = flight().numbers("checks")
    assert wrong_results == 0
    assert busy_went_back == 0
    assert background_waited == 1


def test_the_stack_has_a_high_water_mark() -> None:
    used, size = flight().numbers("stack")
    assert size == 16 * 1024
    # Five levels deep, each with at least the 26 words of a floating-point exception frame.
    assert 5 * 26 * 4 < used < size / 2


def test_a_stack_overflow_is_a_fault_and_a_hang_under_the_lock_is_bitten() -> None:
    causes = [ResetCause(int(cause)) for (cause,) in flight().rows("start")]
    assert causes == [ResetCause.POWER_ON, ResetCause.FAULT, ResetCause.WATCHDOG]


def test_a_reset_from_outside_is_commanded(tmp_path: Path) -> None:
    said, monitor = tmp_path / "board", tmp_path / "monitor"
    said.touch()
    command = realtime_command(images() / "tiltrotor-uart-qemu.elf", f"file,path={said}", "null", monitor)
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as process:
        try:
            await_start(said, ResetCause.POWER_ON)
            with socket.socket(socket.AF_UNIX) as control:
                control.settimeout(RUN_S)
                control.connect(str(monitor))
                control.sendall(b'{"execute": "qmp_capabilities"}{"execute": "system_reset"}')
                await_start(said, ResetCause.COMMANDED)
        finally:
            process.kill()


def await_start(said: Path, cause: ResetCause) -> None:
    """Until the board's latest start message names this cause."""
    latest = None
    deadline_ns = time.monotonic_ns() + RUN_S * NS
    while time.monotonic_ns() < deadline_ns:
        frames = Deframer(START.size, Counters()).feed(said.read_bytes())
        starts = [START.unpack(frame) for frame in frames if frame[0] == START.number]
        latest = ResetCause(int(starts[-1][0])) if starts else None
        if latest == cause:
            return
        time.sleep(0.02)
    raise AssertionError(f"the board says {latest!r}, not {cause!r}")
