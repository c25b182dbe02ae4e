"""The driver of a campaign: hands flights to workers, and writes what they report into the store.

A flight whose worker was lost, or that ran past its wall limit, is tried again. Which worker flies what, where and in
which order, has no influence on a flight: the rows are the same with any number of workers on any machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from statistics import median, quantiles
from typing import Protocol

from aeroloop.campaign import kept
from aeroloop.campaign.store import ABORTED, FLOWN, PLANNED, Store
from aeroloop.campaign.worker import Report, Task
from aeroloop.core.errors import DISK_FULL, EXIT_USAGE, ConfigError, StorageError

POLL_S = 1.0
PLANNED_A_TIME = 100
RECENT = 50
"""Flights from which the remaining time is estimated."""


@dataclass
class Progress:
    """Counts of a running campaign, and the wall time that remains."""

    total: int
    workers: int
    done: int = 0  # with those aborted
    failed: int = 0
    aborted: int = 0
    planned: int | None = None  # flights so far, while they are planned
    until: int | None = None  # where this run ends before all are done
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
        left = max(0, (self.total if self.until is None else self.until) - self.done) / self.workers
        return left * middle, left * low, left * high

    @property
    def words(self) -> str:
        if self.planned is not None:
            return f"{self.planned} of {self.total} flights planned"
        text = f"{self.done} of {self.total} flights, {self.failed} failed, {self.aborted} aborted"
        if self.per_s is not None:
            text += f", {self.per_s:.2g}/s"
        if (left := self.remaining_s) is not None and self.done < self.total:
            text += f", {_duration(left[0])} left ({_duration(left[1])} to {_duration(left[2])})"
        return text


def _duration(seconds: float) -> str:
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"


OnProgress = Callable[[Progress], None]


Ended = tuple[Task, Report] | None
"""A flight that ended and its report; None: nothing ended for a while."""


class Workers(Protocol):
    """Where flights are flown: processes of this machine (`local_workers.py`) or of a cluster (`ray_workers.py`)."""

    count: int  # flights at a time

    def reports(self, waiting: deque[Task], limit_s: float) -> Iterator[Ended]:
        """Fly all that waits, and what is added meanwhile. `limit_s`: wall time of one flight."""
        ...


@dataclass
class Driver:
    """Flies the tasks that a campaign gives, with the limits of its file."""

    store: Store
    limit_s: float  # wall time of one flight
    retries: int
    progress: Progress
    on_progress: OnProgress = lambda progress: None

    def planning(self, count: int) -> None:
        """Tell now and then how many flights are planned."""
        if count and count % PLANNED_A_TIME == 0:
            self.on_progress(replace(self.progress, planned=count))

    def fly(self, tasks: Iterable[Task], workers: Workers) -> None:
        """All of them; each result is in the store before the next one is counted."""
        waiting = deque(tasks)
        for ended in workers.reports(waiting, self.limit_s):
            self.progress.workers = workers.count
            if ended is None:
                self.on_progress(self.progress)
            elif self._tried_again(*ended):
                waiting.append(ended[0])

    def _tried_again(self, task: Task, report: Report) -> bool:
        if report.outcome is not None:
            self.store.flown(task.key, report.outcome)
            kept.discard(task.kept)
            self.progress.failed += report.outcome.verdict != "passed"
            self.progress.recent_s.append(report.outcome.wall_s)
        elif report.exit_code == EXIT_USAGE:
            raise ConfigError(report.why)
        elif DISK_FULL in report.why:  # nothing can be flown, and no flight is to blame
            raise StorageError(f"{report.why}; what was flown is kept, and the same command continues")
        elif self.store.not_flown(task.key, report.why, exit_code=report.exit_code, retries=self.retries):
            self.progress.aborted += 1
        else:
            return True
        self.progress.done += 1
        self._tell(task, ABORTED if report.outcome is None else report.outcome.verdict)
        return False

    def _tell(self, task: Task, end: str) -> None:
        self.progress.last = f"{task.key[:8]} {end}"
        self.on_progress(self.progress)


def counted(store: Store, total: int, workers: int) -> Progress:
    """What the store has already."""
    rows = store.rows()
    done = [row for row in rows if row.state != PLANNED]
    progress = Progress(total, workers, done=len(done))
    progress.failed = sum(row.state == FLOWN and not row.passed for row in rows)
    progress.aborted = sum(row.state == ABORTED for row in rows)
    return progress
