"""The numbers of a campaign by cell, and what is checked of them: acceptance ratios, with limits and the numbers of an
ideal loop beside them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from aeroloop.campaign.plant import FULL, NO_LEARNING, NONE, Cell
from aeroloop.campaign.plants import PLANTS

Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Results:
    """The cells that were flown."""

    seed: int
    numbers: Mapping[Cell, Numbers]
    ended: Mapping[Cell, str] = field(default_factory=dict)

    @property
    def plants(self) -> tuple[str, ...]:
        return tuple(key for key in PLANTS if any(cell.plant == key for cell in self.numbers))

    def laws(self, plant: str) -> list[str]:
        """Columns of the plant's table: those that flew more than the extra cells."""
        extra = {law for law, _ in PLANTS[plant].extra} - {*PLANTS[plant].laws}
        flown = dict.fromkeys(cell.law for cell in self.numbers if cell.plant == plant)
        whole = all(Cell(plant, law, NONE) in self.numbers for law in PLANTS[plant].laws)
        return [law for law in flown if not (whole and law in extra)]

    def disturbances(self, plant: str) -> list[str]:
        """Rows of the plant's table."""
        flown = {cell.disturbance for cell in self.numbers if cell.plant == plant}
        return [name for name in PLANTS[plant].disturbances if name in flown]

    def of(self, plant: str, law: str, disturbance: str, key: str) -> float:
        """NaN: not flown."""
        return self.numbers.get(Cell(plant, law, disturbance), {}).get(key, math.nan)

    def has(self, plant: str, disturbance: str, *laws: str) -> bool:
        """Whether all of them were flown."""
        return all(Cell(plant, law, disturbance) in self.numbers for law in laws)

    def ratio(self, plant: str, disturbance: str, key: str, over: str, under: str = FULL) -> float:
        """The number of one controller over that of another."""
        below = self.of(plant, under, disturbance, key)
        return self.of(plant, over, disturbance, key) / below if below else math.nan

    def common(self, plant: str, law: str, disturbance: str) -> float:
        """RMS of the mean error of all axes: what is left of the errors without the differences between them."""
        both, apart = (self.of(plant, law, disturbance, key) for key in ("rms", "sync"))
        return math.sqrt(max(0.0, both**2 - apart**2)) if math.isfinite(both + apart) else math.nan

    def lost(self, cell: Cell) -> bool:
        """It ended early, or hit the ground."""
        return self.ended.get(cell, "completed") != "completed" or self.numbers[cell].get("contacts", 0.0) > 0.0


@dataclass(frozen=True)
class Check:
    """A number with its limits. NaN passes none."""

    name: str
    value: float
    least: float = -math.inf
    most: float = math.inf
    ideal: float | None = None  # the number in an ideal loop, without sensors, link and estimator

    @property
    def ok(self) -> bool:
        return self.least <= self.value <= self.most

    @property
    def limit(self) -> str:
        if math.isinf(self.most):
            return f">= {self.least:.4g}"
        return f"<= {self.most:.4g}" if math.isinf(self.least) else f"{self.least:.4g} to {self.most:.4g}"


POSITION_WITHIN = 0.2


def acceptance(results: Results) -> list[Check]:
    """The checks whose cells were flown."""
    return [*_completed(results), *_ratios(results), *_learning(results), *_order(results)]


def _completed(results: Results) -> Iterator[Check]:
    early = [
        cell
        for cell, ended in results.ended.items()
        if ended != "completed" and cell.disturbance not in PLANTS[cell.plant].lost
    ]
    yield Check("flights that ended early", float(len(early)), most=0.0)


def _ratios(results: Results) -> Iterator[Check]:
    """pid over the law."""
    for plant in PLANTS.values():
        for disturbance, key, least, ideal in plant.ratios:
            if not results.has(plant.key, disturbance, "pid", FULL):
                continue
            value = results.ratio(plant.key, disturbance, key, "pid")
            yield Check(f"{plant.key} {disturbance}: {key}, pid / {FULL}", value, least=least, ideal=ideal)
            if plant.has("position"):
                value = results.ratio(plant.key, disturbance, "position", "pid") / value
                name = f"{plant.key} {disturbance}: this ratio of position over that of sync"
                yield Check(name, value, 1.0 - POSITION_WITHIN, 1.0 + POSITION_WITHIN)


def _learning(results: Results) -> Iterator[Check]:
    """Synchronisation error without learning over with it."""
    for plant in PLANTS.values():
        for disturbance, least, ideal in plant.learning:
            if results.has(plant.key, disturbance, NO_LEARNING, FULL):
                value = results.ratio(plant.key, disturbance, "sync", NO_LEARNING)
                yield Check(f"{plant.key} {disturbance}: sync, {NO_LEARNING} / {FULL}", value, least=least, ideal=ideal)


def _order(results: Results) -> Iterator[Check]:
    """Coupling makes the synchronisation error smaller, and learning makes it smaller still."""
    for plant in results.plants:
        of = PLANTS[plant]
        for disturbance in results.disturbances(plant):
            if disturbance in of.not_ordered or not results.has(plant, disturbance, "smc", "smc-sync", FULL):
                continue
            coupled = results.ratio(plant, disturbance, "sync", "smc-sync", "smc")
            learnt = results.ratio(plant, disturbance, "sync", FULL, "smc-sync")
            yield Check(f"{plant} {disturbance}: sync, smc-sync / smc", coupled, most=1.0)
            most = of.sync_most.get(disturbance, 1.0)
            yield Check(f"{plant} {disturbance}: sync, {FULL} / smc-sync", learnt, most=most)
