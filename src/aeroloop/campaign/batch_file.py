"""Tables of a campaign file that only the batch engine flies: indices of sensitivity, and rare events."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from aeroloop.core.config import Config, meta, note

FEWEST_EFFECTIVE = 100
"""Effective sample size below which the rate of a rare event is not stated."""


class SobolIndices(Config, frozen=True, kw_only=True):
    """Sobol's first and total indices of every checked metric; samples (parameters + 2) flights."""

    samples: Annotated[int, meta("-", "Points of the base design, a power of two", ge=16, le=1 << 20)]
    resamples: Annotated[int, meta("-", "Of the bootstrap intervals", ge=20, le=10_000)] = 100

    def __post_init__(self) -> None:
        if self.samples & (self.samples - 1):
            raise ValueError(f"samples: expected a power of two, not {self.samples}")


class Rare(Config, frozen=True, kw_only=True):
    """Rate of a rare failure: the distribution of the parameters is shifted level by level to where the check fails,
    and each flight has the weight of its likelihood ratio."""

    check: Annotated[str, Meta(min_length=1, description="Metric of the scenario's check that fails")]
    flights: Annotated[int, meta("-", "Flights of each level, and of the estimate", ge=500, le=1_000_000)] = 4000
    levels: Annotated[int, meta("-", "Levels at most", ge=1, le=50)] = 12
    fraction: Annotated[float, meta("-", "Of the flights that lead to the next level", ge=0.01, le=0.5)] = 0.1
    relative_error: Annotated[float | None, note("Largest relative error of the estimate; a check of the campaign")] = (
        None
    )
