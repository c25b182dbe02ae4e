"""Lockstep flights of the spiral end to end, as a user starts them: sensors, protocol, link, log and report."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from aeroloop.core.tables import MEMORY
from benchmarks.command import SHORT, SHORT_S, fly
from benchmarks.measure import Aim, Outcome, row, take_turns

SCENARIO, WHOLE_S = "tiltrotor-spiral", 60.0
DEFAULT_LINK = {"mil": "loopback://", "sil": "tcp://127.0.0.1:0", "pil": MEMORY}
LINKS = ("loopback://", "tcp://127.0.0.1:0", "udp://127.0.0.1:0", "pty://")
AIMS = {"mil": Aim(30.0, at_least=True), "sil": Aim(30.0, at_least=True), "pil": Aim(40.0, at_least=True)}


class Contestant(NamedTuple):
    rung: str
    link: str

    def __str__(self) -> str:
        own = " (its own link)" if self.link == DEFAULT_LINK[self.rung] else ""
        return f"{self.rung} over {self.link.partition(':')[0]}{own}"

    @property
    def options(self) -> tuple[str, ...]:
        return "--loop", self.rung, "--link", self.link


def run(quick: bool) -> Outcome:
    if quick:
        quickest = [Contestant("mil", LINKS[0]), Contestant("sil", LINKS[-1]), Contestant("pil", MEMORY)]
        contestants, rounds, duration_s = quickest, 1, SHORT_S
    else:
        contestants, rounds, duration_s = _all(), 5, WHOLE_S
    length = SHORT if quick else ("--set", f"duration_s={WHOLE_S}")
    wall_s: dict[str, list[float]] = {str(c): [] for c in contestants}

    def timed(contestant: Contestant) -> float:
        flown = fly(SCENARIO, *contestant.options, *length)
        wall_s[str(contestant)].append(flown.took_s)
        return flown.real_time_factor

    for rung in ("sil", "pil"):  # C and image are compiled once and kept: no part of a flight
        fly(SCENARIO, *Contestant(rung, DEFAULT_LINK[rung]).options, *SHORT)
    factors = take_turns({str(c): partial(timed, c) for c in contestants}, rounds)
    outcome = Outcome()
    for contestant in contestants:
        name = str(contestant)
        aim = AIMS[contestant.rung] if contestant.link == DEFAULT_LINK[contestant.rung] else None
        outcome.rows.append(row(name, "times", factors[name], "real time", [1.0] * rounds, aim))
    for name, took in wall_s.items():
        outcome.rows.append(row(f"{name}, whole command", "s", took, "the time flown", [duration_s] * rounds))
    outcome.notes.append("the whole command is process start, flight, checks and report")
    return outcome


def _all() -> list[Contestant]:
    hosts = [Contestant(rung, link) for rung in ("mil", "sil") for link in LINKS]
    return [*hosts, Contestant("pil", DEFAULT_LINK["pil"])]
