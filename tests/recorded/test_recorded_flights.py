"""Every shipped lockstep flight is what it was when its hashes were recorded, on every rung it has.

A short flight of each is flown within this process, which is the same to the bit (tests/equivalence/test_one_time.py)
and costs a quarter; `make flights` flies each to its end as a user does, with its processes.
Where no machine like this one has recorded a flight, flights of the revision that recorded them stand in for the
hashes: both are flown here, and compared.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from recorded_flights import RECORDS, ROOT, Flight, Flown, checkout, flights, fly, hashed, recorded, recorded_here

from aeroloop.core.fleet import parts_of, prefix
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario_files import find
from aeroloop.flight.inline import fly_inline

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
    *("quad-sync-load mil", "quad-pose-paper sil"),  # quad-sync-weak mil; quad-pose sil
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


def test_every_shipped_flight_is_recorded() -> None:
    known = {name for machine in recorded() for name in machine["flights"]}
    assert sorted(flight.name for flight in flights()) == sorted(known)


def flown_here(flight: Flight) -> Flown:
    plan = load_plan(find(flight.scenario), (*flight.short, f'loop="{flight.rung}"'))
    tables = {
        f"{prefix(plan, part)}{stream.name}": (log.columns[stream.name], log.rows[stream.name])
        for part, log in zip(parts_of(plan), fly_inline(plan).logs, strict=True)
        for stream in log.streams
        if stream.simulated and len(log.rows[stream.name])
    }
    return Flown("", hashed(tables), 0.0)


@pytest.mark.parametrize(
    "flight",
    [
        pytest.param(flight, marks=pytest.mark.soak if flight.name in ALIKE else (), id=flight.name.replace(" ", "-"))
        for flight in flights()
    ],
)
def test_flight_is_the_recorded_one(flight: Flight, request: pytest.FixtureRequest) -> None:
    full = request.config.getoption("--full")
    flown = (fly(flight, full=True) if full else flown_here(flight)).record()
    expected = recorded_here(flight, "full" if full else "short")
    if expected is None:
        expected = fly(flight, full=full, source=request.getfixturevalue("base")).record()
    different = {
        name: (expected.get(name), flown.get(name))
        for name in {**expected, **flown}
        if expected.get(name) != flown.get(name)
    }
    assert not different
