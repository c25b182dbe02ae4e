"""The flight that is watched: found, followed to its end, and readable after."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from stream_tables import MULTIROTOR

from aeroloop.core.errors import LinkError
from aeroloop.core.faults import KINDS, TARGETS, Switch
from aeroloop.core.scenario import with_value
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import NS, Event
from aeroloop.dashboard import watched_flight as watched_module
from aeroloop.dashboard.watched_flight import Fault, WatchedFlight, read_links
from aeroloop.flight import running
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.ground.commands import Text
from aeroloop.realtime.controls import ControlPort, End
from aeroloop.realtime.feed import FeedOut

TRUTH, EVENT, FAULT = (MULTIROTOR[name] for name in ("truth", "board_event", "fault"))


def orders(folder: Path) -> LaunchSettings:
    folder.mkdir(parents=True, exist_ok=True)
    return LaunchSettings(
        scenario=load(find("quad-hover")), folder=str(folder), log="", supervisor_pid=os.getpid(), core_draw=0
    )


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Short: a socket's path has room for 107 bytes, and pytest's own folders grow with every run."""
    with tempfile.TemporaryDirectory(prefix="al-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def flights(monkeypatch: pytest.MonkeyPatch) -> list[LaunchSettings]:
    present: list[LaunchSettings] = []
    monkeypatch.setattr(running, "flights", lambda: list(present))
    monkeypatch.setattr(watched_module, "READ_S", 0.002)
    monkeypatch.setattr(watched_module, "LOOK_S", 0.01)
    return present


def following(watched: WatchedFlight, story: Callable[[], Awaitable[None]]) -> None:
    async def tell() -> None:
        task = asyncio.create_task(watched.follow())
        try:
            async with asyncio.timeout(20):
                await story()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(tell())


async def until(there: Callable[[], object]) -> None:
    while not there():
        await asyncio.sleep(0.002)


def row(t_s: float, z_m: float = 0.0) -> bytes:
    return TRUTH.packing.pack(t_s, 0, 0, 0, z_m, *([0.0] * (len(TRUTH.fields) - 5)))


def test_a_flight_is_found_followed_and_kept_when_it_has_ended(tmp_path: Path, flights: list[LaunchSettings]) -> None:
    watched = WatchedFlight(tmp_path)
    folder = tmp_path / "flight-one"

    async def story() -> None:
        assert not watched.running and watched.launch is None and watched.scenario is None
        flights.append(orders(folder))
        await until(lambda: watched.running)
        assert watched.flight_id == "one" and watched.flights() == [("one", "quad-hover")]
        feed = FeedOut(folder, tuple(MULTIROTOR.values()))
        now_ns = 0
        while watched.store.latest("truth") is None:
            now_ns += NS
            feed.step(now_ns)
            feed.offer(TRUTH, row(now_ns / NS, z_m=3.0))
            await asyncio.sleep(0.002)
        assert watched.store.latest("truth")["z_m"] == 3.0
        flights.clear()
        await until(lambda: not watched.running)
        assert list((folder / "listeners").glob("*.sock")) == []
        feed.close()
        assert watched.launch is None and watched.flight_id == "one" and watched.scenario is not None
        assert watched.store.latest("truth") is not None
        assert watched.notices[-1].words == "the flight has ended"
        with pytest.raises(LinkError, match="no flight is running"):
            watched.switch(Switch(target="gnss", kind="silent", on=True))
        flights.append(orders(tmp_path / "flight-two"))
        await until(lambda: watched.flight_id == "two")
        assert watched.running and watched.store.latest("truth") is None

    following(watched, story)


def test_a_flight_that_begins_at_once_when_the_last_one_ends_is_watched(
    tmp_path: Path, flights: list[LaunchSettings]
) -> None:
    watched = WatchedFlight(tmp_path)

    async def story() -> None:
        flights.append(orders(tmp_path / "flight-one"))
        await until(lambda: watched.flight_id == "one")
        flights[:] = [orders(tmp_path / "flight-two")]  # between two looks
        await until(lambda: watched.flight_id == "two")
        flights.append(orders(tmp_path / "flight-three"))
        await until(lambda: len(watched.flights()) == 2)
        del flights[0]
        await until(lambda: not watched.running)
        await asyncio.sleep(0.05)
        assert watched.flight_id == "two", "the third ran beside it"

    following(watched, story)


def test_all_parts_of_a_fleet_are_listened_to_and_any_is_shown(tmp_path: Path, flights: list[LaunchSettings]) -> None:
    folders = [tmp_path / "flight-abc-0", tmp_path / "flight-abc-1"]
    homes = (47.0, 8.0, 400.0), (47.001, 8.0, 410.0)
    for folder, (lat_deg, lon_deg, alt_m) in zip(folders, homes, strict=True):
        part = msgspec.structs.replace(orders(folder), parts=[str(each) for each in folders])
        for key, value in (("lat_deg", lat_deg), ("lon_deg", lon_deg), ("alt_m", alt_m)):
            part = msgspec.structs.replace(part, scenario=with_value(part.scenario, f"world.home.{key}", value))
        (folder / "launch.json").write_bytes(part.encode())
        flights.append(part)
    watched = WatchedFlight(tmp_path)

    async def story() -> None:
        await until(lambda: watched.running)
        assert watched.flight_id == "abc-0", "the first part, where nobody has chosen"
        first, (other,) = watched.store, watched.fleet.beside
        ((east_m, north_m, up_m),) = watched.fleet.origins_W()
        assert (east_m, north_m, up_m) == pytest.approx((0.0, 111.2, 10.0), abs=0.2)
        feed = FeedOut(folders[1], tuple(MULTIROTOR.values()))
        now_ns = 0
        while other.store.latest("truth") is None:
            now_ns += NS
            feed.step(now_ns)
            feed.offer(TRUTH, row(now_ns / NS, z_m=7.0))
            feed.offer(EVENT, EVENT.packing.pack(now_ns / NS, 0, Event.ARMED, 0.0))
            await asyncio.sleep(0.002)
        assert watched.notices[-1].words == "quad-hover: armed", "of a part that the pages do not show"
        watched.choose("abc-1")
        assert watched.flight_id == "abc-1" and watched.store is other.store
        assert watched.store.latest("truth")["z_m"] == 7.0, "one that is chosen later has its past"
        assert [part.store for part in watched.fleet.beside] == [first]
        flights.clear()
        await until(lambda: not watched.running)
        assert [list((folder / "listeners").glob("*.sock")) for folder in folders] == [[], []]
        feed.close()

    following(watched, story)


def test_the_chosen_flight_is_watched(tmp_path: Path, flights: list[LaunchSettings]) -> None:
    flights += [orders(tmp_path / "flight-a"), orders(tmp_path / "flight-b")]
    watched = WatchedFlight(tmp_path, "a")

    async def story() -> None:
        await until(lambda: watched.flight_id == "a")
        watched.choose("b")
        assert watched.flight_id == "b" and watched.running
        watched.choose("none such")
        assert watched.flight_id == "b"

    following(watched, story)


def test_switches_reach_the_plant(tmp_path: Path, flights: list[LaunchSettings]) -> None:
    folder = tmp_path / "flight-a"
    flights.append(orders(folder))
    port = ControlPort(folder, now_ns=iter(range(NS, 10 * NS, NS)).__next__)
    watched = WatchedFlight(tmp_path)
    switch = Switch(target="gnss", kind="silent", on=True)

    async def story() -> None:
        await until(lambda: watched.running)
        watched.switch(switch)
        assert port.poll() == [switch]
        watched.end()
        assert port.poll() == [End(end="page")]
        with pytest.raises(LinkError, match="no aircraft to command"):
            await watched.command(lambda vehicle: None)

    following(watched, story)


def test_faults_that_are_on_are_learnt_from_the_log(tmp_path: Path) -> None:
    watched = WatchedFlight(tmp_path)
    gnss, silent = float(TARGETS.index("gnss")), float(KINDS.index("silent"))
    watched.take(FAULT, (1.0, 2.0, gnss, silent, 1.0, 0.0, 0.5, 0.0, 0.0))
    assert watched.faults_on == {Fault(2, "gnss", "silent", 0): (0.5, 0.0, 0.0)}
    assert watched.notices[-1].words == "GNSS: silent on" and watched.notices[-1].t_s == 1.0
    watched.take(FAULT, (2.0, 2.0, gnss, silent, 0.0, 0.0, 0.0, 0.0, 0.0))
    assert watched.faults_on == {}
    watched.take(FAULT, (3.0, 0.0, 99.0, float("nan"), 1.0, 0.0, 0.0, 0.0, 0.0))
    assert watched.faults_on == {}


def test_events_become_notices_of_their_severity(tmp_path: Path) -> None:
    watched = WatchedFlight(tmp_path)
    watched.take(EVENT, (1.0, 0.0, float(Event.FAILSAFE), 3.0))
    watched.take(EVENT, (2.0, 0.0, 12345.0, 0.0))
    watched.take(EVENT, (3.0, 1.0, float(Event.ARMED), 0.0))
    assert [(each.t_s, each.severity) for each in watched.notices] == [(1.0, "bad"), (3.0, "ok")]
    assert watched.notices[-1].words == "aircraft 2: armed"


def test_notices_are_bounded(tmp_path: Path) -> None:
    watched = WatchedFlight(tmp_path)
    for i in range(2 * watched_module.MOST_NOTICES):
        watched.notice(str(i))
    assert len(watched.notices) == watched_module.MOST_NOTICES
    assert watched.notices[-1].number == 2 * watched_module.MOST_NOTICES


def test_texts_of_the_autopilot_have_their_severity() -> None:
    assert [watched_module._severity(Text(0, each, "")) for each in (0, 3, 4, 6)] == ["bad", "bad", "warn", "info"]


def test_lines_are_read_from_their_file(tmp_path: Path) -> None:
    path = tmp_path / "links.json"
    line = {"name": "pixhawk", "url": "udp://x", "role": "vehicle", "protocol": "mavlink", "baud": 57600}
    path.write_text(json.dumps([line, {"name": "qgc", "baud": None}]))
    first, second = read_links(path)
    assert (first.number, first.name, first.role, first.baud) == (0, "pixhawk", "vehicle", 57600)
    assert (second.number, second.name, second.baud) == (1, "qgc", 0)


@pytest.mark.parametrize("text", ["", "{", "null", "5", '{"a": 1}', "[1]", '[{"baud": "x"}]', "\xff"])
def test_lines_that_are_not_whole_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "links.json"
    path.write_text(text, encoding="latin-1")
    assert read_links(path) == []


def test_orders_without_a_line_for_us_still_read(tmp_path: Path) -> None:
    assert msgspec.structs.replace(orders(tmp_path), dash_link="").dash_link == ""


@dataclass(frozen=True)
class Alone:
    id: str
    name: str
    folder: Path


def alone(folder: Path, name: str = "bench") -> Alone:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "links.json").write_text(json.dumps([{"name": "pixhawk"}, {"name": "qgc"}]))
    return Alone(folder.name.removeprefix("route-"), name, folder)


