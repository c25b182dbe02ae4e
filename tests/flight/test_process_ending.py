"""How the supervisor ends processes: one that makes progress is waited for, our own kill is no fault of the process,
and links close after the log is complete."""

from __future__ import annotations

import itertools
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from aeroloop.core.tables import Role
from aeroloop.flight import supervisor
from aeroloop.flight.child import RECORDER_GRACE_S, Child
from aeroloop.flight.process_table import Process
from aeroloop.flight.results import LOG
from aeroloop.flight.supervisor import Flight


class Writer:
    """A process that, told to end, goes on for so many looks; while it works its log grows."""

    def __init__(self, log: Path, looks: int, *, works: bool = True) -> None:
        self._log, self._looks, self._works = log, looks, works
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self._looks -= 1
            if self._looks <= 0:
                self.returncode = 0
            elif self._works:
                with self._log.open("ab") as file:
                    file.write(b"row")
        return self.returncode

    def terminate(self) -> None: ...
    def wait(self) -> None: ...
    def kill(self) -> None:
        self.returncode = -signal.SIGKILL


@pytest.fixture
def ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Ends a recorder by a clock that advances a second with every look."""
    now_s = iter(range(10**6))
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: float(next(now_s)))
    monkeypatch.setattr(supervisor.time, "sleep", lambda seconds: None)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def end(process: Any) -> Child:
        flight = Flight.__new__(Flight)
        flight._out, flight._signals = tmp_path, []  # type: ignore[attr-defined]
        child = Child(Process(Role("recorder", "recorder")), process, ours)
        flight._end([child], RECORDER_GRACE_S, progress=flight._log_bytes)
        return child

    with ours, theirs:
        yield end


def test_a_recorder_that_still_writes_is_waited_for(ended: Any, tmp_path: Path) -> None:
    child = ended(Writer(tmp_path / LOG, looks=100))
    assert child.process.returncode == 0
    assert child.verdict() is None


def test_one_that_does_nothing_is_stopped_and_that_is_not_called_its_fault(ended: Any, tmp_path: Path) -> None:
    child = ended(Writer(tmp_path / LOG, looks=100, works=False))
    assert child.process.returncode == -signal.SIGKILL
    verdict = child.verdict()
    assert verdict is not None and verdict.exit_code == 3
    assert str(verdict) == (
        "the recorder process made no progress for 5 s after the flight and was stopped: the log may be incomplete"
    )
    assert "killed" not in str(verdict)


class Waiting:
    """A process that notes when it ends: at SIGTERM, or, if it `keeps` its link, at the order to close that."""

    def __init__(self, role: Role, line: socket.socket, noted: list[str], *, keeps: bool) -> None:
        self._role, self._line, self._noted, self._keeps = role, line, noted, keeps
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and self._keeps:
            try:
                word = self._line.recv(64, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            if word == b"close":
                self._end("closed its link")
        return self.returncode

    def terminate(self) -> None:
        if self._keeps:
            self._noted.append(f"{self._role.name} wrote its last rows")
            self._line.send(b'{"kind": "done"}')
        else:
            self._end("ended")

    def wait(self) -> None: ...
    def kill(self) -> None:
        self._end("was killed")

    def _end(self, how: str) -> None:
        self.returncode = 0
        self._noted.append(f"{self._role.name} {how}")


ROLES = (
    Role("plant", "plant"),
    Role("recorder", "recorder"),
    Role("camera", "camera", ends_by_recorder=True),
    Role("router", "router", holds_link=True),
    Role("board", "board"),
)


@pytest.fixture
def taken_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[bool], list[str]]]:
    """What the processes of a flight note while it is taken down; `done`: the plant has completed it."""
    now_s = itertools.count()
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: 1e-3 * next(now_s))
    monkeypatch.setattr(supervisor.time, "sleep", lambda seconds: None)
    with ExitStack() as lines:

        def take_down(done: bool) -> list[str]:
            noted: list[str] = []
            flight: Any = Flight.__new__(Flight)
            flight._out, flight._signals, flight._kept_ends, flight._children = tmp_path, [], {}, {}
            for role in ROLES:
                ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                ours, theirs = map(lines.enter_context, ends)
                keeps = done and role.name in ("plant", "router")
                flight._children[role.name] = Child(Process(role), Waiting(role, theirs, noted, keeps=keeps), ours)
            if done:
                flight._children["plant"].messages.append({"kind": "done"})
            flight._take_down()
            return noted

        yield take_down


def test_links_close_after_the_recorder_has_finished(taken_down: Callable[[bool], list[str]]) -> None:
    """PX4 spins once its link has ended, and would take the processor from those that still write."""
    assert taken_down(True) == [
        "router wrote its last rows",
        "board ended",
        "recorder ended",
        "camera ended",
        "router closed its link",
        "plant closed its link",
    ]


def test_a_plant_that_has_not_completed_its_flight_ends_before_the_recorder(
    taken_down: Callable[[bool], list[str]],
) -> None:
    ended = [f"{name} ended" for name in ("plant", "router", "board", "recorder", "camera")]
    assert taken_down(False) == ended
