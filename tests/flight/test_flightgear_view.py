"""A flight shown in FlightGear: packets of every family, the same for a seed, whoever listens."""

from __future__ import annotations

import math
import random
import socket
from functools import cache
from pathlib import Path

import pytest

import aeroloop
from aeroloop.api.flying import choose
from aeroloop.api.scenarios import named
from aeroloop.core import geodesy, scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import parts_of
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.signals import Origin
from aeroloop.core.streams import logged, streams_of
from aeroloop.flight import flightgear_view
from aeroloop.flight.flightgear_view import FlightGearView
from aeroloop.flight.inline import fly_inline
from aeroloop.protocols.flightgear import SIZES, unpack
from aeroloop.recording.log import log_sha256

FAMILIES = ("tiltrotor-spiral", "quad-hover", "fixedwing-loiter")
DURATION_S = 1.5


@cache
def flown(name: str):
    scenario = scenario_files.load(scenario_files.find(name), (f"duration_s={DURATION_S}", "checks=[]"))
    return scenario, fly_inline(scenario).logs[0]


def shown(name: str, order: random.Random, *overrides: str) -> list[bytes]:
    """The packets of a flight whose rows arrive in this order; within a stream the order is that of time."""
    scenario, log = flown(name)
    changed = scenario_files.load(scenario_files.find(name), overrides)
    packets: list[bytes] = []
    view = FlightGearView(changed, logged(streams_of(scenario)), [packets.append])
    takers = {stream: take for stream in ("truth", "air", "effort") if (take := view.taker(stream)) is not None}
    waiting = {stream: list(map(tuple, log.rows[stream]))[::-1] for stream in takers}
    while any(waiting.values()):
        stream = order.choice([name for name, rows in waiting.items() if rows])
        for _ in range(order.choice((1, 1, 64))):
            if waiting[stream]:
                takers[stream](waiting[stream].pop())
    view.finish()
    return packets


@pytest.mark.parametrize("name", FAMILIES)
def test_packets_of_every_family_do_not_depend_on_the_order_of_arrival(name: str) -> None:
    first = shown(name, random.Random(1))
    assert first == shown(name, random.Random(2)) == shown(name, random.Random(3))
    assert len(first) == pytest.approx(30 * DURATION_S, abs=2)
    assert {len(packet) for packet in first} == {408}


@pytest.mark.parametrize("name", FAMILIES)
def test_packets_say_what_truth_says(name: str) -> None:
    scenario, log = flown(name)
    last = unpack(shown(name, random.Random(1))[-1])
    names = log.columns["truth"]
    home = scenario.aircraft.world.home
    nearest = math.inf
    for row in log.rows["truth"]:
        truth = dict(zip(names, row, strict=True))
        place = geodesy.geodetic(
            Origin(home.lat_deg, home.lon_deg, home.alt_m), tuple(truth[f"{axis}_m"] for axis in "xyz")
        )
        off = max(
            abs(last.latitude_rad - math.radians(place[0])) * 6.4e6,
            abs(last.longitude_rad - math.radians(place[1])) * 6.4e6,
            abs(last.altitude_m - place[2]),
            abs(last.v_east_ft_s * 0.3048 - truth["vx_m_s"]),
            abs(last.v_north_ft_s * 0.3048 - truth["vy_m_s"]),
            abs(last.climb_rate_ft_s * 0.3048 - truth["vz_m_s"]),
        )
        nearest = min(nearest, off)
    assert nearest < 1e-5  # one row of truth is the packet's, to single precision
    assert last.agl_m > 0.0


def test_surfaces_and_propeller_of_a_fixed_wing() -> None:
    _, log = flown("fixedwing-loiter")
    packet = unpack(shown("fixedwing-loiter", random.Random(1))[-1])
    names = log.columns["effort"]
    effort = dict(zip(names, log.rows["effort"][-1], strict=True))
    assert packet.left_aileron == pytest.approx(-packet.right_aileron)
    assert packet.elevator == pytest.approx(effort["elevator_rad"] / 0.43633, abs=0.1)
    assert packet.elevator < 0.0  # it holds the nose up
    assert packet.num_engines == 1
    assert packet.rpm[0] == pytest.approx(effort["throttle"] * 145.0 * 44.4, rel=0.1)
    assert packet.vcas_kt == pytest.approx(20.0 / 0.514444, rel=0.15)


def test_rotors_of_a_quadrotor() -> None:
    packet = unpack(shown("quad-hover", random.Random(1))[-1])
    assert packet.num_engines == 4
    assert packet.wow == (1, 1, 1)