def test_a_router_that_stands_alone_is_watched_until_a_flight_begins(
    tmp_path: Path, flights: list[LaunchSettings]
) -> None:
    routers = [alone(tmp_path / "route-r1")]
    watched = WatchedFlight(tmp_path, routers=lambda: list(routers))
    line = MULTIROTOR["router_link"]

    async def story() -> None:
        await until(lambda: watched.running and watched.links)
        assert watched.flight_id == "r1" and watched.router == "bench" and watched.name == "router bench"
        assert watched.flights() == [("r1", "router bench")]
        assert watched.scenario is None and watched.launch is None
        assert [each.name for each in watched.links] == ["pixhawk", "qgc"]
        assert "runs without a flight" in watched.why_nothing_flies
        feed = FeedOut(routers[0].folder, tuple(MULTIROTOR.values()))
        now_ns = 0
        while watched.store.latest("router_link") is None:
            now_ns += NS
            feed.step(now_ns)
            feed.offer(line, line.packing.pack(now_ns / NS, *([0.0] * (len(line.fields) - 1))))
            await asyncio.sleep(0.002)
        feed.close()
        flights.append(orders(tmp_path / "flight-one"))
        await until(lambda: watched.flight_id == "one")
        assert watched.router == "" and watched.why_nothing_flies == ""
        assert watched.flights() == [("one", "quad-hover"), ("r1", "router bench")]
        watched.choose("r1")
        await asyncio.sleep(0.05)
        assert watched.flight_id == "r1"  # chosen, it stays although a flight runs
        routers.clear()
        await until(lambda: not watched.running)
        await asyncio.sleep(0.05)
        assert watched.flight_id == "r1"  # what came of it stays, although another flies
        flights.append(orders(tmp_path / "flight-two"))
        await until(lambda: watched.flight_id == "two")
        watched.choose("one")
        assert watched.flight_id == "one"

    following(watched, story)


