"""The report's pictures of a fixed wing's flight over time; the maps are in `maps.py`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from aeroloop.analysis.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PANEL_IN,
    REFERENCE_STYLE,
    Line,
    Picture,
    legend_above,
    panels,
    picture,
)
from aeroloop.analysis.statistics import Array
from aeroloop.core.wing_signals import LETTERS, Step
from aeroloop.families.fixedwing.analysis.metrics import SETTLED_S
from aeroloop.recording.log import Log

STEP_COLORS = {
    Step.LOITER: "#e4e4e4",
    Step.PLAN: "#f6d5c3",
    Step.LEAVE: "#f9e6b3",
    Step.FOLLOW: "#d9ecd2",
    Step.REPLAN: "#cfe3f2",
    Step.TRANSIENT: "#e2d6ee",
    Step.APPROACH: "#eef0b8",
    Step.ARRIVE: "#f3d3e0",
    Step.ARRIVED: "#d8c9b6",
    Step.STRANDED: "#f2b8b5",
}


def flight_pictures(log: Log, *, height_m: float, airspeed_m_s: float) -> list[Picture]:
    t_s = log.column("truth", "t_s")
    return [
        picture(
            "following",
            "Path following",
            "Cross-track error; roll, true and commanded; estimated roll time constant. Colours "
            "are the mission's steps (letters as in the paper's Figure 8).",
            lambda: _with_steps(
                log,
                {
                    "cross-track (m)": [_line(log, "guidance", "cross_m", 1.0, "estimated")],
                    "roll (deg)": [
                        _line(log, "truth", "roll_rad", math.degrees(1.0), "true"),
                        _line(log, "guidance", "roll_command_rad", math.degrees(1.0), "commanded", REFERENCE_STYLE),
                    ],
                    "time constant (s)": [_line(log, "guidance", "lag_s", 1.0, "")],
                },
            ),
        ),
        picture(
            "height-and-speed",
            "Height and airspeed",
            "Height above mean sea level and the terrain below; true airspeed. Errors are counted from "
            f"{SETTLED_S:g} s on, when the estimator has settled.",
            lambda: _with_steps(
                log,
                {
                    "height (m)": [
                        _line(log, "truth", "z_m", 1.0, "flown"),
                        Line("setpoint", t_s, np.full(len(t_s), height_m), REFERENCE_STYLE),
                        _line(log, "truth", "ground_m", 1.0, "ground", {"color": GREY}),
                    ],
                    "airspeed (m/s)": [
                        _line(log, "truth", "airspeed_m_s", 1.0, ""),
                        Line("", t_s, np.full(len(t_s), airspeed_m_s), REFERENCE_STYLE),
                    ],
                },
            ),
        ),
        picture(
            "surfaces",
            "Surfaces and throttle",
            "Actual deflection, after lag, rate limits and end stops.",
            lambda: panels(
                {
                    "surfaces (deg)": [
                        _line(log, "effort", f"{name}_rad", math.degrees(1.0), name, {"color": color})
                        for name, color in (("aileron", BLUE), ("elevator", ORANGE), ("rudder", GREEN))
                    ],
                    "throttle": [_line(log, "effort", "throttle", 1.0, "")],
                },
                height_in=2 * PANEL_IN + 0.4,
            ),
        ),
        picture(
            "estimation",
            "Estimation errors",
            "Estimate of the board minus truth.",
            lambda: _legends(panels(_estimation_errors(log), height_in=2 * PANEL_IN + 0.8)),
        ),
    ]


def _line(log: Log, stream: str, field: str, scale: float, label: str, style: dict[str, Any] | None = None) -> Line:
    return Line(label, log.column(stream, "t_s"), log.column(stream, field) * scale, style or {"color": BLUE})


def _with_steps(log: Log, lines: dict[str, Sequence[Line]]) -> Figure:
    figure = _legends(panels(lines, height_in=len(lines) * PANEL_IN + 0.8))
    changes, codes = log.rows["mission_step"], log.column("mission_step", "step")
    times_s = [*changes[:, 0].tolist(), float(log.column("truth", "t_s")[-1]) if len(changes) else 0.0]
    met = dict.fromkeys(Step(int(code)) for code in codes if code in list(Step))
    for panel in figure.axes:
        for code, begun_s, ended_s in zip(codes, times_s[:-1], times_s[1:], strict=True):
            if code in list(Step):
                panel.axvspan(begun_s, ended_s, color=STEP_COLORS[Step(int(code))], linewidth=0, zorder=0)
    if met:
        patches = [Patch(color=STEP_COLORS[step], label=f"{LETTERS[step]} {step.name.lower()}") for step in met]
        figure.legend(handles=patches, loc="outside lower center", ncols=4, fontsize=8)
    return figure


def _legends(figure: Figure) -> Figure:
    """Panels below the first have lines of their own names."""
    for panel in figure.axes[1:]:
        legend_above(panel)
    return figure


def _estimation_errors(log: Log) -> dict[str, Sequence[Line]]:
    t_s = log.column("estimate", "t_s")
    true_s = log.column("truth", "t_s")

    def error(field: str) -> Array:
        true: Array = np.interp(t_s, true_s, log.column("truth", field)) if len(true_s) else t_s * np.nan
        return log.column("estimate", field) - true

    return {
        "position (m)": [Line(name, t_s, error(f"{name}_m")) for name in "xyz"],
        "angles (deg)": [Line(name, t_s, np.degrees(error(f"{name}_rad"))) for name in ("roll", "pitch")],
    }
