"""Metrics of a hop, and the section of its report."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rocket.airframe import flown
from rocket.scenario import RocketScenario

from aeroloop.analysis import generic
from aeroloop.analysis.drawing import Line, panels, picture
from aeroloop.analysis.family import Analysis
from aeroloop.analysis.generic_sections import sections as all_signals
from aeroloop.analysis.section import Column, Figures, Section, Table
from aeroloop.core.signals import Event
from aeroloop.recording.log import Log

POSITION = ("x_m", "y_m", "z_m")
TITLES = {
    "pos_rms_m": ("distance to the setpoint, root mean square", "m"),
    "tilt_max_deg": ("largest lean", "deg"),
    "touchdown_m_s": ("speed at touchdown", "m/s"),
    "miss_m": ("from the middle of the pad at the end", "m"),
    "propellant_left_kg": ("propellant left", "kg"),
}


def metrics(log: Log, scenario: RocketScenario) -> dict[str, float]:
    truth, wanted = (np.column_stack([log.column(s, axis) for axis in POSITION]) for s in ("truth", "setpoint"))
    contacts = log.rows["event"][log.column("event", "code") == Event.GROUND_CONTACT]
    empty = not len(truth)
    flying = truth[:, 2] > flown(scenario).body.legs_m + 0.2
    apart_m = np.linalg.norm(truth[flying] - wanted[flying], axis=1)
    qx, qy = log.column("truth", "qx"), log.column("truth", "qy")
    lean_deg = np.degrees(2 * np.arcsin(np.clip(np.hypot(qx, qy), 0, 1)))
    off_m = truth[-1, :2] - scenario.aircraft.hop.goal_m if not empty else np.zeros(2)
    return {
        **generic.metrics(log, scenario),
        "landed": float(len(contacts) > 0 and log.column("effort", "thrust_N")[-1] < 1.0),
        "height_max_m": np.nan if empty else float(truth[:, 2].max()),
        "pos_rms_m": float(np.sqrt(np.mean(apart_m**2))) if apart_m.size else np.nan,
        "tilt_max_deg": np.nan if empty else float(lean_deg.max()),
        "touchdown_m_s": float(-contacts[-1, 3]) if len(contacts) else np.nan,
        "miss_m": np.nan if empty else float(np.hypot(*off_m)),
        "propellant_left_kg": np.nan
        if empty
        else float(log.column("effort", "mass_kg")[-1]) - flown(scenario).body.dry_kg,
    }


def sections(scenario: RocketScenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    found = summary["metrics"]
    rows = [
        (words, "not known" if found[name] is None else f"{found[name]:.3g}", unit)
        for name, (words, unit) in TITLES.items()
    ]
    table = Table([Column("", "name"), Column("value"), Column("unit", "text")], rows)
    t_s = log.column("effort", "t_s")
    lines: dict[str, Sequence[Line]] = {
        "thrust (N)": [Line("", t_s, log.column("effort", "thrust_N"))],
        "gimbal (deg)": [
            Line(f"about {axis}", t_s, np.degrees(log.column("effort", f"gimbal_{axis}_rad"))) for axis in ("x", "y")
        ],
        "mass (kg)": [Line("", t_s, log.column("effort", "mass_kg"))],
    }
    drawn = picture("motor", "Motor", "Thrust, gimbal and mass over time.", lambda: panels(lines, height_in=4.0))
    return [Section("hop", "Hop", [table, Figures([drawn])]), *all_signals(scenario, log, summary)]


ANALYSIS = Analysis[RocketScenario](metrics=metrics)
