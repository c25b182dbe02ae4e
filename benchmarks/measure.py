"""What a benchmark returns, and how it takes turns between contestants.

A shared machine changes speed from one second to the next. So contestants take turns, round by round, and a
ratio is formed within each round; the median over the rounds is the result, lowest and highest its spread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True)
class Spread:
    """One number per round."""

    median: float
    low: float
    high: float
    rounds: int


@dataclass(frozen=True)
class Aim:
    """What the ratio should be."""

    bound: float
    at_least: bool

    def met_by(self, ratio: float) -> bool:
        return ratio >= self.bound if self.at_least else ratio <= self.bound


@dataclass(frozen=True)
class Row:
    """One line of the table: ours against the peer."""

    what: str
    unit: str
    value: Spread
    peer_name: str
    peer: Spread
    ratio: Spread
    aim: Aim | None = None

    @property
    def met(self) -> bool | None:
        return self.aim.met_by(self.ratio.median) if self.aim else None


@dataclass
class Outcome:
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def spread(values: Sequence[float]) -> Spread:
    return Spread(median(values), min(values), max(values), len(values))


def row(
    what: str, unit: str, ours: Sequence[float], peer_name: str, peer: Sequence[float], aim: Aim | None = None
) -> Row:
    """`ours` and `peer` hold one number per round, in the same order."""
    ratios = [mine / theirs for mine, theirs in zip(ours, peer, strict=True)]
    return Row(what, unit, spread(ours), peer_name, spread(peer), spread(ratios), aim)


def take_turns(contestants: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """One number per contestant and round; every other round in reverse, so that nobody always goes first."""
    taken: dict[str, list[float]] = {name: [] for name in contestants}
    for index in range(rounds):
        order = list(contestants) if index % 2 == 0 else list(contestants)[::-1]
        for name in order:
            taken[name].append(contestants[name]())
    return taken
