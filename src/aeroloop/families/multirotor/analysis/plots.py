"""The report's pictures of a multirotor flight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from aeroloop.analysis.drawing import (
    BLUE,
    COLORS,
    GREEN,
    GREY,
    HEIGHT_IN,
    PANEL_IN,
    REFERENCE_STYLE,
    WIDTH_IN,
    Line,
    Path3,
    Picture,
    envelope,
    over_time,
    panels,
    path_pictures,
    picture,
    single,
)
from aeroloop.analysis.sensed_plots import estimation_figure, wind_figure
from aeroloop.analysis.track import ANGLES, ATTITUDE, POSITION
from aeroloop.controllers.pixhawk.types import FlightMode
from aeroloop.core.angles import wrap_pi_half_open
from aeroloop.core.signals import LINK_SIGNALS
from aeroloop.families.multirotor.analysis import mission
from aeroloop.families.multirotor.analysis.errors import tracking
from aeroloop.families.multirotor.analysis.flight import COMMANDS, SPEEDS, Flight, flights
from aeroloop.families.multirotor.analysis.rates import clock, counts
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.recording.log import Log

SIGNAL_COLORS = (*COLORS, "#000000", "#7f5f00", "#6a3d9a", GREY)
MODE_COLORS = {
    FlightMode.MANUAL: "#f6d5c3",
    FlightMode.ALTITUDE: "#f9e6b3",
    FlightMode.POSITION: "#eef0b8",
    FlightMode.TAKEOFF: "#d9ecd2",
    FlightMode.HOLD: "#e4e4e4",
    FlightMode.MISSION: "#cfe3f2",
    FlightMode.RETURN: "#e2d6ee",
    FlightMode.LAND: "#f3d3e0",
    FlightMode.OFFBOARD: "#cdebe7",
    FlightMode.PRECLAND: "#ecc9d6",
}


def flight_pictures(log: Log, scenario: QuadrotorScenario) -> list[Picture]:
    """Figures of the whole flight, then of its single vehicle; several have their own with `vehicle_pictures`."""
    aircraft = flights(log, scenario)
    drawn = path_pictures(
        _paths(aircraft, scenario),
        "Trajectory",
        "The path flown, the autopilot's setpoint and the waypoints.",
        "Top view, and height over time; a waypoint is marked at the time of closest approach.",
    )
    if len(aircraft) == 1:
        drawn += _of_one(aircraft[0])
    if any(np.any(flight.column("signal_count", "set_hz") > 0) for flight in aircraft):  # a law's board counts none
        drawn.append(
            picture(
                "rates",
                "Rates",
                f"Rate error of each signal, per second of {clock(scenario)} time.",
                lambda: _rates(aircraft, scenario),
            )
        )
    if not scenario.lockstep:
        drawn.append(
            picture(
                "lateness",
                "Lateness",
                "Start lateness of the plant's steps: maximum since the previous point.",
                lambda: over_time(
                    "lateness (ms)",
                    [Line("", log.column("pace", "t_s"), log.column("pace", "lateness_s") * 1e3)],
                ),
            )
        )
    return drawn


def vehicle_pictures(flight: Flight) -> list[Picture]:
    """The figures of each of several vehicles."""
    return [
        picture(f"height-{flight.number}", "Height and modes", HEIGHT_CAPTION, lambda: _height(flight)),
        picture(f"position-{flight.number}", "Position error", POSITION_CAPTION, lambda: _position_error(flight)),
    ]


HEIGHT_CAPTION = "Height above the start; colours show the autopilot's modes."
POSITION_CAPTION = "Flown minus setpoint on each world axis, in the air."


def _of_one(flight: Flight) -> list[Picture]:
    told: list[tuple[str, str, str, Callable[[Flight], Figure], str]] = [
        ("height", "Height and modes", HEIGHT_CAPTION, _height, "truth"),
        (
            "attitude",
            "Roll, pitch and yaw",
            "The body's ZYX angles, and the attitude setpoint.",
            _attitude,
            "truth",
        ),
        ("position-error", "Position error", POSITION_CAPTION, _position_error, "setpoint"),
        (
            "estimation",
            "Estimation error",
            "Truth minus the autopilot's estimate, in the air; grey is its own one-sigma estimate.",
            estimation_figure,
            "estimate",
        ),
        ("motors", "Motors", "Motor commands of the autopilot, and rotor speeds.", _motors, "command"),
        ("wind", "Wind", "Wind velocity at the aircraft.", wind_figure, "air"),
        ("battery", "Battery and mode", "Remaining charge, and the autopilot's mode.", _battery, "autopilot_state"),
    ]
    return [
        picture(name, title, caption, lambda draw=draw: draw(flight))  # type: ignore[misc]
        for name, title, caption, draw, stream in told
        if len(flight.rows(stream))
    ]


def _paths(aircraft: Sequence[Flight], scenario: QuadrotorScenario) -> list[Path3]:
    paths = []
    for flight in aircraft:
        one = len(aircraft) == 1
        color = COLORS[flight.number % len(COLORS)]
        wanted_s, reference_W = flight.column("setpoint", "t_s"), flight.columns("setpoint", POSITION)
        passed = mission.passes(flight, scenario)
        flown = {"color": color, "label": "flown" if one else f"vehicle {flight.number}"}
        if wanted_s.size:
            first = flight.number == 0
            style = (
                {**REFERENCE_STYLE, "label": "setpoint" if first else "_"}
                if one
                else {**REFERENCE_STYLE, "color": color, "alpha": 0.5}
            )
            paths.append(Path3(wanted_s, reference_W, style))
        paths.append(Path3(flight.t_s, flight.pos_W, flown))
        if passed.index.size:
            marks = {"linestyle": "none", "marker": "D", "markersize": 4, "color": GREEN if one else color}
            label = {"label": "waypoints" if flight.number == 0 else "_"}
            paths.append(Path3(flight.t_s[passed.index], passed.points_W, {**marks, **label}))
    return paths


def _height(flight: Flight) -> Figure:
    figure, axes = single()
    modes = _shade_modes(axes, flight)
    if flight.t_s.size:
        start_m = flight.pos_W[0, 2]
        wanted_m = flight.column("setpoint", "z_m") - start_m
        axes.plot(*envelope(flight.t_s, flight.height_m), color=BLUE, label="flown")
        if wanted_m.size:
            axes.plot(*envelope(flight.column("setpoint", "t_s"), wanted_m), **REFERENCE_STYLE, label="setpoint")
    axes.set(xlabel="time (s)", ylabel="height (m)")
    handles, labels = axes.get_legend_handles_labels()
    handles += [Patch(color=MODE_COLORS[mode], label=mode.name.lower()) for mode in modes]
    labels += [mode.name.lower() for mode in modes]
    axes.legend(handles, labels, loc="lower left", bbox_to_anchor=(0, 1), ncols=5, borderaxespad=0.2, handlelength=1.3)
    return figure


def mode_spans(flight: Flight) -> list[tuple[float, float, FlightMode]]:
    """From when to when the autopilot was in which mode."""
    t_s, modes = flight.column("autopilot_state", "t_s"), flight.column("autopilot_state", "mode")
    known = np.isin(modes, [float(mode) for mode in FlightMode])
    t_s, modes = t_s[known], modes[known]
    if not t_s.size:
        return []
    changes = [0, *(np.flatnonzero(np.diff(modes)) + 1).tolist()]
    ends_s = [*(t_s[i] for i in changes[1:]), max(t_s[-1], flight.t_s[-1] if flight.t_s.size else t_s[-1])]
    return [(float(t_s[i]), float(end_s), FlightMode(int(modes[i]))) for i, end_s in zip(changes, ends_s, strict=True)]


def _shade_modes(axes: Any, flight: Flight) -> list[FlightMode]:
    """Returns those that there were."""
    spans = mode_spans(flight)
    for start_s, end_s, mode in spans:
        axes.axvspan(start_s, end_s, color=MODE_COLORS[mode], linewidth=0, zorder=0)
    return list(dict.fromkeys(mode for _, _, mode in spans))


def _attitude(flight: Flight) -> Figure:
    """Without jumps of a full turn: the setpoint is within half a turn of the actual angle."""
    t_s = flight.column("setpoint", "t_s")
    t_s, wanted = t_s[flight.known(t_s)], flight.columns("setpoint", ANGLES)[flight.known(t_s)]
    flown = np.unwrap(flight.attitude_rad, axis=0)
    lines: dict[str, Sequence[Line]] = {}
    for i, angle in enumerate(ATTITUDE):
        of_angle = [Line("flown", flight.t_s, np.degrees(flown[:, i]))]
        if t_s.size:
            then = np.interp(t_s, flight.t_s, flown[:, i])
            nearest = then + wrap_pi_half_open(wanted[:, i] - then)
            of_angle.append(Line("setpoint", t_s, np.degrees(nearest), REFERENCE_STYLE))
        lines[f"{angle} (deg)"] = of_angle
    return panels(lines, height_in=3 * PANEL_IN)


def _position_error(flight: Flight) -> Figure:
    errors = tracking(flight)
    return over_time("error (m)", [Line(axis, errors.t_s, errors.pos_W[:, i]) for i, axis in enumerate("xyz")])


def _motors(flight: Flight) -> Figure:
    quantities = {"command (0 to 1)": ("command", COMMANDS), "speed (rad/s)": ("effort", SPEEDS)}
    return panels(
        {
            label: [
                Line(f"motor {i + 1}", flight.column(stream, "t_s"), flight.column(stream, fields[i]))
                for i in range(flight.rotors)
            ]
            for label, (stream, fields) in quantities.items()
        }
    )


def _battery(flight: Flight) -> Figure:
    figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
    battery, mode = figure.subplots(2, 1, sharex=True)
    t_s = flight.column("autopilot_state", "t_s")
    battery.plot(*envelope(t_s, 100 * flight.column("autopilot_state", "battery")), color=BLUE)
    battery.set(ylabel="battery (%)")
    spans = mode_spans(flight)
    names = list(dict.fromkeys(name for _, _, name in spans))
    for start_s, end_s, name in spans:
        row = names.index(name)
        mode.barh(
            row, end_s - start_s, left=start_s, height=0.7, color=MODE_COLORS[name], edgecolor=GREY, linewidth=0.5
        )
    mode.set(xlabel="time (s)", yticks=range(len(names)), yticklabels=[name.name.lower() for name in names])
    mode.invert_yaxis()
    return figure


def _rates(aircraft: Sequence[Flight], scenario: QuadrotorScenario) -> Figure:
    lines = []
    for flight in aircraft:
        for number, signal in enumerate(LINK_SIGNALS):
            of_signal = flight.column("signal_count", "signal") == number
            set_hz = flight.column("signal_count", "set_hz")[of_signal][-1:]
            if not np.any(set_hz > 0):
                continue
            clock_s, count = counts(flight, "plant", number, scenario)
            lasted_s = np.diff(clock_s)
            moved = lasted_s > 0
            off = np.diff(count)[moved] / lasted_s[moved] / set_hz[0] - 1
            error_pct = np.round(100 * off, 6)  # rounding errors of zero must not fill the figure
            style = {"color": SIGNAL_COLORS[number], "marker": ".", "markersize": 3}
            lines.append(Line(signal if flight.number == 0 else "_", clock_s[1:][moved], error_pct, style))
    figure = over_time("rate error (%)", lines)
    figure.axes[0].set(xlabel=f"{clock(scenario)} time (s)")
    return figure
