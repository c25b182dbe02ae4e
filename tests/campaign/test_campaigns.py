"""Campaigns with real flights of a second: resumed, killed, aborted, replayed; the rows depend on nothing else."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from campaign_runs import DELAY, SHORT, processes, rows, rows_flown, start, wait_for, write_files

import aeroloop
from aeroloop.api.flying import fly
from aeroloop.campaign.campaigns import replay_exit_code
from aeroloop.campaign.driver import Progress
from aeroloop.campaign.store import ABORTED, Store
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_INTERRUPTED, EXIT_LINK, EXIT_OK, ConfigError


def campaign(out: Path, **more: Any) -> aeroloop.Campaign:
    table = {"name": "quick", "scenario": SHORT, "flights": 6, "parameter": [DELAY], **more}
    return aeroloop.Campaign(table, out=out)


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Flown once; tests that write get a copy."""
    folder = tmp_path_factory.mktemp("campaign") / "six"
    seen: list[Progress] = []
    campaign(folder).run(workers=1, on_progress=seen.append)
    assert seen[-1].words.startswith("6 of 6 flights, 0 failed, 0 aborted")
    return folder


@pytest.fixture
def flown(six: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(six, tmp_path / "flown"))


@pytest.mark.parametrize("workers", [2, pytest.param(4, marks=pytest.mark.soak)])
def test_rows_are_the_same_with_one_and_several_workers(flown: Path, tmp_path: Path, workers: int) -> None:
    one = campaign(flown).status()
    several = campaign(tmp_path / "several").run(workers=workers)
    assert rows(flown) == rows(tmp_path / "several")
    assert len({row.log_sha256 for row in one.flown}) == 6
    assert (one.exit_code, one.rate().words) == (EXIT_OK, several.rate().words)
    assert one.rate().words == "100 % (6 of 6), 95 % interval 54.1 % to 100 %"


def test_what_was_flown_is_not_flown_again_and_more_flights_go_on(tmp_path: Path) -> None:
    first = campaign(tmp_path).run(workers=1, limit=2)
    assert (len(first.flown), first.complete) == (2, False)
    flown: list[int] = []
    campaign(tmp_path).run(workers=1, on_progress=lambda progress: flown.append(progress.done))
    assert list(dict.fromkeys(flown))[-4:] == [3, 4, 5, 6] and min(flown) >= 2  # told of flights, and meanwhile
    assert (
        campaign(tmp_path, flights=7).run(workers=1, on_progress=lambda progress: flown.append(progress.done)).complete
    )
    assert list(dict.fromkeys(flown))[-5:] == [3, 4, 5, 6, 7]
    fewer = campaign(tmp_path, flights=3).run(workers=1)
    assert (len(fewer.flown), fewer.not_counted) == (3, (0, 4))


def test_planning_tells_how_many_flights_are_planned(tmp_path: Path) -> None:
    words: list[str] = []
    campaign(tmp_path, flights=120).run(workers=1, limit=0, on_progress=lambda progress: words.append(progress.words))
    assert words == ["100 of 120 flights planned"]


def test_another_edition_is_kept_and_not_counted(flown: Path) -> None:
    store = Store(flown, writes=True)
    store.plan([("0" * 24, 1, {}, 1)], "of another law")
    store._database.execute("UPDATE flight SET state = 'flown' WHERE key = ?", ("0" * 24,))
    store.close()
    judged = campaign(flown).run(workers=1)
    assert (len(judged.flown), judged.not_counted) == (6, (1, 0))


def test_checks_hold_by_their_lower_bound(flown: Path) -> None:
    strict = [{"rate": "passed", "at_least": 0.7}, {"rate": "pos_max_m", "at_least": 0.6}]
    judged = campaign(flown, check=strict).run(workers=1)
    assert [check.ok for check in judged.checks] == [False, True]  # 6 of 6: at least 0.607
    assert judged.exit_code == EXIT_CHECK_FAILED
    assert campaign(flown, check=strict[1:]).run(workers=1).exit_code == EXIT_OK


