"""Validation of input from a browser: numbers are finite and in range, or rejected."""

from __future__ import annotations

import math


def number(value: object, low: float, high: float) -> float | None:
    """A number in the range; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        real = float(value)
    except OverflowError:
        return None
    return real if math.isfinite(real) and low <= real <= high else None


def numbers(value: object, *ranges: tuple[float, float]) -> tuple[float, ...] | None:
    """A list of numbers, each in its range; None for anything else."""
    if not isinstance(value, list | tuple) or len(value) != len(ranges):
        return None
    found = [number(item, low, high) for item, (low, high) in zip(value, ranges, strict=True)]
    good = tuple(item for item in found if item is not None)
    return good if len(good) == len(ranges) else None


def words(value: object, most: int) -> str:
    """Text of limited length, printable characters only."""
    return "".join(c for c in value[: 4 * most] if c.isprintable())[:most] if isinstance(value, str) else ""
