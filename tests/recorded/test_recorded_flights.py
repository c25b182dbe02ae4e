"""Every shipped lockstep flight is what it was when its hashes were recorded, on every rung it has.

A short flight of each is flown within this process, which is the same to the bit (tests/equivalence/test_one_time.py)
and costs a quarter; `make flights` flies each to its end as a user does, with its processes.
Where no machine like this one has recorded a flight, flights of the revision that recorded them stand in for the
hashes: both are flown here, in the same way, and compared.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from inline_flights import Base, flown_inline
from recorded_flights import RECORDS, ROOT, Flight, checkout, flights, fly, lockstep_rungs, recorded, recorded_here

from aeroloop.core.fleet import parts_of
from aeroloop.core.fleet_files import load_plan

ALIKE = (
    *("quad-camera mil", "quad-camera sil"),  # quad-terrain: a camera does not change the flight
    *(
        "quad-landing sil",
        "quad-landing-moving sil",
        "quad-manual sil",
        "quad-noisy-link sil",
        "quad-slam sil",
        "quad-street sil",
        "quad-swarm sil",
        "quad-terrain sil",
        "quad-truth sil",
        "quad-wind sil",
    ),  # quad-hover sil
    "quad-landing-moving mil",  # quad-landing mil: without frames yet, the rest of the flight depends on pixels
    *("rrr-payload mil", "rrr-square mil", "rrr-weak mil"),  # rrr-circle and rrr-all mil
    *(f"rrr-{name} {rung}" for name in ("all", "payload", "square", "weak") for rung in ("sil", "pil")),  # rrr-circle
    *(f"quad-sync-{name} {rung}" for name in ("load", "weak") for rung in ("sil", "pil")),  # quad-sync sil and pil
    *(f"quad-paper{name} {rung}" for name in ("", "-flown") for rung in ("sil", "pil")),  # quad-pose sil and pil
    *("quad-air pil", "quad-law-nmpc mil", "quad-px4-mission sil"),  # quad-law-hover pil, quad-law-nmpc, quad-hover sil
    *("fixedwing-truth sil", "fixedwing-truth pil"),  # fixedwing-hierarchical sil and pil; on mil each of them
    *("heli-hover sil", "heli-hover pil"),  # heli-square sil and pil
    *("quad-sync-load mil", "quad-pose-paper sil", "quad-pose-paper pil"),  # quad-sync-weak mil; quad-pose sil and pil
    *(
        f"tiltrotor-{name} {rung}"
        for name in ("delay-6ms", "delay-12ms", "spiral-rest", "wind")
        for rung in ("sil", "pil")
    ),  # tiltrotor-spiral sil and pil; on mil each of them
    "tiltrotor-noisy-link sil",  # tiltrotor-noisy-link mil and pil
)
"""Flights that differ only in settings from others of their rung: behind `make soak`; `make flights` flies them too."""
OF_PIXELS = tuple(f"quad-landing{name} {rung}" for name in ("", "-moving") for rung in ("mil", "sil"))
"""Recorded short only, before the camera sees the pad: the whole flight follows the images, and these depend on the
renderer, which the fingerprint does not name. `make flights` compares them with the revision that recorded last."""


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    found = subprocess.run(
        ["git", "-C", ROOT, "log", "-1", "--format=%H", "--", RECORDS], capture_output=True, text=True, check=False
    )
    if not (revision := found.stdout.strip()):
        pytest.skip("recorded on another machine, and no git history here to fly the revision that recorded them")
    with checkout(revision) as tree:
        yield tree


@pytest.fixture(scope="module")
def base_process(base: Path) -> Iterator[Base]:
    process = Base(base)
    yield process
    process.close()


def test_every_shipped_flight_is_recorded() -> None:
    shipped = {flight.name for flight in flights()}
    known = [(name, length) for own in recorded() for name, hashes in own["flights"].items() for length in hashes]
    assert {name for name, length in known if length == "short"} == shipped
    assert {name for name, length in known if length == "full"} == shipped - set(OF_PIXELS)


def test_every_shipped_scenario_that_can_fly_here_in_lockstep_is_flown() -> None:
    """What is left out needs a program or a board from outside, or real time; a misspelt rung or key does neither."""
    flown = {flight.scenario for flight in flights()}
    for path in (ROOT / "scenarios").glob("*.toml"):
        plan = load_plan(path)
        outside = any(part.flown_by.external or part.loop in part.flown_by.own_clock for part in parts_of(plan))
        assert (path.stem in flown) or outside or not plan.lockstep, path.stem


@pytest.mark.parametrize(
    ("name", "rungs"),
    [
        ("rrr-weak", ("mil", "sil", "pil")),
        ("quad-hover", ("mil", "sil")),  # its pilot's table is of the virtual Pixhawk
        ("quad-law-nmpc", ("mil", "sil")),  # a law for the host's processor
        ("quad-px4-mission", ("mil", "sil")),  # on hil with a PX4 from outside
        ("check-case-1", ("mil",)),
        ("mixed-fleet", ("mil", "sil")),
        ("tiltrotor-joystick", ()),  # in real time
        ("heli-ardupilot", ()),
    ],
)
def test_rungs_are_those_of_the_tables(name: str, rungs: tuple[str, ...]) -> None:
    assert lockstep_rungs(name) == rungs


def test_flights_that_only_make_soak_flies_exist() -> None:
    assert {*ALIKE} <= {flight.name for flight in flights()}


@pytest.mark.parametrize(
    "flight",
    [
        pytest.param(flight, marks=pytest.mark.soak if flight.name in ALIKE else (), id=flight.name.replace(" ", "-"))
        for flight in flights()
    ],
)
def test_flight_is_the_recorded_one(flight: Flight, request: pytest.FixtureRequest) -> None:
    full = request.config.getoption("--full")
    flown = (fly(flight, full=True) if full else flown_inline(flight)).record()
    expected = recorded_here(flight, "full" if full else "short")
    if expected is None and full:
        expected = fly(flight, full=True, source=request.getfixturevalue("base")).record()
    elif expected is None:
        expected = request.getfixturevalue("base_process").fly(flight).record()
    different = {
        name: (expected.get(name), flown.get(name))
        for name in {**expected, **flown}
        if expected.get(name) != flown.get(name)
    }
    assert not different
