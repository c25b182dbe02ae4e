"""A small regression tree: which parameters separate failed flights from passed ones, and where.

Each split is the one that lowers the sum of squares of the failures about the means of both sides most (L. Breiman et
al., Classification and Regression Trees, 1984). A number is split between two neighbouring values, a choice of text
into one value and the others. How often chance alone gives a first split as good is found by permuting the failures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Column = Array | Sequence[str]
DEPTH, PERMUTATIONS, SEED = 3, 199, 1
FEWEST = 20
"""Flights below which a tree says nothing."""


@dataclass(frozen=True)
class Side:
    words: str  # `wind > 5.2`; empty for all flights
    flights: int
    failed: int
    split: Split | None = None

    @property
    def rate(self) -> float:
        return self.failed / self.flights


@dataclass(frozen=True)
class Split:
    key: str
    gain: float  # part of the sum of squares that it explains
    sides: tuple[Side, Side]


@dataclass(frozen=True)
class Tree:
    root: Side
    chance: float  # of a first split at least as good if no parameter matters


@dataclass(frozen=True)
class _Candidate:
    key: str
    words: tuple[str, str]
    gain: float
    left: NDArray[np.bool_]


def tree(columns: Mapping[str, Column], failed: NDArray[np.bool_]) -> Tree | None:
    """None if there are too few flights, if all or none failed, or if nothing can be split."""
    count, bad = len(failed), int(failed.sum())
    if count < FEWEST or bad in (0, count):
        return None
    fewest, everyone = max(5, count // 50), np.ones(count, dtype=np.bool_)
    root = _grown("", columns, failed, everyone, fewest, DEPTH)
    if root.split is None:
        return None
    rng, orders = np.random.default_rng(SEED), _orders(columns)
    as_good = sum(_best_gain(orders, rng.permutation(failed), fewest) >= root.split.gain for _ in range(PERMUTATIONS))
    return Tree(root, (as_good + 1) / (PERMUTATIONS + 1))


def _grown(
    words: str,
    columns: Mapping[str, Column],
    failed: NDArray[np.bool_],
    within: NDArray[np.bool_],
    fewest: int,
    depth: int,
) -> Side:
    count, bad = int(within.sum()), int(failed[within].sum())
    best = _best(columns, failed, within, fewest) if depth and 0 < bad < count else None
    if best is None:
        return Side(words, count, bad)
    parts = (within & best.left, within & ~best.left)
    sides = [_grown(own, columns, failed, part, fewest, depth - 1) for own, part in zip(best.words, parts, strict=True)]
    return Side(words, count, bad, Split(best.key, best.gain, (sides[0], sides[1])))


def _best(
    columns: Mapping[str, Column], failed: NDArray[np.bool_], within: NDArray[np.bool_], fewest: int
) -> _Candidate | None:
    best: _Candidate | None = None
    where = np.flatnonzero(within)
    for key, order in _orders({key: _taken(column, where) for key, column in columns.items()}).items():
        for cut, gain in order.gains(failed[where], fewest):
            if gain > 1e-9 and (best is None or gain > best.gain + 1e-12):
                left = np.zeros(len(failed), dtype=np.bool_)
                left[where] = order.left(cut)
                best = _Candidate(key, order.words(key, cut), gain, left)
    return best


def _taken(column: Column, where: NDArray[np.intp]) -> Column:
    return column[where] if isinstance(column, np.ndarray) else [column[index] for index in where]


def _gain(failed_left: Array, count_left: Array, failed: float, count: float) -> Array:
    """Part of the sum of squares of 0 and 1 that is explained by the means of both sides."""
    total = failed * (1.0 - failed / count)
    between = failed_left**2 / count_left + (failed - failed_left) ** 2 / (count - count_left) - failed**2 / count
    gain: Array = between / total
    return gain


@dataclass(frozen=True)
class _Numbers:
    values: Array
    order: NDArray[np.intp]
    ends: NDArray[np.intp]  # last position of each value in the order, but of the largest

    def gains(self, failed: NDArray[np.bool_], fewest: int) -> list[tuple[int, float]]:
        """The best cut."""
        count, counted = len(failed), self.ends + 1
        allowed = (counted >= fewest) & (count - counted >= fewest)
        if not allowed.any():
            return []
        left = np.cumsum(failed[self.order])[self.ends[allowed]].astype(np.float64)
        gains = _gain(left, counted[allowed].astype(np.float64), float(failed.sum()), float(count))
        best = int(np.argmax(gains))
        return [(int(self.ends[allowed][best]), float(gains[best]))]

    def _threshold(self, cut: int) -> float:
        return float(self.values[self.order[cut]] + self.values[self.order[cut + 1]]) / 2.0

    def left(self, cut: int) -> NDArray[np.bool_]:
        return np.asarray(self.values <= self.values[self.order[cut]])

    def words(self, key: str, cut: int) -> tuple[str, str]:
        return f"{key} <= {self._threshold(cut):.4g}", f"{key} > {self._threshold(cut):.4g}"


@dataclass(frozen=True)
class _Texts:
    texts: Sequence[str]
    members: tuple[NDArray[np.bool_], ...]

    def gains(self, failed: NDArray[np.bool_], fewest: int) -> list[tuple[int, float]]:
        count, found = len(failed), []
        for index, own in enumerate(self.members):
            size = int(own.sum())
            if size >= fewest and count - size >= fewest:
                left = np.array([float(failed[own].sum())])
                gain = _gain(left, np.array([float(size)]), float(failed.sum()), float(count))
                found.append((index, float(gain[0])))
        return found

    def left(self, cut: int) -> NDArray[np.bool_]:
        return self.members[cut]

    def words(self, key: str, cut: int) -> tuple[str, str]:
        return f"{key} = {self.texts[cut]}", f"{key} is another"


def _orders(columns: Mapping[str, Column]) -> dict[str, _Numbers | _Texts]:
    """What does not depend on the failures; a column with a missing number is left out."""
    found: dict[str, _Numbers | _Texts] = {}
    for key, column in columns.items():
        if isinstance(column, np.ndarray):
            if np.isfinite(column).all():
                order = np.argsort(column, kind="stable")
                found[key] = _Numbers(column, order, np.flatnonzero(np.diff(column[order]) > 0.0))
        else:
            texts = sorted(set(column))
            found[key] = _Texts(texts, tuple(np.array([value == text for value in column]) for text in texts))
    return found


def _best_gain(orders: Mapping[str, _Numbers | _Texts], failed: NDArray[np.bool_], fewest: int) -> float:
    return max((gain for order in orders.values() for _, gain in order.gains(failed, fewest)), default=0.0)
