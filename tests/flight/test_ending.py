"""The end of a flight: who ends it, what is judged, and what signals may not break."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_INTERRUPTED, EXIT_LINK, EXIT_OK, EXIT_TERMINATED, StorageError
from aeroloop.core.fleet import parts_of
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import find, load
from aeroloop.flight import judging, results, signals
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.judging import judge
from aeroloop.flight.live_control import ENDED, LiveControl
from aeroloop.flight.supervisor import Flight, Outcome
from aeroloop.realtime.controls import ControlPort, Controls
from aeroloop.recording import log
from aeroloop.recording.log import Log
from aeroloop.sim.pace import Pace


def open_ended(*overrides: str) -> Scenario:
    return load(find("quad-hover"), ("open_ended=true", "checks=[]", *overrides))


def test_an_order_to_end_gives_the_reason_and_the_flight_ends_there(tmp_path: Path) -> None:
    port = ControlPort(tmp_path, now_ns=iter(range(0, 10**12, 10**8)).__next__)
    desk = LiveControl(port, (), Pace(1, lockstep=True), notice=pytest.fail, changed=pytest.fail)
    rounds = 0

    def attend(_: object) -> str:
        nonlocal rounds
        rounds += 1
        if rounds == 10:
            Controls(tmp_path).end("command")
        return desk.attend()

    flight = fly_inline(open_ended(), attend=attend)
    port.close()
    assert flight.ended == ENDED["command"] == "ended by user (aeroloop cmd end)"
    assert rounds == 10
    flown_s = flight.logs[0].column("truth", "t_s")[-1]
    assert 0 < flown_s < 1
    outcome = {"ended": flight.ended, "wall_s": 1.0, "exit_code": EXIT_OK, "error": None}
    assert results.summary_of(open_ended(), flight.logs[0], outcome)["exit_code"] == EXIT_OK
    cut = results.summary_of(load(find("quad-hover"), ("checks=[]",)), flight.logs[0], outcome)
    assert cut["exit_code"] == EXIT_CHECK_FAILED, "one with a duration has not flown it"
    assert [check["name"] for check in cut["checks"] if not check["ok"]] == ["flown_s"]


def test_all_parts_of_a_fleet_are_open_ended_with_it() -> None:
    fleet = load_plan(find("mixed-fleet"), ("open_ended=true",))
    assert fleet.open_ended and all(part.open_ended for part in parts_of(fleet))
    assert {path.stem for path in map(find, ("quad-free", "tiltrotor-joystick")) if load(path).open_ended} == {
        "quad-free",
        "tiltrotor-joystick",
    }


def test_signals_are_noted_and_one_too_many_is_raised() -> None:
    with pytest.raises(signals.Interrupted) as raised, signals.noted(most=1) as came:
        signal.raise_signal(signal.SIGTERM)
        assert came == [signal.SIGTERM]
        signal.raise_signal(signal.SIGINT)
    assert (str(raised.value), raised.value.exit_code) == ("SIGINT", EXIT_INTERRUPTED)
    assert signals.exit_code(signal.SIGTERM) == EXIT_TERMINATED
    with pytest.raises(KeyboardInterrupt):  # as before
        signal.raise_signal(signal.SIGINT)


def test_another_thread_notes_nothing_and_changes_nothing() -> None:
    before, inside = signal.getsignal(signal.SIGINT), []

    def elsewhere() -> None:
        with signals.noted():
            inside.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert inside == [before]


SHORT = ("duration_s=0.3", "checks=[]")
SIGNALLED = """
import itertools, signal, sys
from aeroloop.cli import main
from aeroloop.flight.supervisor import Flight

which, calls, take_down = int(sys.argv.pop(1)), itertools.count(1), Flight._take_down

def interrupted(self):
    if next(calls) == which:
        signal.raise_signal(signal.SIGTERM)
    take_down(self)

Flight._take_down = interrupted
main()
"""


class Interrupting:
    """Of the calls of a flight's `_take_down`: at its end, in its clean-up, and where it is left."""

    def __init__(self, which: int) -> None:
        self.calls, self._which, self._take_down = 0, which, Flight._take_down

    def __get__(self, flight: Flight, _: type[Flight]) -> Callable[[], None]:
        def take_down() -> None:
            self.calls += 1
            if self.calls == self._which:
                signal.raise_signal(signal.SIGTERM)
            self._take_down(flight)

        return take_down


