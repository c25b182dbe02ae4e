"""Where the law is not better: seven statements, each with the numbers of this very campaign and with limits.

An implementation that beats PID in the common mode or under noise has a defect, or was compared with a detuned PID; so
these are checked as well. A statement needs its cells: of a selection only those that can be made are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aeroloop.campaign.plants import FULL, LINEAR, NONE, PLANTS, Cell
from aeroloop.campaign.results import Check, Results

EQUAL_PATHS = 1.05
"""Largest over smallest path error of the controllers with feedback."""


@dataclass(frozen=True)
class Statement:
    number: int
    title: str
    words: tuple[str, ...]
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        return all(check.ok for check in self.checks)


def statements(results: Results) -> list[Statement]:
    """Those whose cells were flown."""
    found = []
    for number, (title, make) in enumerate(MAKERS, 1):
        told = list(make(results))
        if told:
            words = tuple(words for words, _ in told)
            found.append(Statement(number, title, words, tuple(check for _, checks in told for check in checks)))
    return found


Told = Iterator[tuple[str, tuple[Check, ...]]]


def _common_mode(results: Results) -> Told:
    if results.has("rrr", "load", "pid", FULL):
        pid, full = (results.of("rrr", law, "load", "angle") for law in ("pid", FULL))
        yield (
            f"Platform angle of the robot under load: {full:.3g} mrad RMS, with pid {pid:.3g}.",
            (Check("rrr load: angle, full / pid", full / pid, least=0.85),),
        )
    for disturbance in ("weak", "load"):
        if results.has("quad", disturbance, "pid", FULL):
            pid, full = (results.common("quad", law, disturbance) for law in ("pid", FULL))
            yield (
                f"Mean error of all rotors, {disturbance}: {full:.3g} rad/s RMS, with pid {pid:.3g}.",
                (Check(f"quad {disturbance}: mean error of the rotors, full / pid", full / pid, least=0.85),),
            )


def _aircraft(results: Results) -> Told:
    laws = [law for law in results.laws("quad") if law != "esc"] if "quad" in results.plants else []
    rows = [row for row in (NONE, "gust", "payload") if results.has("quad", row, "pid", FULL)]
    if not rows:
        return
    paths = {
        row: [results.of("quad", law, row, "path") for law in laws if results.has("quad", row, law)] for row in rows
    }
    told = ", ".join(f"{row} {_least(path):.3g} to {_most(path):.3g}" for row, path in paths.items())
    yield (
        f"Aircraft position (m RMS), of the controllers with feedback: {told}. The outer loop decides it.",
        tuple(
            Check(f"quad {row}: path, largest / smallest", _most(path) / _least(path), most=EQUAL_PATHS)
            for row, path in paths.items()
        ),
    )
    kicks = {row: [results.of("quad", law, row, "kick") for law in (FULL, "pid")] for row in rows if row != NONE}
    if kicks:
        told = ", ".join(f"{row} {full:.3g}, with pid {pid:.3g}" for row, (full, pid) in kicks.items())
        yield (
            f"Attitude kick (deg): {told}. These are not errors of the actuators.",
            tuple(Check(f"quad {row}: kick, full / pid", full / pid, 0.9, 1.15) for row, (full, pid) in kicks.items()),
        )


def _noise(results: Results) -> Told:
    if results.has("quad", "noise", "pid", FULL):
        sync, chatter = (1.0 / results.ratio("quad", "noise", key, "pid") for key in ("sync", "chatter"))
        yield (
            f"Rotors under noise: {sync:.3g} times the synchronisation error of pid, {chatter:.3g} times its chatter.",
            (
                Check("quad noise: sync, full / pid", sync, least=1.05, ideal=1.16),
                Check("quad noise: chatter, full / pid", chatter, least=1.5, ideal=2.7),
            ),
        )
    if results.has("rrr", "noise", "pid", FULL):
        chatter = 1.0 / results.ratio("rrr", "noise", "chatter", "pid")
        yield (
            f"Robot under noise: {chatter:.3g} times the chatter of pid.",
            (Check("rrr noise: chatter, full / pid", chatter, least=1.2, ideal=1.4),),
        )


RMS_OF_EQUAL = {"rrr": 1.35, "quad": 1.05}
"""Most total error of pid-equal over that of the law."""
SYNC_OF_EQUAL = {("quad", "payload"): 1.1, ("quad", "noise"): 1.1}
"""Rows in which pid-equal also synchronises about as well: most of its synchronisation error over the law's."""


