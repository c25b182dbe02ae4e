"""The keys of `[[sweep]]`: which faults a campaign flies, with which values, when and for how long."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from aeroloop.core.config import Config, meta, note
from aeroloop.core.faults import KINDS, TARGETS
from aeroloop.core.frames import Vec3
from aeroloop.core.suggest import did_you_mean

Amount = float | Vec3
ENDLESS: Literal["inf"] = "inf"
"""A duration to the end of the flight. TOML's number of this name becomes a text, as JSON has no such number."""
MOST_TIMES = 10_000
"""Of one `at.lin`."""


class At(Config, frozen=True, kw_only=True):
    """Times in the phases of the fault-free flight, or evenly spaced."""

    phases: Annotated[tuple[str, ...], note("Phases of the fault-free flight; by default all but `ground`")] = ()
    per_phase: Annotated[int, meta("-", "Times in each phase, evenly spread over it", ge=1, le=1000)] | None = None
    lin: Annotated[tuple[float, float, int] | None, note("From (s), to (s), number of evenly spaced times")] = None

    def __post_init__(self) -> None:
        if self.lin is not None:
            if self.phases or self.per_phase is not None:
                raise ValueError("at: expected `lin`, or `phases` and `per_phase`, not both")
            start_s, end_s, count = self.lin
            if not 0.0 <= start_s < end_s or not 2 <= count <= MOST_TIMES:
                raise ValueError(
                    f"at.lin: expected two times, the earlier first, and 2 to {MOST_TIMES} of them, not {self.lin}"
                )


class Sweep(Config, frozen=True, kw_only=True):
    """Faults of all combinations of target, kind, channel, value, time and duration."""

    target: Annotated[tuple[str, ...], note("What fails; by default all that can in this flight")] = ()
    kind: Annotated[tuple[str, ...], note("How; by default all kinds of the targets")] = ()
    channel: Annotated[tuple[str, ...], note("Which channel, actuator or camera; by default all")] = ()
    value: Annotated[
        dict[str, tuple[Amount, ...]],
        note("Values by `target.kind` or `target.kind.channel`; by default the usual one of each fault"),
    ] = msgspec.field(default_factory=dict)
    at: Annotated[At | tuple[float, ...], note("When: a list of times (s), or a table")] = At(per_phase=3)
    lasts_s: Annotated[
        tuple[Annotated[float, Meta(gt=0.0)] | Literal["inf"], ...],
        meta("s", "How long; inf: to the end of the flight"),
    ] = (ENDLESS,)
    order: Annotated[Literal[1, 2], note("1: single faults; 2: also all pairs of them, at the same time")] = 1

    def __post_init__(self) -> None:
        for key, given, known in (("target", self.target, TARGETS), ("kind", self.kind, KINDS)):
            for name in given:
                if name not in known:
                    like = did_you_mean(name, known)
                    raise ValueError(f"{key}: unknown {name!r}{like}, expected one of: {', '.join(known)}")
        for key, values in self.value.items():
            if not values:
                raise ValueError(f"value: {key}: expected at least one value")
        if not self.lasts_s:
            raise ValueError("lasts_s: expected at least one duration; inf for the rest of the flight")
        if isinstance(self.at, tuple) and (not self.at or min(self.at) < 0.0):
            raise ValueError("at: expected at least one time, none below 0")

    @property
    def durations_s(self) -> tuple[float, ...]:
        return tuple(float(each) for each in self.lasts_s)


def with_endless(table: dict[str, Any]) -> dict[str, Any]:
    """The content of a campaign file, with endless durations as texts."""
    sweeps = table.get("sweep")
    if not isinstance(sweeps, list):
        return table
    return {**table, "sweep": [_endless(each) for each in sweeps]}


def _endless(sweep: Any) -> Any:
    lasts = sweep.get("lasts_s") if isinstance(sweep, dict) else None
    if not isinstance(lasts, list | tuple):
        return sweep
    return {**sweep, "lasts_s": [ENDLESS if each == math.inf else each for each in lasts]}
