"""Table `[search]` of a campaign file: where the pass rate crosses a limit, along one key or two."""

from __future__ import annotations

import math
from typing import Annotated

from msgspec import Meta

from aeroloop.core.config import Config, meta, note

SCANS = {1: 2, 2: 5}
PARTS = {1: 64.0, 2: 32.0}
MOST_PARTS = {1: 1e6, 2: 1e3}
"""By the number of keys: values of the scan, and parts of the range that the resolution is, where the file says
nothing; and most parts."""
Scan = Annotated[int, meta("-", "Values flown first, evenly spaced with both ends", ge=2, le=1000)]
Resolution = Annotated[float, Meta(gt=0.0, description="Largest width of the result")]


class SearchKey(Config, frozen=True, kw_only=True, rename={"from_": "from"}):
    """A key and its range."""

    key: Annotated[str, Meta(min_length=1, description="Key of the scenario")]
    from_: Annotated[float, note("Value at one end")]
    to: Annotated[float, note("Value at the other end")]
    resolution: Resolution | None = None
    scan: Scan | None = None

    def __post_init__(self) -> None:
        if self.from_ == self.to or not math.isfinite(self.from_ - self.to):
            raise ValueError("from and to: expected two different finite values")

    @property
    def range(self) -> float:
        return abs(self.to - self.from_)

    def value(self, index: int, parts: int) -> float:
        """At the ends of `parts` equal parts."""
        return self.to if index == parts else self.from_ + (self.to - self.from_) * (index / parts)


class Search(Config, frozen=True, kw_only=True, rename={"from_": "from"}):
    """Where the pass rate crosses a limit: along one key, or on the plane of two."""

    key: Annotated[str | None, note("Key of the scenario")] = None
    from_: Annotated[float | None, note("Value at one end")] = None
    to: Annotated[float | None, note("Value at the other end")] = None
    resolution: Resolution | None = None
    scan: Scan | None = None
    keys: Annotated[tuple[SearchKey, ...], note("Two keys, each with its range, in place of key, from and to")] = ()
    pass_rate: Annotated[float, meta("-", "Rate at the boundary", ge=1e-6, le=1.0 - 1e-6)] = 0.95
    most_per_point: Annotated[int, meta("-", "Flights at one point at most", ge=3, le=10000)] = 200

    def __post_init__(self) -> None:
        own = {"key": self.key, "from": self.from_, "to": self.to, "resolution": self.resolution, "scan": self.scan}
        if self.keys:
            given = [name for name, value in own.items() if value is not None]
            if given:
                raise ValueError(f"{given[0]}: expected it in each of `keys`, or no `keys`")
            if len(self.keys) != 2:
                raise ValueError(f"keys: expected two keys, not {len(self.keys)}; for one, expected key, from and to")
        elif missing := [name for name in ("key", "from", "to") if own[name] is None]:
            raise ValueError(f"{missing[0]}: missing; expected key, from and to, or `keys` with two of them")
        for axis in self.axes:
            least = axis.range / MOST_PARTS[len(self.axes)]
            if self.width(axis) < least:
                raise ValueError(f"resolution: expected at least {least:g} for {axis.key}, not {axis.resolution:g}")

    @property
    def axes(self) -> tuple[SearchKey, ...]:
        """One key, or two."""
        if self.keys:
            return self.keys
        assert self.key is not None and self.from_ is not None and self.to is not None
        return (SearchKey(key=self.key, from_=self.from_, to=self.to, resolution=self.resolution, scan=self.scan),)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(axis.key for axis in self.axes)

    def width(self, axis: SearchKey) -> float:
        """Of the result."""
        return axis.resolution or axis.range / PARTS[len(self.axes)]

    def scanned(self, axis: SearchKey) -> int:
        """Number of values flown first."""
        return axis.scan or SCANS[len(self.axes)]
