"""A flight alone, the same in a fleet of several kinds, and the same inline are one flight, to the bit.

What the bench flies with its processes stands in tests/recorded/flights.json; here every craft is in this process.
"""

from __future__ import annotations

from functools import cache

import pytest

from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import find, load
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log, log_sha256
from recorded.recorded_flights import SHORT_S, fingerprint, recorded, table_hash

FLEET = ("tiltrotor-spiral", "tiltrotor-noisy-link", "quad-hover", "quad-wind", "fixedwing-loiter")


def scenario(name: str, duration_s: float | None = None, rung: str = "mil") -> Scenario:
    seconds = SHORT_S[name.partition("-")[0]] if duration_s is None else duration_s
    return load(find(name), (f"duration_s={seconds}", "checks=[]", f'loop="{rung}"'))


@cache
def alone(name: str, duration_s: float) -> str:
    (log,) = fly_inline(scenario(name, duration_s)).logs
    return log_sha256(log)


def differing(log: Log, expected: dict[str, str]) -> list[str]:
    """Streams that are not as recorded; those of the emulated processor are left out."""
    simulated = {s.name: log.rows[s.name] for s in log.streams if s.simulated and len(log.rows[s.name])}
    want = {name.removeprefix("stream "): value for name, value in expected.items() if name.startswith("stream ")}
    plain = {name: value for name, value in want.items() if not name.startswith("processor ")}
    return [name for name, value in plain.items() if table_hash(log.columns[name], simulated[name]) != value]


@pytest.mark.parametrize(
    ("name", "rung"), [*((name, "mil") for name in FLEET), ("tiltrotor-spiral", "sil"), ("quad-hover", "sil")]
)
def test_inline_is_the_bench(name: str, rung: str) -> None:
    if recorded()["fingerprint"]["arithmetic"] != fingerprint()["arithmetic"]:
        pytest.skip("recorded on a machine with other arithmetic: make flights compares the bench there")
    flight = fly_inline(scenario(name, rung=rung))
    assert flight.ended == "completed"
    assert differing(flight.logs[0], recorded()["flights"][f"{name} {rung}"]["short"]) == []


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


def test_a_swarm_inline_is_the_swarm_of_the_bench() -> None:
    if recorded()["fingerprint"]["arithmetic"] != fingerprint()["arithmetic"]:
        pytest.skip("recorded on a machine with other arithmetic: make flights compares the bench there")
    (log,) = fly_inline(scenario("quad-swarm")).logs
    assert differing(log, recorded()["flights"]["quad-swarm mil"]["short"]) == []


def test_one_that_diverges_ends_the_flight_of_all() -> None:
    flight = fly_inline(scenario("tiltrotor-delay-12ms", 10.0), scenario("quad-hover", 10.0))
    assert flight.ended == "diverged"


def test_an_external_controller_cannot_fly_inline() -> None:
    with pytest.raises(ConfigError, match=r"memory:// is for lockstep on mil, sil and pil"):
        fly_inline(load(find("quad-px4")))
