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
from dataclasses import dataclass, field
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
MOST_CAMPAIGNS = 10
"""For all kills of a test."""


@dataclass
class Killing:
    """Campaigns of the same file in one folder after another, until driver or workers have been killed so often."""

    folder: Path
    flights: int
    victims: list[str]  # "driver" or "worker" of each kill
    moments: random.Random
    runtime: Path
    own: str  # in the command line of a process that shows that a flight is in the air
    killed: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    @property
    def mark(self) -> str:
        return f"AEROLOOP_MARK={self.folder.name}-kills"

    def start(self, out: Path) -> subprocess.Popen[str]:
        env = {"XDG_RUNTIME_DIR": str(self.runtime)}
        more = ("--workers", "2", "--out", out.name)
        return start(self.folder, *more, mark=self.mark.partition("=")[2], env=env)

    def in_the_air(self, out: Path, aim: int) -> bool:
        self.seen.update(path.name for path in self.runtime.glob("aeroloop/*-*"))
        return len(rows_flown(out)) >= aim and bool(processes(self.mark, self.own))

    def run(self, out: Path) -> None:
        """One campaign, to its end: each time that its driver is killed it is continued."""
        before: dict[str, tuple[object, ...]] = {}
        driver = self.start(out)
        while len(self.killed) < len(self.victims):
            each = max(1, 2 * self.flights // len(self.victims))
            aim = min(self.flights - 2, len(before) + self.moments.randrange(0, each))
            wait_for(lambda aim=aim, driver=driver: self.in_the_air(out, aim) or driver.poll() is not None)
            if driver.poll() is not None:
                break  # this campaign's last flights were over before the moment was seen
            victim = self.victims[len(self.killed)]
            if not self.kill(victim, driver):
                continue
            self.killed.append(victim)
            if victim == "driver":
                driver.communicate()
                wait_for(lambda: not processes(self.mark))
                driver = self.start(out)
            after = rows_flown(out)
            assert {key: after[key] for key in before} == before
            before = after
        _, told = driver.communicate(timeout=600)
        assert driver.returncode == 0, told
        wait_for(lambda: not processes(self.mark))

    def kill(self, victim: str, driver: subprocess.Popen[str]) -> bool:
        """False: there was none, or it had ended."""
        workers = processes(self.mark, WORKER)
        if victim == "driver":
            driver.kill()
        elif not workers:
            return False
        else:
            try:
                os.kill(self.moments.choice(workers), signal.SIGKILL)
            except ProcessLookupError:
                return False
        return True


def killed_at_random(folder: Path, victims: list[str], flights: int, seed: int, own: str = WORKER) -> None:
    """Every one of them is killed, in as many campaigns as that takes. The rows of each are those of a run in peace,
    and nothing is left."""
    aeroloop.Campaign(folder / "quick.toml", out=folder / "peace").run(workers=1)
    expected = rows(folder / "peace")
    with tempfile.TemporaryDirectory(prefix="al-", dir="/tmp") as runtime:  # paths of sockets are short
        killing = Killing(folder, flights, victims, random.Random(seed), Path(runtime), own)
        for number in range(MOST_CAMPAIGNS):
            out = folder / f"out{number}"
            killing.run(out)
            assert [row[0] for row in rows(out)] == [row[0] for row in expected]
            assert rows(out) == expected
            if killing.killed == victims:
                break
        assert killing.killed == victims
        assert killing.seen  # there was something to leave behind
        assert left_behind(Path(runtime) / "aeroloop", killing.seen) == []


def drawn_victims(count: int, seed: int) -> list[str]:
    return random.Random(seed).choices(("driver", "worker"), k=count)


def test_killed_at_two_moments(tmp_path: Path) -> None:
    write_files(tmp_path, flights=4)
    killed_at_random(tmp_path, ["worker", "driver"], flights=4, seed=8)


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
    killed_at_random(tmp_path, drawn_victims(6, seed=2), flights=12, seed=2, own="aeroloop.")


@pytest.mark.soak
def test_killed_at_twenty_random_moments(tmp_path: Path) -> None:
    """In short: `test_killed_at_two_moments`."""
    write_files(tmp_path, FLIGHTS)
    killed_at_random(tmp_path, drawn_victims(MOMENTS, seed=1), FLIGHTS, seed=1)


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
