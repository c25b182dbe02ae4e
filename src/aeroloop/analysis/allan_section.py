"""Allan deviations of the IMU in a run's report, on request: simulated at rest, and in closed form.

The flight is not needed: the noise has the tables of the resolved scenario and the streams of its seed, so its first
samples have the errors of the flight's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from aeroloop.analysis.drawing import COLORS, HEIGHT_IN, WIDTH_IN, Picture, legend_above, picture
from aeroloop.analysis.imu_metrics import fitted_imu
from aeroloop.analysis.section import Column, Figures, Note, Section, Table
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.scenario import Scenario
from aeroloop.sensors import allan
from aeroloop.sensors.imu import ImuConfig
from aeroloop.sensors.noise import Errors
from aeroloop.sensors.streams import Streams

MOST_H = 100.0
UNITS = {"gyro": ("Gyroscope", "rad/s"), "accel": ("Accelerometer", "m/s2")}
AXES = ("x", "y", "z")


def section(scenario: Scenario, hours: float) -> Section:
    """ConfigError without an IMU."""
    if not 0.0 < hours <= MOST_H:
        raise ConfigError(f"--allan: expected more than 0 and at most {MOST_H:g} hours, not {hours:g}")
    imu = imu_of(scenario)
    streams = Streams(scenario.seed).child("imu")
    pictures, rows = [], []
    for name, (title, unit) in UNITS.items():
        errors: Errors = getattr(imu, name).errors
        values = allan.at_rest(errors, imu.period_s, hours * 3600.0, streams.child(name))
        counts = allan.counts(len(values))
        tau_s = counts * imu.period_s
        found = np.array([[allan.overlapping(values[:, axis], count) for count in counts] for axis in range(3)])
        pictures.append(_picture(name, title, unit, tau_s, found, errors, imu.period_s))
        rows += [_row(title, axis, unit, tau_s, found[axis], errors, imu.period_s) for axis in range(3)]
    columns = [
        Column("channel", "name"),
        Column("smallest, simulated"),
        Column("closed form there"),
        Column("at"),
        Column("simulated at 1 s"),
        Column("closed form at 1 s"),
    ]
    text = (
        f"{hours:g} h at rest, {imu.rate_hz:g} Hz, seed {scenario.seed}: noise and resolution alone, without motion, "
        "temperature or range. Lines: simulated, by axis; dashed: the closed form of IEEE Std 952-1997."
    )
    return Section("allan", "Allan deviation of the IMU", [Note(text), Table(columns, rows), Figures(pictures)])


def imu_of(scenario: Scenario) -> ImuConfig:
    imu = fitted_imu(scenario)
    if imu is None:
        raise ConfigError("--allan: this aircraft has no IMU; expected one in sensors.fitted")
    return imu


def _row(title: str, axis: int, unit: str, tau_s: Vec, found: Vec, errors: Errors, period_s: float) -> list[str]:
    theory = allan.of_errors(errors, period_s, axis, tau_s)["total"]
    least, second = int(np.argmin(found)), int(np.argmin(np.abs(np.log(tau_s))))

    def cell(value: float) -> str:
        return f"{value:.3g} {unit}"

    return [
        f"{title} {AXES[axis]}",
        cell(found[least]),
        cell(theory[least]),
        f"{tau_s[least]:.3g} s",
        cell(found[second]),
        cell(theory[second]),
    ]


def _picture(name: str, title: str, unit: str, tau_s: Vec, found: Vec, errors: Errors, period_s: float) -> Picture:
    def draw() -> Figure:
        figure = Figure(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
        panel: Any = figure.subplots()
        for axis in range(3):
            style = {"color": COLORS[axis]}
            if found[axis].any():
                panel.loglog(tau_s, found[axis], label=AXES[axis], **style)
            theory = allan.of_errors(errors, period_s, axis, tau_s)
            if theory["total"].any():
                panel.loglog(tau_s, theory.pop("total"), linestyle="--", **style)
            for part, values in theory.items() if axis == 0 else ():
                if part != "total":
                    panel.loglog(tau_s, values, color="#8a8a8a", linewidth=0.8, linestyle=":")
                    panel.annotate(part, (tau_s[-1], values[-1]), fontsize=8, color="#8a8a8a", ha="right")
        panel.set(xlabel="averaging time (s)", ylabel=f"Allan deviation ({unit})")
        if panel.lines:
            legend_above(panel)
        return figure

    caption = (
        f"Overlapping Allan deviation of the {title.lower()} at rest; dashed: closed form, dotted: its parts in x."
    )
    return picture(f"allan-{name}", f"{title}: Allan deviation", caption, draw)