def _equal_chatter(results: Results) -> Told:
    for plant in results.plants:
        rows = [row for row in results.disturbances(plant) if results.has(plant, row, "pid-equal", FULL)]
        if not rows:
            continue
        sync = {row: results.ratio(plant, row, "sync", "pid-equal") for row in rows}
        both = {row: results.ratio(plant, row, "rms", "pid-equal") for row in rows}
        told = ", ".join(f"{row} {ratio:.3g}" for row, ratio in sync.items())
        checks = [Check(f"{plant}: rms, largest pid-equal / full", _most(both.values()), most=RMS_OF_EQUAL[plant])]
        if "noise" in rows:
            checks.append(
                Check(
                    f"{plant} noise: chatter, pid-equal / full",
                    results.ratio(plant, "noise", "chatter", "pid-equal"),
                    0.8,
                    1.25,
                )
            )
        checks += [
            Check(f"{plant} {row}: sync, pid-equal / full", sync[row], most=most)
            for (of, row), most in SYNC_OF_EQUAL.items()
            if of == plant and row in rows
        ]
        yield (
            f"{PLANTS[plant].title}: pid-equal has feed-forward, and its gain is raised until it chatters as much "
            f"under noise. Its synchronisation error over the law's: {told}; its total error over the law's: "
            f"{_least(both.values()):.3g} to {_most(both.values()):.3g}.",
            tuple(checks),
        )


def _high_gain(results: Results) -> Told:
    rows = [row for row in results.disturbances("rrr") if results.has("rrr", row, "pid-high", FULL)]
    if not rows:
        return
    both = {row: results.ratio("rrr", row, "rms", "pid-high") for row in rows}
    checks = [Check("rrr: rms, largest pid-high / full", _most(both.values()), most=1.0)]
    words = (
        f"pid-high on the robot has {_least(both.values()):.3g} to {_most(both.values()):.3g} of the law's total error"
    )
    if "load" in rows:
        sync = results.ratio("rrr", "load", "sync", "pid-high")
        checks.append(Check("rrr load: sync, pid-high / full", sync, 0.75, 1.4, ideal=0.305 / 0.273))
        words += f", {sync:.3g} times its synchronisation error under load"
    if "noise" in rows:
        chatter = results.ratio("rrr", "noise", "chatter", "pid-high")
        checks.append(Check("rrr noise: chatter, pid-high / full", chatter, least=1.2, ideal=1.45))
        words += f", at {chatter:.3g} times its chatter under noise"
    yield (
        f"{words}. The case for the law is a high gain only while it is needed, and only between the axes. With one "
        "sample of delay pid-high is unstable for a light platform, so a scenario with it needs "
        "synchronisation.certified = false.",
        tuple(checks),
    )


def _without_reserve(results: Results) -> Told:
    for plant in results.plants:
        for disturbance in PLANTS[plant].lost:
            cells = [cell for cell in results.numbers if (cell.plant, cell.disturbance) == (plant, disturbance)]
            if not cells:
                continue
            kept = [cell.law for cell in cells if not results.lost(cell)]
            ends = ", ".join(cell.law for cell in cells)
            yield (
                f"{LOST[disturbance]}: lost by {ends if not kept else 'all but ' + ', '.join(kept)}.",
                (Check(f"{plant} {disturbance}: controllers that keep it", float(len(kept)), most=0.0),),
            )
    if Cell("quad", FULL, "weak70") in results.numbers:
        first, others = (results.of("quad", FULL, "weak70", key) for key in ("first_axis", "other_axes"))
        yield (
            f"Nor does the saturated motor hold the others back: it is {first:.3g} rad/s below its setpoint, the "
            f"others are {others:.2g} rad/s RMS from theirs; their own integrals win.",
            (
                Check("quad weak70: error of the saturated motor, rad/s", first, least=100.0),
                Check("quad weak70: errors of the others, rad/s", others, most=5.0),
            ),
        )


LOST = {
    "weak70": "A motor with 70 % of its speed, less than hover needs",
    "capped": "A robot's motor with 10 % of its torque (0.4 N m) on a circle of 0.8 s",
}


def _sliding_mode_alone(results: Results) -> Told:
    for plant, disturbance in (("rrr", "load"), ("quad", "weak")):
        if results.has(plant, disturbance, "smc", LINEAR):
            smc, pid = (results.of(plant, law, disturbance, "rms") for law in ("smc", LINEAR))
            yield (
                f"{PLANTS[plant].title}, {disturbance}: smc has {smc:.5g} {PLANTS[plant].unit} RMS, PID with "
                f"feed-forward and the same gains {pid:.5g}. Inside the boundary layer they are one law; sliding mode "
                "adds the bound k of its push.",
                (Check(f"{plant} {disturbance}: rms, smc / smc-linear", smc / pid, 0.99, 1.01, ideal=1.0),),
            )


def _most(values: Iterable[float]) -> float:
    """NaN if one is: no limit holds for what is not known."""
    return float(np.max(list(values)))


def _least(values: Iterable[float]) -> float:
    return float(np.min(list(values)))


MAKERS: Sequence[tuple[str, Callable[[Results], Told]]] = (
    ("The common mode is not better", _common_mode),
    ("The aircraft's path, and its attitude in a gust or with a payload, are not better", _aircraft),
    ("Noise is worse", _noise),
    ("At equal chatter the gain is smaller", _equal_chatter),
    ("A high gain everywhere tracks better", _high_gain),
    ("No controller saves a motor without reserve", _without_reserve),
    ("Sliding mode alone is PID with feed-forward", _sliding_mode_alone),
)
