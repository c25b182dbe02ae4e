"""The same tables in an ideal loop: a simulation of law and plant alone, at the same step, in double precision.

Sensors, link, estimator and the flight law of the bench are not in it. The bench is compared with it number by number:
what moves farther than the tolerance is listed beside the tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aeroloop.campaign.plant import Cell, Plant
from aeroloop.campaign.plants import PLANTS
from aeroloop.campaign.results import Results


def _read(plant: Plant) -> Iterator[tuple[Cell, dict[str, float]]]:
    keys = [column.key for column in plant.columns]
    for line in plant.ideal.numbers.strip().splitlines():
        disturbance, law, numbers = line.split()
        values = zip(keys, numbers.split("/"), strict=True)
        yield Cell(plant.key, law, disturbance), {key: float(value) for key, value in values if value != "-"}


IDEAL: dict[Cell, dict[str, float]] = {cell: numbers for plant in PLANTS.values() for cell, numbers in _read(plant)}


@dataclass(frozen=True)
class Moved:
    """A number of the bench that is farther from the ideal loop's than the tolerance."""

    cell: Cell
    key: str
    value: float
    ideal: float


def moved(results: Results) -> list[Moved]:
    found = []
    for cell, numbers in results.numbers.items():
        for key, ideal in IDEAL.get(cell, {}).items():
            value = numbers[key]
            if not abs(value - ideal) <= PLANTS[cell.plant].ideal.within * ideal + ROUNDED:
                found.append(Moved(cell, key, value, ideal))
    return found


ROUNDED = 5e-4
"""Half of the last digit of the ideal loop's smallest numbers."""
