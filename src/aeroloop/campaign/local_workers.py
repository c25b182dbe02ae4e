"""Worker processes on this machine. One that is lost, or whose flight runs past its wall limit, is replaced."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait

import msgspec

from aeroloop.campaign import kept
from aeroloop.campaign.driver import POLL_S, Ended
from aeroloop.campaign.worker import LIFE, LINK, Report, Task
from aeroloop.core.errors import EXIT_LINK
from aeroloop.core.tables import Role
from aeroloop.flight import forked

WORKER = Role("worker", "aeroloop.campaign.worker", environment=(("AEROLOOP_WORKER", "1"),))
"""Started as a program, by its environment: one that is forked itself must not fork the processes of a flight."""


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

    def taken(self) -> Task:
        """The flight that it had."""
        task, self.task = self.task, None
        assert task is not None
        return task

    def end(self) -> None:
        """With its whole process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        self.link.close()
        self._life.close()


class LocalWorkers:
    """`with LocalWorkers(4) as workers:`; they end with the context, and with this process however it ends."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._workers: list[Worker] = []

    def __enter__(self) -> LocalWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def reports(self, waiting: deque[Task], limit_s: float) -> Iterator[Ended]:
        while waiting or any(worker.task for worker in self._workers):
            self._hand_out(waiting, limit_s)
            busy = {worker.link: index for index, worker in enumerate(self._workers) if worker.task}
            ready = wait(list(busy), POLL_S)
            if not ready:
                yield None
            for link, index in busy.items():
                worker = self._workers[index]
                if link in ready:
                    report = worker.report()
                    if report is not None:
                        yield worker.taken(), report
                        continue
                    why = f"the worker process was lost (exit code {worker.process.wait()})"
                elif time.monotonic() > worker.until_s:
                    why = f"not ended within {limit_s:g} s of wall time"
                else:
                    continue
                task, pid = worker.taken(), worker.process.pid
                worker.end()
                kept.keep_of_killed(task.kept, why, pid)
                self._workers[index] = Worker()
                yield task, Report(task.key, why=why, exit_code=EXIT_LINK)

    def _hand_out(self, waiting: deque[Task], limit_s: float) -> None:
        idle = sum(worker.task is None for worker in self._workers)
        for _ in range(min(self.count - len(self._workers), len(waiting) - idle)):
            self._workers.append(Worker())
        for index, worker in enumerate(self._workers):
            if worker.task is None and waiting:
                if worker.process.poll() is not None:
                    worker.end()
                    worker = self._workers[index] = Worker()
                worker.give(waiting.popleft(), limit_s)
