"""What a stick is to the rest: axes with a range, events in time, and where the events come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Protocol

from msgspec import Meta, Struct

AxisName = Annotated[str, Meta(pattern=r"^ABS_[A-Z0-9_]{1,24}$")]
"""The kernel's name of an absolute axis, such as ABS_X."""

RawValue = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


class AxisRange(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Raw values at the two ends of an axis."""

    low: RawValue
    high: RawValue

    def __post_init__(self) -> None:
        if self.low >= self.high:
            raise ValueError(f"expected the low end of an axis below its high end, not {self.low, self.high}")


@dataclass(frozen=True, slots=True)
class AxisEvent:
    """An axis has moved."""

    t_s: float  # time at which it was polled, so that a recording acts in the same cycle again
    axis: str
    value: int


class AxisSource(Protocol):
    """Where axis events come from: a stick, or a recording that stands in for one."""

    name: str  # for messages

    @property
    def ranges(self) -> Mapping[str, AxisRange]:
        """Of every axis it has."""

    def poll(self, now_s: float) -> list[AxisEvent]:
        """What has happened since the last call, oldest first; LinkError if the stick is gone."""

    def close(self) -> None:
        """Release the device; closing twice is harmless."""
