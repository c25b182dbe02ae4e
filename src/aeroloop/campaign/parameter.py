"""A parameter of a campaign: one key of the scenario, and the values it has in the flights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from aeroloop.core.config import Config, note

Value = float | int | str | bool
MOST_LEVELS = 1_000_000
"""Values of one `lin`."""
MOST_SAMPLES = 50
"""Values of one parameter that the scenario is loaded with, to check them when the file is read."""


class Normal(Config, frozen=True, kw_only=True):
    mean: Annotated[float, note("Mean")]
    std: Annotated[float, Meta(gt=0.0, description="Standard deviation")]
    clip: Annotated[tuple[float, float] | None, note("Values beyond these two are set to the nearer one")] = None


class Parameter(Config, frozen=True, kw_only=True):
    """One key of the scenario and its values: exactly one of `normal`, `uniform`, `choice`, `grid` and `lin`."""

    key: Annotated[str, Meta(min_length=1, description="Key of the scenario")]
    normal: Annotated[Normal | None, note("Normal distribution")] = None
    uniform: Annotated[tuple[float, float] | None, note("Uniform distribution: from, to")] = None
    choice: Annotated[tuple[Value, ...], Meta(min_length=1, description="One of these values")] | None = None
    weights: Annotated[tuple[float, ...] | None, note("Relative frequencies of the choices")] = None
    grid: Annotated[tuple[Value, ...], Meta(min_length=1, description="Each of these values")] | None = None
    lin: Annotated[tuple[float, float, int] | None, note("From, to, number of evenly spaced values")] = None

    def __post_init__(self) -> None:
        kinds = ("normal", "uniform", "choice", "grid", "lin")
        given = [kind for kind in kinds if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(
                f"{self.key}: expected exactly one of {', '.join(kinds)}, not {' and '.join(given) or 'none'}"
            )
        for bounds in (self.uniform, self.normal.clip if self.normal else None, self.lin and self.lin[:2]):
            if bounds and not bounds[0] < bounds[1]:
                raise ValueError(f"{self.key}: expected the smaller value first, not {list(bounds)}")
        if self.lin and not 2 <= self.lin[2] <= MOST_LEVELS:
            raise ValueError(f"{self.key}: lin: expected 2 to {MOST_LEVELS} values, not {self.lin[2]}")
        if self.weights is not None:
            if self.choice is None or len(self.weights) != len(self.choice):
                raise ValueError(f"{self.key}: weights: expected one for each value of choice")
            if min(self.weights) < 0.0 or not sum(self.weights) > 0.0:
                raise ValueError(f"{self.key}: weights: expected numbers of at least 0, one of them above 0")

    @property
    def count(self) -> int | None:
        """The number of values of a grid; None if the parameter is drawn."""
        if self.lin is not None:
            return self.lin[2]
        return None if self.grid is None else len(self.grid)

    @property
    def levels(self) -> tuple[Value, ...] | None:
        """The values of a grid; None if the parameter is drawn."""
        if self.lin is not None:
            return tuple(self._spaced(index) for index in range(self.lin[2]))
        return self.grid

    @property
    def samples(self) -> tuple[Value, ...]:
        """Values that the scenario must take: of many, the first, the last, the smallest, the largest and some between.
        What it refuses of the others is named when the flights are planned."""
        if self.lin is not None:
            return tuple(self._spaced(index) for index in _spread(self.lin[2]))
        if self.normal is not None:
            return self.normal.clip or (self.normal.mean,)
        values = self.grid or self.choice or self.uniform or ()
        return tuple(values[index] for index in sorted({*_spread(len(values)), *_ends(values)}))

    def _spaced(self, index: int) -> float:
        assert self.lin is not None
        start, stop, count = self.lin
        return start + (stop - start) * index / (count - 1)


def _spread(count: int) -> list[int]:
    """Indices of at most MOST_SAMPLES elements, evenly spread, the first and the last among them."""
    if count <= MOST_SAMPLES:
        return list(range(count))
    return [index * (count - 1) // (MOST_SAMPLES - 1) for index in range(MOST_SAMPLES)]


def _ends(values: Sequence[Value]) -> list[int]:
    """Indices of the smallest and the largest number."""
    numbers = [(value, index) for index, value in enumerate(values) if not isinstance(value, str)]
    return [min(numbers)[1], max(numbers)[1]] if numbers else []
