"""The scheduler's model: what runs when, the statistics' definitions, and the closed forms of planning time."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_model import (
    GIVE_WAY,
    IDLE,
    Entry,
    Job,
    Post,
    Release,
    Trace,
    every,
    run_cooperative,
    run_preemptive,
)
from kernel_statistics import latency, responses_ns, samples, statistics

US, MS, S = 1_000, 1_000_000, 1_000_000_000
TS = 50 * MS
TASKS = (
    ("HILS_Tx", 11), ("HILS_Rx", 12), ("COMM_Rx", 13), ("COMM_Proc", 14), ("ESTI_Atti", 15), ("ESTI_Nav", 16),
    ("CNTR", 17), ("PFOL", 18), ("COMM_Tx", 19), ("PGEN", 20), ("PMAN", 21), ("STAT", 22), ("PPLAN", 23),
)  # fmt: skip
CHAIN = ("HILS_Rx", "ESTI_Atti", "ESTI_Nav", "PFOL", "CNTR", "HILS_Tx")
"""Each releases the next; together they cost 19.65 ms, 39.3 % of a cycle."""
COSTS = dict(zip(CHAIN, (1500 * US, 7000 * US, 3150 * US, 4000 * US, 3000 * US, 1000 * US), strict=True))


def routine(name: str) -> Callable[[], Job]:
    def job() -> Job:
        yield COSTS[name]
        yield GIVE_WAY
        following = CHAIN[CHAIN.index(name) + 1 :]
        if following:
            yield Post(following[0])

    return job


def busy(cost_ns: int, parts: int = 1) -> Callable[[], Job]:
    def job() -> Job:
        for _ in range(parts):
            yield cost_ns // parts

    return job


def flight(planning_ns: int = 0, *, slice_ns: int | None = None, seconds: int = 15, switch_ns: int = 0) -> Trace:
    """Cycles of the chain; planning begins at 1 s, preemptive or in slices."""
    work = {name: routine(name) for name in CHAIN} | {"PPLAN": busy(planning_ns, 1000)}
    releases = list(every(TS, "HILS_Rx", seconds * S))
    if planning_ns:
        releases.append(Release(S, "PPLAN"))
    if slice_ns is None:
        return run_preemptive(TASKS, work, releases, end_ns=seconds * S, switch_ns=switch_ns)
    return run_cooperative(
        TASKS, work, releases, end_ns=seconds * S, period_ns=TS, sliced="PPLAN", slice_ns=slice_ns, switch_ns=switch_ns
    )


def test_preemption_by_hand() -> None:
    work = {"high": busy(20), "low": busy(100)}
    trace = run_preemptive(
        [("low", 9), ("high", 1)], work, [Release(0, "low"), Release(30, "high")], end_ns=200, switch_ns=5
    )
    assert trace.entries == (
        Entry(0, "run", IDLE),
        Entry(0, "release", "low"),
        Entry(0, "run", "low"),
        Entry(30, "release", "high"),
        Entry(30, "run", "high"),  # 25 of low's 100 are spent
        Entry(55, "done", "high"),
        Entry(55, "run", "low"),
        Entry(135, "done", "low"),
        Entry(135, "run", IDLE),
    )
    whole = statistics(trace, cycle_ns=200)
    assert (whole.tet_ns, whole.idle_ns, whole.switches) == ({"low": 110, "high": 25}, 60, 4)
    alone = run_preemptive([("low", 9), ("high", 1)], work, [Release(0, "low")], end_ns=200, switch_ns=5)
    assert statistics(alone, cycle_ns=200).switches == 2, "a preemption costs two switches"


def test_equal_times_keep_their_order_and_a_lower_task_does_not_preempt() -> None:
    work = {"high": busy(20), "low": busy(10)}
    trace = run_preemptive([("high", 1), ("low", 9)], work, [Release(5, "low"), Release(0, "high")], end_ns=50)
    assert trace.times_ns("run", "low") == [20]
    assert responses_ns(trace, "low") == [25]


def test_a_post_to_a_more_urgent_task_preempts_at_once() -> None:
    def low() -> Job:
        yield 10
        yield Post("high")
        yield 10

    trace = run_preemptive([("high", 1), ("low", 9)], {"high": busy(7), "low": low}, [Release(0, "low")], end_ns=50)
    assert trace.times_ns("done", "high") == [17]
    assert trace.times_ns("done", "low") == [27]


def test_cooperative_tasks_run_to_where_they_give_way() -> None:
    def low() -> Job:
        yield 30
        yield 30  # no place to give way between the two
        yield GIVE_WAY
        yield 30

    trace = run_cooperative(
        [("high", 1), ("low", 9), ("plan", 99)],
        {"high": busy(5), "low": low, "plan": busy(1)},
        [Release(0, "low"), Release(10, "high")],
        end_ns=200,
        period_ns=200,
        sliced="plan",
        slice_ns=50,
    )
    assert trace.times_ns("done", "high") == [65]
    assert trace.times_ns("done", "low") == [95]


def test_a_slice_needs_more_room_than_it_takes() -> None:
    def planning_ends(slice_ns: int) -> list[int]:
        trace = run_cooperative(
            [("work", 1), ("plan", 9)],
            {"work": busy(60), "plan": busy(80)},
            [*every(100, "work", 1000), Release(0, "plan")],
            end_ns=1000,
            period_ns=100,
            sliced="plan",
            slice_ns=slice_ns,
        )
        return trace.times_ns("done", "plan")

    assert planning_ends(39) == [100 + 100 + 60 + 2]
    assert planning_ends(40) == [], "40 remain, which is not more than 40"


@pytest.mark.parametrize(
    ("slice_ms", "planning_s", "cpu_percent"), [(10, 11.5, 59.3), (15, 7.7, 69.3), (20, 5.75, 79.3), (25, 4.6, 89.3)]
)
def test_cooperative_planning_takes_a_cycle_for_each_slice(
    slice_ms: int, planning_s: float, cpu_percent: float
) -> None:
    work_ns = 2300 * MS
    trace = flight(work_ns, slice_ns=slice_ms * MS)
    (took_ns,) = responses_ns(trace, "PPLAN")
    cycles = math.ceil(work_ns / (slice_ms * MS))
    # The last slice ends within its cycle.
    assert (cycles - 1) * TS < took_ns <= cycles * TS
    assert took_ns / S == pytest.approx(planning_s, abs=0.05)
    during = statistics(trace, cycle_ns=TS, begin_ns=S, end_ns=S + (cycles - 1) * TS)
    assert during.cpu_percent == pytest.approx(cpu_percent, abs=0.01)


def test_preemptive_planning_takes_all_that_is_left() -> None:
    trace = flight(2300 * MS)
    (took_ns,) = responses_ns(trace, "PPLAN")
    assert took_ns == pytest.approx(2.3 * S / (1 - 0.393), abs=TS)
    assert took_ns / S == pytest.approx(3.8, abs=0.05)
    during = statistics(trace, cycle_ns=TS, begin_ns=S, end_ns=S + took_ns)
    assert during.cpu_percent == 100.0
    assert during.os_percent == 100
    assert statistics(trace, cycle_ns=TS, end_ns=S).cpu_percent == pytest.approx(39.3)


def test_planning_delays_sensor_to_actuator_only_where_nobody_preempts() -> None:
    idle, planning = latency(flight(), *CHAIN[::5], cycle_ns=TS), latency(flight(2300 * MS), *CHAIN[::5], cycle_ns=TS)
    assert idle.worst_ns == planning.worst_ns == sum(COSTS.values())
    assert planning.missed == 0 and planning.cycles == 15 * 20
    # Sensors that come a little after the tick find the slice already begun.
    work = {name: routine(name) for name in CHAIN} | {"PPLAN": busy(2300 * MS)}
    late = [*every(TS, "HILS_Rx", 5 * S, first_ns=2 * MS), Release(S, "PPLAN")]
    sliced = run_cooperative(TASKS, work, late, end_ns=5 * S, period_ns=TS, sliced="PPLAN", slice_ns=25 * MS)
    assert latency(sliced, *CHAIN[::5], cycle_ns=TS).worst_ns == 23 * MS + sum(COSTS.values())
    whole = run_preemptive(TASKS, work, late, end_ns=5 * S)
    assert latency(whole, *CHAIN[::5], cycle_ns=TS).worst_ns == sum(COSTS.values())


def test_cycles_that_come_too_late_are_missed() -> None:
    work = {"HILS_Rx": busy(30), "HILS_Tx": busy(1)}
    releases = [Release(0, "HILS_Rx"), Release(0, "HILS_Tx"), Release(20, "HILS_Rx"), Release(20, "HILS_Tx")]
    trace = run_preemptive([("HILS_Rx", 1), ("HILS_Tx", 2)], work, releases, end_ns=100)
    late = latency(trace, "HILS_Rx", "HILS_Tx", cycle_ns=20)
    assert (late.worst_ns, late.cycles, late.missed) == (61, 2, 2)
    unfinished = run_preemptive([("HILS_Rx", 1), ("HILS_Tx", 2)], work, releases, end_ns=50)
    assert latency(unfinished, "HILS_Rx", "HILS_Tx", cycle_ns=20).missed == 2


@given(
    st.lists(st.tuples(st.integers(0, 900), st.sampled_from("abc")), max_size=12),
    st.tuples(*[st.lists(st.integers(1, 60), min_size=1, max_size=4)] * 3),
    st.integers(0, 7),
    st.one_of(st.none(), st.integers(1, 99)),
)
def test_whatever_happens_the_statistics_add_up(
    events: list[tuple[int, str]], costs: tuple[list[int], ...], switch_ns: int, slice_ns: int | None
) -> None:
    def work(steps: list[int]) -> Callable[[], Job]:
        def job() -> Job:
            for step in steps:
                yield step
                yield GIVE_WAY

        return job

    tasks = [("a", 1), ("b", 2), ("c", 3)]
    jobs = {name: work(steps) for (name, _), steps in zip(tasks, costs, strict=True)}
    releases = [Release(*event) for event in events]

    def once() -> Trace:
        if slice_ns is None:
            return run_preemptive(tasks, jobs, releases, end_ns=1000, switch_ns=switch_ns)
        return run_cooperative(
            tasks, jobs, releases, end_ns=1000, period_ns=100, sliced="c", slice_ns=slice_ns, switch_ns=switch_ns
        )

    trace = once()
    assert trace.text().encode() == once().text().encode()
    times = [entry.time_ns for entry in trace.entries]
    assert times == sorted(times)
    for sample in (*samples(trace, cycle_ns=100, sample_ns=250), whole := statistics(trace, cycle_ns=100)):
        spent_ns = sum(sample.tet_ns.values())
        length_ns = sample.end_ns - sample.begin_ns
        assert sum(sample.per_cycle_ns.values()) <= 100 * (1 + 1e-12)
        assert not spent_ns or sum(sample.share_percent.values()) == pytest.approx(100.0)
        to_idle_ns = length_ns - spent_ns - sample.idle_ns
        assert 0 <= to_idle_ns <= switch_ns * (sample.switches + 1)
        usage = 100.0 * sum(sample.per_cycle_ns.values()) / 100
        assert sample.cpu_percent == pytest.approx(usage + 100.0 * to_idle_ns / length_ns)
    # Every job that is done had its whole cost, besides what switching took.
    finished_ns = sum(
        sum(steps) * len(trace.times_ns("done", name)) for (name, _), steps in zip(tasks, costs, strict=True)
    )
    assert finished_ns <= sum(whole.tet_ns.values())
    assert len(trace.times_ns("release", "a")) == sum(task == "a" for _, task in events)
    if slice_ns is None and switch_ns == 0:
        free_ns, ends = 0, []
        for start_ns in sorted(time_ns for time_ns, task in events if task == "a"):
            free_ns = max(free_ns, start_ns) + sum(costs[0])
            ends.append(free_ns)
        assert trace.times_ns("done", "a") == [end for end in ends if end < 1000], "the most urgent never waits"


@pytest.mark.parametrize(("busy_ns", "percent"), [(0, 0), (391, 40), (399, 40), (400, 40), (401, 41), (1000, 100)])
def test_whole_percent_as_uc_os_reckons_it(busy_ns: int, percent: int) -> None:
    releases = [Release(0, "a")] if busy_ns else []
    trace = run_preemptive([("a", 1)], {"a": busy(busy_ns)}, releases, end_ns=1000)
    assert statistics(trace, cycle_ns=100).os_percent == percent


@pytest.mark.parametrize("tasks", [[("a", 1), ("b", 1)], [("a", 1), ("a", 2)], [(IDLE, 1)]])
def test_tasks_that_cannot_be_told_apart_are_refused(tasks: list[tuple[str, int]]) -> None:
    with pytest.raises(ValueError, match="of their own"):
        run_preemptive(tasks, {}, [], end_ns=10)


def test_a_cost_must_pass_time_and_a_sample_must_lie_in_the_trace() -> None:
    def idle_job() -> Job:
        yield 0

    with pytest.raises(ValueError, match="a: expected a cost above 0 ns, not 0"):
        run_preemptive([("a", 1)], {"a": idle_job}, [Release(0, "a")], end_ns=10)
    trace = run_preemptive([("a", 1)], {"a": busy(5)}, [Release(0, "a")], end_ns=10)
    with pytest.raises(ValueError, match="within the 10 ns"):
        statistics(trace, cycle_ns=5, begin_ns=5, end_ns=11)
