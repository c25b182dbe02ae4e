"""The flights of a fault campaign as cells: fault by phase, and fault by fault, each with its worst flight."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any, TypeVar

from aeroloop.campaign.cut_sets import CutSet, cut_sets
from aeroloop.campaign.fault_outcome import Result
from aeroloop.campaign.fault_sweep import FAULTS
from aeroloop.campaign.flight_phases import PHASES, Stretch, phase_at
from aeroloop.campaign.store import Row

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class FaultFlight:
    """A flown flight with faults."""

    row: Row
    faults: tuple[str, ...]  # in words, without their times
    phase: str
    metrics: Mapping[str, float]

    @property
    def result(self) -> Result:
        return Result(int(self.metrics["outcome"]))

    def number(self, name: str) -> float:
        return self.metrics.get(name, math.nan)

    @property
    def at(self) -> str:
        return f"{entries_of(self.row)[0]['from_s']:g} s"

    @property
    def silent(self) -> bool:
        """Lost and never noticed."""
        return self.result is Result.LOST and math.isnan(self.number("noticed_s"))

    @property
    def badness(self) -> tuple[float, ...]:
        """The worst flight is the largest."""
        deviation = self.number("deviation_m")
        return self.result, self.silent, 0.0 if math.isnan(deviation) else deviation, -self.row.number


@dataclass(frozen=True)
class Cell:
    flights: Sequence[FaultFlight]

    @cached_property
    def worst(self) -> FaultFlight:
        return max(self.flights, key=lambda flight: flight.badness)

    @property
    def count(self) -> int:
        """Flights with the worst outcome."""
        return sum(flight.result is self.worst.result for flight in self.flights)

    @property
    def silent(self) -> int:
        return sum(flight.silent for flight in self.flights)

    def latency(self, name: str) -> tuple[float, float, int]:
        """Median and largest (s), and the number of flights that have one."""
        known = [value for flight in self.flights if not math.isnan(value := flight.number(name))]
        return (median(known), max(known), len(known)) if known else (math.nan, math.nan, 0)


@dataclass(frozen=True)
class FaultResults:
    """All flown flights of a campaign with sweeps."""

    flights: Sequence[FaultFlight]
    free: Sequence[Mapping[str, float]]  # metrics of the fault-free flights

    @property
    def singles(self) -> list[FaultFlight]:
        return [flight for flight in self.flights if len(flight.faults) == 1]

    @property
    def pairs(self) -> list[FaultFlight]:
        return [flight for flight in self.flights if len(flight.faults) == 2]

    @property
    def silent(self) -> list[FaultFlight]:
        return [flight for flight in self.flights if flight.silent]

    @property
    def phases(self) -> list[str]:
        flown = {flight.phase for flight in self.flights}
        return [*(phase for phase in PHASES if phase in flown), *sorted(flown - {*PHASES})]

    def count(self, result: Result) -> int:
        return sum(flight.result is result for flight in self.flights)

    @property
    def by_phase(self) -> dict[str, dict[str, Cell]]:
        """Fault -> phase -> cell, of single faults."""
        return {
            fault: cells_by(own, lambda flight: flight.phase)
            for fault, own in _grouped(self.singles, lambda flight: flight.faults[0]).items()
        }

    @property
    def by_time(self) -> dict[str, dict[str, Cell]]:
        """Fault -> time -> cell, of single faults."""
        return {
            fault: cells_by(own, lambda flight: flight.at)
            for fault, own in _grouped(self.singles, lambda flight: flight.faults[0]).items()
        }

    @property
    def by_pair(self) -> dict[tuple[str, str], Cell]:
        return cells_by(self.pairs, lambda flight: (flight.faults[0], flight.faults[1]))

    def cut_sets(self, had: Callable[[FaultFlight], bool]) -> list[CutSet]:
        return cut_sets((frozenset(flight.faults), had(flight)) for flight in self.flights)

    @property
    def false_alarms(self) -> tuple[int, int]:
        """Fault-free flights with an alarm, and all."""
        return sum(numbers.get("false_alarms", 0.0) > 0.0 for numbers in self.free), len(self.free)


def results(
    rows: Iterable[Row], metrics: Mapping[str, Mapping[str, float]], stretches: Sequence[Stretch]
) -> FaultResults:
    """From the flown flights of a campaign."""
    flights, free = [], []
    for row in rows:
        numbers, entries = metrics.get(row.key, {}), entries_of(row)
        if "outcome" not in numbers:
            continue
        if not entries:
            free.append(numbers)
            continue
        names = tuple(words(entry) for entry in entries)
        flights.append(FaultFlight(row, names, phase_at(stretches, float(entries[0]["from_s"])), numbers))
    return FaultResults(flights, free)


def entries_of(row: Row) -> Sequence[Mapping[str, Any]]:
    entries: Any = row.values.get(FAULTS, ())
    return entries if isinstance(entries, list) else ()


def words(entry: Mapping[str, Any]) -> str:
    """A fault without its time: `gnss bias of position 5, 0.5 s long`."""
    text = f"{entry['target']} {entry['kind'].removesuffix('_s')}"
    if channel := entry.get("channel"):
        text += f" of {channel}"
    value = entry.get("value")
    if value is not None:
        shown = value if isinstance(value, list) else [value]
        text += f" {', '.join(f'{each:g}' for each in shown)}"
    if "to_s" in entry:
        text += f", {entry['to_s'] - entry['from_s']:g} s long"
    return text


def cells_by(flights: Iterable[FaultFlight], key: Callable[[FaultFlight], K]) -> dict[K, Cell]:
    return {name: Cell(own) for name, own in _grouped(flights, key).items()}


def _grouped(flights: Iterable[FaultFlight], key: Callable[[FaultFlight], K]) -> dict[K, list[FaultFlight]]:
    found: dict[K, list[FaultFlight]] = {}
    for flight in flights:
        found.setdefault(key(flight), []).append(flight)
    return found
