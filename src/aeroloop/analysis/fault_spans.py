"""When each fault of a run was on, from the rows of the stream `fault`; planned faults and those switched by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from aeroloop.analysis.statistics import Array
from aeroloop.core.faults import KINDS, TARGETS

Span = tuple[float, float]
"""Start and end (s)."""
SHADE = "#f3dcd6"


class FaultSpan(NamedTuple):
    target: str
    kind: str
    channel: int
    values: tuple[float, ...]  # for each axis, as logged
    start_s: float
    end_s: float

    @property
    def span(self) -> Span:
        return self.start_s, self.end_s


def fault_spans(rows: Array, end_s: float) -> list[FaultSpan]:
    """In order of their starts. A fault that gets another value while it is on ends and begins again."""
    found: list[FaultSpan] = []
    on: dict[tuple[str, str, int], tuple[tuple[float, ...], float]] = {}
    for t_s, _, target, kind, is_on, channel, *values in rows.tolist():
        key = TARGETS[int(target)], KINDS[int(kind)], int(channel)
        if key in on:
            found.append(FaultSpan(*key, *on.pop(key), t_s))
        if is_on:
            on[key] = tuple(values), t_s
    found += [FaultSpan(*key, *began, end_s) for key, began in on.items()]
    return sorted(found, key=lambda span: span.start_s)


def merged(spans: Iterable[Span]) -> list[Span]:
    """Without overlaps, in order."""
    found: list[Span] = []
    for start_s, end_s in sorted(spans):
        if found and start_s <= found[-1][1]:
            found[-1] = found[-1][0], max(end_s, found[-1][1])
        elif end_s > start_s:
            found.append((start_s, end_s))
    return found


def within(t_s: Array, spans: Sequence[Span]) -> Any:
    """Which of the times are in one of the spans."""
    inside = t_s != t_s
    for start_s, end_s in spans:
        inside |= (t_s >= start_s) & (t_s <= end_s)
    return inside
