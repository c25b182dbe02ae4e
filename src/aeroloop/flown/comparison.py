"""Two flight records beside one another: aligned once, then every signal that both have is scored.

The first record is the reference: for a simulation against a flight, the flown log. One lag holds for the whole log,
of the signal that shows it best; what a signal lags beyond that is its own, and a result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.tables import FAMILIES
from aeroloop.flown.lag import Lag, find_lag, refined
from aeroloop.flown.quantities import ALL, BY_NAME, Quantity
from aeroloop.flown.record import Array, FlightRecord, Signal
from aeroloop.flown.resample import RATE_HZ, grid, resampled, unwrapped
from aeroloop.flown.scale_names import scale_words
from aeroloop.flown.scores import Band, Score, Spectrum, noise, score, spectrum
from aeroloop.flown.segments import LEAST_S, Segment, chosen, in_air

MAX_LAG_S = 2.0
ROUTE_MAX_LAG_S = 30.0
"""Of a route flown twice, as the paper compares."""
LEAST_PEAK = 0.5
EQUAL_PEAK = 0.01
"""Peaks this near the highest count as equal: of those the one decides that tells the lag most exactly."""
LAG_DIGITS = 4
"""A lag is found to about a millisecond: with fewer digits the rows of one flight in two logs stay together."""
LEAST_RATE_HZ = 10.0  # of a signal that logs are aligned by
NOISE_FACTOR = 3.0
NOISE_RATE_HZ = 20.0
"""Below this rate motion itself changes from row to row, and noise cannot be told from it."""
TRIVIAL_S = 2.0
LEFT_OUT = ("setpoint", "stick", "state")
"""Groups that are not scored: they are given, not flown."""


@dataclass(frozen=True)
class Settings:
    from_s: float | None = None  # of the first log's clock
    to_s: float | None = None
    max_lag_s: float = MAX_LAG_S
    same_clock: bool = False  # both have one clock: they are not aligned


@dataclass(frozen=True)
class Alignment:
    lag_s: float  # the second log's clock minus the first's, for the same moment
    by: str  # the signal that showed it
    peak: float


@dataclass(frozen=True)
class Trivial:
    """The setpoint, delayed by its own best lag: what a model must beat."""

    r: float
    lag_s: float


@dataclass(frozen=True)
class Compared:
    quantity: Quantity
    sources: tuple[str, str]
    score: Score
    lag_s: float  # of its own, beyond that of the log; NaN where it cannot be found
    trivial: Trivial | None
    bands: Sequence[Band]
    spectrum: Spectrum | None
    remark: str  # "hardly moves" where r means nothing; or empty
    scale_words: str  # what the scale may mean, where it is not 1
    t_s: Array  # of the first log's clock
    reference: Array  # values of the first log, in the standard unit
    other: Array


@dataclass(frozen=True)
class Comparison:
    records: tuple[FlightRecord, FlightRecord]
    segment: Segment  # of the first log's clock
    alignment: Alignment
    signals: Sequence[Compared]
    remarks: Sequence[str]

    def __getitem__(self, name: str) -> Compared:
        return next(each for each in self.signals if each.quantity.name == name)


def compare(first: FlightRecord, second: FlightRecord, settings: Settings = Settings()) -> Comparison:  # noqa: B008
    """ConfigError where the two cannot be compared."""
    if first.vehicle and second.vehicle and _family(first) != _family(second):
        raise ConfigError(
            f"{first.path} was flown by a {first.vehicle}, {second.path} by a {second.vehicle}: nothing to compare"
        )
    common = [each for each in ALL if each.name in first and each.name in second and each.group not in LEFT_OUT]
    if not any(not each.held for each in common):
        raise ConfigError(f"{first.path} and {second.path} have no signal in common that could be compared")
    by_hand = settings.from_s is not None or settings.to_s is not None
    own = chosen(first, settings.from_s, settings.to_s)
    others = Segment(second.start_s, second.end_s) if by_hand else chosen(second)
    if settings.same_clock:
        alignment = Alignment(0.0, "their common clock", 1.0)
    else:
        alignment = _aligned(first, second, common, own, others, settings.max_lag_s)
    seen = others.shifted(-alignment.lag_s)
    both = Segment(max(own.start_s, seen.start_s), min(own.end_s, seen.end_s))
    if both.duration_s < LEAST_S:
        raise ConfigError(
            f"{first.path} and {second.path} have {max(both.duration_s, 0.0):.2f} s of flight in common; "
            f"expected {LEAST_S:g} s or more"
        )
    t_s = grid(both.start_s, both.end_s)
    signals = [
        compared
        for each in common
        if (compared := _compared(each, first, second, t_s, alignment.lag_s, settings.max_lag_s)) is not None
    ]
    return Comparison((first, second), both, alignment, signals, _remarks(first, second, by_hand))


def _family(record: FlightRecord) -> str:
    """The same for all names of a family."""
    return FAMILIES.get(record.vehicle, record.vehicle)


def _remarks(first: FlightRecord, second: FlightRecord, by_hand: bool) -> list[str]:
    remarks = [f"{record.name}: {remark}" for record in (first, second) for remark in record.remarks]
    for record in (first, second):
        if not by_hand and in_air(record) is None:
            remarks.append(
                f"{record.name}: without throttle, or armed and height, its time in the air cannot be determined; "
                "its longest part without a gap is used."
            )
    return remarks


def _aligned(
    first: FlightRecord, second: FlightRecord, common: Sequence[Quantity], own: Segment, others: Segment, max_s: float
) -> Alignment:
    """By the clocks as they are, or by the beginnings of both flights: what correlates better."""
    moving = [
        each
        for each in common
        if not each.held and min(first[each.name].rate_hz, second[each.name].rate_hz) >= LEAST_RATE_HZ
    ]
    moving = [each for each in moving if not _still(first[each.name], own)] or moving
    candidates = []
    for coarse_s in dict.fromkeys((0.0, others.start_s - own.start_s)):
        found = [
            (lag, each.name)
            for each in moving
            if (lag := _lag(first[each.name], second[each.name], own, coarse_s, max_s)) is not None
        ]
        if found:
            highest = max(lag.peak for lag, _ in found)
            equal = [(lag, name) for lag, name in found if lag.peak >= highest - EQUAL_PEAK and not lag.at_limit]
            candidates.append(min(equal or found, key=lambda pair: pair[0].variance))
    if not candidates:
        raise ConfigError(
            f"{first.path} and {second.path} cannot be aligned: no signal moves in both within {max_s:g} s of lag"
        )
    best, name = candidates[0]
    for lag, other in candidates[1:]:
        if lag.peak > best.peak + EQUAL_PEAK:
            best, name = lag, other
    if best.peak < LEAST_PEAK:
        raise ConfigError(
            f"{first.path} and {second.path} cannot be aligned: the best correlation within {max_s:g} s of lag is "
            f"{best.peak:.2f}, of {name}; expected {LEAST_PEAK:g} or more"
        )
    return Alignment(round(best.lag_s, LAG_DIGITS) + 0.0, name, best.peak)  # no minus before a zero


def _lag(first: Signal, second: Signal, segment: Segment, about_s: float, max_s: float) -> Lag | None:
    """Of the second signal's clock after the first's, within `max_s` of `about_s`."""
    t_s = grid(segment.start_s, segment.end_s)
    x = resampled(first, t_s)
    wide_s = grid(segment.start_s - max_s, segment.end_s + max_s)
    y = resampled(second, wide_s + about_s)
    found = find_lag(x, y, RATE_HZ, 0.0, 2 * max_s)
    if found is None:
        return None

    def correlation_at(lag_s: float) -> float:
        there = resampled(second, t_s + lag_s)
        known = np.isfinite(x) & np.isfinite(there)
        return score(x[known], there[known]).r if known.sum() > RATE_HZ else math.nan

    lag = Lag(found.lag_s - max_s + about_s, found.peak, found.sharpness, found.at_limit)
    return refined(lag, correlation_at, 1.0 / RATE_HZ)


def _compared(
    quantity: Quantity, first: FlightRecord, second: FlightRecord, t_s: Array, lag_s: float, max_lag_s: float
) -> Compared | None:
    """None where they have less in common than it takes."""
    own, others = first[quantity.name], second[quantity.name]
    x, y = resampled(own, t_s), resampled(others, t_s + lag_s)
    known = np.isfinite(x) & np.isfinite(y)
    if known.sum() < LEAST_S * RATE_HZ:
        return None
    x, y = x[known], y[known]
    if quantity.turn:
        y = y - quantity.turn * np.round(np.mean(y - x) / quantity.turn)
    scored = score(x, y)
    drawn = None if quantity.held else spectrum(x, y, RATE_HZ)
    lag = None if quantity.held else _lag(own, others, Segment(t_s[0], t_s[-1]), lag_s, min(max_lag_s, MAX_LAG_S))
    remark = _still(own, Segment(t_s[0], t_s[-1]))
    return Compared(
        quantity,
        (own.source, others.source),
        scored,
        math.nan if lag is None or lag.at_limit else lag.lag_s - lag_s,
        _trivial(quantity, first, t_s),
        drawn[1] if drawn else (),
        drawn[0] if drawn else None,
        remark,
        "" if remark else scale_words(scored),
        t_s[known],
        x,
        y,
    )


def _still(signal: Signal, segment: Segment) -> str:
    """Why a correlation with it says nothing; empty where it moves."""
    own = unwrapped(signal)[(signal.t_s >= segment.start_s) & (signal.t_s <= segment.end_s)]
    limit = max(signal.quantity.still, NOISE_FACTOR * noise(own) if signal.rate_hz >= NOISE_RATE_HZ else 0.0)
    return "hardly moves" if not len(own) or float(np.std(own)) <= limit else ""


def _trivial(quantity: Quantity, record: FlightRecord, t_s: Array) -> Trivial | None:
    setpoint = BY_NAME[quantity.setpoint].name if quantity.setpoint else ""
    if setpoint not in record:
        return None
    x = resampled(record[quantity.name], t_s)
    wide_s = grid(t_s[0] - TRIVIAL_S, t_s[-1])
    wanted = resampled(record[setpoint], wide_s)
    lag = find_lag(wanted, x, RATE_HZ, -TRIVIAL_S, 0.0)
    return None if lag is None else Trivial(lag.peak, lag.lag_s + TRIVIAL_S)
