"""A flight alone, the same in a fleet of several kinds, and the same inline are one flight, to the bit."""

from __future__ import annotations

from functools import cache

import pytest
from recorded_flights import Flight, fly

from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import find, load
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import log_sha256

FLEET = ("tiltrotor-spiral", "tiltrotor-noisy-link", "quad-hover", "quad-wind", "fixedwing-loiter")


def scenario(name: str, duration_s: float) -> Scenario:
    return load(find(name), (f"duration_s={duration_s}", "checks=[]"))


@cache
def alone(name: str, duration_s: float) -> str:
    (log,) = fly_inline(scenario(name, duration_s)).logs
    return log_sha256(log)


PROCESSES = (
    "tiltrotor-noisy-link mil",
    "tiltrotor-spiral sil",
    "tiltrotor-spiral pil",
    "quad-hover sil",
    "fixedwing-loiter mil",
    "heli-hover mil",
    "rrr-circle mil",
)


@pytest.mark.parametrize(
    "name", [PROCESSES[0], *(pytest.param(name, marks=pytest.mark.soak) for name in PROCESSES[1:])]
)
def test_the_bench_with_its_processes_flies_what_is_flown_inline(name: str) -> None:
    flight = Flight(*name.split())
    (log,) = fly_inline(load(find(flight.scenario), (*flight.short, f'loop="{flight.rung}"'))).logs
    assert fly(flight, full=False).log_sha256 == log_sha256(log)


def test_a_fleet_of_several_kinds_flies_as_each_alone() -> None:
    together = fly_inline(*(scenario(name, 3.0) for name in FLEET))
    assert together.ended == "completed"
    assert [log_sha256(log) for log in together.logs] == [alone(name, 3.0) for name in FLEET]


def test_who_else_is_there_and_in_which_order_does_not_matter() -> None:
    names = ("fixedwing-loiter", "tiltrotor-noisy-link")
    one = fly_inline(*(scenario(name, 3.0) for name in names))
    other = fly_inline(*(scenario(name, 3.0) for name in reversed(names)))
    hashes = [log_sha256(log) for log in one.logs]
    assert hashes == [log_sha256(log) for log in reversed(other.logs)] == [alone(name, 3.0) for name in names]


def test_one_that_diverges_ends_the_flight_of_all() -> None:
    flight = fly_inline(scenario("tiltrotor-delay-12ms", 10.0), scenario("quad-hover", 10.0))
    assert flight.ended == "diverged: tiltrotor-delay-12ms"


def test_an_external_controller_cannot_fly_inline() -> None:
    with pytest.raises(ConfigError, match=r"memory:// is for lockstep on mil, sil and pil"):
        fly_inline(load(find("quad-px4")))
