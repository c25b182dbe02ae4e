"""A flight record: signals by standard name (`quantities`), with where each came from; the log's parameters; gaps.

What every reader returns and everything else in this package, and the replay of a log, starts from. Times are the
seconds of the log's own clock; each signal has its own, strictly rising.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.errors import ConfigError
from aeroloop.flown.quantities import BY_NAME, Quantity

Array = NDArray[np.float64]

ROUNDING_S = 1e-6
"""Of times in logs: a row this late still stands at its time."""


@dataclass(frozen=True)
class Signal:
    """One standard signal of a log, in its standard unit."""

    name: str
    t_s: Array  # (n,) strictly rising, of the log's clock
    values: Array  # (n,) finite
    source: str  # what it was read from, such as ATT.Roll

    @property
    def quantity(self) -> Quantity:
        return BY_NAME[self.name]

    @property
    def unit(self) -> str:
        return self.quantity.unit

    @property
    def rate_hz(self) -> float:
        """Of the median step, so that a gap does not count."""
        return 1.0 / float(np.median(np.diff(self.t_s))) if len(self.t_s) > 1 else 0.0

    def held(self, t_s: Array) -> Array:
        """The newest value at each time; NaN before the first."""
        newest = np.searchsorted(self.t_s, t_s + ROUNDING_S, side="right") - 1
        return np.where(newest >= 0, self.values[newest], np.nan)


@dataclass(frozen=True)
class Missing:
    """A standard signal that the log does not have, and what was looked for."""

    name: str
    sought: str


@dataclass(frozen=True)
class Dropped:
    """Rows of one message whose time did not rise, or whose numbers were not finite."""

    source: str
    rows: int
    of: int


@dataclass(frozen=True)
class FlightRecord:
    path: Path
    format: str  # such as "ArduPilot .bin"
    signals: Mapping[str, Signal]
    parameters: Mapping[str, float] = field(default_factory=dict)  # of the log (PARM), the last value of each
    vehicle: str = ""  # multirotor, fixedwing, rover ...; empty where the log does not say
    firmware: str = ""  # as the log names it
    missing: Sequence[Missing] = ()
    dropped: Sequence[Dropped] = ()
    remarks: Sequence[str] = ()  # what a reader must know: truncated, bytes skipped, ...

    @property
    def name(self) -> str:
        return self.path.name

    def __contains__(self, name: str) -> bool:
        return name in self.signals

    def __getitem__(self, name: str) -> Signal:
        """ConfigError where the log does not have it."""
        if name in self.signals:
            return self.signals[name]
        sought = next((missing.sought for missing in self.missing if missing.name == name), "")
        raise ConfigError(f"{self.path}: has no {name}{f' (expected {sought})' if sought else ''}")

    def channels(self, name: str) -> list[Signal]:
        """Those of pulse, motor or stick that the log has, in order."""
        found = (self.signals.get(f"{name}_{number}") for number in range(1, 33))
        return [signal for signal in found if signal is not None]

    @property
    def start_s(self) -> float:
        return min(float(signal.t_s[0]) for signal in self.signals.values())

    @property
    def end_s(self) -> float:
        return max(float(signal.t_s[-1]) for signal in self.signals.values())


def rising(t_s: Array, columns: Sequence[Array]) -> tuple[Array, list[Array], int]:
    """The rows whose time is later than that of every row before; and how many others there were.

    A single row ahead of the row after it is damaged: it is dropped, and not all that follow it.
    """
    known_s = np.where(np.isfinite(t_s), t_s, -np.inf)
    if len(known_s) > 2:
        ahead = (known_s[1:-1] > known_s[2:]) & (known_s[2:] > known_s[:-2])
        known_s[1:-1][ahead] = -np.inf
    before_s = np.concatenate(([-np.inf], np.maximum.accumulate(known_s)[:-1]))
    kept = known_s > before_s
    if kept.all():
        return t_s, list(columns), 0
    return t_s[kept], [column[kept] for column in columns], int(len(t_s) - kept.sum())


def signal(name: str, t_s: Array, values: Array, source: str) -> Signal | None:
    """Of rows whose time rises; those that are no number are left out. None where nothing is left."""
    known = np.isfinite(values)
    if not known.any():
        return None
    if known.all():
        return Signal(name, t_s, values, source)
    return Signal(name, t_s[known], values[known], source)
