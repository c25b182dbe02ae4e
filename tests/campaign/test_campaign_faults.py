"""What may go wrong around a campaign: processes killed at any moment, a full disk. No finished flight is lost."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli_w
from campaign_runs import PATIENCE_S, left_behind, processes, rows, rows_flown, start, wait_for, write_files
from campaign_tables import TABLE, outcome

import aeroloop
from aeroloop.campaign.campaigns import Campaign
from aeroloop.campaign.driver import Driver, Ended, Progress
from aeroloop.campaign.store import Store
from aeroloop.campaign.worker import Report, Task
from aeroloop.core.errors import DISK_FULL, EXIT_LINK, StorageError
from aeroloop.core.paths import process_folder, runtime_dir

WORKER = "aeroloop.campaign.worker"
MOMENTS, FLIGHTS = 20, 60


def killed_at_random(folder: Path, kills: int, flights: int, seed: int, own: str = WORKER) -> None:
    """Kill driver or worker, run on, until as often as asked; then let it end. Rows are those of a run in peace, and
    nothing is left. `own`: in the command line of a process that shows that a flight is in the air."""
    moments, mark = random.Random(seed), f"AEROLOOP_MARK={folder.name}-kills"
    before: dict[str, tuple[object, ...]] = {}
    seen: set[str] = set()
    driver, left = None, kills
    with tempfile.TemporaryDirectory(prefix="al-", dir="/tmp") as runtime:  # paths of sockets are short
        env = {"XDG_RUNTIME_DIR": runtime}

        def run() -> subprocess.Popen[str]:
            return start(folder, "--workers", "2", mark=mark.partition("=")[2], env=env)

        def in_the_air(aim: int) -> bool:
            seen.update(path.name for path in Path(runtime).glob("aeroloop/*-*"))
            return len(rows_flown(folder / "out")) >= aim and bool(processes(mark, own))

        while left:
            if driver is None or driver.poll() is not None:
                driver = run()
            aim = min(flights - 2, len(before) + moments.randrange(0, max(1, 2 * flights // kills)))
            whom = moments.choice(("driver", "worker"))
            wait_for(lambda aim=aim, driver=driver: in_the_air(aim) or driver.poll() is not None)
            if driver.poll() is not None:
                break  # the last flights were over before this moment was seen
            workers = processes(mark, WORKER)
            if whom == "driver" or not workers:
                driver.kill()
                driver.communicate()
                driver = None
                wait_for(lambda: not processes(mark))
            else:
                try:
                    os.kill(moments.choice(workers), signal.SIGKILL)
                except ProcessLookupError:
                    continue
            left -= 1
            after = rows_flown(folder / "out")
            assert {key: after[key] for key in before} == before
            before = after
        assert left < kills
        driver = driver or run()
        _, told = driver.communicate(timeout=600)
        assert driver.returncode == 0, told
        wait_for(lambda: not processes(mark))
        assert seen  # there was something to leave behind
        assert left_behind(Path(runtime) / "aeroloop", seen) == []
    aeroloop.Campaign(folder / "quick.toml", out=folder / "peace").run(workers=1)
    expected = rows(folder / "peace")
    assert [row[0] for row in rows(folder / "out")] == [row[0] for row in expected]
    assert rows(folder / "out") == expected


def test_killed_at_a_few_moments(tmp_path: Path) -> None:
    """A worker, then the driver."""
    write_files(tmp_path, flights=5)
    killed_at_random(tmp_path, kills=2, flights=5, seed=8)


@pytest.mark.soak
def test_flights_of_several_processes_killed_at_random_moments(tmp_path: Path) -> None:
    """With topics in shared memory, which a kill leaves behind."""
    write_files(tmp_path, flights=12)
    home = {"lat_deg": 36.372757, "lon_deg": -84.363099, "alt_m": 435.0}
    aircraft = [
        {"name": "one", "scenario": "short.toml"},
        {"name": "two", "scenario": "short.toml", "world": {"home": home}},
    ]
    fleet = {"name": "two", "summary": "Two of them", "duration_s": 0.6, "aircraft": aircraft}
    (tmp_path / "two.toml").write_text(tomli_w.dumps(fleet))
    (tmp_path / "quick.toml").write_text(tomli_w.dumps({"name": "quick", "scenario": "two.toml", "flights": 12}))
    killed_at_random(tmp_path, kills=6, flights=12, seed=2, own="aeroloop.")


@pytest.mark.soak
def test_killed_at_twenty_random_moments(tmp_path: Path) -> None:
    write_files(tmp_path, FLIGHTS)
    killed_at_random(tmp_path, MOMENTS, FLIGHTS, seed=1)


def test_folders_of_killed_processes_are_removed_and_others_stay() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead = runtime_dir() / f"testing-{ended.pid}-left"
    alive = runtime_dir() / f"testing-{os.getpid()}-mine"
    odd = runtime_dir() / "testing-odd-name"
    for folder in (dead, alive, odd):
        folder.mkdir()
    try:
        with process_folder("testing") as own:
            assert own.is_dir() and own.name.startswith(f"testing-{os.getpid()}-")
            assert not dead.exists() and alive.exists() and odd.exists()
        assert not own.exists()
    finally:
        for folder in (dead, alive, odd):
            shutil.rmtree(folder, ignore_errors=True)


def test_a_full_disk_keeps_every_row_that_was_written(tmp_path: Path) -> None:
    campaign = Campaign({**TABLE, "flights": 500}, out=tmp_path)
    with campaign._writing() as store:
        store.begin(campaign.about())
        keys = [f"{n:024}" for n in range(1, 501)]
        store.plan([(key, number, {}, number) for number, key in enumerate(keys, 1)], campaign.edition)
        ((pages,),) = store._database.execute("PRAGMA page_count")
        store._database.execute(f"PRAGMA max_page_count = {pages + 4}")
        written = []
        with pytest.raises(StorageError, match=r"campaign\.db: cannot be written: the disk is full; what was") as full:
            for key in keys:
                store.flown(key, outcome(0.1))
                written.append(key)
        assert full.value.exit_code == EXIT_LINK and 0 < len(written) < 500
    assert [row.key for row in Store(tmp_path).rows("flown")] == written
    again = Store(tmp_path, writes=True)
    again.flown(keys[-1], outcome(0.1))
    again.close()
    assert len(Store(tmp_path).rows("flown")) == len(written) + 1


def test_a_worker_whose_disk_is_full_ends_the_campaign(tmp_path: Path) -> None:
    """Its flights are not to blame: none is aborted."""

    class Full:
        count = 1

        def reports(self, waiting: deque[Task], limit_s: float) -> Iterator[Ended]:
            task = waiting.popleft()
            yield task, Report(task.key, why=f"/run/log: cannot be written: {DISK_FULL}", exit_code=EXIT_LINK)

    campaign = Campaign(TABLE, out=tmp_path)
    with campaign._writing() as store:
        store.begin(campaign.about())
        store.plan([("0" * 24, 1, {}, 1)], campaign.edition)
        driver = Driver(store, 1.0, 0, Progress(1, 1))
        with pytest.raises(StorageError, match="what was flown is kept, and the same command continues"):
            driver.fly([Task("0" * 24, "", (), "")], Full())
        assert [row.state for row in store.rows()] == ["planned"]


@pytest.mark.soak
@pytest.mark.parametrize("size_kb", [24, 140, 200])
def test_a_campaign_on_a_small_file_system(tmp_path: Path, size_kb: int) -> None:
    """A real full disk, in a name space of its own; the copy that is made of it afterwards goes on."""
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode:
        pytest.skip("this machine has no user name spaces to mount a small file system in")
    write_files(tmp_path, flights=40)
    (tmp_path / "small").mkdir()
    run = f"{sys.executable} -m aeroloop.cli campaign run quick.toml --workers 2 --out small/out"
    script = f"mount -t tmpfs -o size={size_kb}k none small; {run}; echo code $?; cp -r small/out kept"
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=5 * PATIENCE_S
    )
    assert f"code {EXIT_LINK}" in done.stdout, done.stdout + done.stderr
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("aeroloop: ")]
    assert "cannot be written" in said
    before = rows_flown(tmp_path / "kept")
    judged = aeroloop.Campaign(tmp_path / "quick.toml", out=tmp_path / "kept").run(workers=2)
    after = rows_flown(tmp_path / "kept")
    assert len(judged.flown) == 40 and {key: after[key] for key in before} == before
