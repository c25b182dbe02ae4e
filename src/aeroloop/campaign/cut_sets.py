"""Minimal sets of faults that cause an effect, read from flights: the cut sets of a fault tree, of order 1 and 2.

A set causes an effect if any flight with exactly these faults had it, whatever its time. It is minimal if no part of it
causes the effect alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

Faults = frozenset[str]


class CutSet(NamedTuple):
    faults: tuple[str, ...]  # in the order of the alphabet
    hits: int  # flights that had the effect
    flights: int  # flights with these faults


def cut_sets(flown: Iterable[tuple[Faults, bool]]) -> list[CutSet]:
    """From the faults of each flight and whether it had the effect; smaller sets first, then the most frequent."""
    counts: dict[Faults, list[int]] = {}
    for faults, had in flown:
        count = counts.setdefault(faults, [0, 0])
        count[0] += had
        count[1] += 1
    causing = {faults for faults, (hits, _) in counts.items() if hits and faults}
    found = [
        CutSet(tuple(sorted(faults)), *counts[faults])
        for faults in causing
        if not any(part in causing for part in _parts(faults))
    ]
    return sorted(found, key=lambda each: (len(each.faults), -each.hits / each.flights, each.faults))


def _parts(faults: Faults) -> Iterable[Faults]:
    for size in range(1, len(faults)):
        yield from map(frozenset, combinations(sorted(faults), size))
