"""The table of the bench, family by feature: every cell flies for a moment and shows what it should.

Flown within this process. What needs processes, a browser or a board on a desk is asked here whether it exists, and
flown where its tests are: tests/scenarios, tests/web.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from aeroloop.core import scenario_files, tables
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.fault_offers import offers
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario import Scenario
from aeroloop.core.streams import streams_of
from aeroloop.dashboard import family_page
from aeroloop.flight import inline, process_table
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log, log_sha256

LAWS = Path(__file__).resolve().parents[2] / "examples" / "laws"
FLOWN = {
    "tiltrotor": "tiltrotor-spiral",
    "multirotor": "quad-hover",
    "fixedwing": "fixedwing-loiter",
    "helicopter": "heli-hover",
}
ON_OUR_BOARD = {**FLOWN, "multirotor": "quad-law-hover"}
"""The same where the multirotor is not flown by the virtual Pixhawk, but by its own estimator and law."""
BOARDS = (*ON_OUR_BOARD.values(), "rrr-circle", "quad-pose")
"""Scenarios whose boards fly on pil."""
MOMENT = ("duration_s=0.6", "checks=[]")
SENSORS = ("imu", "magnetometer", "barometer", "gnss")


def flown(scenario: str, *settings: str) -> tuple[Log, ...]:
    flight = fly_inline(load_plan(scenario_files.find(scenario), (*MOMENT, *settings)))
    assert flight.ended == "completed"
    return flight.logs


@cache
def plain(scenario: str) -> Log:
    """As it is shipped, but for its length."""
    return flown(scenario)[0]


def changed(family: str, *settings: str) -> Log:
    """The log of a flight that these settings make another one."""
    log = flown(FLOWN[family], *settings)[0]
    assert log_sha256(log) != log_sha256(plain(FLOWN[family]))
    return log


def opened(scenario: str, *settings: str) -> Scenario:
    return scenario_files.load(scenario_files.find(scenario), (*MOMENT, *settings))


def rows(log: Log, *streams: str) -> bool:
    return all(len(log.rows[stream]) > 0 for stream in streams)


def fitted(family: str, *more: str) -> tuple[str, ...]:
    own = ("airspeed",) if family == "fixedwing" else ()
    names = ", ".join(f'"{name}"' for name in (*SENSORS, *own, *more))
    return 'sensors.preset="px4"', f"sensors.fitted=[{names}]", "sensors.gnss.start_s=0.0"


def wind(family: str) -> bool:
    """Beside what else the scenario has of it."""
    log = changed(family, "world.wind.steady_W=[30.0,1.0,0.0]")
    return bool(log.column("air", "wind_x_m_s").min() > 15.0)


def gust(family: str) -> bool:
    log = changed(family, "world.wind.gusts=[{start_s=0.1,amplitude_W=[4.0,0.0,0.0],rise_s=0.2}]")
    return bool(log.column("air", "wind_x_m_s").max() > 1.0)


def turbulence(family: str) -> bool:
    log = changed(family, "world.wind.turbulence.w20_m_s=11.0")
    return bool(log.column("air", "wind_x_m_s").std() > 0.0)


def terrain(family: str) -> bool:
    """Other ground below the same flight."""
    if family == "fixedwing":
        other = 'world.terrain={kind="generated",seed=3}'
        flights = plain(FLOWN[family]), *flown(FLOWN[family], other)
        grounds = [log.column("truth", "ground_m") for log in flights]
    else:
        aboard, other = fitted(family, "rangefinder"), 'world.terrain={kind="slope",east=0.0,north=0.02}'
        grounds = [
            flown(FLOWN[family], *aboard, *each)[0].column("rangefinder", "distance_m") for each in ((), (other,))
        ]
    return len(grounds[0]) > 0 and grounds[0].tolist() != grounds[1].tolist()


def sensor_suite(family: str) -> bool:
    """Logged one by one, or as the row that the wing's board is sent."""
    streams = ("sensors",) if family == "fixedwing" else SENSORS
    return rows(flown(FLOWN[family], *fitted(family))[0], *streams)


def impaired_link(family: str) -> bool:
    """In lockstep, from the scenario file: late and lossy both ways."""
    ways = (f"link.{way}.{what}" for way in ("to_plant", "to_board") for what in ("delay_s=0.004", "loss=0.05"))
    return rows(changed(family, *ways), "link")


def sensor_fault(family: str) -> bool:
    planned = 'faults=[{target="imu",kind="bias",channel="gyro",value=0.2,from_s=0.2,to_s=0.4}]'
    return len(flown(FLOWN[family], *fitted(family), planned)[0].rows["fault"]) == 2


def actuator_fault(family: str) -> bool:
    """One of those that the page offers."""
    weak = next(offer for offer in offers(opened(FLOWN[family])) if (offer.target, offer.kind) == ("rotor", "weak"))
    planned = f'faults=[{{target="rotor",kind="weak",channel="{weak.channels[0]}",value=0.5,from_s=0.1}}]'
    return len(flown(FLOWN[family], planned)[0].rows["fault"]) == 1


