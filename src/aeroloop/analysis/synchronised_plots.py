"""Figures of actuators that a law keeps together, alike for every plant.

Disturbed time is shaded. The scheme and the network show what the law of the run has; parts that it does not have are
grey.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from aeroloop.analysis.drawing import (
    COLORS,
    GREY,
    PANEL_IN,
    WIDTH_IN,
    Array,
    Line,
    Picture,
    envelope,
    legend_above,
    over_time,
    panels,
    picture,
)
from aeroloop.analysis.fault_spans import SHADE, Span

ZOOM_S = 0.2
SMALL = 0.2
"""A surface that stays below this fraction of the boundary layer is shown enlarged too."""
NEITHER = "Nothing disturbed this run."


@dataclass(frozen=True)
class Signals:
    """Of all axes of a run, one line each."""

    sync_errors: Sequence[Line]
    errors: Sequence[Line]
    control: Sequence[Line]
    surface: Sequence[Line]  # none: the law did not report it
    weights: dict[str, Sequence[Line]]  # by the label of their axis; none: there is no network
    disturbance: dict[str, Sequence[Line]]  # by the label of its axis; none: nothing disturbed it
    spans: Sequence[Span]  # disturbed time


@dataclass(frozen=True)
class Labels:
    """Words of a plant."""

    axis: str  # "joint"
    error: str  # label of an axis
    control: str
    surface: str
    control_title: str
    control_caption: str


def shaded(figure: Figure, spans: Sequence[Span]) -> Figure:
    """With the disturbed time in all panels, and in the legend of the first."""
    if not spans:
        return figure
    for axes in figure.axes:
        for start_s, end_s in spans:
            axes.axvspan(start_s, end_s, color=SHADE, linewidth=0, zorder=0)
    first: Any = figure.axes[0]
    handles, labels = first.get_legend_handles_labels()
    columns = 4 if len(handles) == 3 else 3
    first.legend(
        [*handles, Patch(color=SHADE)],
        [*labels, "disturbed"],
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=columns,
        borderaxespad=0.2,
        handlelength=1.5,
    )
    return figure


def control_figure(label: str, lines: Sequence[Line], zoom_at_s: float, spans: Sequence[Span]) -> Figure:
    """The whole run, and ZOOM_S of it at full resolution."""
    figure = Figure(figsize=(WIDTH_IN, 3.2 * PANEL_IN), layout="constrained")
    whole, zoom = figure.subplots(2, 1)
    for line, color in zip(lines, COLORS + COLORS, strict=False):
        near = np.abs(line.t_s - zoom_at_s) <= ZOOM_S / 2
        whole.plot(*envelope(line.t_s, line.values), color=color, label=line.label)
        zoom.plot(line.t_s[near], line.values[near], color=color, label=line.label, linewidth=1.0)
    whole.axvline(zoom_at_s, color=GREY, linewidth=0.8, linestyle=":")
    whole.set(xlabel="time (s)", ylabel=label)
    zoom.set(xlabel="time (s)", ylabel=label, xlim=(zoom_at_s - ZOOM_S / 2, zoom_at_s + ZOOM_S / 2))
    zoom.ticklabel_format(useOffset=False)
    legend_above(whole)
    for axes in (whole, zoom):
        limits = axes.get_xlim()
        for start_s, end_s in spans:
            axes.axvspan(start_s, end_s, color=SHADE, linewidth=0, zorder=0)
        axes.set_xlim(limits)
    return figure


def surface_figure(label: str, lines: Sequence[Line], phi: float) -> Figure:
    """With the edges of the boundary layer, and where these flatten the curves, enlarged below; `phi` 0: no layer."""
    if not phi:
        return over_time(label, lines)
    most = max((float(np.nanmax(np.abs(line.values))) for line in lines if np.isfinite(line.values).any()), default=0.0)
    small = most < SMALL * phi
    figure = panels({label: lines, f"{label}\nenlarged": lines}) if small else over_time(label, lines)
    axes: Any = figure.axes[0]
    for sign, name, way in ((1.0, "+Φ", "bottom"), (-1.0, "−Φ", "top")):
        axes.axhline(sign * phi, color=GREY, linestyle="--", linewidth=1.0)
        axes.annotate(
            name,
            (1.0, sign * phi),
            xycoords=("axes fraction", "data"),
            xytext=(-3, 3 * sign),
            textcoords="offset points",
            ha="right",
            va=way,
            fontsize=8,
            color="#555555",
        )
    edge = (1.6 if small else 1.25) * max(phi, most)
    axes.set_ylim(-edge, edge)
    return figure


def pictures(signals: Signals, labels: Labels, *, phi: float, duration_s: float) -> list[Picture]:
    """What is over time, in reading order."""
    spans = signals.spans
    zoom_at_s = spans[0][0] if spans else duration_s / 2
    when = "the first disturbance" if spans else "the middle of the run"
    without = "" if spans else f" {NEITHER}"
    told: list[tuple[str, str, str, Callable[[], Figure]]] = []
    if signals.disturbance:
        told.append(
            (
                "disturbance",
                "Disturbances",
                "What disturbed the run: set in the scenario, planned as a fault, or switched by hand.",
                lambda: _disturbance(signals),
            )
        )
    told += [
        (
            "sync-errors",
            "Synchronisation errors",
            f"Error of each {labels.axis} minus the mean error of all.{without}",
            lambda: shaded(over_time(f"S e ({labels.error})", signals.sync_errors), spans),
        ),
        (
            "tracking-errors",
            f"Errors of the {labels.axis}s",
            f"Reference minus true value.{without}",
            lambda: shaded(over_time(f"error ({labels.error})", signals.errors), spans),
        ),
        (
            "control",
            labels.control_title,
            f"{labels.control_caption} Below: {ZOOM_S:g} s about {when}, every sample.",
            lambda: control_figure(labels.control, signals.control, zoom_at_s, spans),
        ),
    ]
    if signals.surface:
        told.append(
            (
                "surface",
                "Sliding surface",
                f"Distance of each {labels.axis} from the sliding surface; within ±Φ (Φ = {phi:.4g}) the law is linear."
                if phi
                else f"Distance of each {labels.axis} from the sliding surface; this law has no boundary layer.",
                lambda: surface_figure(labels.surface, signals.surface, phi),
            )
        )
    if signals.weights:
        told.append(
            (
                "weights",
                "Weights",
                f"Weights P, I and D of each {labels.axis}'s network: they rise while an error lasts and leak back.",
                lambda: shaded(panels(signals.weights, height_in=3 * PANEL_IN), spans),
            )
        )
    return [picture(*row) for row in told]


def _disturbance(signals: Signals) -> Figure:
    """Quantities of each axis first: the legend of the first panel is that of all."""
    ordered = dict(sorted(signals.disturbance.items(), key=lambda item: -len(item[1])))
    return shaded(panels(ordered, height_in=max(2, len(ordered)) * PANEL_IN), signals.spans)


def lines(names: str, t_s: Array, values: Array) -> list[Line]:
    """One for each column: `joint {}`."""
    return [Line(names.format(i), t_s, column) for i, column in enumerate(values.T, 1)]
