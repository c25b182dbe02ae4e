"""A campaign on a real ray cluster of two nodes on this machine. Needs ray, which the development set-up does not have:
pip install 'aeroloop[cluster]'."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from campaign_runs import left_behind, processes, rows, rows_flown, start, wait_for, write_files

import aeroloop

pytest.importorskip("ray", reason="ray is an extra: pip install 'aeroloop[cluster]'")
pytestmark = pytest.mark.soak
FLIGHTS, MANY_FLIGHTS, RAYLET_KILLS = 40, 300, 20
WORKER, RAYLET, RAY_WORKER = "aeroloop.campaign.worker", "raylet/raylet", "ray::fly_on_node"


@dataclass
class Cluster:
    folder: Path
    mark: str
    port: int
    client_port: int
    seen: set[str] = field(default_factory=set)  # names in the runtime folder while flights were in the air

    @property
    def runtime(self) -> Path:
        """Of all nodes and drivers; its path is short, for sockets."""
        return self.folder / "r" / "aeroloop"

    def flown(self, out: Path) -> int:
        """How many are in the database by now."""
        self.seen.update(path.name for path in self.runtime.glob("*-*"))
        return len(rows_flown(out))

    def check_nothing_is_left(self) -> None:
        """No worker, and no folder, shared memory or socket of a flight."""
        wait_for(lambda: not processes(f"AEROLOOP_CLUSTER={self.mark}", WORKER))
        assert self.seen, "there was something to leave behind"
        assert left_behind(self.runtime, self.seen) == []

    @property
    def env(self) -> dict[str, str]:
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(self.folder / "token")}
        patient = {"RAY_raylet_start_wait_time_s": "60"}
        ours = {"XDG_RUNTIME_DIR": str(self.runtime.parent), "AEROLOOP_CLUSTER": self.mark}
        return {**os.environ, **token, **patient, **ours, "RAY_USAGE_STATS_ENABLED": "0"}

    @property
    def address(self) -> str:
        return f"{socket.gethostbyname(socket.gethostname())}:{self.port}"

    def start(self, name: str, *more: str) -> None:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--object-store-memory=80000000"]
        for _ in range(3):  # on a busy machine a node does not register in time
            done = subprocess.run(
                [*command, f"--temp-dir={self.folder / name}", *more],
                env={**self.env, "AEROLOOP_NODE": f"{self.mark}-{name}"},
                capture_output=True,
                text=True,
                timeout=300,
            )
            if done.returncode == 0:
                return
            wait_for(lambda: not [_kill(pid) for pid in self.of(name, "")])
        pytest.fail(done.stdout + done.stderr)

    def head(self) -> None:
        ports = (f"--port={self.port}", f"--ray-client-server-port={self.client_port}")
        self.start("h", "--head", "--num-cpus=1", "--include-dashboard=false", *ports)

    def second(self) -> None:
        self.start("n", f"--address={self.address}", "--num-cpus=2")

    def of(self, node: str, words: str) -> list[int]:
        return processes(f"AEROLOOP_NODE={self.mark}-{node}", words)

    def end(self) -> None:
        """By number: `ray stop` would end every ray process of the machine."""
        wait_for(lambda: not [_kill(pid) for pid in processes(f"AEROLOOP_CLUSTER={self.mark}")])


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    folder = Path(tempfile.mkdtemp(prefix="al-", dir="/tmp"))  # paths of sockets are short
    (folder / "token").write_text(secrets.token_hex(32))
    made = Cluster(folder, secrets.token_hex(8), _free_port(), _free_port())
    try:
        made.head()
        made.second()
        yield made
    finally:
        made.end()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    folder = tmp_path_factory.mktemp("local")
    aeroloop.Campaign(write_files(folder, FLIGHTS), out=folder / "out").run(workers=1)
    return list(rows(folder / "out"))


def test_rows_are_those_of_one_local_worker(cluster: Cluster, expected: list[object], tmp_path: Path) -> None:
    write_files(tmp_path, FLIGHTS)
    for number, address in enumerate((cluster.address, f"ray://{cluster.address.split(':')[0]}:{cluster.client_port}")):
        driver = start(tmp_path, "--on", address, "--out", f"out{number}", env=cluster.env)
        _, told = driver.communicate(timeout=600)
        assert driver.returncode == 0, told
        assert rows(tmp_path / f"out{number}") == expected


@pytest.mark.parametrize("victim", [RAYLET, RAY_WORKER, WORKER])
def test_whoever_is_killed_on_a_node_no_flight_is_lost(
    cluster: Cluster, expected: list[object], tmp_path: Path, victim: str
) -> None:
    moments = random.Random(victim)
    if not cluster.of("n", RAYLET):
        cluster.second()
    write_files(tmp_path, FLIGHTS)
    driver = start(tmp_path, "--on", cluster.address, env=cluster.env)
    for flown in sorted(moments.sample(range(1, FLIGHTS // 2), 1 if victim == RAYLET else 3)):
        wait_for(lambda flown=flown: cluster.flown(tmp_path / "out") >= flown)
        wait_for(lambda: cluster.of("n", victim))
        os.kill(moments.choice(cluster.of("n", victim)), signal.SIGKILL)
        if victim == RAYLET:
            wait_for(lambda: not cluster.of("n", WORKER))
    _, told = driver.communicate(timeout=600)
    assert driver.returncode == 0, told
    assert [row[:2] + row[3:] for row in rows(tmp_path / "out")] == [row[:2] + row[3:] for row in expected]  # type: ignore[index]
    cluster.check_nothing_is_left()


def test_a_raylet_killed_at_twenty_random_moments(cluster: Cluster, tmp_path: Path) -> None:
    """The node comes back and is killed again while campaigns go on: of each, every row as of one local worker."""
    moments, left, runs, reader = random.Random(7), RAYLET_KILLS, 0, ThreadPoolExecutor(1)
    aeroloop.Campaign(write_files(tmp_path, MANY_FLIGHTS), out=tmp_path / "local").run(workers=1)
    expected = rows(tmp_path / "local")
    while left:
        out, runs = tmp_path / f"out{runs}", runs + 1
        driver = start(tmp_path, "--on", cluster.address, "--out", out.name, env=cluster.env)
        ended = reader.submit(driver.communicate)  # ray prints pages about a raylet that was lost
        while left and driver.poll() is None:
            if not cluster.of("n", RAYLET):
                cluster.second()
            aim = len(rows_flown(out)) + moments.randrange(1, 8)
            wait_for(lambda a=aim, o=out, d=driver: cluster.flown(o) >= a or d.poll() is not None, within_s=600)
            if driver.poll() is None:
                for pid in cluster.of("n", RAYLET):
                    os.kill(pid, signal.SIGKILL)
                wait_for(lambda: not cluster.of("n", WORKER))
                left -= 1
        _, told = ended.result(timeout=900)
        assert driver.returncode == 0, told
        assert rows(out) == expected
    cluster.check_nothing_is_left()


def test_a_killed_driver_leaves_no_worker_and_loses_no_flight(
    cluster: Cluster, expected: list[object], tmp_path: Path
) -> None:
    moments = random.Random(3)
    write_files(tmp_path, FLIGHTS)
    before: dict[str, tuple[object, ...]] = {}
    for flown in (3, 12, 25):
        driver = start(tmp_path, "--on", cluster.address, env=cluster.env)
        wait_for(lambda flown=flown: cluster.flown(tmp_path / "out") >= flown)
        moments.random()
        driver.kill()
        driver.communicate()
        wait_for(lambda: not processes(f"AEROLOOP_CLUSTER={cluster.mark}", WORKER))
        after = rows_flown(tmp_path / "out")
        assert {key: after[key] for key in before} == before
        before = after
    driver = start(tmp_path, "--on", cluster.address, env=cluster.env)
    _, told = driver.communicate(timeout=600)
    assert driver.returncode == 0, told
    assert rows(tmp_path / "out") == expected
    cluster.check_nothing_is_left()


def test_a_wrong_token_and_another_build_are_refused(cluster: Cluster, tmp_path: Path) -> None:
    write_files(tmp_path, 2)
    (tmp_path / "token").write_text(secrets.token_hex(32))
    wrong = {**cluster.env, "RAY_AUTH_TOKEN_PATH": str(tmp_path / "token")}
    driver = start(tmp_path, "--on", cluster.address, env=wrong)
    _, told = driver.communicate(timeout=300)
    assert driver.returncode in (2, 3) and "token" in told.lower(), told
    other = start(tmp_path, "--on", cluster.address, env={**cluster.env, "CC": "gcc -DOTHER"})
    _, told = other.communicate(timeout=300)
    assert other.returncode == 0, told  # the same compiler by another name
    (tmp_path / "cc").write_text("#!/bin/sh\necho another compiler 1.0\n")
    (tmp_path / "cc").chmod(0o755)
    other = start(tmp_path, "--on", cluster.address, "--out", "other", env={**cluster.env, "CC": str(tmp_path / "cc")})
    _, told = other.communicate(timeout=300)
    assert other.returncode == 2, told
    assert "the C compiler is " in told and "expected that of the campaign's driver, another compiler 1.0" in told
