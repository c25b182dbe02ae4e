"""A flight that could not be flown leaves its run folder and why; one that was flown after all leaves nothing."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from campaign_runs import SHORT
from campaign_tables import filled, outcome

from aeroloop.campaign import kept, worker
from aeroloop.campaign.campaign_page import render
from aeroloop.campaign.campaigns import Campaign, replay_exit_code
from aeroloop.campaign.design import flights
from aeroloop.campaign.driver import Driver, Ended, Progress
from aeroloop.campaign.store import Store
from aeroloop.campaign.worker import Report, Task
from aeroloop.core.errors import EXIT_LINK, EXIT_OK, ConfigError, LinkError
from aeroloop.core.paths import runtime_dir


def one_task(folder: Path) -> Task:
    campaign = Campaign({"name": "one", "scenario": SHORT, "flights": 1}, out=folder)
    with campaign._writing() as store:
        store.begin(campaign.about())
        (task,) = campaign.tasks(store, list(flights(campaign.definition)))
    return task


def log_in(run: Path) -> Path:
    run.mkdir(parents=True)
    (run / "flight.log").write_text("the last rows")
    return run


def test_a_flight_whose_link_failed_keeps_its_run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(plan: object, folder: Path, watcher: object) -> None:
        log_in(folder)
        raise LinkError("the board does not answer")

    monkeypatch.setattr(worker, "carry_out", fail)
    monkeypatch.setattr(worker, "inlinable", lambda plan: False)
    report = worker.fly(one_task(tmp_path))
    left = kept.place(tmp_path, 1)
    assert report == Report(report.key, why="the board does not answer", exit_code=EXIT_LINK)
    assert (left / "why.txt").read_text() == "the board does not answer\n"
    assert (left / "flight.log").read_text() == "the last rows"


def test_a_fault_of_the_program_keeps_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(plan: object) -> None:
        raise ZeroDivisionError("of a law")

    monkeypatch.setattr(worker, "fly_inline", fail)
    assert worker.fly(one_task(tmp_path)).why == "ZeroDivisionError: of a law"
    left = (kept.place(tmp_path, 1) / "why.txt").read_text()
    assert left.startswith("Traceback") and "ZeroDivisionError: of a law" in left


def test_the_folder_of_a_killed_worker_is_kept(tmp_path: Path) -> None:
    folder = runtime_dir() / f"campaign-{os.getpid()}-killed"
    log_in(folder / kept.RUN)
    try:
        kept.keep_of_killed(str(tmp_path / "aborted" / "flight-7"), "not ended within 1 s", os.getpid())
        assert (kept.place(tmp_path, 7) / "flight.log").is_file()
    finally:
        folder.rmdir()
    kept.keep_of_killed(str(kept.place(tmp_path, 8)), "lost", os.getpid())
    assert [path.name for path in kept.place(tmp_path, 8).iterdir()] == ["why.txt"]


def test_a_second_attempt_replaces_the_first_and_the_number_is_limited(tmp_path: Path) -> None:
    for number in range(1, kept.MOST + 6):
        kept.keep(str(kept.place(tmp_path, number)), "first")
    kept.keep(str(kept.place(tmp_path, 3)), "second", log_in(tmp_path / "run"))
    assert len(list((tmp_path / "aborted").iterdir())) == kept.MOST
    assert (kept.place(tmp_path, 3) / "why.txt").read_text() == "second\n"
    kept.keep(None, "on another machine", log_in(tmp_path / "run"))
    assert (tmp_path / "run").is_dir()


def test_nothing_is_kept_of_a_flight_that_was_flown_at_last(tmp_path: Path) -> None:
    task = one_task(tmp_path)
    kept.keep(task.kept, "lost")

    class Workers:
        count = 1

        def reports(self, waiting: deque[Task], limit_s: float) -> Iterator[Ended]:
            yield waiting.popleft(), Report(task.key, outcome(0.1))

    store = Store(tmp_path, writes=True)
    Driver(store, 1.0, 2, Progress(1, 1)).fly([task], Workers())
    store.close()
    assert list((tmp_path / "aborted").iterdir()) == []


def test_an_aborted_flight_can_be_replayed_and_the_report_says_where_its_files_are(tmp_path: Path) -> None:
    campaign = filled(tmp_path, aborted=1)
    kept.keep(str(kept.place(tmp_path, 20)), "lost")
    row = campaign.status().aborted[0]
    _, scenario = campaign.plan_of(row.number)
    flown: Any = SimpleNamespace(folder=tmp_path, summary={"log_sha256": "new", "ok": True}, exit_code=EXIT_OK)
    replay = campaign.replayed(row, scenario, lambda plan, folder: flown)
    assert replay.words == "flown here; in the campaign it could not be flown: the worker process was lost"
    assert replay_exit_code(replay) == EXIT_OK
    page = render(campaign.status(), tmp_path)
    assert "aborted/flight-20" in page and f"aeroloop campaign replay {tmp_path} 20" in page


def test_a_flight_that_is_still_planned_cannot_be_replayed(tmp_path: Path) -> None:
    one_task(tmp_path)
    campaign = Campaign({"name": "one", "scenario": SHORT, "flights": 1}, out=tmp_path)
    with pytest.raises(ConfigError, match="flight 1 was not flown yet; expected one with a result"):
        campaign.replay(1)
