"""A past run shown at any time: what the log held then, for every family, fleets and folders; and the clock."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("nicegui", reason="the dashboard is an extra: pip install 'aeroloop[dash]'")
from nicegui import Client, ui
from test_dashboard_pages import built

from aeroloop.core import scenario_files as scenarios
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Plan, parts_of, prefix
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.signals import Event
from aeroloop.core.streams import channels
from aeroloop.dashboard import page_charts, page_view, readings, replay
from aeroloop.dashboard.page_replay import Transport
from aeroloop.dashboard.replay import Player, Recordings, ReplayedFlight, load
from aeroloop.dashboard.roles import ViewOnlyError
from aeroloop.flight.results import LOG, SCENARIO, make_folder
from aeroloop.recording.log import LogWriter

EXAMPLES = Path(__file__).parents[2] / "examples" / "aircraft"
END_S = 10.0
PLANS = {
    "tiltrotor": scenarios.find("tiltrotor-spiral"),
    "multirotor": scenarios.find("quad-mission"),
    "fixedwing": scenarios.find("fixedwing-loiter"),
    "swarm": scenarios.find("quad-swarm"),
    "fleet": scenarios.find("mixed-fleet"),
    "folder": EXAMPLES / "sled.toml",
}


def recorded(folder: Path, plan: Plan) -> Path:
    """A run whose aircraft fly east at 1 m/s, each a metre higher than the one before; two events on the way."""
    make_folder(folder, plan)
    writer = LogWriter(folder / LOG, channels(plan))
    streams = {stream.name: stream for stream in channels(plan)}
    for part in parts_of(plan):
        truth, event = (streams.get(f"{prefix(plan, part)}{name}") for name in ("truth", "event"))
        assert truth is not None
        for t_s in np.arange(0.0, END_S + 0.05, 0.1).tolist():
            for vehicle in range(part.aircraft.count):
                values = {"t_s": t_s, "vehicle": vehicle, "x_m": t_s, "z_m": 1.0 + vehicle, "qw": 1.0}
                writer.write(truth, tuple(values.get(name, 0.0) for name in truth.names))
        for t_s, code in ((2.0, Event.ARMED), (8.0, Event.GROUND_CONTACT)) if event is not None else ():
            assert event is not None
            writer.write(event, tuple({"t_s": t_s, "code": float(code)}.get(name, 0.0) for name in event.names))
    writer.close()
    return folder


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_every_family_replays_from_its_log_alone(tmp_path: Path, plan: Path) -> None:
    flight = ReplayedFlight(load(recorded(tmp_path / "run", load_plan(plan))))
    assert (flight.recording.start_s, flight.recording.end_s) == (0.0, END_S)
    assert flight.flights()[0][0] == flight.flight_id and not flight.running
    for t_s in (0.0, 3.04, 7.0, 1.5):  # on and back again
        flight.seek(t_s)
        parts = [(flight.scenario, flight.store), *((part.scenario, part.store) for part in flight.fleet.beside)]
        assert len(parts) == len(flight.recording.parts)
        for scenario, store in parts:
            assert scenario is not None and store.t_s == t_s
            for vehicle in range(scenario.aircraft.count):
                pose = readings.pose(store, scenario, vehicle)
                assert pose is not None and pose.pos_W[2] == 1.0 + vehicle
                assert pose.pos_W[0] == pytest.approx(math.floor(10 * t_s + 1e-6) / 10)
                assert len(store.rows("truth", vehicle)) == math.floor(10 * t_s + 1e-6) + 1
    with pytest.raises(ViewOnlyError):
        asyncio.run(flight.command(lambda aircraft: aircraft.arm()))


def test_notices_are_those_up_to_the_time_shown(tmp_path: Path) -> None:
    flight = ReplayedFlight(load(recorded(tmp_path / "run", load_plan(PLANS["multirotor"]))))
    told = {}
    for t_s in (1.0, 9.0, 5.0):
        flight.seek(t_s)
        told[t_s] = [notice.words for notice in flight.notices]
    assert told == {1.0: [], 5.0: ["armed"], 9.0: ["armed", "ground contact"]}


def test_another_part_of_a_fleet_can_be_chosen(tmp_path: Path) -> None:
    flight = ReplayedFlight(load(recorded(tmp_path / "run", load_plan(PLANS["fleet"]))))
    first, second = (each for each, _ in flight.flights()[:2])
    flight.seek(4.0)
    flight.choose(second)
    assert flight.flight_id == second and flight.store.t_s == 4.0
    assert next(part.scenario.name for part in flight.fleet.beside) == first
    flight.choose("none of them")
    assert flight.flight_id == second


def test_view_and_charts_follow_the_time(tmp_path: Path) -> None:
    flight = ReplayedFlight(load(recorded(tmp_path / "run", load_plan(PLANS["multirotor"]))))

    def show(_: object) -> None:
        page = page_view.Page(flight)
        page_charts.build(flight)
        transport = Transport(flight)
        for t_s, shown in ((6.0, "E 6.00  N 0.00  up 1.00 m"), (2.0, "E 2.00  N 0.00  up 1.00 m")):
            transport._seek(t_s)
            page._tell()
            page._fly()
            assert page.facts["position"][1].text == shown
            assert transport._time.text == f"{t_s:.1f} / 10.0 s" and transport._slider.value == t_s
            own = page.view._own
            assert own is not None
            (flown,) = (line for line in own.lines if line.flown)
            flown.calls(flight.store)
            assert flown.trail.points[-1][0] == t_s, "the trail ends where the aircraft is, also after going back"

    def look(client: Client) -> None:
        assert any(isinstance(element, ui.echart) for element in client.elements.values())

    built(flight, show, look)


@pytest.mark.parametrize("value", ["5", None, math.nan, 1e9, -1.0, True, [5]])
def test_what_a_browser_sends_as_time_is_checked(tmp_path: Path, value: object) -> None:
    flight = ReplayedFlight(load(recorded(tmp_path / "run", load_plan(PLANS["multirotor"]))))

    def show(_: object) -> None:
        transport = Transport(flight)
        transport._seek(3.0)
        transport._slider.set_value(value)
        assert transport.player.t_s == flight.store.t_s == 3.0
        transport._set_speed(value)
        assert transport.player.speed == 1.0

    built(flight, show, lambda _: None)


def test_the_clock_plays_at_its_speed_stops_at_the_end_and_begins_again() -> None:
    player = Player(0.0, 10.0)
    player.advance(100.0)
    assert player.t_s == 0.0 and not player.playing
    player.play(100.0)
    player.advance(101.0)
    assert player.t_s == 1.0
    player.speed = 2.0
    player.advance(102.0)
    assert player.t_s == 3.0
    player.hold(110.0)
    player.advance(110.5)
    assert player.t_s == 4.0
    player.pause()
    player.advance(120.0)
    assert player.t_s == 4.0
    player.play(120.0)
    player.advance(1000.0)
    assert player.t_s == 10.0 and not player.playing
    player.play(1000.0)
    assert player.t_s == 0.0 and player.playing
    player.seek(-5.0)
    assert player.t_s == 0.0


def test_what_cannot_be_replayed_is_said_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="no log to replay"):
        load(tmp_path)
    run = recorded(tmp_path / "run", load_plan(PLANS["multirotor"]))
    monkeypatch.setattr(replay, "LARGEST_LOG_B", 10)
    with pytest.raises(ConfigError, match="too large to replay"):
        load(run)
    monkeypatch.undo()
    empty = tmp_path / "empty"
    make_folder(empty, load_plan(PLANS["multirotor"]))
    LogWriter(empty / LOG, channels(load_plan(PLANS["multirotor"]))).close()
    with pytest.raises(ConfigError, match="no rows to replay"):
        load(empty)
    (run / LOG).write_bytes(b"\x00" * 100)
    with pytest.raises(ConfigError, match="not a flight log"):
        load(run)
    (run / SCENARIO).write_text("nonsense = [")
    with pytest.raises(ConfigError, match=r"scenario\.toml"):
        load(run)


def test_recordings_are_read_once_and_few_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []

    def reading(folder: Path) -> Path:
        read.append(folder)
        return folder

    monkeypatch.setattr(replay, "load", reading)

    async def some() -> None:
        recordings = Recordings()
        for name in ("a", "a", "b", "c", "d", "d", "a"):
            await recordings.open(tmp_path / name)

    asyncio.run(some())
    assert [folder.name for folder in read] == ["a", "b", "c", "d", "a"]
