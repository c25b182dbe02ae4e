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
from recorded_flights import RECORDS, ROOT, Flight, checkout, flights, fly, recorded, recorded_here

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
        "quad-wind sil",
    ),  # quad-hover sil
    "quad-landing-moving mil",  # quad-landing mil: without frames yet, the rest of the flight depends on pixels
    *("rrr-payload mil", "rrr-square mil", "rrr-weak mil"),  # rrr-circle and rrr-all mil
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
    known = {name for machine in recorded() for name in machine["flights"]}
    assert sorted(flight.name for flight in flights()) == sorted(known)


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