def several(family: str) -> bool:
    """The first of two flies as it does alone."""
    alone, both = plain(FLOWN[family]), flown(FLOWN[family], "vehicle.count=2")
    if len(both) == 1:  # a multirotor's scenario is that of all of them
        number = both[0].column("truth", "vehicle")
        return (both[0].rows["truth"][number == 0] == alone.rows["truth"]).all() and bool((number == 1).any())
    return [log_sha256(log) == log_sha256(alone) for log in both] == [True, False]


def ground_station(family: str) -> bool:
    station = 'router.endpoints=[{name="station",url="udp://127.0.0.1:14999",role="command"}]'
    roles = process_table.roles(opened(FLOWN[family], 'pace="real"', station))
    return "router" in {role.name for role in roles}


def page(family: str) -> bool:
    scenario = opened(FLOWN[family])
    charts = {signal.partition(".")[0] for chart in family_page.of(scenario).charts for signal in chart}
    return bool(charts) and charts <= {stream.name for stream in streams_of(scenario)}


def own_law(family: str) -> bool:
    name = {
        "tiltrotor": "lqr.py",
        "multirotor": "quad_lqr.py",
        "fixedwing": "wing_pid.py",
        "helicopter": "heli_lqr.py",
    }[family]
    scenario = ON_OUR_BOARD[family]
    mine = flown(scenario, f'{opened(scenario).flown_by.law_key}="{LAWS / name}"')[0]
    return rows(mine, "command") and log_sha256(plain(scenario)) != log_sha256(mine)


def rung(name: str) -> Callable[[str], bool]:
    def flies(family: str) -> bool:
        return rows(flown(ON_OUR_BOARD[family], f'loop="{name}"')[0], "truth", "command")

    return flies


def hil(family: str) -> bool:
    """A board on a desk: the flight waits for it on a serial line."""
    scenario = opened(ON_OUR_BOARD[family], 'loop="hil"', 'pace="real"', 'link.url="serial:///dev/ttyACM0"')
    return "board" not in {role.name for role in process_table.roles(scenario)}


FEATURES: dict[str, Callable[[str], bool]] = {
    "wind": wind,
    "gust": gust,
    "turbulence": turbulence,
    "terrain": terrain,
    "sensor suite": sensor_suite,
    "impaired link": impaired_link,
    "sensor fault": sensor_fault,
    "actuator fault": actuator_fault,
    "several aircraft": several,
    "ground station": ground_station,
    "page": page,
    "own law": own_law,
    "mil": rung("mil"),
    "sil": rung("sil"),
    "pil": rung("pil"),
    "hil": hil,
}


@pytest.mark.parametrize(("family", "feature"), list(itertools.product(FLOWN, FEATURES)))
def test_every_family_has_every_feature(family: str, feature: str) -> None:
    assert FEATURES[feature](family)


@pytest.mark.parametrize("family", FLOWN)
def test_sil_flies_c_and_nothing_else(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a compiler it does not fly, and mil does."""
    monkeypatch.setenv("CC", "/no/such/cc")
    assert rows(flown(ON_OUR_BOARD[family], "duration_s=0.2")[0], "truth")
    with pytest.raises(ConfigError, match="/no/such/cc"):
        flown(ON_OUR_BOARD[family], 'loop="sil"')


@pytest.mark.parametrize("scenario", BOARDS)
def test_a_stale_board_is_refused(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The flight's own image, as that of a law which has changed since."""

    def changed_since(scenario: Scenario, folder: Path) -> dict[str, object]:
        made = process_table.launch_settings(scenario, folder)
        return {**made, "image_id": made["image_id"] ^ 1}

    monkeypatch.setattr(inline, "launch_settings", changed_since)
    with pytest.raises(LinkError, match="the board's image was built for another law or scenario"):
        flown(scenario, 'loop="pil"')


def test_these_are_all_boards_with_firmware() -> None:
    flown = {(each.family.name, each.flown_by.name) for each in (opened(name, 'loop="pil"') for name in BOARDS)}
    every = (tables.family(kind) for kind in tables.FAMILIES)
    assert flown == {
        (row.name, name) for row in every for name, of in row.controllers.items() if tables.part(of).firmware
    }


FLOWN_BY = {
    "tiltrotor": ("law",),
    "multirotor": ("pixhawk", "px4", "ardupilot", "law", "pose"),
    "fixedwing": ("law", "px4", "ardupilot"),
    "helicopter": ("law", "ardupilot"),
    "rrr": ("law",),
    "freebody": ("none",),
}
"""Aircraft by controller; every other cell is refused."""
SCENARIO = {**FLOWN, "rrr": "rrr-circle", "freebody": "check-case-1"}
REFUSED = [(family, name) for family, own in FLOWN_BY.items() for name in FLOWN_BY["multirotor"] if name not in own]


@pytest.mark.parametrize(("family", "controller"), REFUSED)
def test_a_controller_that_does_not_fly_it_is_refused_with_those_that_do(family: str, controller: str) -> None:
    exist = ", ".join(FLOWN_BY[family])
    words = (
        rf"controller\.kind: no '{controller}' flies {family}; expected one of: {exist} \({FLOWN_BY[family][0]}: mil"
    )
    with pytest.raises(ConfigError, match=words):
        opened(SCENARIO[family], f'controller.kind="{controller}"')


@pytest.mark.parametrize("family", FLOWN_BY)
def test_the_row_of_each_family_has_these_controllers(family: str) -> None:
    assert tuple(tables.family(family).controllers) == FLOWN_BY[family]
