"""The content of a page of charts: signals over time, or against another signal; and the points to draw."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.dashboard.store import KEPT_S, Rows, Store

POINTS = 500
XY_POINTS = 1500
MOST_CHARTS, MOST_SIGNALS = 8, 8
SMALLEST = 1e-9  # values shown as 0
LARGEST_LAYOUT_B = 32 * 1024
WINDOWS_S = {10: "10 s", 30: "30 s", 60: "1 min", 120: "2 min", 300: "5 min", int(KEPT_S): "10 min"}
MARGIN = 0.06
"""Margin around an XY plot, as a fraction of its span."""

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=120)]


class ChartSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One chart: `signals` over time, or over the signal `x`."""

    signals: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MOST_SIGNALS)]
    x: Annotated[str, msgspec.Meta(max_length=120)] = ""

    def known(self, store: Store) -> ChartSpec:
        """With only the signals that the flight has."""
        found = tuple(name for name in self.signals if store.signal(name))
        return ChartSpec(found, self.x) if not self.x or store.signal(self.x) else ChartSpec(())


class Layout(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="aeroloop charts"):
    """All charts of a page, as in a file."""

    charts: Annotated[tuple[ChartSpec, ...], msgspec.Meta(max_length=MOST_CHARTS)]
    window_s: int = 30
    version: Literal[1] = 1

    def text(self) -> str:
        return msgspec.json.format(msgspec.json.encode(self).decode(), indent=2) + "\n"


def layout_of(text: str, source: str) -> Layout:
    """ConfigError names the source and what was expected."""
    if len(text.encode(errors="replace")) > LARGEST_LAYOUT_B:
        raise ConfigError(f"{source}: expected a chart layout of at most {LARGEST_LAYOUT_B >> 10} KiB")
    try:
        layout = msgspec.json.decode(text.encode(errors="replace"), type=Layout)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ConfigError(f"{source}: expected a chart layout: {error}") from None
    if layout.window_s not in WINDOWS_S:
        known = ", ".join(map(str, WINDOWS_S))
        raise ConfigError(f"{source}: window_s: expected one of {known}, not {layout.window_s}")
    return layout


def checked(kept: Any, store: Store) -> list[ChartSpec] | None:
    """The charts stored in a browser, with only the signals that the flight has; None if they are not valid."""
    if not isinstance(kept, list):
        return None
    try:
        specs = [
            msgspec.convert({"signals": each[:MOST_SIGNALS]} if isinstance(each, list) else each, ChartSpec)
            for each in kept[:MOST_CHARTS]
        ]
    except msgspec.MsgspecError:
        return None
    return [spec.known(store) for spec in specs]


def over_time(charts: Iterable[Iterable[str]]) -> list[ChartSpec]:
    return [ChartSpec(tuple(names)) for names in charts]


def shown(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    return "0" if abs(value) < SMALLEST else f"{value:.4g}"


def points(store: Store, signal: str, start_s: float, end_s: float) -> list[list[float | None]]:
    t_s, values = store.window(signal, start_s, end_s, POINTS)
    return [
        [round(t, 3), float(f"{value:.6g}") if math.isfinite(value) else None]
        for t, value in zip(t_s.tolist(), values.tolist(), strict=True)
    ]


def xy(store: Store, x: str, y: str, start_s: float, end_s: float) -> Rows:
    """Pairs of both signals within a window, oldest first. A signal of another rate is interpolated at the times of
    `x`, only between existing values."""
    (x_s, xs), (y_s, ys) = (store.window(name, start_s, end_s, 10**9) for name in (x, y))
    good = np.isfinite(ys)
    y_s, ys = y_s[good], ys[good]
    if not len(x_s) or not len(y_s):
        return np.empty((0, 2))
    within = np.isfinite(xs) & (x_s >= y_s[0]) & (x_s <= y_s[-1])
    pairs: Rows = np.column_stack([xs[within], np.interp(x_s[within], y_s, ys)])
    if len(pairs) <= XY_POINTS:
        return pairs
    return np.take(pairs, np.linspace(0, len(pairs) - 1, XY_POINTS).astype(int), axis=0)


def xy_limits(pairs: Iterable[Rows], *, equal: bool) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits of both axes; `equal`: the same span on both, so that a circle appears as one on a square plot."""
    found = [each for each in pairs if len(each)]
    if not found:
        return (-1.0, 1.0), (-1.0, 1.0)
    together = np.concatenate(found)
    low, high = together.min(axis=0), together.max(axis=0)
    middle, span = (low + high) / 2, np.maximum(high - low, np.maximum(np.abs(high) * 1e-6, 1e-6))
    if equal:
        span[:] = span.max()
    half = span * (0.5 + MARGIN)
    x, y = ((float(m - h), float(m + h)) for m, h in zip(middle, half, strict=True))
    return x, y
