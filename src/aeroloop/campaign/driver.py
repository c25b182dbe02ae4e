"""The driver of a campaign: hands flights to worker processes, and writes what they report into the store.

A worker that is lost, and one whose flight runs past its wall limit, is replaced; its flight is tried again. Which
worker flies what, and in which order, has no influence on a flight: the rows are the same with any number of workers.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from statistics import median, quantiles

import msgspec

from aeroloop.campaign.store import FLOWN, GAVE_UP, PLANNED, Store
from aeroloop.campaign.worker import LIFE, LINK, Report, Task
from aeroloop.core.errors import EXIT_LINK, EXIT_USAGE, ConfigError
from aeroloop.core.tables import Role
from aeroloop.flight import forked

WORKER = Role("worker", "aeroloop.campaign.worker", environment=(("AEROLOOP_WORKER", "1"),))
"""Started as a program, by its environment: one that is forked itself must not fork the processes of a flight."""
POLL_S = 1.0
RECENT = 50
"""Flights from which the remaining time is estimated."""


@dataclass
class Progress:
    """Counts of a running campaign, and the wall time that remains."""

    total: int
    workers: int
    done: int = 0  # with those given up
    failed: int = 0
    gave_up: int = 0
    last: str = ""
    recent_s: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))

    @property
    def per_s(self) -> float | None:
        """Flights per second."""
        return self.workers / max(1e-9, median(self.recent_s)) if self.recent_s else None

    @property
    def remaining_s(self) -> tuple[float, float, float] | None:
        """By the median, and by the quartiles, of the recent flights."""
        if len(self.recent_s) < 2:
            return None
        low, middle, high = quantiles(self.recent_s, n=4, method="inclusive")
        left = (self.total - self.done) / self.workers
        return left * middle, left * low, left * high

    @property
    def words(self) -> str:
        text = f"{self.done} of {self.total} flights, {self.failed} failed, {self.gave_up} gave up"
        if self.per_s is not None:
            text += f", {self.per_s:.2g}/s"
        if (left := self.remaining_s) is not None and self.done < self.total:
            text += f", {_duration(left[0])} left ({_duration(left[1])} to {_duration(left[2])})"
        return text


def _duration(seconds: float) -> str:
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"


Told = Callable[[Progress], None]


class Worker:
    """A worker process and the flight that it has."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._life, life = socket.socketpair()
        with theirs, life:
            self.process = forked.start(WORKER, "-", [(LINK, theirs.fileno()), (LIFE, life.fileno())])
        self.link = Connection(ours.detach())
        self.task: Task | None = None
        self.until_s = 0.0

    def give(self, task: Task, limit_s: float) -> None:
        self.task, self.until_s = task, time.monotonic() + limit_s
        with suppress(OSError):  # it was lost, which is found when its report is read
            self.link.send_bytes(msgspec.json.encode(task))

    def report(self) -> Report | None:
        """None if it was lost."""
        try:
            return msgspec.json.decode(self.link.recv_bytes(), type=Report)
        except (EOFError, OSError):
            return None

    def end(self) -> None:
        """With its whole process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        self.link.close()
        self._life.close()


@contextmanager
def pool(count: int) -> Iterator[list[Worker]]:
    workers: list[Worker] = []
    try:
        for _ in range(count):
            workers.append(Worker())
        yield workers
    finally:
        for worker in workers:
            worker.end()


@dataclass
class Driver:
    """Flies the tasks that a campaign gives, with the limits of its file."""

    store: Store
    limit_s: float  # wall time of one flight
    retries: int
    progress: Progress
    told: Told = lambda progress: None

    def fly(self, tasks: Iterable[Task], workers: list[Worker]) -> None:
        """All of them; each result is in the store before the next one is counted."""
        waiting = deque(tasks)
        while waiting or any(worker.task for worker in workers):
            for index, worker in enumerate(workers):
                if worker.task is None and waiting:
                    if worker.process.poll() is not None:
                        worker.end()
                        worker = workers[index] = Worker()
                    worker.give(waiting.popleft(), self.limit_s)
            busy = {worker.link: index for index, worker in enumerate(workers) if worker.task}
            ready = wait(list(busy), POLL_S)
            for link, index in busy.items():
                worker = workers[index]
                if link in ready:
                    report = worker.report()
                    again = self._ended(worker, report)
                    if report is None:
                        worker.end()
                        workers[index] = Worker()
                elif time.monotonic() > worker.until_s:
                    again = self._not_flown(worker, f"not ended within {self.limit_s:g} s of wall time", EXIT_LINK)
                    worker.end()
                    workers[index] = Worker()
                else:
                    continue
                if again is not None:
                    waiting.append(again)

    def _ended(self, worker: Worker, report: Report | None) -> Task | None:
        """The task, if it is to be flown again."""
        task = worker.task
        assert task is not None
        if report is None:
            code = worker.process.wait()
            return self._not_flown(worker, f"the worker process was lost (exit code {code})", EXIT_LINK)
        if report.outcome is None:
            if report.exit_code == EXIT_USAGE:
                raise ConfigError(report.why)
            return self._not_flown(worker, report.why, report.exit_code)
        worker.task = None
        self.store.flown(task.key, report.outcome)
        self.progress.done += 1
        self.progress.failed += report.outcome.verdict != "passed"
        self.progress.recent_s.append(report.outcome.wall_s)
        self._tell(task, report.outcome.verdict)
        return None

    def _not_flown(self, worker: Worker, why: str, exit_code: int) -> Task | None:
        task, worker.task = worker.task, None
        assert task is not None
        if not self.store.not_flown(task.key, why, exit_code=exit_code, retries=self.retries):
            return task
        self.progress.done += 1
        self.progress.gave_up += 1
        self._tell(task, GAVE_UP)
        return None

    def _tell(self, task: Task, end: str) -> None:
        self.progress.last = f"{task.key[:8]} {end}"
        self.told(self.progress)


def counted(store: Store, total: int, workers: int) -> Progress:
    """What the store has already."""
    rows = store.rows()
    done = [row for row in rows if row.state != PLANNED]
    progress = Progress(total, workers, done=len(done))
    progress.failed = sum(row.state == FLOWN and not row.passed for row in rows)
    progress.gave_up = sum(row.state == GAVE_UP for row in rows)
    return progress