def test_the_router_of_a_flight_is_no_router_alone(tmp_path: Path, flights: list[LaunchSettings]) -> None:
    flights.append(orders(tmp_path / "flight-one"))
    watched = WatchedFlight(tmp_path, routers=lambda: [Alone("one", "quad-hover", tmp_path / "flight-one")])

    async def story() -> None:
        await until(lambda: watched.running)
        assert watched.flights() == [("one", "quad-hover")] and watched.router == ""

    following(watched, story)


def test_a_router_that_ends_says_so(tmp_path: Path, flights: list[LaunchSettings]) -> None:
    routers = [alone(tmp_path / "route-r1")]
    watched = WatchedFlight(tmp_path, "r1", routers=lambda: list(routers))

    async def story() -> None:
        await until(lambda: watched.running)
        routers.clear()
        await until(lambda: not watched.running)
        assert watched.notices[-1].words == "the router has ended"
        assert watched.name == "router bench" and watched.outcome is None

    following(watched, story)


def test_the_verdict_and_the_report_are_found_when_they_appear(tmp_path: Path, flights: list[LaunchSettings]) -> None:
    runs = tmp_path / "runs"
    run = runs / "a run"
    run.mkdir(parents=True)
    flights.append(msgspec.structs.replace(orders(tmp_path / "flight-one"), log=str(run / "flight.mcap")))
    watched = WatchedFlight(runs)

    async def story() -> None:
        await until(lambda: watched.running)
        (run / "summary.json").write_text('{"scenario": "quad-hover", "ok": false, "exit_code": 1}')
        await asyncio.sleep(0.05)
        assert watched.outcome is None  # it still flies
        flights.clear()
        await until(lambda: watched.outcome)
        assert watched.outcome is not None and watched.outcome.verdict == "failed"
        assert watched.notices[-1].words == "the flight has failed" and watched.notices[-1].severity == "bad"
        assert watched.report_url == ""
        (run / "report.html").write_text("report")
        await until(lambda: watched.report_url)
        assert watched.report_url == "/runs/a%20run/report.html"
        assert [each.words for each in watched.notices].count("the flight has failed") == 1
        flights.append(orders(tmp_path / "flight-two"))
        await until(lambda: watched.flight_id == "two")
        assert watched.outcome is None and watched.report_url == ""

    following(watched, story)


def test_a_report_that_is_not_among_the_runs_has_no_address(tmp_path: Path, flights: list[LaunchSettings]) -> None:
    run = tmp_path / "elsewhere" / "run"
    run.mkdir(parents=True)
    (run / "summary.json").write_text('{"scenario": "quad-hover", "ok": true, "exit_code": 0}')
    (run / "report.html").write_text("report")
    flights.append(msgspec.structs.replace(orders(tmp_path / "flight-one"), log=str(run / "flight.mcap")))
    watched = WatchedFlight(tmp_path / "runs")

    async def story() -> None:
        await until(lambda: watched.running)
        flights.clear()
        await until(lambda: watched.outcome)
        assert watched.outcome is not None and watched.outcome.verdict == "passed" and watched.report_url == ""

    following(watched, story)
