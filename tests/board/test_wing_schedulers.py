"""The two schedulers on the emulated board, at 3.9 million instructions a second: exact periods, latencies that
planning does not touch, and planning times as the closed forms and the discrete-event model say."""

from __future__ import annotations

import math
from functools import cache, partial
from pathlib import Path

import msgspec
import pytest
from kernel_model import Job, Post, Release, Trace, every, run_cooperative, run_preemptive
from kernel_statistics import latency, statistics
from wing_words import PERIOD_NS, flight, generated, goal

from aeroloop.boards.emulated import Granted, GrantedBoard, StepPipe
from aeroloop.codegen.images import build_image
from aeroloop.core.errors import LinkError
from aeroloop.core.scenario import with_value
from aeroloop.core.signals import WATCHDOG_PERIODS, ResetCause
from aeroloop.core.wing_signals import WING_TASKS, Step
from aeroloop.families.fixedwing import images as wing_images
from tools import wing_timing

SHIFT = 8
NS_AN_INSTRUCTION = 1 << SHIFT
SLICE_S = 0.020
TS = PERIOD_NS * 1e-9


@cache
def timing(scheduler: str) -> wing_timing.Timing:
    scenario = wing_images.scenario_of()
    board = msgspec.structs.replace(scenario.controller.board, scheduler=scheduler, slice_s=SLICE_S)
    return wing_timing.measure(with_value(scenario, "board", board), SHIFT)


def flown(folder: Path, periods: int) -> list[Granted]:
    """Every reply of a flight that begins to plan after a second and a half."""
    board = GrantedBoard(StepPipe(build_image(generated(), wing_images.PREEMPTIVE), SHIFT, folder), PERIOD_NS)
    replies: list[Granted] = []

    def step(hils: bytes, comm: bytes) -> Granted:
        replies.append(board.step(hils, comm))
        return replies[-1]

    try:
        flying = flight(step)
        flying.fly(30)
        flying.fly(periods - 30, goal=True)
    finally:
        board.close()
    return replies


def test_periods_are_exact_and_repeat_to_the_nanosecond(tmp_path: Path) -> None:
    runs = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        runs.append(flown(tmp_path / name, 60))
    assert runs[0] == runs[1]
    busy = [reply for reply in runs[0] if reply.unfinished]
    assert len(busy) > 20
    # The timer stops a period within its interrupt's own instructions; what runs over belongs to the next one.
    assert all(0 <= reply.spent_ns - PERIOD_NS < 400 * NS_AN_INSTRUCTION for reply in busy)
    assert all(reply.busy_ns <= reply.spent_ns for reply in runs[0])
    idle = [reply for reply in runs[0] if not reply.unfinished]
    assert all(reply.spent_ns < PERIOD_NS / 4 for reply in idle)


def test_planning_does_not_touch_the_preemptive_build_s_latency() -> None:
    found = timing("preemptive")
    assert found.missed_cycles == 0
    assert found.planning_latency_s == pytest.approx(found.quiet_latency_s, abs=600 * NS_AN_INSTRUCTION * 1e-9)
    assert found.planning_use_pct == pytest.approx(100.0, abs=0.5)


def test_preemptive_planning_takes_its_work_and_what_the_others_take_meanwhile() -> None:
    found = timing("preemptive")
    assert found.completion_s == pytest.approx(found.work_s / (1.0 - found.routine_pct / 100), rel=0.01)
    assert found.expected_s == pytest.approx(found.completion_s, rel=0.01)  # as the table has it


def test_cooperative_planning_takes_a_period_for_every_slice() -> None:
    found = timing("cooperative")
    periods = math.ceil(found.work_s / SLICE_S)
    # A slice ends with the piece at work: the periods are a few fewer, never more, and the last is not waited out.
    assert 0.97 * periods * TS - TS <= found.completion_s <= periods * TS
    assert found.expected_s == pytest.approx(periods * TS)  # as the table has it
    assert found.planning_use_pct == pytest.approx(found.routine_pct + 100 * SLICE_S / TS, rel=0.03)
    assert found.completion_s > 2 * timing("preemptive").completion_s


WAKES = {
    "hils_rx": ("esti_atti",),
    "esti_atti": ("esti_nav",),
    "esti_nav": ("cntr",),
    "cntr": ("pfol", "hils_tx"),
    "hils_tx": (),
    "pfol": ("comm_tx", "pman", "stat"),
    "comm_tx": (),
    "pman": (),
    "stat": (),
}
"""What each routine task wakes when it has run; wing.h draws it."""


def modelled(found: wing_timing.Timing) -> Trace:
    """The discrete-event model of a flight that begins to plan in its second period, fed with what each task cost."""

    def routine(name: str) -> Job:
        yield round(found.routine_s[name] * 1e9)
        yield from map(Post, WAKES[name])

    def planning() -> Job:
        yield round(found.work_s * 1e9)

    tasks = [(task.name, task.priority) for task in WING_TASKS if task.name in WAKES or task.name == "pplan"]
    work = {**{name: partial(routine, name) for name in WAKES}, "pplan": planning}
    begin_ns = PERIOD_NS + round(sum(found.routine_s.values()) * 1e9)
    end_ns = round(1.2 * found.completion_s) * 1_000_000_000
    releases = [*every(PERIOD_NS, "hils_rx", end_ns), Release(begin_ns, "pplan")]
    if found.scheduler == "preemptive":
        return run_preemptive(tasks, work, releases, end_ns=end_ns)
    slices = {"period_ns": PERIOD_NS, "slice_ns": round(SLICE_S * 1e9)}
    return run_cooperative(tasks, work, releases, end_ns=end_ns, sliced="pplan", **slices)


