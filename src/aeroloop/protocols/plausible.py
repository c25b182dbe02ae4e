"""Plausibility check after the checksum: values must be finite, within bounds, and close to the last ones.

Fletcher-16 does not detect 0x00 changed to 0xFF. In a float that either changes the value a little, which is harmless,
or changes its exponent, which this catches.
"""

from __future__ import annotations

import math
from operator import le, sub
from typing import Protocol


class Bounds(Protocol):
    """A row of a vehicle's plausibility table."""

    @property
    def low(self) -> tuple[float, ...]: ...
    @property
    def high(self) -> tuple[float, ...]: ...
    @property
    def step(self) -> tuple[float, ...]: ...
    @property
    def wraps(self) -> tuple[int, ...]: ...


class Plausibility:
    """Remembers the last accepted row; each cycle without one allows one more step of change."""

    def __init__(self, bounds: Bounds, last: tuple[float, ...] | None = None) -> None:
        self._bounds = bounds
        self._last = last
        self._cycles = 0

    def cycle(self) -> None:
        """A new cycle begins."""
        self._cycles += 1

    def fault(self, row: tuple[float, ...]) -> int | None:
        """Index of the first implausible value; None accepts the row."""
        if not self._plainly_good(row):
            for index in range(len(row)):
                if not self._believable(index, row[index]):
                    return index
        self._last = row
        self._cycles = 0
        return None

    def _plainly_good(self, row: tuple[float, ...]) -> bool:
        """The common case, without a Python loop: this runs in every cycle on both sides of the link."""
        bounds = self._bounds
        return (
            self._last is not None
            and all(map(le, bounds.low, row))
            and all(map(le, row, bounds.high))
            and all(map(le, map(abs, map(sub, row, self._last)), bounds.step))
        )

    def _believable(self, index: int, value: float) -> bool:
        bounds = self._bounds
        if not bounds.low[index] <= value <= bounds.high[index]:  # also catches NaN
            return False
        if self._last is None:
            return True
        change = abs(value - self._last[index])
        if index in bounds.wraps and change > math.pi:
            change = abs(2 * math.pi - change)
        return change <= bounds.step[index] * max(1, self._cycles)
