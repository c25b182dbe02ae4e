"""Campaigns on a cluster, with a stand-in for the few calls of ray. `test_ray_cluster.py` flies on a real one."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import msgspec
import pytest
from campaign_runs import SHORT, rows, write_files

import aeroloop
from aeroloop.campaign import builds, places, ray_workers
from aeroloop.campaign.builds import Build
from aeroloop.campaign.ray_workers import NodeFlight, RayWorkers, fly_on_node, portable, prepare
from aeroloop.campaign.store import ABORTED, Store
from aeroloop.campaign.worker import Report, Task, encoded
from aeroloop.core.errors import EXIT_LINK, EXIT_USAGE, ConfigError, LinkError
from aeroloop.core.paths import SCENARIOS

ADDRESS = "ray://head:10001"


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class StandIn(ModuleType):
    """ray with one process: a task is run when its result is asked for."""

    def __init__(self) -> None:
        super().__init__("ray")
        self.exceptions = SimpleNamespace(
            RayError=RayError, RayTaskError=RayTaskError, AuthenticationError=KeyError, RaySystemError=OSError
        )
        self.options: dict[str, Any] = {}
        self.asked: list[Any] = []
        self.before: Callable[[int], None] = lambda number: None
        self.at_once = self.most_at_once = 0
        self.is_up = False

    def init(self, address: str, **options: Any) -> None:
        self.asked.append(address)
        self.is_up = True

    def shutdown(self) -> None:
        self.is_up = False

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 5.0, "memory": 1e9}

    def remote(self, **options: Any) -> Any:
        self.options = options

        def of(function: Callable[[bytes], bytes]) -> Any:
            def ask(order: bytes) -> tuple[int, Callable[[], bytes]]:
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
                self.asked.append(order)
                return len(self.asked) - 1, lambda: function(order)

            return SimpleNamespace(remote=ask)

        return of

    def wait(self, references: list[Any], **options: Any) -> tuple[list[Any], list[Any]]:
        return references[-1:], references[:-1]

    def get(self, reference: tuple[int, Callable[[], bytes]]) -> bytes:
        self.at_once -= 1
        self.before(reference[0])
        return reference[1]()


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    stand_in.__spec__ = importlib.util.spec_from_loader("ray", None)
    monkeypatch.setitem(sys.modules, "ray", stand_in)
    monkeypatch.setitem(sys.modules, "grpc", stand_in)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "1")
    return stand_in


@pytest.fixture(autouse=True)
def _no_worker_stays() -> Any:
    yield
    if ray_workers._workers is not None:
        ray_workers._workers.__exit__()
        ray_workers._workers = None


def test_rows_are_those_of_a_local_worker_whatever_is_lost(ray: StandIn, tmp_path: Path) -> None:
    file = write_files(tmp_path, flights=4)
    aeroloop.Campaign(file, out=tmp_path / "local").run(workers=1)
    lost = iter([1, 3])

    def lose(number: int) -> None:
        if number == next(lost, None):
            raise RayError("the node died\nand more")

    ray.before = lose
    judged = aeroloop.Campaign(file, out=tmp_path / "ray").run(on=ADDRESS)
    assert (len(judged.flown), judged.exit_code) == (4, 0)
    assert rows(tmp_path / "ray") == rows(tmp_path / "local")
    assert ray.asked[0] == ADDRESS and not ray.is_up
    assert ray.options == {"num_cpus": 1, "max_retries": 3}
    assert ray.most_at_once == 4  # of five processors


def test_a_flight_that_a_cluster_loses_again_and_again_is_aborted(ray: StandIn, tmp_path: Path) -> None:
    def lose(number: int) -> None:
        raise RayError("the node died")

    ray.before = lose
    judged = aeroloop.Campaign(write_files(tmp_path, flights=1), out=tmp_path / "out").run(on="head:6379")
    (row,) = judged.rows
    assert (row.state, row.attempt, row.why) == (ABORTED, 3, "lost by the cluster: the node died")
    assert judged.exit_code == EXIT_LINK


def test_a_node_without_our_module_is_named(ray: StandIn, tmp_path: Path) -> None:
    def lack(number: int) -> None:
        raise RayTaskError(ModuleNotFoundError("No module named 'aeroloop'"))

    ray.before = lack
    campaign = aeroloop.Campaign(write_files(tmp_path, flights=1), out=tmp_path / "out")
    with pytest.raises(ConfigError, match=r"No module named 'aeroloop'; expected the driver's version of aeroloop"):
        campaign.run(on=ADDRESS)
    assert not ray.is_up


def test_what_was_flown_stays_when_the_cluster_is_lost(ray: StandIn, tmp_path: Path) -> None:
    def lose(number: int) -> None:
        if number == 2:
            raise ConnectionError("gone")

    ray.before = lose
    campaign = aeroloop.Campaign(write_files(tmp_path, flights=3), out=tmp_path / "out")
    with pytest.raises(LinkError, match="the connection to the cluster was lost; what was flown is kept"):
        campaign.run(on=ADDRESS, workers=1)
    store = Store(tmp_path / "out")
    assert [row.state for row in store.rows()] == ["flown", "planned", "planned"]
    store.close()


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("version", r"Aeroloop's version is \S+ here, expected that of the campaign's driver, another"),
        ("sources", r"the hash of Aeroloop's sources is [0-9a-f]{12} here"),
        ("libraries", r"the libraries is mujoco .* here"),
        ("compiler", r"the C compiler is .* here, expected that of the campaign's driver, another"),
    ],
)
def test_a_node_with_another_build_refuses(field: str, words: str) -> None:
    task = Task("0" * 24, "nowhere.toml", (), "")
    other: Build = msgspec.structs.replace(builds.own(), **{field: "another"})
    report = msgspec.json.decode(fly_on_node(msgspec.json.encode(NodeFlight(task, other, 1.0))), type=Report)
    assert report.exit_code == EXIT_USAGE
    assert re.match(rf"node \S+: {words}", report.why), report.why


def test_a_node_whose_scenario_differs_refuses(tmp_path: Path) -> None:
    """The same path on another machine may be another file."""
    table = {**SHORT, "duration_s": 0.7}
    task = Task("0" * 24, str(tmp_path / "short.toml"), (), "another edition", table)
    report = msgspec.json.decode(fly_on_node(msgspec.json.encode(NodeFlight(task, builds.own(), 60.0))), type=Report)
    assert (report.exit_code, report.outcome) == (EXIT_USAGE, None)
    assert "short.toml: this file, or one that it names, has changed since the campaign began" in report.why


def test_shipped_scenarios_are_found_on_any_node() -> None:
    own = Task("0" * 24, str(SCENARIOS / "quad-wind.toml"), (), "")
    assert portable(own).path == "quad-wind.toml"
    assert portable(Task("0" * 24, "/elsewhere/mine.toml", (), "")).path == "/elsewhere/mine.toml"


def test_authentication_stays_on_and_statistics_off(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "RAY_AUTH_TOKEN": "secret"}
    prepare(environment)
    assert environment["RAY_AUTH_MODE"] == "token" and environment["RAY_USAGE_STATS_ENABLED"] == "0"
    with pytest.raises(ConfigError, match="RAY_AUTH_MODE=disabled: a cluster without authentication"):
        prepare({**environment, "RAY_AUTH_MODE": "disabled"})
    del environment["RAY_AUTH_TOKEN"]
    with pytest.raises(ConfigError, match=r"auth_token: no such file; expected the token of the cluster"):
        prepare(environment)


@pytest.mark.parametrize(
    "on", ["", "gpus", "ray://", "ray://head", "ray://head:0", "head:99999", "http://a:1", "a b:1"]
)
def test_places_that_are_none(on: str) -> None:
    with pytest.raises(ConfigError, match=r"^--on .*: expected local, ray://HOST:PORT, or HOST:PORT"):
        places.checked(on)


def test_addresses() -> None:
    for on in ("local", "ray://head:10001", "192.0.2.7:6379", "ray://[::1]:10001", "my-node.example.org:6379"):
        assert places.checked(on) == on


def test_without_ray_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"needs ray, which is not installed: pip install 'aeroloop\[cluster\]'"):
        RayWorkers(ADDRESS, None, 1).__enter__()


def test_an_empty_queue_needs_no_cluster() -> None:
    assert list(RayWorkers(ADDRESS, 1, 1).reports(deque(), 1.0)) == []


def test_reports_are_read_as_they_were_sent() -> None:
    report = Report("0" * 24, why="no", exit_code=3)
    assert msgspec.json.decode(encoded(report), type=Report) == report
