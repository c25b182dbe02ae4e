"""Where the law is not better: seven statements, each with the numbers of this very campaign and with limits.

An implementation that beats PID in the common mode or under noise has a defect, or was compared with a detuned PID; so
these are checked as well. A statement needs its cells: of a selection only those that can be made are made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from aeroloop.campaign.plant import FULL, LINEAR, NONE, Cell, CommonMode, Compared, Plant
from aeroloop.campaign.plants import PLANTS
from aeroloop.campaign.results import Check, Results

EQUAL_PATHS = 1.05
"""Largest over smallest path error of the controllers with feedback."""
COMMON_LEAST = 0.85
"""Of a number of the common mode, the law's over that of pid."""


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
    for plant in PLANTS.values():
        for one in plant.said.common_mode:
            if results.has(plant.key, one.disturbance, "pid", FULL):
                pid, full = (_common_number(results, plant, one, law) for law in ("pid", FULL))
                name = f"{plant.key} {one.disturbance}: {one.name}, full / pid"
                yield one.words.format(full=full, pid=pid), (Check(name, full / pid, least=COMMON_LEAST),)


def _common_number(results: Results, plant: Plant, one: CommonMode, law: str) -> float:
    if one.key:
        return results.of(plant.key, law, one.disturbance, one.key)
    return results.common(plant.key, law, one.disturbance)


def _aircraft(results: Results) -> Told:
    for key in results.plants:
        laws = [law for law in results.laws(key) if law != "esc"]
        rows = [row for row in PLANTS[key].said.paths if results.has(key, row, "pid", FULL)]
        if not rows:
            continue
        paths = {row: [results.of(key, law, row, "path") for law in laws if results.has(key, row, law)] for row in rows}
        told = ", ".join(f"{row} {_least(path):.3g} to {_most(path):.3g}" for row, path in paths.items())
        yield (
            f"Aircraft position (m RMS), of the controllers with feedback: {told}. The outer loop decides it.",
            tuple(
                Check(f"{key} {row}: path, largest / smallest", _most(path) / _least(path), most=EQUAL_PATHS)
                for row, path in paths.items()
            ),
        )
        kicks = {row: [results.of(key, law, row, "kick") for law in (FULL, "pid")] for row in rows if row != NONE}
        if kicks:
            told = ", ".join(f"{row} {full:.3g}, with pid {pid:.3g}" for row, (full, pid) in kicks.items())
            yield (
                f"Attitude kick (deg): {told}. These are not errors of the actuators.",
                tuple(
                    Check(f"{key} {row}: kick, full / pid", full / pid, 0.9, 1.15) for row, (full, pid) in kicks.items()
                ),
            )


def _noise(results: Results) -> Told:
    for plant in PLANTS.values():
        found = [one for one in plant.said.noisy if results.has(plant.key, one.disturbance, "pid", FULL)]
        ratios = [1.0 / results.ratio(plant.key, one.disturbance, one.key, "pid") for one in found]
        if found:
            words = ", ".join(one.words.format(ratio=ratio) for one, ratio in zip(found, ratios, strict=True))
            checks = (_check(plant, one, "full / pid", ratio) for one, ratio in zip(found, ratios, strict=True))
            yield f"{plant.said.noise}: {words}.", tuple(checks)


def _equal_chatter(results: Results) -> Told:
    for key in results.plants:
        rows = [row for row in results.disturbances(key) if results.has(key, row, "pid-equal", FULL)]
        if not rows:
            continue
        said = PLANTS[key].said
        sync = {row: results.ratio(key, row, "sync", "pid-equal") for row in rows}
        both = {row: results.ratio(key, row, "rms", "pid-equal") for row in rows}
        told = ", ".join(f"{row} {ratio:.3g}" for row, ratio in sync.items())
        checks = [Check(f"{key}: rms, largest pid-equal / full", _most(both.values()), most=said.rms_of_equal)]
        if "noise" in rows:
            chatter = results.ratio(key, "noise", "chatter", "pid-equal")
            checks.append(Check(f"{key} noise: chatter, pid-equal / full", chatter, 0.8, 1.25))
        checks += [
            Check(f"{key} {row}: sync, pid-equal / full", sync[row], most=most)
            for row, most in said.sync_of_equal.items()
            if row in rows
        ]
        yield (
            f"{PLANTS[key].title}: pid-equal has feed-forward, and its gain is raised until it chatters as much "
            f"under noise. Its synchronisation error over the law's: {told}; its total error over the law's: "
            f"{_least(both.values()):.3g} to {_most(both.values()):.3g}.",
            tuple(checks),
        )


