"""The board's scheduler as a discrete-event model: whole nanoseconds, no wall clock, the same input the same trace.

A job is a generator that does its work and yields what it cost: nanoseconds, `Post(task)` to release another task, or
`GIVE_WAY`, where a cooperative program lets others run. A task whose releases outnumber its finished jobs is ready.

Preemptive: the ready task with the lowest number runs until it is done or an event makes a more urgent one ready; a
cost is split where an event falls into it. Cooperative, as in Dynamic C: ready tasks take turns in the order of their
numbers, each until it gives way or is done; the planner has no turn but one slice in each period, when nobody
else is ready and the period has more time left than the slice takes.

Each change of the running task costs `switch_ns`, in which events wait; the time belongs to the task that comes, as in
uC/OS-II, where OSTaskSwHook() closes the account of the one that goes. Idling is a task too.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

IDLE = "idle"


@dataclass(frozen=True, slots=True)
class Post:
    """Yielded by a job: releases another task."""

    task: str


class _GiveWay:
    """Yielded by a job: a place where a cooperative program lets others run."""


GIVE_WAY = _GiveWay()
Job = Generator[int | Post | _GiveWay, None, None]
Work = Mapping[str, Callable[[], Job]]


class Release(NamedTuple):
    """An event from outside: a tick, or bytes that came."""

    time_ns: int
    task: str


class Entry(NamedTuple):
    """`run`: the processor turns to this task; `release` and `done`: a job of it begins to wait, or has ended."""

    time_ns: int
    what: str
    task: str


@dataclass(frozen=True, slots=True)
class Trace:
    """What happened, in order."""

    entries: tuple[Entry, ...]
    end_ns: int
    switch_ns: int

    def text(self) -> str:
        return "".join(f"{entry.time_ns} {entry.what} {entry.task}\n" for entry in self.entries)

    def times_ns(self, what: str, task: str) -> list[int]:
        return [entry.time_ns for entry in self.entries if entry.what == what and entry.task == task]


def every(period_ns: int, task: str, end_ns: int, *, first_ns: int = 0) -> Iterator[Release]:
    """Releases of a periodic task."""
    return (Release(time_ns, task) for time_ns in range(first_ns, end_ns, period_ns))


def run_preemptive(
    tasks: Sequence[tuple[str, int]], work: Work, releases: Iterable[Release], *, end_ns: int, switch_ns: int = 0
) -> Trace:
    """Until `end_ns`; `tasks` are names and priorities, of which the lower number wins."""
    cpu = _Processor(tasks, work, releases, end_ns, switch_ns)
    while cpu.now_ns < end_ns:
        task = next(filter(cpu.is_ready, cpu.order), IDLE)
        if cpu.turn_to(task):
            continue  # events waited while it turned
        if task == IDLE:
            cpu.spend(end_ns)
        elif cpu.has_work(task):
            cpu.work_on(task, end_ns)
        else:
            cpu.advance(task)
    return cpu.trace()


def run_cooperative(
    tasks: Sequence[tuple[str, int]],
    work: Work,
    releases: Iterable[Release],
    *,
    end_ns: int,
    period_ns: int,
    sliced: str,
    slice_ns: int,
    switch_ns: int = 0,
) -> Trace:
    """Until `end_ns`; the task `sliced` runs for `slice_ns` once in each period at most, the others in their turns."""
    cpu = _Processor(tasks, work, releases, end_ns, switch_ns)
    turns = [task for task in cpu.order if task != sliced]
    last_slice = -1
    while cpu.now_ns < end_ns:
        ran = False
        for task in filter(cpu.is_ready, turns):
            ran = True
            cpu.turn_to(task)
            cpu.work_through(task, end_ns)
        period, into_ns = divmod(cpu.now_ns, period_ns)
        if ran:
            continue
        if cpu.is_ready(sliced) and period > last_slice and period_ns - into_ns > slice_ns + switch_ns:
            last_slice = period
            cpu.turn_to(sliced)
            until_ns = cpu.now_ns + slice_ns
            while cpu.now_ns < min(until_ns, end_ns) and cpu.is_ready(sliced):
                cpu.work_through(sliced, until_ns)
        else:
            cpu.turn_to(IDLE)
            # A new period is an event for the slice, though nobody is released.
            cpu.spend((period + 1) * period_ns)
    return cpu.trace()


class _Processor:
    """One processor with its clock, its jobs and the releases to come."""

    def __init__(
        self,
        tasks: Sequence[tuple[str, int]],
        work: Work,
        releases: Iterable[Release],
        end_ns: int,
        switch_ns: int,
    ) -> None:
        self.order = tuple(name for name, _ in sorted(tasks, key=lambda task: task[1]))
        priorities = {priority for _, priority in tasks}
        if len(priorities) < len(self.order) or len(set(self.order)) < len(self.order) or IDLE in self.order:
            raise ValueError(f"expected tasks with names and priorities of their own, none called {IDLE}")
        self.now_ns = 0
        self._end_ns, self._switch_ns, self._work = end_ns, switch_ns, work
        # Equal times keep the order in which they were given.
        self._coming = [(release.time_ns, number, release.task) for number, release in enumerate(releases)]
        heapq.heapify(self._coming)
        self._waiting = dict.fromkeys(self.order, 0)
        self._jobs: dict[str, Job] = {}
        self._left_ns = dict.fromkeys(self.order, 0)
        self._running = IDLE
        self._entries = [Entry(0, "run", IDLE)]
        self._admit()

    def trace(self) -> Trace:
        entries = tuple(entry for entry in self._entries if entry.time_ns <= self._end_ns)
        return Trace(entries, self._end_ns, self._switch_ns)

    def is_ready(self, task: str) -> bool:
        return self._waiting[task] > 0 or task in self._jobs

    def has_work(self, task: str) -> bool:
        """Whether a cost that the task's job has yielded is still to be spent."""
        return self._left_ns[task] > 0

    def turn_to(self, task: str) -> bool:
        """Whether the running task changed."""
        if task == self._running:
            return False
        self._running = task
        self._entries.append(Entry(self.now_ns, "run", task))
        self.now_ns += self._switch_ns
        self._admit()
        return True

    def advance(self, task: str) -> bool:
        """Let the task's job go on to its next yield; whether it neither ended nor gave way."""
        if task not in self._jobs:
            self._waiting[task] -= 1
            self._jobs[task] = self._work[task]()
        step = next(self._jobs[task], None)
        if step is None:
            del self._jobs[task]
            self._entries.append(Entry(self.now_ns, "done", task))
            return False
        if isinstance(step, Post):
            self._release(step.task, self.now_ns)
        elif isinstance(step, int):
            if step <= 0:
                raise ValueError(f"{task}: expected a cost above 0 ns, not {step}")
            self._left_ns[task] = step
        return step is not GIVE_WAY

    def work_on(self, task: str, until_ns: int, *, through: bool = False) -> None:
        """Spend what the job has yielded, until then, and until the next event unless it works through."""
        before_ns = self.now_ns
        self.spend(min(before_ns + self._left_ns[task], until_ns), through=through)
        self._left_ns[task] -= self.now_ns - before_ns

    def work_through(self, task: str, until_ns: int) -> None:
        """Until the job has ended, gives way or the time is up, whatever happens meanwhile."""
        until_ns = min(until_ns, self._end_ns)
        while True:
            if self.has_work(task):
                if self.now_ns >= until_ns:
                    return
                self.work_on(task, until_ns, through=True)
            elif not self.advance(task):
                return  # even at the last moment, so that a job whose work is done is done

    def spend(self, until_ns: int, *, through: bool = False) -> None:
        if self._coming and not through:
            until_ns = min(until_ns, self._coming[0][0])
        self.now_ns = max(self.now_ns, min(until_ns, self._end_ns))
        self._admit()

    def _admit(self) -> None:
        while self._coming and self._coming[0][0] <= self.now_ns:
            time_ns, _, task = heapq.heappop(self._coming)
            self._release(task, time_ns)

    def _release(self, task: str, time_ns: int) -> None:
        self._waiting[task] += 1
        self._entries.append(Entry(time_ns, "release", task))
