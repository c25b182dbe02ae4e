"""Figures of the air along the flight, and of the estimation error."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from aeroloop.analysis.drawing import GREY, PANEL_IN, Line, legend_above, over_time, panels, stride
from aeroloop.analysis.statistics import Array
from aeroloop.analysis.truth_log import TruthLog, estimation
from aeroloop.analysis.vehicle_log import VehicleLog


def estimation_figure(flight: TruthLog) -> Figure:
    """Truth minus estimate, and the filter's standard deviation."""
    errors = estimation(flight)
    told_s = flight.column("estimate", "t_s")

    def std(field: str) -> Array:
        return np.asarray(np.interp(errors.t_s, told_s, flight.column("estimate", field)))

    shown: dict[str, tuple[Array, Array]] = {
        "horizontal (m)": (errors.horizontal_m, std("pos_std_m")),
        "height (m)": (errors.pos_W[:, 2], std("height_std_m")),
        "roll (deg)": (np.degrees(errors.attitude_rad[:, 0]), np.degrees(std("tilt_std_rad"))),
        "pitch (deg)": (np.degrees(errors.attitude_rad[:, 1]), np.degrees(std("tilt_std_rad"))),
        "yaw (deg)": (np.degrees(errors.attitude_rad[:, 2]), np.degrees(std("yaw_std_rad"))),
    }
    figure = panels(
        {label: [Line("error", errors.t_s, error)] for label, (error, _) in shown.items()},
        height_in=len(shown) * PANEL_IN * 0.85,
    )
    for axes, (label, (_, one_sigma)) in zip(figure.axes, shown.items(), strict=True):
        t_s, sigma = stride(errors.t_s), stride(one_sigma)
        floor = np.zeros(len(sigma)) if label.startswith("horizontal") else -sigma  # a distance has no sign
        axes.fill_between(t_s, floor, sigma, color=GREY, alpha=0.35, linewidth=0, label="1 sigma")
    legend_above(figure.axes[0])
    return figure


def wind_figure(flight: VehicleLog) -> Figure:
    names = {"east": "wind_x_m_s", "north": "wind_y_m_s", "up": "wind_z_m_s"}
    t_s = flight.column("air", "t_s")
    return over_time("wind (m/s)", [Line(label, t_s, flight.column("air", field)) for label, field in names.items()])