def _high_gain(results: Results) -> Told:
    for plant in PLANTS.values():
        rows = [row for row in results.disturbances(plant.key) if results.has(plant.key, row, "pid-high", FULL)]
        if not rows or not plant.said.high_gain:
            continue
        both = [results.ratio(plant.key, row, "rms", "pid-high") for row in rows]
        checks = [Check(f"{plant.key}: rms, largest pid-high / full", _most(both), most=1.0)]
        words = [f"pid-high on the robot has {_least(both):.3g} to {_most(both):.3g} of the law's total error"]
        for one in plant.said.high_gain:
            if one.disturbance in rows:
                ratio = results.ratio(plant.key, one.disturbance, one.key, "pid-high")
                checks.append(_check(plant, one, "pid-high / full", ratio))
                words.append(one.words.format(ratio=ratio))
        yield (
            f"{', '.join(words)}. The case for the law is a high gain only while it is needed, and only between the "
            "axes. With one sample of delay pid-high is unstable for a light platform, so a scenario with it needs "
            "synchronisation.certified = false.",
            tuple(checks),
        )


def _without_reserve(results: Results) -> Told:
    for key in results.plants:
        for disturbance, lost in PLANTS[key].said.lost.items():
            cells = [cell for cell in results.numbers if (cell.plant, cell.disturbance) == (key, disturbance)]
            if not cells:
                continue
            kept = [cell.law for cell in cells if not results.lost(cell)]
            ends = ", ".join(cell.law for cell in cells)
            yield (
                f"{lost}: lost by {ends if not kept else 'all but ' + ', '.join(kept)}.",
                (Check(f"{key} {disturbance}: controllers that keep it", float(len(kept)), most=0.0),),
            )
    for key, plant in PLANTS.items():
        held = plant.said.saturated
        if held is None or Cell(key, FULL, held.disturbance) not in results.numbers:
            continue
        first, others = (results.of(key, FULL, held.disturbance, number) for number in ("first_axis", "other_axes"))
        yield (
            f"Nor does the saturated motor hold the others back: it is {first:.3g} {plant.unit} below its setpoint, "
            f"the others are {others:.2g} {plant.unit} RMS from theirs; their own integrals win.",
            (
                Check(f"{key} {held.disturbance}: error of the saturated motor, {plant.unit}", first, held.least),
                Check(f"{key} {held.disturbance}: errors of the others, {plant.unit}", others, most=held.others_most),
            ),
        )


def _sliding_mode_alone(results: Results) -> Told:
    for key, plant in PLANTS.items():
        disturbance = plant.said.boundary
        if results.has(key, disturbance, "smc", LINEAR):
            smc, pid = (results.of(key, law, disturbance, "rms") for law in ("smc", LINEAR))
            yield (
                f"{plant.title}, {disturbance}: smc has {smc:.5g} {plant.unit} RMS, PID with feed-forward and the same "
                f"gains {pid:.5g}. Inside the boundary layer they are one law; sliding mode adds the bound k of its "
                "push.",
                (Check(f"{key} {disturbance}: rms, smc / smc-linear", smc / pid, 0.99, 1.01, ideal=1.0),),
            )


def _check(plant: Plant, one: Compared, laws: str, ratio: float) -> Check:
    return Check(f"{plant.key} {one.disturbance}: {one.key}, {laws}", ratio, one.least, one.most, one.ideal)


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
