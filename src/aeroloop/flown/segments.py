"""Which part of a log is a flight: gaps split it, and of the stretches in the air the longest is compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.errors import ConfigError
from aeroloop.flown.record import Array, FlightRecord

GAP_S = 0.5
IN_AIR_THROTTLE = 0.3
IN_AIR_HEIGHT_M = 0.5
MARGIN_S = 3.0
"""Left out at both ends: take-off and landing are contact, not flight."""
LEAST_S = 5.0
LULL_S = 1.0
"""A shorter dip of throttle or height does not end a flight."""


@dataclass(frozen=True)
class Segment:
    start_s: float
    end_s: float

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s

    def shifted(self, by_s: float) -> Segment:
        return Segment(self.start_s + by_s, self.end_s + by_s)


def stretches(record: FlightRecord) -> list[Segment]:
    """The log without its gaps, by the times of the attitude, or of whatever is logged most often."""
    leader = record.signals.get("roll") or max(
        (signal for signal in record.signals.values() if not signal.quantity.held),
        key=lambda signal: len(signal.t_s),
        default=None,
    )
    if leader is None:
        return []
    gap_s = max(GAP_S, 3.0 / leader.rate_hz if leader.rate_hz else 0.0)
    return _split(leader.t_s, np.ones(len(leader.t_s), bool), gap_s)


def in_air(record: FlightRecord) -> list[Segment] | None:
    """By throttle; else armed and high enough; the ends of each are left out. None where the log does not tell."""
    told = _flying(record)
    if told is None:
        return None
    t_s, flying = told
    found = []
    for stretch in stretches(record):
        own = (t_s >= stretch.start_s) & (t_s <= stretch.end_s)
        found += [
            Segment(each.start_s + MARGIN_S, each.end_s - MARGIN_S)
            for each in _split(t_s[own], flying[own], LULL_S)
            if each.duration_s > 2 * MARGIN_S
        ]
    return found


def chosen(record: FlightRecord, from_s: float | None = None, to_s: float | None = None) -> Segment:
    """What is compared: `from_s` to `to_s`, seconds of the log's clock, where given; else the longest in the air, or
    the longest without a gap where the log does not tell when it is in the air."""
    if from_s is not None or to_s is not None:
        start_s = record.start_s if from_s is None else from_s
        end_s = record.end_s if to_s is None else to_s
        if not start_s < end_s or end_s <= record.start_s or start_s >= record.end_s:
            raise ConfigError(
                f"{record.path}: --from {start_s:g} --to {end_s:g}: the log goes from {record.start_s:.1f} to "
                f"{record.end_s:.1f} s; expected a part of that"
            )
        return Segment(max(start_s, record.start_s), min(end_s, record.end_s))
    found = in_air(record)
    if found is None:
        found = stretches(record)
    if not found:
        why = "".join(f" ({remark[:1].lower()}{remark[1:].rstrip('.')})" for remark in record.remarks[:1])
        raise ConfigError(
            f"{record.path}: no flight in it: throttle never stays above {IN_AIR_THROTTLE:.0%}, or armed and height "
            f"above {IN_AIR_HEIGHT_M:g} m, for more than {2 * MARGIN_S:g} s; --from and --to choose a part by hand{why}"
        )
    return max(found, key=lambda segment: segment.duration_s)


def _flying(record: FlightRecord) -> tuple[Array, NDArray[np.bool_]] | None:
    """At which times of the signal that tells the aircraft is in the air."""
    throttle, height, armed = (record.signals.get(name) for name in ("throttle", "height", "armed"))
    if throttle is not None and (armed is None or height is None or np.any(throttle.values > IN_AIR_THROTTLE)):
        return throttle.t_s, throttle.values > IN_AIR_THROTTLE
    if armed is None or height is None:
        return None
    high = height.values - np.median(height.values[:25]) > IN_AIR_HEIGHT_M
    return height.t_s, high & (armed.held(height.t_s) > 0.0)


def _split(t_s: Array, inside: NDArray[np.bool_], gap_s: float) -> list[Segment]:
    """Runs of rows that are inside, where none is farther than `gap_s` from the next."""
    own = t_s[inside]
    if not len(own):
        return []
    ends = np.flatnonzero(np.diff(own) > gap_s)
    starts = [0, *(int(end) + 1 for end in ends)]
    return [
        Segment(float(own[start]), float(own[end]))
        for start, end in zip(starts, [*map(int, ends), len(own) - 1], strict=True)
    ]