@pytest.fixture
def recorded() -> Iterator[None]:
    """A signal that the code under test does not record is an error of the test, and does not end pytest."""

    def missed(number: int, _: object) -> None:
        raise RuntimeError(f"{signal.Signals(number).name} was not recorded")

    with signals.handled(missed):
        yield


@pytest.mark.parametrize("which", [1, 2, 3])
def test_a_signal_while_processes_end_leaves_the_verdict(
    which: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: None
) -> None:
    interrupting = Interrupting(which)
    monkeypatch.setattr(Flight, "_take_down", interrupting)
    (tmp_path / "run").mkdir()
    with Flight(load_plan(find("tiltrotor-spiral"), SHORT), tmp_path / "run") as flight:
        outcome = flight.fly(lambda flown_s: None)
    assert interrupting.calls == 3
    assert (outcome.ended, outcome.exit_code, outcome.error) == ("completed", EXIT_TERMINATED, None)
    assert log.read(tmp_path / "run" / results.LOG).truncated is False
    assert not Path(flight.launch[0].folder).exists()


def test_a_signal_after_an_error_leaves_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: None
) -> None:
    interrupting = Interrupting(1)
    monkeypatch.setattr(Flight, "_take_down", interrupting)
    with pytest.raises(StorageError, match="the disk is full"), Flight(open_ended(), tmp_path):
        raise StorageError("the disk is full")
    assert interrupting.calls == 1


def test_the_command_ends_with_its_verdict_and_the_signals_code(tmp_path: Path) -> None:
    settings = [each for setting in SHORT for each in ("--set", setting)]
    command = ["fly", "tiltrotor-spiral", "--no-report", *settings, "--out", str(tmp_path / "run")]
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED, "3", *command], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == EXIT_TERMINATED, done.stderr
    assert "Traceback" not in done.stderr and "tiltrotor-spiral on rung mil" in done.stdout
    summary = json.loads((tmp_path / "run" / results.SUMMARY).read_bytes())
    assert (summary["exit_code"], summary["ended"]) == (EXIT_TERMINATED, "completed")


@pytest.fixture
def flown(monkeypatch: pytest.MonkeyPatch) -> Scenario:
    scenario = open_ended()
    monkeypatch.setattr(results, "read_log", lambda folder, plan: Log.empty(()))
    monkeypatch.setattr(results, "summary_of", lambda plan, log, outcome: {"exit_code": outcome["exit_code"]})
    monkeypatch.setattr(results, "write_report", lambda folder, *_: folder / "report.html")
    return scenario


def test_a_full_disk_costs_the_files_and_not_the_verdict(
    flown: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StorageError("summary.json: cannot be written: the disk is full")

    monkeypatch.setattr(results, "keep_summary", full)
    outcome = Outcome("failed", began=True, exit_code=EXIT_LINK, error="flight.mcap: the log cannot be continued")
    judged = judge(tmp_path, flown, outcome)
    assert (judged.exit_code, judged.summary) == (EXIT_LINK, {"exit_code": EXIT_LINK})
    assert [error.partition(":")[0] for error in judged.errors] == [
        "summary.json"
    ]  # the log's is told before the report
    assert judge(tmp_path, flown, Outcome("completed", began=True)).exit_code == EXIT_LINK


def test_a_signal_leaves_out_the_report_and_keeps_the_summary(
    flown: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(folder: Path, summary: dict[str, Any]) -> None:
        signal.raise_signal(signal.SIGTERM)
        (folder / results.SUMMARY).write_text("kept")

    monkeypatch.setattr(results, "keep_summary", interrupted)
    judged = judge(tmp_path, flown, Outcome("completed", began=True))
    assert (judged.exit_code, judged.report) == (EXIT_TERMINATED, None)
    assert (tmp_path / results.SUMMARY).read_text() == "kept"

    monkeypatch.setattr(results, "keep_summary", lambda *_: None)
    monkeypatch.setattr(results, "write_report", lambda *_: signal.raise_signal(signal.SIGINT))
    judged = judging.judge(tmp_path, flown, Outcome("completed", began=True))
    assert (judged.exit_code, judged.report) == (EXIT_INTERRUPTED, None)
