"""The controller in the plant's own process (`--link memory://`) against the same flight over a link between processes.

Both fly the same flight to the bit, or there is no result.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from aeroloop.core.tables import MEMORY
from benchmarks.command import SHORT, fly
from benchmarks.measure import Outcome, row, take_turns

PEER = "the same over a link between processes"


class Flight(NamedTuple):
    scenario: str
    rung: str

    def __str__(self) -> str:
        return f"{self.scenario} {self.rung} over {MEMORY.partition(':')[0]}"


FLIGHTS = (
    Flight("tiltrotor-spiral", "mil"),
    Flight("quad-mission", "mil"),
    Flight("quad-mission", "sil"),
    Flight("fixedwing-loiter", "mil"),
)
COMPILED = ("sil",)
LINKS = {"mil": "loopback://", "sil": "tcp://127.0.0.1:0"}


def run(quick: bool) -> Outcome:
    flights = [Flight("quad-mission", "mil")] if quick else list(FLIGHTS)
    rounds, options = (1, SHORT) if quick else (5, ("--no-report",))
    log_hashes: dict[Flight, set[str]] = {flight: set() for flight in flights}

    def factor(flight: Flight, link: tuple[str, ...]) -> float:
        flown = fly(flight.scenario, "--loop", flight.rung, *link, *options)
        log_hashes[flight].add(flown.summary["log_sha256"])
        if len(log_hashes[flight]) > 1:
            raise RuntimeError(f"{flight}: not the same flight as {PEER}: log_sha256 {log_hashes[flight]}")
        return flown.real_time_factor

    for flight in flights:
        if flight.rung in COMPILED:  # C and image are compiled once and kept: no part of a flight
            fly(flight.scenario, "--loop", flight.rung, *SHORT)
    contestants = {}
    for flight in flights:
        contestants[f"{flight}"] = partial(factor, flight, ("--link", MEMORY))
        contestants[f"{flight}, peer"] = partial(factor, flight, ("--link", LINKS[flight.rung]))
    factors = take_turns(contestants, rounds)
    outcome = Outcome([row(f"{f}", "times", factors[f"{f}"], PEER, factors[f"{f}, peer"]) for f in flights])
    outcome.notes.append("real-time factor of the flight, log included; equal log_sha256 over both links")
    return outcome
