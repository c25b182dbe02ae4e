"""Style of the pages' figures: one style, one size, lines thinned without losing a peak.

Equal data give equal bytes. Text stays text, so that the browser's fonts draw it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter
from mpl_toolkits import mplot3d  # noqa: F401  registers the "3d" projection
from numpy.typing import NDArray

from aeroloop.analysis.svg import svg

Array = NDArray[np.float64]

POINTS_PER_LINE = 1500
WIDTH_IN, HEIGHT_IN = 5.2, 2.9  # narrow, so that text stays legible when a phone shows the full width
PANEL_IN = 1.35  # height of one of several panels
BLUE, ORANGE, GREEN, GREY, RED = "#0072b2", "#d55e00", "#009e73", "#8a8a8a", "#c0392b"
COLORS = (BLUE, ORANGE, GREEN, "#cc79a7", "#e69f00", "#56b4e9")  # distinguishable with colour blindness
MORE_COLORS = ("#000000", "#7f5f00", "#6a3d9a", "#8a8a8a", "#b2df8a", "#fb9a99", "#00008b", "#a6761d")
STYLE: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#888888",
    "axes.grid": True,
    "axes.labelsize": 9,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "font.size": 9,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "svg.fonttype": "none",
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
}
REFERENCE_STYLE: dict[str, Any] = {"color": ORANGE, "linestyle": "--", "linewidth": 1.0}
"""Style of a setpoint."""


@dataclass(frozen=True)
class Picture:
    name: str
    title: str
    caption: str
    svg: str


@dataclass(frozen=True)
class Line:
    """Values over time; `style` is matplotlib's, and the colour is automatic."""

    label: str
    t_s: Array
    values: Array
    style: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Path3:
    """A path in the world."""

    t_s: Array  # (n,)
    pos_W: Array  # (n, 3) m
    style: dict[str, Any]


def colors(count: int) -> tuple[str, ...]:
    """As many as can be distinguished, the usual ones first."""
    return (COLORS + MORE_COLORS)[: max(count, len(COLORS))]


def picture(name: str, title: str, caption: str, draw: Callable[[], Figure]) -> Picture:
    with mpl.rc_context({**STYLE, "svg.hashsalt": name}):
        return Picture(name, title, caption, svg(draw()))


def path_pictures(paths: Sequence[Path3], title: str, caption: str, caption_from_above: str) -> list[Picture]:
    """The same paths in space, and from above with their height over time."""
    above = "Top view, and height over time"
    return [
        picture("trajectory", title, caption, lambda: trajectory_3d(paths)),
        picture("top-and-altitude", above, caption_from_above, lambda: top_and_altitude(paths)),
    ]


def trajectory_3d(paths: Sequence[Path3]) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 4.0))
    axes: Any = figure.add_subplot(projection="3d")
    for path in paths:
        axes.plot(*(stride(axis_m) for axis_m in path.pos_W.T), **path.style)
    axes.set(xlabel="x east (m)", ylabel="y north (m)", zlabel="z up (m)")
    axes.set_box_aspect((1, 1, 0.9), zoom=0.92)
    axes.locator_params(nbins=6)  # more labels would overlap
    axes.legend(loc="upper left")
    figure.subplots_adjust(left=0.0, right=0.94, bottom=0.04, top=1.0)
    return figure


def top_and_altitude(paths: Sequence[Path3]) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 4.0), layout="constrained")
    top, side = figure.subplots(1, 2)
    for path in paths:
        x_m, y_m, z_m = path.pos_W.T
        top.plot(stride(x_m), stride(y_m), **path.style)
        side.plot(*envelope(path.t_s, z_m), **path.style)
    top.set(xlabel="x east (m)", ylabel="y north (m)")
    top.set_aspect("equal", adjustable="datalim")
    side.set(xlabel="time (s)", ylabel="z up (m)")
    legend_above(top)
    return figure


def over_time(ylabel: str, lines: Sequence[Line]) -> Figure:
    return panels({ylabel: lines})


def panels(lines: dict[str, Sequence[Line]], *, height_in: float = HEIGHT_IN) -> Figure:
    """Lines over time by the label of their axis, one panel below another; the legend of the first applies to all."""
    figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
    axes = figure.subplots(len(lines), 1, sharex=True, squeeze=False)[:, 0]
    for panel, (ylabel, of_panel) in zip(axes, lines.items(), strict=True):
        for line, color in zip(of_panel, cycle(COLORS), strict=False):
            panel.plot(*envelope(line.t_s, line.values), **{"color": color, "label": line.label, **line.style})
        panel.set(ylabel=ylabel)
    axes[-1].set(xlabel="time (s)")
    legend_above(axes[0])
    return figure


def logarithmic(figure: Figure, lines: Sequence[Line]) -> Figure:
    """The same with a logarithmic axis, unless nothing would be visible on it."""
    if any(np.any(line.values > 0) for line in lines):
        figure.axes[0].set_yscale("log")
        figure.axes[0].yaxis.set_major_formatter("{x:g}")
        figure.axes[0].yaxis.set_minor_formatter(LogFormatter(labelOnlyBase=False))
    return figure


def single() -> tuple[Figure, Any]:
    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
    return figure, figure.subplots()


def legend_above(axes: Any) -> None:
    """Above the axes, where it hides nothing; long labels get their own line."""
    _, labels = axes.get_legend_handles_labels()
    if not labels:
        return
    longest = max(map(len, labels))
    columns = 3 if longest <= 16 else 2 if longest <= 20 else 1
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, borderaxespad=0.2, handlelength=1.5)


def stride(values: Array) -> Array:
    """Evenly spaced values from first to last: enough for a smooth path."""
    if len(values) <= POINTS_PER_LINE:
        return values
    return np.take(values, np.linspace(0, len(values) - 1, POINTS_PER_LINE).astype(int))


def envelope(t_s: Array, values: Array) -> tuple[Array, Array]:
    """At most POINTS_PER_LINE points that keep every peak: minimum and maximum of each interval."""
    if len(values) <= POINTS_PER_LINE:
        return t_s, values
    stretches = np.array_split(np.arange(len(values)), POINTS_PER_LINE // 2)
    comparable = np.nan_to_num(values)
    kept = {int(stretch[pick(comparable[stretch])]) for stretch in stretches for pick in (np.argmin, np.argmax)}
    indices = sorted(kept)
    return t_s[indices], values[indices]
