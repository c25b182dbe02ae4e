"""How the supervisor ends a process: one that makes progress is waited for; our own kill is no fault of the process."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
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
