"""The flights of `[[sweep]]`: the faults that are possible in a flight, at each time, for each duration, alone and in
pairs.

Which faults are possible comes from the rows of the family and of its controller (`core.fault_offers.legal`); there is
no list for an aircraft. The order is that of the file and of the rows, so that equal files give equal numbers. A fault
that two sweeps ask for is flown once.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from aeroloop.campaign.definition import Definition
from aeroloop.campaign.design import PlannedFlight, flights
from aeroloop.campaign.design_size import MOST_FLIGHTS, design_of
from aeroloop.campaign.flight_phases import GROUND, PHASES, Stretch, times_in
from aeroloop.campaign.sweep_file import Amount, At, Sweep
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import Offer, legal
from aeroloop.core.faults import BOARD_TARGETS, INSTANT, LINE_TARGETS, PlannedFault
from aeroloop.core.scenario import Scenario

FAULTS = "faults"
"""Key of a scenario, and of the values of a flight with faults of a sweep."""
Entry = dict[str, Any]
"""An entry of `[[faults]]`."""
PROBE = PlannedFault(target="to_plant", kind="loss", from_s=0.0, value=0.1)


class Single(NamedTuple):
    """One fault without its time."""

    target: str
    kind: str
    channel: str
    value: Amount | None  # None: it has none

    @property
    def where(self) -> tuple[str, str, str]:
        return self.target, self.kind, self.channel

    def entry(self, at_s: float, lasts_s: float) -> Entry:
        entry: Entry = {"target": self.target, "kind": self.kind, "from_s": at_s}
        once = self.target in BOARD_TARGETS and self.kind in INSTANT
        if math.isfinite(lasts_s) and not once:
            entry["to_s"] = round(at_s + lasts_s, 9)
        if self.channel:
            entry["channel"] = self.channel
        if self.value is not None:
            entry["value"] = list(self.value) if isinstance(self.value, tuple) else self.value
        return entry


@dataclass(frozen=True)
class Flight:
    """What the times of a sweep refer to: the fault-free flight."""

    stretches: Sequence[Stretch]
    step_s: float
    duration_s: float


def possible(scenario: Scenario) -> tuple[Offer, ...]:
    """All faults that can be planned. A planned fault of the link lets lockstep wait in another manner, so that
    messages may be lost: those faults are possible where one is planned."""
    try:
        return legal(msgspec.structs.replace(scenario, faults=(*scenario.faults, PROBE)))
    except ConfigError:
        return tuple(offer for offer in legal(scenario) if offer.target not in LINE_TARGETS)


def sweep_flights(definition: Definition, known: Sequence[Offer], flight: Flight) -> list[PlannedFlight]:
    """The fault-free flights, then those with faults."""
    found = cases(definition.sweep, known, flight, free=design_of(definition).flights)
    free = list(flights(definition))
    numbers = itertools.count(len(free) + 1)

    def with_faults(values: Mapping[str, Any], case: list[Entry]) -> dict[str, Any]:
        return {**values, FAULTS: case}

    return free + [
        PlannedFlight(next(numbers), with_faults(each.values, case), each.seed) for each in free for case in found
    ]


def cases(sweeps: Sequence[Sweep], known: Sequence[Offer], flight: Flight, *, free: int = 1) -> list[list[Entry]]:
    """The faults of each flight, without repetitions; ConfigError names the key of a sweep that has none, or too many.
    `free`: fault-free flights, each of which is flown with all of these faults."""
    parts = []
    for index, sweep in enumerate(sweeps):
        try:
            parts.append(_Part(sweep, singles(sweep, known), times(sweep, flight)))
        except ConfigError as error:
            raise ConfigError(f"sweep[{index}].{error}") from None
    count, most = free * (1 + sum(part.count for part in parts)), MOST_FLIGHTS["bench"]
    if count > most:
        raise ConfigError(f"sweep: asks for {count} flights; expected at most {most}, of fewer faults, times or pairs")
    found: dict[str, list[Entry]] = {}
    for case in itertools.chain.from_iterable(part.cases() for part in parts):
        found.setdefault(str(msgspec.json.encode(case, order="sorted")), case)
    return list(found.values())


@dataclass(frozen=True)
class _Part:
    """What one sweep combines."""

    sweep: Sweep
    found: Sequence[Single]
    at_s: Sequence[float]

    @property
    def count(self) -> int:
        """The number of cases: faults and, with order 2, pairs of two that are not values of the same fault."""
        alone, pairs = len(self.found), 0
        if self.sweep.order == 2:
            same = Counter(single.where for single in self.found)
            pairs = math.comb(alone, 2) - sum(math.comb(values, 2) for values in same.values())
        return (alone + pairs) * len(self.sweep.durations_s) * len(self.at_s)

    def cases(self) -> Iterator[list[Entry]]:
        for single, lasts_s, t_s in itertools.product(self.found, self.sweep.durations_s, self.at_s):
            yield [single.entry(t_s, lasts_s)]
        if self.sweep.order == 2:
            pairs = [(a, b) for a, b in itertools.combinations(self.found, 2) if a.where != b.where]
            for (a, b), lasts_s, t_s in itertools.product(pairs, self.sweep.durations_s, self.at_s):
                yield [a.entry(t_s, lasts_s), b.entry(t_s, lasts_s)]


def singles(sweep: Sweep, known: Sequence[Offer]) -> list[Single]:
    """The faults of a sweep with their values; ConfigError names what is not possible in this flight."""
    chosen = list(known)
    for key, given, names in (
        ("target", sweep.target, lambda offer: (offer.target,)),
        ("kind", sweep.kind, lambda offer: (offer.kind,)),
        ("channel", sweep.channel, lambda offer: offer.channels),
    ):
        there = list(dict.fromkeys(name for offer in chosen for name in names(offer)))
        for name in given:
            if name not in there:
                raise ConfigError(f"{key}: no {name!r} in this flight; expected one of: {', '.join(there) or 'none'}")
        if given:
            chosen = [offer for offer in chosen if set(names(offer)) & set(given)]
    _check_values(sweep.value, chosen)
    return [
        Single(offer.target, offer.kind, next(iter(offer.channels), ""), value)
        for offer in chosen
        for value in _values(sweep.value, offer)
    ]


def _values(given: Mapping[str, tuple[Amount, ...]], offer: Offer) -> tuple[Amount | None, ...]:
    if not offer.unit:
        return (None,)
    *_, (_, values) = [(key, given[key]) for key in _keys(offer) if key in given] or [("", (offer.value,))]
    return values


def _keys(offer: Offer) -> list[str]:
    """The keys of its values; the last one counts."""
    whole = f"{offer.target}.{offer.kind}"
    return [whole, *(f"{whole}.{channel}" for channel in offer.channels)]


def _check_values(given: Mapping[str, tuple[Amount, ...]], chosen: Sequence[Offer]) -> None:
    valued = [key for offer in chosen if offer.unit for key in _keys(offer)]
    for key in given:
        if key not in valued:
            raise ConfigError(
                f"value: {key!r} is no fault of this sweep with a value; expected one of: "
                f"{', '.join(dict.fromkeys(valued)) or 'none'}"
            )


def times(sweep: Sweep, flight: Flight) -> list[float]:
    """On the steps of the simulation, each once."""
    at = sweep.at
    if isinstance(at, At):
        asked = _spaced(*at.lin) if at.lin is not None else _in_phases(at, flight.stretches)
    else:
        asked = list(at)
    for t_s in asked:
        if not t_s < flight.duration_s:
            raise ConfigError(f"at: expected times within the flight of {flight.duration_s:g} s, not {t_s:g} s")
    return list(dict.fromkeys(round(round(t_s / flight.step_s) * flight.step_s, 9) for t_s in asked))


def _spaced(start_s: float, end_s: float, count: int) -> list[float]:
    return [start_s + (end_s - start_s) * index / (count - 1) for index in range(count)]


def _in_phases(at: At, stretches: Sequence[Stretch]) -> list[float]:
    there = [phase for phase in PHASES if any(each.phase == phase for each in stretches)]
    for phase in at.phases:
        if phase not in there:
            raise ConfigError(f"at.phases: the flight has no {phase!r}; expected one of: {', '.join(there) or 'none'}")
    wanted = at.phases or tuple(phase for phase in there if phase != GROUND)
    if not wanted:
        raise ConfigError("at: the flight has no phases; expected a list of times, or `lin`")
    return [t_s for phase in wanted for t_s in times_in(stretches, phase, at.per_phase or 3)]
