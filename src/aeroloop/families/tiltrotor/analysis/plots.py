"""The report's pictures of a flight: the paper's figures first, then what a paced flight adds."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from aeroloop.analysis.drawing import (
    BLUE,
    GREY,
    ORANGE,
    REFERENCE_STYLE,
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
from aeroloop.analysis.sensed_plots import estimation_figure, wind_figure
from aeroloop.families.tiltrotor.analysis.metrics import flown, position_error
from aeroloop.families.tiltrotor.analysis.timing import MEASURED, measured
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.recording.log import Log


def flight_pictures(log: Log, scenario: TiltrotorScenario) -> list[Picture]:
    pictures = [
        *path_pictures(
            _paths(log),
            "Trajectory",
            "The path flown and its setpoint, as in the paper's Figure 10.",
            "Position over the ground, and height above the origin over time.",
        ),
        picture(
            "position-errors",
            "Position errors",
            "Flown minus setpoint on each world axis.",
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
    pictures += _met_and_estimated(log)
    if scenario.lockstep:
        caption = (
            "Lockstep: simulated time waits for the board, so this shows the speed of the host, not "
            "real-time pacing. Fly with --pace real for the paper's Figure 14."
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
            "Start lateness of a step, time of the plant to answer a sensor request, and time that the "
            "board waits for that answer.",
            lambda: _timing(log),
        ),
    ]
    return pictures


def _met_and_estimated(log: Log) -> list[Picture]:
    """The air and the state, of flights that have them."""
    flight = flown(log)
    told = {
        "air": ("wind", "Wind", "Wind velocity at the aircraft.", lambda: wind_figure(flight)),
        "estimate": (
            "estimation",
            "Estimation error",
            "Truth minus estimate; grey is the filter's own one-sigma estimate.",
            lambda: estimation_figure(flight),
        ),
    }
    return [picture(*of_stream) for stream, of_stream in told.items() if len(flight.rows(stream))]


def _paths(log: Log) -> list[Path3]:
    (track,) = tracks(log)
    return [
        Path3(track.t_s, track.pos_W, {"color": BLUE, "label": "flown"}),
        Path3(track.reference_t_s, track.reference_W, {**REFERENCE_STYLE, "label": "setpoint"}),
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
    if periods_ms.size:  # start-up and delays of the host would compress all others into one bar
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
