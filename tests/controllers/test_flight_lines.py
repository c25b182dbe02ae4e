"""The lines of a flight's router: who is named, and who hears whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from aeroloop.controllers.pixhawk.router_links import router_config
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.families.multirotor.scenario import MultirotorTables, QuadrotorScenario
from aeroloop.flight.process_table import roles
from aeroloop.router.config import RouterConfig

FOLDER = Path("/run/flight-1")


def scenario(*overrides: str) -> QuadrotorScenario:
    loaded = scenario_files.load(scenario_files.find("quad-free"), overrides)
    assert isinstance(loaded.aircraft, MultirotorTables)
    return loaded


def lines(*overrides: str) -> RouterConfig:
    config = router_config(scenario(*overrides), FOLDER)
    assert config is not None
    return config


def urls(config: RouterConfig) -> dict[str, str]:
    return {endpoint.name: endpoint.url for endpoint in config.endpoints}


def test_one_aircraft_has_the_ports_of_px4() -> None:
    assert urls(lines()) == {
        "pixhawk-0": "loopback:///run/flight-1/ground0.sock",
        "onboard-0": "udp://127.0.0.1:14540",
        "ground": "udp://127.0.0.1:14550",
        "bench": "loopback:///run/flight-1/bench.sock?listen",
    }


def test_only_the_companions_link_may_measure_without_command() -> None:
    """LANDING_TARGET comes from there while a ground station commands."""
    assert [endpoint.name for endpoint in lines().endpoints if endpoint.companion] == ["onboard-0"]


def test_each_aircraft_has_a_port_for_companions_and_all_share_the_ground_station() -> None:
    found = urls(lines("vehicle.count=3"))
    assert [found[f"onboard-{n}"] for n in range(3)] == [f"udp://127.0.0.1:{14540 + n}" for n in range(3)]
    assert sum(name.startswith("ground") for name in found) == 1


def test_ground_stations_elsewhere_each_have_a_name() -> None:
    found = urls(
        lines('autopilot.ground_links=["udp://127.0.0.1:1000", "udp://127.0.0.1:1001", "tcp://127.0.0.1:1?listen"]')
    )
    assert [name for name in found if name.startswith("ground")] == ["ground", "ground-2", "ground-3"]


def test_more_lines_come_from_the_scenario_and_may_not_take_a_name() -> None:
    more = 'router.endpoints=[{{name="{}", url="tcp://127.0.0.1:5760?listen", role="observe"}}]'
    assert urls(lines(more.format("wall")))["wall"] == "tcp://127.0.0.1:5760?listen"
    with pytest.raises(ConfigError, match=r"router: endpoints\[4\].name: 'ground' is taken"):
        lines(more.format("ground"))


def test_in_lockstep_and_for_an_autopilot_outside_nobody_is_routed_unless_a_line_is_named() -> None:
    outside = ('loop="hil"', 'pace="real"')
    named = 'router.endpoints=[{name="px4", url="udp://127.0.0.1:14540?listen", role="vehicle"}]'
    assert router_config(scenario('pace="lockstep"', 'pilot.source="commands"'), FOLDER) is None
    assert router_config(scenario(*outside), FOLDER) is None
    assert urls(lines(*outside, named)).keys() == {"px4", "bench"}
    assert [role.name for role in roles(scenario(*outside, named))] == ["recorder", "plant", "router", "telemetry"]
    assert [role.name for role in roles(scenario())] == ["recorder", "plant", "board", "router"]


def test_the_hil_link_is_the_routers_own_where_the_scenario_says_so() -> None:
    """Of a virtual Pixhawk as of a board: it has one link, and the plant is one of the endpoints."""
    servers = ["tcp://127.0.0.1:4560?listen"]
    for rung in ("mil", "hil"):
        flown = scenario("router.hil=true", f'loop="{rung}"')
        config = router_config(flown, FOLDER, servers)
        assert config is not None
        assert urls(config) == {
            "pixhawk-0": servers[0],
            "plant-0": "loopback:///run/flight-1/plant0.sock",
            "onboard-0": "udp://127.0.0.1:14540",
            "ground": "udp://127.0.0.1:14550",
            "bench": "loopback:///run/flight-1/bench.sock?listen",
        }
        assert [(end.role, end.simulates) for end in config.endpoints[:2]] == [
            ("vehicle", ""),
            ("simulator", "pixhawk-0"),
        ]
        own = ["router", "board"] if rung == "mil" else ["router", "telemetry"]
        assert [role.name for role in roles(flown)] == ["recorder", "plant", *own]
        assert next(role for role in roles(flown) if role.name == "router").vital
        assert flown.controller.telemetry_url(flown) == ""


def test_in_lockstep_the_router_has_the_hil_link_alone_and_sends_nothing_itself() -> None:
    flown = scenario("router.hil=true", 'pace="lockstep"', 'pilot.source="commands"')
    config = router_config(flown, FOLDER, ["loopback:///run/flight-1/hil0.sock?listen"])
    assert config is not None
    assert urls(config).keys() == {"pixhawk-0", "plant-0"}
    assert config.timesync_hz == 0 and config.rates == ()
    assert flown.link_url == "loopback://", "not in memory: the router is a process"


def test_each_aircraft_has_a_plant_of_its_own() -> None:
    flown = scenario("router.hil=true", "vehicle.count=2")
    config = router_config(flown, FOLDER, ["loopback:///a?listen", "loopback:///b?listen"])
    assert config is not None
    pairs = {end.name: end.simulates for end in config.endpoints if end.role == "simulator"}
    assert pairs == {"plant-0": "pixhawk-0", "plant-1": "pixhawk-1"}


def test_rates_are_those_of_wall_time() -> None:
    def attitude_hz(*overrides: str) -> float:
        return next(rate.hz for rate in lines(*overrides).rates if rate.message == 30)

    assert attitude_hz('pace="2x"') == 2 * attitude_hz()
