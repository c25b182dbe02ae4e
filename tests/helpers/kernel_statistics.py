"""What a scheduler's trace says, by the definitions of uC/OS-II and the fixed-wing paper.

TET_i is the time between switches to task i and away from it, summed over a sample; pi_i = 100 TET_i / sum TET and
TETbar_i = TET_i / (sample / Ts), both without the idle task. CPU use counts what the idle task did not get: the switch
to it is work of the kernel, so the use is 100 sum TETbar / Ts and a little more.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from kernel_model import IDLE, Trace


@dataclass(frozen=True, slots=True)
class Statistics:
    """Of one sample; the idle task is in none of the tables."""

    begin_ns: int
    end_ns: int
    idle_ns: int
    switches: int
    tet_ns: dict[str, int]
    share_percent: dict[str, float]  # pi
    per_cycle_ns: dict[str, float]  # TETbar

    @property
    def cpu_percent(self) -> float:
        return 100.0 - 100.0 * self.idle_ns / (self.end_ns - self.begin_ns)

    @property
    def os_percent(self) -> int:
        """As OS_TaskStat reckons it, in whole numbers."""
        return max(0, 100 - self.idle_ns // max(1, (self.end_ns - self.begin_ns) // 100))


@dataclass(frozen=True, slots=True)
class Latency:
    """From the release of the first task of a cycle to the end of its last; 0 where no cycle was completed."""

    worst_ns: int
    cycles: int
    missed: int  # not complete a period after their release


def statistics(trace: Trace, *, cycle_ns: int, begin_ns: int = 0, end_ns: int | None = None) -> Statistics:
    """Of the sample from `begin_ns` to `end_ns`, or the whole trace."""
    end_ns = trace.end_ns if end_ns is None else end_ns
    if not 0 <= begin_ns < end_ns <= trace.end_ns:
        raise ValueError(f"expected a sample within the {trace.end_ns} ns of the trace, not {begin_ns} to {end_ns}")
    runs = [(entry.time_ns, entry.task) for entry in trace.entries if entry.what == "run"]
    tet_ns: dict[str, int] = {}
    idle_ns = switches = 0
    for number, ((from_ns, task), (to_ns, _)) in enumerate(pairwise([*runs, (trace.end_ns, IDLE)])):
        switched = number > 0  # a trace begins idle
        switches += switched and begin_ns <= from_ns < end_ns
        if task == IDLE and switched:
            from_ns = min(from_ns + trace.switch_ns, to_ns)
        span_ns = max(0, min(to_ns, end_ns) - max(from_ns, begin_ns))
        if task == IDLE:
            idle_ns += span_ns
        elif span_ns:
            tet_ns[task] = tet_ns.get(task, 0) + span_ns
    total_ns = sum(tet_ns.values())
    cycles = (end_ns - begin_ns) / cycle_ns
    return Statistics(
        begin_ns,
        end_ns,
        idle_ns,
        switches,
        tet_ns,
        {task: 100.0 * spent_ns / total_ns for task, spent_ns in tet_ns.items()},
        {task: spent_ns / cycles for task, spent_ns in tet_ns.items()},
    )


def samples(trace: Trace, *, cycle_ns: int, sample_ns: int) -> tuple[Statistics, ...]:
    """One after the other, as the statistics task takes them; an unfinished one at the end is left out."""
    starts = range(0, trace.end_ns - sample_ns + 1, sample_ns)
    return tuple(statistics(trace, cycle_ns=cycle_ns, begin_ns=at, end_ns=at + sample_ns) for at in starts)


def responses_ns(trace: Trace, task: str) -> list[int]:
    """From each release of a task to the end of the job; of a planner, the time that planning took."""
    ends = trace.times_ns("done", task)
    return [end - start for start, end in zip(trace.times_ns("release", task), ends, strict=False)]


def latency(trace: Trace, first: str, last: str, *, cycle_ns: int) -> Latency:
    """Between two tasks that each run once in a cycle, in order; of sensors to actuators, HILS_Rx to HILS_Tx."""
    starts, ends = trace.times_ns("release", first), trace.times_ns("done", last)
    delays = [end - start for start, end in zip(starts, ends, strict=False)]
    due = sum(start + cycle_ns <= trace.end_ns for start in starts)
    in_time = sum(delay <= cycle_ns for delay, _ in zip(delays, range(due), strict=False))
    return Latency(max(delays, default=0), len(delays), due - in_time)
