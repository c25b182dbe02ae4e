"""Figures of a landing: the way to the pad and the error of its estimate, what the camera saw, latency, touchdown."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from aeroloop.analysis.drawing import (
    BLUE,
    GREY,
    ORANGE,
    PANEL_IN,
    RED,
    WIDTH_IN,
    Picture,
    envelope,
    legend_above,
    picture,
    single,
)
from aeroloop.analysis.landing_times import Band, Followed, Looks
from aeroloop.core.frames import Vec

AXES = ("east", "north", "up")
SHADES = {
    "search": "#f6e3c5",
    "approach": "#dcebf7",
    "descend": "#e2f3e4",
    "final": "#efe2f5",
    "land": "#efe2f5",
    "abort": "#f6d9d5",
    "lost": "#f6d9d5",
}
OTHER_SHADE = "#eeeeee"
LAST_M = 1.0
"""The path to the touchdown is drawn from this height on."""
CIRCLES_M = (0.05, 0.10)
BINS = 30


def pictures(flight: Followed) -> list[Picture]:
    found = [
        picture(
            "landing-way",
            "From the pad's middle to the aircraft",
            "True position relative to the pad. Shaded: states of the landing.",
            lambda: _way(flight),
        )
    ]
    looks = flight.looks
    if looks is not None and len(looks.t_s):
        found += [
            picture(
                "landing-estimate",
                "Error of the companion's estimate",
                "Way from aircraft to pad as the companion has it minus the true one, at the time of the image: the "
                "filtered pad minus the autopilot's position, both in the autopilot's local frame.",
                lambda: _errors(flight, looks),
            ),
            picture(
                "landing-sightings",
                "What the companion saw",
                "Markers in each frame, frames without a pose, and the reprojection error of the pose.",
                lambda: _sightings(flight, looks),
            ),
            picture(
                "landing-latency",
                "Latency",
                "From the time of the image to the companion's messages, in simulated time, and the wall time of its "
                "detector; the last bar has the largest percent of them.",
                lambda: _latency(looks),
            ),
        ]
    if flight.touched is not None:
        found.append(
            picture(
                "landing-touchdown",
                "Touchdown",
                f"Position relative to the pad's middle from {LAST_M:g} m of height on; circles of 5 and 10 cm.",
                lambda: _touchdown(flight),
            )
        )
    return found


def circles(axes: Any) -> None:
    """5 and 10 cm around the pad's middle, in cm."""
    for radius_m, style in zip(CIRCLES_M, ("-", "--"), strict=True):
        axes.add_patch(
            Circle((0, 0), 100 * radius_m, fill=False, color=GREY, linestyle=style, label=f"{100 * radius_m:g} cm")
        )
    axes.plot(0, 0, "+", color=GREY, markersize=10)
    axes.set(xlabel="east of the middle (cm)", ylabel="north of the middle (cm)")
    axes.set_aspect("equal", adjustable="datalim")


def _way(flight: Followed) -> Figure:
    figure, axes = _panels(3)
    for panel, axis, off_m in zip(axes, AXES, flight.off_m.T, strict=True):
        panel.plot(*envelope(flight.t_s, off_m), color=BLUE)
        panel.set(ylabel=f"{axis} (m)")
    _time(axes, flight)
    return figure


def _errors(flight: Followed, looks: Looks) -> Figure:
    figure, axes = _panels(3)
    for panel, axis, error_m in zip(axes, AXES, looks.error_m.T, strict=True):
        panel.axhline(0.0, color=GREY, linewidth=0.8)
        panel.plot(looks.t_s, 100 * error_m, ".", markersize=2.5, color=BLUE)
        panel.set(ylabel=f"{axis} (cm)")
    _time(axes, flight)
    return figure


def _sightings(flight: Followed, looks: Looks) -> Figure:
    figure, axes = _panels(2)
    count, residual = axes
    seen = looks.seen > 0
    count.plot(looks.t_s, looks.markers, drawstyle="steps-post", color=BLUE, label="markers")
    count.plot(looks.t_s[~seen], np.zeros(np.count_nonzero(~seen)), "|", color=RED, label="not seen")
    count.set(ylabel="markers", ylim=(-0.5, 9.5))
    residual.plot(looks.t_s, looks.residual_px, ".", markersize=2.5, color=ORANGE)
    residual.set(ylabel="residual (px)", ylim=(0, None))
    _time(axes, flight)
    return figure


def _latency(looks: Looks) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 2.4), layout="constrained")
    for panel, values_s, words in zip(
        figure.subplots(1, 2), (looks.latency_s, looks.work_s), ("image to message (ms)", "detector (ms)"), strict=True
    ):
        _histogram(panel, 1000 * values_s[np.isfinite(values_s)])
        panel.set(xlabel=words)
    figure.axes[0].set(ylabel="frames")
    return figure


def _histogram(panel: Any, values_ms: Vec) -> None:
    """Values that are all alike, as in lockstep, have one bar; the few largest share the last one."""
    low, high = np.percentile(values_ms, (0.0, 99.0)) if len(values_ms) else (0.0, 1.0)
    if high - low < 1.0:
        low, high = (low + high) / 2 - 5.0, (low + high) / 2 + 5.0
    panel.hist(np.minimum(values_ms, high), bins=BINS, range=(low, high), color=BLUE)


def _touchdown(flight: Followed) -> Figure:
    assert flight.touched is not None
    figure, axes = single()
    figure.set_size_inches(WIDTH_IN, 4.2)
    east, north = (100 * value for value in flight.touched.off_m)
    last = _last(flight)
    axes.plot(100 * last[:, 0], 100 * last[:, 1], color=BLUE, linewidth=0.8, label=f"path below {LAST_M:g} m")
    axes.plot(east, north, "o", color=ORANGE, label="touchdown")
    circles(axes)
    legend_above(axes)
    return figure


def _last(flight: Followed) -> Vec:
    """The path after the last time above LAST_M, up to the touchdown."""
    assert flight.touched is not None
    high = np.flatnonzero((flight.off_m[:, 2] > LAST_M) & (flight.t_s < flight.touched.t_s))
    first = int(high[-1]) + 1 if len(high) else 0
    path: Vec = flight.off_m[first : int(np.searchsorted(flight.t_s, flight.touched.t_s)) + 1]
    return path


def _panels(count: int) -> tuple[Figure, list[Any]]:
    figure = Figure(figsize=(WIDTH_IN, count * PANEL_IN + 0.5), layout="constrained")
    return figure, list(figure.subplots(count, 1, sharex=True))


def _time(axes: list[Any], flight: Followed) -> None:
    axes[-1].set(xlabel="time (s)", xlim=(float(flight.t_s[0]), float(flight.t_s[-1])))
    for panel in axes:
        for band in flight.bands:
            panel.axvspan(band.start_s, band.end_s, color=_shade(band), linewidth=0, zorder=0)
        if flight.touched is not None:
            panel.axvline(flight.touched.t_s, color=RED, linewidth=0.8)
    names = dict.fromkeys(band.name for band in flight.bands)
    for name in names:
        axes[0].axvspan(np.nan, np.nan, color=SHADES.get(name, OTHER_SHADE), label=name)
    if flight.touched is not None:
        axes[0].plot([], [], color=RED, linewidth=0.8, label="touchdown")
    legend_above(axes[0])


def _shade(band: Band) -> str:
    return SHADES.get(band.name, OTHER_SHADE)
