"""The report's pictures of a flight: the paper's figures first, then what a paced flight adds."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
from matplotlib.figure import Figure

from aeroloop.analysis.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    WANTED,
    Line,
    Path3,
    Picture,
    legend_above,
    over_time,
    panels,
    path_pictures,
    picture,
    single,
)
from aeroloop.analysis.generic import tracks
from aeroloop.families.tiltrotor.analysis.metrics import position_error
from aeroloop.families.tiltrotor.analysis.timing import MEASURED, measured
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.recording.log import Log


class DelayMargin(TypedDict):
    """What the design model predicts for added delay, and where a flight stands."""

    delays_s: list[float]
    radius: list[float]  # spectral radius of the closed loop at each delay
    margin_s: float
    flight_delay_s: float


def flight_pictures(log: Log, scenario: TiltrotorScenario) -> list[Picture]:
    pictures = [
        *path_pictures(
            _paths(log),
            "Trajectory",
            "The path flown and the reference, as in the paper's Figure 10.",
            "The same path seen from above, and its height over time.",
        ),
        picture(
            "position-errors",
            "Position errors",
            "Flown minus reference on each world axis.",
            lambda: _position_errors(log),
        ),
        picture(
            "attitude",
            "Roll, pitch and yaw",
            "Attitude of the body in ZYX angles, as in the paper's Figure 11.",
            lambda: _angles_over_time(log, "angle (deg)", roll="roll", pitch="pitch", yaw="yaw"),
        ),
        picture(
            "tilt-angles",
            "Servo angles",
            "Tilt of the right and left rotor pods, as in the paper's Figure 12.",
            lambda: _angles_over_time(log, "tilt (deg)", right="tilt_right", left="tilt_left"),
        ),
        picture(
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
            picture("period-histogram", "Period between sensor requests", caption, lambda: _host_periods(log))
        )
        return pictures
    pictures += [
        picture(
            "period-histogram",
            "Period between sensor requests",
            "Wall time between sensor requests, measured at the plant, as in the paper's Figure 14.",
            lambda: _paced_periods(log, scenario),
        ),
        picture(
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
    return picture("delay-margin", "Delay margin", caption, lambda: _delay_margin(margin, diverged=diverged))


def _paths(log: Log) -> list[Path3]:
    (track,) = tracks(log)
    return [
        Path3(track.t_s, track.pos_W, {"color": BLUE, "label": "flown"}),
        Path3(track.wanted_t_s, track.wanted_W, {**WANTED, "label": "reference"}),
    ]


def _position_errors(log: Log) -> Figure:
    t_s, error_W = position_error(log)
    return over_time("error (m)", [Line(axis, t_s, error_m) for axis, error_m in zip("xyz", error_W.T, strict=True)])


def _angles_over_time(log: Log, ylabel: str, **columns: str) -> Figure:
    t_s = log.column("truth", "t_s")
    angles_rad = {label: log.column("truth", f"{column}_rad") for label, column in columns.items()}
    return over_time(ylabel, [Line(label, t_s, np.degrees(angle)) for label, angle in angles_rad.items()])


def _control_inputs(log: Log) -> Figure:
    t_s = log.column("effort", "t_s")
    quantities = {"thrust (N)": "thrust_{}_N", "torque (N m)": "torque_{}_Nm"}
    return panels(
        {
            ylabel: [Line(side, t_s, log.column("effort", field.format(side))) for side in ("right", "left")]
            for ylabel, field in quantities.items()
        }
    )


def _host_periods(log: Log) -> Figure:
    periods_ms = measured(log, "period_s") * 1e3
    figure, axes = single()
    if periods_ms.size:  # start-up and the host's hiccups would squeeze all others into one bar
        axes.hist(periods_ms[periods_ms <= np.percentile(periods_ms, 99)], bins=60, color=GREY)
    axes.set(xlabel="host time between requests (ms); longest 1 % left out", ylabel="requests")
    return figure


def _paced_periods(log: Log, scenario: TiltrotorScenario) -> Figure:
    """Counts on a logarithmic axis, since the rare long ones are what matters."""
    periods_ms = measured(log, "period_s") * 1e3
    nominal_ms = scenario.controller.control.period_s / scenario.speed * 1e3
    bin_ms = nominal_ms / 48  # 0.25 ms at the paper's 12 ms
    edges_ms = np.arange(0, 121) * bin_ms
    figure, axes = single()
    axes.hist(np.minimum(periods_ms, edges_ms[-1]), bins=edges_ms.tolist(), color=BLUE)
    axes.axvline(nominal_ms, color=ORANGE, linewidth=1, linestyle="--", label=f"nominal {nominal_ms:g} ms")
    axes.set_yscale("symlog", linthresh=1)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set(xlabel="time between requests (ms); last bar: all longer ones", ylabel="requests (log scale)")
    legend_above(axes)
    return figure


def _timing(log: Log) -> Figure:
    names = {
        "step lateness": "step_lateness_s",
        "answer latency": "answer_latency_s",
        "board round trip": "round_trip_s",
    }
    columns = {label: MEASURED[name] for label, name in names.items()}
    return over_time(
        "wall time (ms)",
        [
            Line(label, log.column(stream, "t_s"), log.column(stream, field) * 1e3)
            for label, (stream, field) in columns.items()
        ],
    )


def _delay_margin(margin: DelayMargin, *, diverged: bool) -> Figure:
    figure, axes = single()
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
    legend_above(axes)
    return figure