def test_a_flight_past_its_wall_limit_is_tried_again_and_aborted(tmp_path: Path) -> None:
    scenario = {**SHORT, "duration_s": 3000.0}
    long = campaign(tmp_path, scenario=scenario, flights=1, wall_limit_s=0.5, retries=1)
    judged = long.run(workers=1)
    (row,) = judged.rows
    assert (row.state, row.attempt, row.exit_code) == (ABORTED, 2, EXIT_LINK)
    assert row.why == "not ended within 0.5 s of wall time"
    assert judged.exit_code == EXIT_LINK
    assert "without the 1 aborted no rate (0 of 0)" in judged.rate().words
    assert (tmp_path / "aborted" / "flight-1" / "why.txt").read_text() == f"{row.why}\n"
    assert long.run(workers=1).exit_code == EXIT_LINK  # not tried again


def test_a_replay_has_the_stored_hash(flown: Path) -> None:
    opened = aeroloop.open_campaign(flown)
    replay = opened.replay(2, report=False)
    assert replay.equal
    assert replay_exit_code(replay) == EXIT_OK
    store = Store(flown, writes=True)
    store._database.execute("UPDATE flight SET log_sha256 = 'another' WHERE number = 2")
    store.close()
    replay = opened.replay(2, report=False)
    assert replay.words.startswith("log_sha256 differs: ")
    assert replay_exit_code(replay) == EXIT_CHECK_FAILED
    with pytest.raises(ConfigError, match="no flight 7; expected 1 to 6"):
        opened.replay(7)


@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGKILL, marks=pytest.mark.soak), signal.SIGINT],  # killed: test_campaign_faults.py
)
def test_an_ended_driver_loses_no_row_and_leaves_no_process(tmp_path: Path, number: int) -> None:
    mark = f"{tmp_path.name}-{number}"
    write_files(tmp_path, flights=40)
    driver = start(tmp_path, "--workers", "2", mark=mark)
    wait_for(lambda: len(rows_flown(tmp_path / "out")) >= 4)
    driver.send_signal(number)
    _, errors = driver.communicate()
    assert driver.returncode == (-9 if number == signal.SIGKILL else EXIT_INTERRUPTED)
    if number == signal.SIGINT:
        assert "what was flown is in out; the same command continues" in errors
    wait_for(lambda: not processes(mark))
    before = rows_flown(tmp_path / "out")
    assert 4 <= len(before) < 40
    if number == signal.SIGINT:
        return
    again = aeroloop.Campaign(tmp_path / "quick.toml", out=tmp_path / "out").run(workers=1, limit=3)
    assert len(again.flown) == len(before) + 3
    after = rows_flown(tmp_path / "out")
    assert len(after) == len(before) + 3
    assert {key: after[key] for key in before} == before


def test_two_drivers_of_one_folder_are_refused(tmp_path: Path) -> None:
    first = campaign(tmp_path, flights=1)
    with first._writing(), pytest.raises(ConfigError, match="another process runs this campaign"):
        campaign(tmp_path, flights=1).run(workers=1)


def test_the_flight_of_a_campaign_is_the_flight_of_fly(six: Path, tmp_path: Path) -> None:
    judged = aeroloop.open_campaign(six).status()
    row = judged.flown[0]
    run = fly(SHORT, seed=row.seed, set=dict(row.values), out=tmp_path / "run")
    assert run.log_sha256 == row.log_sha256
    stored = judged.metrics[row.key]
    assert {name: value for name, value in run.metrics.items() if name == "pos_max_m"} == {
        "pos_max_m": stored["pos_max_m"]
    }


def test_flights_with_processes_of_their_own_are_those_of_fly(tmp_path: Path) -> None:
    """Two aircraft do not share a worker's process; also the first flight of a worker has its log."""
    pair = {
        "name": "pair",
        "summary": "Two spirals",
        "duration_s": 0.6,
        "aircraft": [{"scenario": "tiltrotor-spiral", "name": name} for name in ("one", "other")],
    }
    judged = campaign(tmp_path / "campaign", scenario=pair, flights=1, parameter=[]).run(workers=1)
    (row,) = judged.flown
    run = fly(pair, seed=row.seed, out=tmp_path / "run")
    assert run.log_sha256 == row.log_sha256
    assert judged.metrics[row.key]["one/flown_s"] == pytest.approx(0.6, abs=0.02)
