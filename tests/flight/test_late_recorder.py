"""A recorder that the system leaves no time: rows of a process that has already ended are in the log all the same."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from aeroloop.core.scenario_files import find, load
from aeroloop.flight.child import Child
from aeroloop.flight.results import LOG
from aeroloop.flight.supervisor import Flight
from aeroloop.recording.log import read

PATIENCE_S = 60


def test_rows_of_a_process_that_ends_before_the_recorder_looks_are_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ground's setpoints, which it sends all at once, at its end."""
    plan = load(find("tiltrotor-spiral"), ("duration_s=0.6", "checks=[]"))
    continued: list[bool] = []

    def continue_after(recorder: Child, ground: Child) -> None:
        for _ in range(int(PATIENCE_S / 0.01)):
            if ground.process.poll() is not None:
                break
            time.sleep(0.01)
        continued.append(ground.process.poll() is not None)
        os.kill(recorder.process.pid, signal.SIGCONT)

    def send(child: Child, word: str) -> None:
        if word == "start" and child.role.name == "plant":
            recorder, ground = (flight._children[name] for name in ("recorder", "ground"))
            os.kill(recorder.process.pid, signal.SIGSTOP)
            threading.Thread(target=continue_after, args=(recorder, ground), daemon=True).start()
        as_before(child, word)

    as_before = Child.send
    monkeypatch.setattr(Child, "send", send)
    with Flight(plan, tmp_path) as flight:
        outcome = flight.fly(lambda flown_s: None)
    assert (outcome.exit_code, outcome.ended) == (0, "completed")
    assert continued == [True]
    assert len(read(tmp_path / LOG).rows["setpoint"]) == 51
