"""A flight alone, the same in a fleet of several kinds, and the same inline are one flight, to the bit."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import tomli_w
from inline_flights import flown_inline
from recorded_flights import Flight, fly

import aeroloop
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario import Scenario
from aeroloop.core.scenario_files import find, load
from aeroloop.core.tables import FAMILIES, family, part
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import log_sha256

LAWS = Path(__file__).resolve().parents[2] / "examples" / "laws"
OWN_LAW = {"control.law_file": str(LAWS / "lqr.py")}
FLEET = {
    "tiltrotor": ("tiltrotor-spiral", {}),
    "noisy-link": ("tiltrotor-noisy-link", {}),
    "own-law": ("tiltrotor-spiral", OWN_LAW),
    "quad": ("quad-hover", {}),
    "wind": ("quad-wind", {}),
    "law-board": ("quad-law-hover", {}),
    "pose-board": ("quad-pose", {}),
    "own-heli-law": ("heli-square", {"law_file": str(LAWS / "heli_lqr.py")}),
    "heli": ("heli-square", {}),
    "wing": ("fixedwing-loiter", {}),
    "robot": ("rrr-circle", {}),
    "body": ("check-case-6", {}),
}
"""Of every family with every controller that flies here without a program from outside: scenario and settings."""
DURATION_S = 2.0


def settings(of: dict[str, str], duration_s: float) -> tuple[str, ...]:
    return (f"duration_s={duration_s}", "checks=[]", *(f'{key}="{value}"' for key, value in of.items()))


def scenario(name: str, duration_s: float, **own: str) -> Scenario:
    return load(find(name), settings(own, duration_s))


@cache
def alone(name: str, duration_s: float, own: tuple[tuple[str, str], ...] = ()) -> str:
    (log,) = fly_inline(scenario(name, duration_s, **dict(own))).logs
    return log_sha256(log)


def each_alone() -> dict[str, str]:
    return {key: alone(name, DURATION_S, tuple(own.items())) for key, (name, own) in FLEET.items()}


def fleet_file(folder: Path) -> Path:
    entries = [{"name": key, "scenario": name, **nested(own)} for key, (name, own) in FLEET.items()]
    file = folder / "all-kinds.toml"
    file.write_text(tomli_w.dumps({"name": "all-kinds", "duration_s": DURATION_S, "checks": [], "aircraft": entries}))
    return file


def nested(own: dict[str, str]) -> dict[str, object]:
    """Dotted keys as tables."""
    parts = {key.partition("."): value for key, value in own.items()}
    return {first: {rest: value} if rest else value for (first, _, rest), value in parts.items()}


PROCESSES = (
    "tiltrotor-noisy-link mil",
    "tiltrotor-spiral sil",
    "tiltrotor-spiral pil",
    "quad-hover sil",
    "fixedwing-loiter mil",
    "heli-hover mil",
    "rrr-circle mil",
    "mixed-fleet mil",
)


@pytest.mark.parametrize(
    "name", [PROCESSES[0], *(pytest.param(name, marks=pytest.mark.soak) for name in PROCESSES[1:])]
)
def test_the_bench_with_its_processes_flies_what_is_flown_inline(name: str) -> None:
    flight = Flight(*name.split())
    assert fly(flight, full=False).streams == flown_inline(flight).streams


def test_a_fleet_of_all_kinds_flies_as_each_alone(tmp_path: Path) -> None:
    flight = fly_inline(load_plan(fleet_file(tmp_path)))
    assert flight.ended == "completed"
    hashes = dict(zip(FLEET, map(log_sha256, flight.logs), strict=True))
    assert hashes == each_alone()
    assert len({*hashes.values()}) == len(FLEET)


@pytest.mark.soak
def test_it_does_so_with_processes(tmp_path: Path) -> None:
    run = aeroloop.fly(fleet_file(tmp_path), out=tmp_path / "run")
    assert {each["scenario"]: each["log_sha256"] for each in run.summary["aircraft"]} == each_alone()


def test_the_fleet_has_every_family_with_every_controller_that_flies_here() -> None:
    rows = [family(kind) for kind in FAMILIES]
    here = {(row.name, name) for row in rows for name, of in row.controllers.items() if not part(of).external}
    own = [scenario(name, 1.0, **own) for name, own in FLEET.values()]
    assert {(each.family.name, each.flown_by.name) for each in own} == here


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