@pytest.mark.parametrize("scheduler", ["preemptive", "cooperative"])
def test_the_discrete_event_model_says_the_same(scheduler: str) -> None:
    """Two programs that share nothing but the tasks' costs: the emulated board, and the kernel on paper."""
    found = timing(scheduler)
    trace = modelled(found)
    (begin_ns,), (end_ns,) = trace.times_ns("release", "pplan"), trace.times_ns("done", "pplan")
    assert found.completion_s == pytest.approx((end_ns - begin_ns) * 1e-9, rel=0.03)
    use = statistics(trace, cycle_ns=PERIOD_NS, begin_ns=begin_ns, end_ns=end_ns).cpu_percent
    assert found.planning_use_pct == pytest.approx(use, abs=1.5)
    # The board looks at the clock when it begins to send, before the cost of sending. What the loop of costates takes
    # to look around is in no task's account.
    latency_ns = latency(trace, "hils_rx", "cntr", cycle_ns=PERIOD_NS)
    assert found.planning_latency_s == pytest.approx(
        latency_ns.worst_ns * 1e-9, rel=0.02 if scheduler == "preemptive" else 0.15
    )
    assert found.missed_cycles == latency_ns.missed == 0


def test_the_table_has_a_line_for_each() -> None:
    lines = wing_timing.table([timing("preemptive"), timing("cooperative")]).splitlines()
    assert [line.split()[0] for line in lines] == ["scheduler", "preemptive", "cooperative"]
    assert len({len(line) for line in lines}) == 1


def test_a_silent_line_while_it_plans_is_no_hang(tmp_path: Path) -> None:
    board = GrantedBoard(StepPipe(build_image(generated(), wing_images.PREEMPTIVE), SHIFT, tmp_path), PERIOD_NS)
    try:
        flying = flight(board.step)
        flying.fly(3)
        flying.fly(2, goal=True)
        silent = [board.step(b"", b"") for _ in range(3 * WATCHDOG_PERIODS)]
        assert all(reply.unfinished and reply.restarted is None for reply in silent)
    finally:
        board.close()


def test_an_image_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LinkError, match=r"the emulator ended with status 1: .*nothing\.elf"):
        GrantedBoard(StepPipe(tmp_path / "nothing.elf", SHIFT, tmp_path), PERIOD_NS)


def test_a_commanded_reset_is_told_and_the_flight_goes_on(tmp_path: Path) -> None:
    board = GrantedBoard(StepPipe(build_image(generated(), wing_images.PREEMPTIVE), SHIFT, tmp_path), PERIOD_NS)
    try:
        flying = flight(board.step)
        flying.fly(3)
        assert board.step(b"", fault="reset").restarted is not None
        flying.fly(3)
        assert len(flying.told["servos"]) == 6
        board.step(b"x" * 600)
        assert board.overflow == 600 - 512
    finally:
        board.close()


def test_a_hung_task_is_ended_by_the_watchdog_and_the_flight_goes_on(tmp_path: Path) -> None:
    board = GrantedBoard(StepPipe(build_image(generated(), wing_images.PREEMPTIVE), SHIFT, tmp_path), PERIOD_NS)
    try:
        flying = flight(board.step)
        flying.fly(3)
        assert board.step(b"", fault="hang").restarted is None  # nothing was to be done in this period
        replies = [flying.period() for _ in range(WATCHDOG_PERIODS + 3)]
        causes = [reply.restarted for reply in replies if isinstance(reply, Granted)]
        bitten = causes.index(ResetCause.WATCHDOG)
        assert bitten in (WATCHDOG_PERIODS, WATCHDOG_PERIODS + 1)
        assert all(reply.hils == b"" for reply in replies[:bitten])
        assert [cause for cause, *_ in flying.told["start"]] == [ResetCause.WATCHDOG]
        assert flying.told["servos"][-1][0] == flying.cycle - 1
    finally:
        board.close()


def test_a_slice_that_would_not_fit_into_what_is_left_of_a_period_is_not_begun(tmp_path: Path) -> None:
    """At a million instructions a second routine tasks take 16 of 50 ms: there is no room for 40 more."""
    scenario = wing_images.scenario_of()
    board = msgspec.structs.replace(scenario.controller.board, scheduler="cooperative", slice_s=0.040)
    image = build_image(wing_images.generate(with_value(scenario, "board", board)), wing_images.COOPERATIVE)
    slow = GrantedBoard(StepPipe(image, 10, tmp_path), PERIOD_NS)
    try:
        flying = flight(slow.step)
        flying.fly(3)
        replies = [flying.period(goal(*flying.places.goal_m)), *(flying.period() for _ in range(8))]
        assert flying.told["step"][-1][0] == Step.PLAN
        assert all(0.2 * PERIOD_NS < reply.busy_ns < 0.8 * PERIOD_NS for reply in replies)
    finally:
        slow.close()
