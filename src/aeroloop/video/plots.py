"""Curves of a flight beside its view: the dashboard's charts, drawn once for the whole flight; what has not happened
yet is dim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.dashboard import family_page
from aeroloop.dashboard.instruments import DIM, INK, MARK, PANEL
from aeroloop.dashboard.store import Store
from aeroloop.video.crafts import Craft

LEAST_PX, LABELS_PX = 90, 48.0
"""Height of a chart, and width of the numbers beside it."""
DPI = 100.0
LETTER = 0.55
"""Mean width of a letter, in its size."""
POINTS = 800
MOST_CURVES = 6
FADED, EDGE = 0.35, "#2c3945"
CURVES = ("#4fc3f7", "#ffb74d", "#81c784", "#e57373", "#ba68c8", "#fff176")
CURSOR = tuple(int(MARK[index : index + 2], 16) for index in (1, 3, 5))

Picture = NDArray[np.uint8]


class Plots:
    """The charts of one aircraft, with a cursor at a time."""

    def __init__(self, craft: Craft, span_s: tuple[float, float], size_px: tuple[int, int]) -> None:
        self._span_s = span_s
        charts = _charts(craft, max(1, size_px[1] // LEAST_PX), span_s)
        self._whole, self._faded, self._sides_px = _drawn(craft.store, charts, span_s, size_px)

    def at(self, t_s: float) -> Picture:
        left, right = self._sides_px
        start_s, end_s = self._span_s
        part = min(1.0, max(0.0, (t_s - start_s) / (end_s - start_s))) if end_s > start_s else 1.0
        column = round(left + part * (right - left))
        picture = self._faded.copy()
        picture[:, :column] = self._whole[:, :column]
        picture[:, column : column + 1] = CURSOR
        return picture


def _charts(craft: Craft, most: int, span_s: tuple[float, float]) -> list[list[str]]:
    """Those of the family's page, of this aircraft, that the log has."""
    craft.store.seek(math.inf)
    found = []
    for chart in family_page.charts(craft.scenario, craft.store):
        own = [_of_vehicle(name, craft) for name in chart]
        known = [name for name in own if _has_values(craft.store, name, span_s)][:MOST_CURVES]
        if known:
            found.append(known)
    return found[:most]


def _of_vehicle(signal: str, craft: Craft) -> str:
    stream, _, field = signal.partition(".")
    return f"{stream}[{craft.vehicle}].{field}" if craft.vehicle and "[" not in stream else signal


def _has_values(store: Store, name: str, span_s: tuple[float, float]) -> bool:
    _, values = store.window(name, *span_s, POINTS)
    return bool(np.isfinite(values).any())


def _drawn(
    store: Store, charts: Sequence[Sequence[str]], span_s: tuple[float, float], size_px: tuple[int, int]
) -> tuple[Picture, Picture, tuple[int, int]]:
    """The picture, the same faded, and the columns of the first and the last time."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width, height = size_px
    small = max(6.0, min(8.0, width / 50.0))
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor=PANEL)
    left, right, top, bottom = max(0.14, LABELS_PX / width), 0.97, 1.0 - 22.0 / height, 24.0 / height
    count = max(1, len(charts))
    # One margin for all, so that one cursor is the time of every chart.
    grid = figure.add_gridspec(count, 1, left=left, right=right, top=top, bottom=bottom, hspace=0.45)
    frames = []
    for row, chart in enumerate(charts):
        axes = figure.add_subplot(grid[row, 0], facecolor="#1a232c")
        frames.append(axes)
        for name, colour in zip(chart, CURVES, strict=False):
            axes.plot(*store.window(name, *span_s, POINTS), color=colour, linewidth=1.2, label=_label(name, chart))
        if span_s[1] > span_s[0]:
            axes.set_xlim(*span_s)
        axes.tick_params(colors=DIM, labelsize=small, length=2, pad=2, labelbottom=row == count - 1)
        axes.grid(color=EDGE, linewidth=0.6)
        axes.locator_params(axis="y", nbins=4)
        for side in axes.spines.values():
            side.set_color(EDGE)
        title = _title(chart, store)
        axes.set_title(title, fontsize=small, color=INK, loc="left", pad=3, x=-0.13)
        if len(chart) > 1:
            letters = len(title) + sum(len(_label(name, chart)) + 4 for name in chart)
            above = {"loc": "lower right", "bbox_to_anchor": (1.01, 0.97), "ncols": len(chart)}
            fits = letters * LETTER * small * DPI / 72.0 < width
            tight = {"borderpad": 0.2, "handlelength": 0.7, "handletextpad": 0.3, "columnspacing": 0.7}
            place: dict[str, Any] = above if fits else {"loc": "upper right"}
            axes.legend(fontsize=small - 1, labelcolor=INK, frameon=False, **place, **tight)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    whole = np.asarray(canvas.buffer_rgba())[:height, :width, :3].copy()
    faded = whole.copy()
    ground = np.array([int(PANEL[index : index + 2], 16) for index in (1, 3, 5)], dtype=float)
    for axes in frames:  # titles and scales stay
        box = axes.get_window_extent()
        inside = slice(round(height - box.y1), round(height - box.y0)), slice(round(box.x0), round(box.x1))
        faded[inside] = (ground + FADED * (whole[inside] - ground)).astype(np.uint8)
    return whole, faded, (round(left * width), round(right * width))


def _title(chart: Sequence[str], store: Store) -> str:
    """What the names have in common, or the first, with the unit if it is one."""
    words = _common(chart)
    units = {signal.unit for name in chart if (signal := store.signal(name)) is not None}
    unit = units.pop() if len(units) == 1 else ""
    return f"{words} ({unit})" if unit not in ("", "-") else words


def _common(chart: Sequence[str]) -> str:
    streams = {name.partition(".")[0] for name in chart}
    fields = [_plain(name.partition(".")[2]) for name in chart]
    if len(streams) > 1 or len(chart) == 1:
        return fields[0]
    (stream,) = streams
    shared = [words[0] for words in zip(*(field.split() for field in fields), strict=False) if len(set(words)) == 1]
    return " ".join(shared) or stream.replace("_", " ")


def _label(name: str, chart: Sequence[str]) -> str:
    """What distinguishes it from the others of its chart."""
    stream, _, field = name.partition(".")
    words, common = _plain(field), _common(chart)
    if len({each.partition(".")[0] for each in chart}) == 1:
        return words.removeprefix(common).strip() or words
    return f"{stream} {words}".removesuffix(f" {common}")


def _plain(field: str) -> str:
    """Without its unit, which the title has."""
    for unit in ("_rad_s", "_m_s2", "_m_s", "_rad", "_deg", "_m", "_Nm", "_N"):
        if field.endswith(unit):
            return field.removesuffix(unit).replace("_", " ")
    return field.replace("_", " ")
