"""The report's pictures: the paper's figures first, then what a paced flight adds.

Equal data give equal bytes. Text stays text, so that the browser's fonts draw it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from typing import Any, TypedDict

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from mpl_toolkits import mplot3d  # noqa: F401  registers the "3d" projection
from numpy.typing import NDArray

from aeroloop.analysis.metrics import position_error
from aeroloop.analysis.timing import MEASURED, measured
from aeroloop.recording.log import Log
from aeroloop.scenario import Scenario

Array = NDArray[np.float64]

POINTS_PER_LINE = 1500
WIDTH_IN, HEIGHT_IN = 5.2, 2.9  # narrow, so that text stays legible when a phone shows the full width
BLUE, ORANGE, GREEN, GREY, RED = "#0072b2", "#d55e00", "#009e73", "#8a8a8a", "#c0392b"
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
PATHS: dict[str, dict[str, Any]] = {
    "truth": {"color": BLUE, "label": "flown"},
    "reference": {"color": ORANGE, "label": "reference", "linestyle": "--", "linewidth": 1.0},
}
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))


@dataclass(frozen=True)
class Picture:
    name: str
    title: str
    caption: str
    svg: str


class DelayMargin(TypedDict):
    """What the design model predicts for added delay, and where a flight stands."""

    delays_s: list[float]
    radius: list[float]  # spectral radius of the closed loop at each delay
    margin_s: float
    flight_delay_s: float


def flight_pictures(log: Log, scenario: Scenario) -> list[Picture]:
    pictures = [
        _picture(
            "trajectory",
            "Trajectory",
            "The path flown and the reference, as in the paper's Figure 10.",
            lambda: _trajectory_3d(log),
        ),
        _picture(
            "top-and-altitude",
            "From above, and altitude",
            "The same path seen from above, and its height over time.",
            lambda: _top_and_altitude(log),
        ),
        _picture(
            "position-errors",
            "Position errors",
            "Flown minus reference on each world axis.",
            lambda: _position_errors(log),
        ),
        _picture(
            "attitude",
            "Roll, pitch and yaw",
            "Attitude of the body in ZYX angles, as in the paper's Figure 11.",
            lambda: _angles_over_time(log, "angle (deg)", roll="roll", pitch="pitch", yaw="yaw"),
        ),
        _picture(
            "tilt-angles",
            "Servo angles",
            "Tilt of the right and left rotor pods, as in the paper's Figure 12.",
            lambda: _angles_over_time(log, "tilt (deg)", right="tilt_right", left="tilt_left"),
        ),
        _picture(
            "control-inputs",
            "Control inputs",
            "Thrusts and tilt torques that the actuators delivered, as in the paper's Figure 13.",
            lambda: _control_inputs(log),
        ),
    ]
    if scenario.lockstep:
        caption = (
            "Lockstep: simulated time waits for the board, so this is how fast the host computes, not how "
            "well anything keeps time. Fly with --pace real for the paper's Figure 14."
        )
        pictures.append(
            _picture("period-histogram", "Period between sensor requests", caption, lambda: _host_periods(log))
        )
        return pictures
    pictures += [
        _picture(
            "period-histogram",
            "Period between sensor requests",
            "Wall time between sensor requests, measured at the plant, as in the paper's Figure 14.",
            lambda: _paced_periods(log, scenario),
        ),
        _picture(
            "timing-over-time",
            "Lateness and latency",
            "How late a step starts, how long the plant takes to answer a sensor request, and how long the "
            "board waits for that answer.",
            lambda: _timing(log),
        ),
    ]
    return pictures


def delay_margin_picture(margin: DelayMargin, *, diverged: bool) -> Picture:
    stable = margin["flight_delay_s"] < margin["margin_s"]
    caption = (
        f"Spectral radius of the closed loop over added delay; above 1 it is unstable. The design model "
        f"predicts a margin of {margin['margin_s'] * 1e3:.1f} ms. This flight had "
        f"{margin['flight_delay_s'] * 1e3:.1f} ms added, for which the prediction is "
        f"{'stable' if stable else 'unstable'}: it {'diverged' if diverged else 'did not diverge'}."
    )
    return _picture("delay-margin", "Delay margin", caption, lambda: _delay_margin(margin, diverged=diverged))


def _picture(name: str, title: str, caption: str, draw: Callable[[], Figure]) -> Picture:
    with mpl.rc_context({**STYLE, "svg.hashsalt": name}):
        return Picture(name, title, caption, _svg(draw()))


def _svg(figure: Figure) -> str:
    """The figure as an element of a page: no XML prologue, no fixed size, no id that another one may have."""
    text = StringIO()
    FigureCanvasSVG(figure).print_svg(text, metadata=NO_METADATA)
    svg = text.getvalue()
    svg = re.sub(r' id="[\w.]+_\d+"', "", svg[svg.index("<svg") :])
    return re.sub(r'<svg ([^>]*?)width="\S+" height="\S+"', r"<svg \1", svg, count=1)


def _trajectory_3d(log: Log) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 4.0))
    axes: Any = figure.add_subplot(projection="3d")
    for stream, style in PATHS.items():
        axes.plot(*(_stride(log.column(stream, axis)) for axis in ("x_m", "y_m", "z_m")), **style)
    axes.set(xlabel="x east (m)", ylabel="y north (m)", zlabel="z up (m)")
    axes.set_box_aspect((1, 1, 0.9), zoom=0.92)
    axes.legend(loc="upper left")
    figure.subplots_adjust(left=0.0, right=0.94, bottom=0.04, top=1.0)
    return figure


def _top_and_altitude(log: Log) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, 4.0), layout="constrained")
    top, side = figure.subplots(1, 2)
    for stream, style in PATHS.items():
        top.plot(_stride(log.column(stream, "x_m")), _stride(log.column(stream, "y_m")), **style)
        side.plot(*_envelope(log.column(stream, "t_s"), log.column(stream, "z_m")), **style)
    top.set(xlabel="x east (m)", ylabel="y north (m)")
    top.set_aspect("equal", adjustable="datalim")
    side.set(xlabel="time (s)", ylabel="z up (m)")
    _legend_above(top)
    return figure


def _position_errors(log: Log) -> Figure:
    t_s, error_W = position_error(log)
    return _over_time("error (m)", [(axis, t_s, error_m) for axis, error_m in zip("xyz", error_W.T, strict=True)])


def _angles_over_time(log: Log, ylabel: str, **columns: str) -> Figure:
    t_s = log.column("truth", "t_s")
    angles_rad = {label: log.column("truth", f"{column}_rad") for label, column in columns.items()}
    return _over_time(ylabel, [(label, t_s, np.degrees(angle)) for label, angle in angles_rad.items()])


def _control_inputs(log: Log) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
    thrust, torque = figure.subplots(2, 1, sharex=True)
    t_s = log.column("effort", "t_s")
    for side, color in (("right", BLUE), ("left", ORANGE)):
        thrust.plot(*_envelope(t_s, log.column("effort", f"thrust_{side}_N")), color=color, label=side)
        torque.plot(*_envelope(t_s, log.column("effort", f"torque_{side}_Nm")), color=color, label=side)
    thrust.set(ylabel="thrust (N)")
    torque.set(ylabel="torque (N m)", xlabel="time (s)")
    _legend_above(thrust)
    return figure


def _host_periods(log: Log) -> Figure:
    periods_ms = measured(log, "period_s") * 1e3
    figure, axes = _single()
    if periods_ms.size:  # start-up and the host's hiccups would squeeze all others into one bar
        axes.hist(periods_ms[periods_ms <= np.percentile(periods_ms, 99)], bins=60, color=GREY)
    axes.set(xlabel="host time between requests (ms); longest 1 % left out", ylabel="requests")
    return figure


def _paced_periods(log: Log, scenario: Scenario) -> Figure:
    """Counts on a logarithmic axis, since the rare long ones are what matters."""
    periods_ms = measured(log, "period_s") * 1e3
    nominal_ms = scenario.control.period_s / scenario.speed * 1e3
    bin_ms = nominal_ms / 48  # 0.25 ms at the paper's 12 ms
    edges_ms = np.arange(0, 121) * bin_ms
    figure, axes = _single()
    axes.hist(np.minimum(periods_ms, edges_ms[-1]), bins=edges_ms.tolist(), color=BLUE)
    axes.axvline(nominal_ms, color=ORANGE, linewidth=1, linestyle="--", label=f"nominal {nominal_ms:g} ms")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set(xlabel="time between requests (ms); last bar: all longer ones", ylabel="requests (log scale)")
    _legend_above(axes)
    return figure


def _timing(log: Log) -> Figure:
    names = {
        "step lateness": "step_lateness_s",
        "answer latency": "answer_latency_s",
        "board round trip": "round_trip_s",
    }
    columns = {label: MEASURED[name] for label, name in names.items()}
    return _over_time(
        "wall time (ms)",
        [
            (label, log.column(stream, "t_s"), log.column(stream, field) * 1e3)
            for label, (stream, field) in columns.items()
        ],
    )


def _delay_margin(margin: DelayMargin, *, diverged: bool) -> Figure:
    figure, axes = _single()
    delays_ms = np.array(margin["delays_s"]) * 1e3
    margin_ms, flight_ms = margin["margin_s"] * 1e3, margin["flight_delay_s"] * 1e3
    axes.plot(delays_ms, margin["radius"], color=BLUE, label="closed loop")
    axes.axhline(1.0, color=GREY, linewidth=1)
    axes.axvline(margin_ms, color=ORANGE, linestyle="--", linewidth=1, label=f"margin {margin_ms:.1f} ms")
    axes.plot(
        flight_ms,
        np.interp(flight_ms, delays_ms, margin["radius"]),
        linestyle="none",
        marker="X" if diverged else "o",
        markersize=8,
        color=RED if diverged else GREEN,
        label=f"this flight {'diverged' if diverged else 'flew'}",
    )
    axes.set(xlabel="added delay (ms)", ylabel="spectral radius")
    _legend_above(axes)
    return figure


def _over_time(ylabel: str, lines: list[tuple[str, Array, Array]]) -> Figure:
    figure, axes = _single()
    for (label, t_s, values), color in zip(lines, (BLUE, ORANGE, GREEN), strict=False):
        axes.plot(*_envelope(t_s, values), color=color, label=label)
    axes.set(xlabel="time (s)", ylabel=ylabel)
    _legend_above(axes)
    return figure


def _single() -> tuple[Figure, Any]:
    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
    return figure, figure.subplots()


def _legend_above(axes: Any) -> None:
    """Above the axes, where it hides nothing."""
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, borderaxespad=0.2, handlelength=1.5)


def _stride(values: Array) -> Array:
    """Evenly spaced values from first to last: enough for a smooth path."""
    if len(values) <= POINTS_PER_LINE:
        return values
    return np.take(values, np.linspace(0, len(values) - 1, POINTS_PER_LINE).astype(int))


def _envelope(t_s: Array, values: Array) -> tuple[Array, Array]:
    """At most POINTS_PER_LINE points that keep every peak: least and greatest value of each stretch."""
    if len(values) <= POINTS_PER_LINE:
        return t_s, values
    stretches = np.array_split(np.arange(len(values)), POINTS_PER_LINE // 2)
    comparable = np.nan_to_num(values)
    kept = {int(stretch[pick(comparable[stretch])]) for stretch in stretches for pick in (np.argmin, np.argmax)}
    indices = sorted(kept)
    return t_s[indices], values[indices]
