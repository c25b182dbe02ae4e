"""Interface of a stick: axes with a range, events in time, and the source of the events."""

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

    t_s: float  # time of the poll, so that a recording acts in the same cycle again
    axis: str
    value: int


class AxisSource(Protocol):
    """Source of axis events: a stick, or a recording of one."""

    name: str  # for messages

    @property
    def ranges(self) -> Mapping[str, AxisRange]:
        """Ranges of all its axes."""

    def poll(self, now_s: float) -> list[AxisEvent]:
        """Events since the last call, oldest first; LinkError if the stick is disconnected."""

    def close(self) -> None:
        """Release the device; closing twice is harmless."""
