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


def test_rates_are_those_of_wall_time() -> None:
    def attitude_hz(*overrides: str) -> float:
        return next(rate.hz for rate in lines(*overrides).rates if rate.message == 30)

    assert attitude_hz('pace="2x"') == 2 * attitude_hz()