def test_version_rate_and_date_are_the_scenarios() -> None:
    packets = shown("quad-hover", random.Random(1), "view.version=25", "view.rate_hz=10", "world.home.date=2026-03-01")
    assert len(packets) == pytest.approx(10 * DURATION_S, abs=2)
    assert {len(packet) for packet in packets} == {SIZES[25]}
    first, last = unpack(packets[0]), unpack(packets[-1])
    noon_utc_s = 1772366400
    assert first.cur_time_s == noon_utc_s - round(8.545594 / 15 * 3600)
    assert last.cur_time_s == first.cur_time_s + 1


def test_a_diverged_aircraft_is_not_shown() -> None:
    scenario, log = flown("quad-hover")
    packets: list[bytes] = []
    view = FlightGearView(scenario, logged(streams_of(scenario)), [packets.append])
    for row in log.rows["truth"][:40]:
        view.taker("truth")((*row[:5], math.nan, *row[6:]))
    view.finish()
    assert packets == []


def receiver() -> socket.socket:
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.bind(("127.0.0.1", 0))
    own.setblocking(False)
    return own


def received(own: socket.socket) -> list[bytes]:
    packets = []
    while True:
        try:
            packets.append(own.recv(2048))
        except BlockingIOError:
            return packets


def test_a_flight_with_its_processes_sends_these_packets_and_its_log_is_the_same(tmp_path: Path) -> None:
    """The receiver gets them all; when it is gone, the next flight neither fails nor differs."""
    settings = {"duration_s": DURATION_S, "checks": []}
    own = receiver()
    url = f"udp://127.0.0.1:{own.getsockname()[1]}"
    runs = [
        aeroloop.fly("fixedwing-loiter", set={**settings, "view.flightgear": url}, out=tmp_path / "listened"),
    ]
    packets = received(own)
    own.close()
    runs.append(aeroloop.fly("fixedwing-loiter", set={**settings, "view.flightgear": url}, out=tmp_path / "alone"))
    assert packets == shown("fixedwing-loiter", random.Random(1))
    assert [run.passed for run in runs] == [True, True]
    _, log = flown("fixedwing-loiter")
    assert {run.log_sha256 for run in runs} == {log_sha256(log)}


def test_each_aircraft_has_its_own_port(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = load_plan(scenario_files.find("mixed-fleet"), ('view.flightgear="udp://127.0.0.1:6000"',))
    taken: list[tuple[str, int]] = []
    monkeypatch.setattr(flightgear_view, "sender", lambda url, number: taken.append((url, number)))
    before = 0
    for part in parts_of(plan):
        assert part.view.flightgear == "udp://127.0.0.1:6000"
        assert flightgear_view.opened(part, logged(streams_of(part)), before, pytest.fail) is not None
        before += part.aircraft.count
    assert [number for _, number in taken] == list(range(before))
    assert before > 1


def test_an_unknown_host_is_told_and_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(url: str, number: int) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    scenario, _ = flown("quad-hover")
    absent = scenario_files.load(scenario_files.find("quad-hover"), ('view.flightgear="udp://absent:5503"',))
    monkeypatch.setattr(flightgear_view, "sender", unknown)
    told: list[str] = []
    assert flightgear_view.opened(absent, logged(streams_of(scenario)), 0, told.append) is None
    assert told == [
        "view.flightgear: udp://absent:5503: FlightGear shows nothing: [Errno -2] Name or service not known"
    ]


def test_the_option_shows_it_on_this_machine_in_real_time() -> None:
    chosen = choose(named("quad-hover"), view="flightgear").plan
    assert (chosen.view.flightgear, chosen.pace) == ("udp://127.0.0.1:5503", "real")


def test_the_option_keeps_the_address_of_the_file_and_the_pace_asked_for() -> None:
    asked = named("quad-hover").changed(('view.flightgear="udp://10.0.0.7:5600"',))
    chosen = choose(asked, view="flightgear", pace="lockstep").plan
    assert (chosen.view.flightgear, chosen.pace) == ("udp://10.0.0.7:5600", "lockstep")


def test_another_program_is_refused() -> None:
    with pytest.raises(ConfigError, match="--view: expected flightgear, not 'x-plane'"):
        choose(named("quad-hover"), view="x-plane")


@pytest.mark.parametrize("url", ["tcp://127.0.0.1:5503", "udp://127.0.0.1", "udp://127.0.0.1:0", "udp://h:70000", "fg"])
def test_a_bad_address_is_refused_in_one_sentence(url: str) -> None:
    with pytest.raises(ConfigError, match=r"view\.flightgear: expected udp://HOST:PORT"):
        scenario_files.load(scenario_files.find("quad-hover"), (f'view.flightgear="{url}"',))
