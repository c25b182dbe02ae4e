"""The sections of a helicopter's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aeroloop.analysis.delay_margin import margin_section, predicted
from aeroloop.analysis.drawing import (
    BLUE,
    PANEL_IN,
    REFERENCE_STYLE,
    Line,
    Path3,
    Picture,
    panels,
    path_pictures,
    picture,
)
from aeroloop.analysis.section import Block, Column, Figures, Section, Table, Text, flight_sections
from aeroloop.analysis.truth_log import TruthLog
from aeroloop.control.flown_law import flown_law
from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.families.helicopter import model
from aeroloop.families.helicopter.airframe import Helicopter
from aeroloop.families.helicopter.analysis import POSITION, HelicopterLog
from aeroloop.families.helicopter.design import MOST_DELAY_S, of_scenario
from aeroloop.families.helicopter.law import of_state
from aeroloop.families.helicopter.scenario import HelicopterScenario
from aeroloop.recording.log import Log

TITLES = {
    "pos_rms_m": ("distance to the setpoint, RMS", "m"),
    "horizontal_max_m": ("largest horizontal error", "m"),
    "height_max_m": ("largest error of height", "m"),
    "yaw_max_deg": ("largest error of heading", "deg"),
    "roll_max_deg": ("largest roll", "deg"),
    "pitch_max_deg": ("largest pitch", "deg"),
    "flap_max_deg": ("largest tilt of the disc against the body", "deg"),
    "rotor_speed_low_pct": ("slowest rotor", "% of its speed"),
    "power_mean_W": ("power, mean", "W"),
}


def sections(scenario: HelicopterScenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    h, plan = of_scenario(scenario)
    flight, found = HelicopterLog(log, 0), summary["metrics"]
    rows = [
        (words, "not known" if found.get(name) is None else f"{found[name]:.3g}", unit)
        for name, (words, unit) in TITLES.items()
    ]
    blocks: list[Block] = [
        Text(f"Errors count from {scenario.aircraft.reference.evaluate_from_s:g} s on."),
        Table([Column("", "name"), Column("value"), Column("unit", "text")], rows),
    ]
    shown: list[Section] = []
    if flight.t_s.size:
        shown = flight_sections(_paths(flight))
        blocks.append(Figures([_errors(flight)]))
        shown.append(Section("rotors", "Rotors", [_hover(h), Figures([_rotors(flight), _controls(flight)])]))
    law = plan.feedback(of_state(flown_law(scenario).function))
    margin = predicted(scenario, lambda delay_s: plan.radius(law, delay_s), MOST_DELAY_S / 2) if law.finite else None
    diverged = bool(found.get("diverged"))
    return [*shown, Section("errors", "Errors", blocks), margin_section(margin, diverged=diverged, where="hover")]


def _paths(flight: TruthLog) -> list[Picture]:
    wanted = Path3(
        flight.column("setpoint", "t_s"), flight.columns("setpoint", POSITION), {**REFERENCE_STYLE, "label": "setpoint"}
    )
    flown = Path3(flight.t_s, flight.pos_W, {"color": BLUE, "label": "flown"})
    return path_pictures(
        [wanted, flown], "Path", "The path flown and its setpoint.", "Position over the ground, and height over time."
    )


def _errors(flight: TruthLog) -> Picture:
    off_m = flight.pos_W - flight.columns("setpoint", POSITION)
    roll, pitch, yaw = np.degrees(flight.attitude_rad.T)
    lines: dict[str, Sequence[Line]] = {
        "error (m)": [Line(name, flight.t_s, off_m[:, i]) for i, name in enumerate(("east", "north", "up"))],
        "roll, pitch (deg)": [Line("roll", flight.t_s, roll), Line("pitch", flight.t_s, pitch)],
        "yaw (deg)": [
            Line("flown", flight.t_s, yaw),
            Line("setpoint", flight.t_s, np.degrees(flight.column("setpoint", "yaw_rad")), REFERENCE_STYLE),
        ],
    }
    caption = (
        "Position minus setpoint; roll to the right and pitch nose down are positive. In hover it leans, since the \
tail rotor pushes it sideways."
    )
    return picture("errors", "Errors and attitude", caption, lambda: panels(lines, height_in=3 * PANEL_IN + 0.4))


def _hover(h: Helicopter) -> Table:
    """What the design model says of the hover in still air at sea level."""
    state, command = model.hover(h)
    _, thrust = model.in_air(h)(state, command, [0.0, 0.0, 0.0], model.SEA_LEVEL_KG_M3)
    main_N, tail_N = (float(value) for value in np.array(thrust).ravel())
    rows = [
        ("thrust of the main rotor", f"{main_N:.1f}", "N"),
        ("weight", f"{h.body.mass_kg * GRAVITY_M_S2:.1f}", "N"),
        ("thrust of the tail rotor", f"{tail_N:.2f}", "N"),
        ("roll", f"{np.degrees(state[model.ANGLES][0]):.2f}", "deg"),
        ("collective pitch", f"{np.degrees(command[model.COLLECTIVE]):.2f}", "deg"),
        ("induced velocity", f"{state[model.INFLOW][0]:.2f}", "m/s"),
        ("power", f"{command[model.THROTTLE] * h.drive.power_max_W:.0f}", "W"),
        ("lag of flapping", f"{1e3 * h.head.flap_lag_s:.0f}", "ms"),
    ]
    return Table([Column("hover, by the design model", "name"), Column("value"), Column("unit", "text")], rows)


def _of_effort(flight: TruthLog, names: Mapping[str, str], scale: float = 1.0) -> list[Line]:
    t_s = flight.column("effort", "t_s")
    return [Line(label, t_s, scale * flight.column("effort", name)) for name, label in names.items()]


def _rotors(flight: TruthLog) -> Picture:
    lines: dict[str, Sequence[Line]] = {
        "thrust (N)": _of_effort(flight, {"thrust_N": "main", "tail_thrust_N": "tail"}),
        "inflow (m/s)": _of_effort(flight, {"inflow_m_s": "main", "tail_inflow_m_s": "tail"}),
        "disc (deg)": _of_effort(flight, {"flap_x_rad": "to the right", "flap_y_rad": "forward"}, np.degrees(1.0)),
        "speed (rad/s)": _of_effort(flight, {"rotor_rad_s": ""}),
    }
    caption = "Thrust and induced velocity of both rotors, tilt of the main rotor's disc, rotor speed."
    return picture("rotors", "Rotors", caption, lambda: panels(lines, height_in=4 * PANEL_IN + 0.4))


def _controls(flight: TruthLog) -> Picture:
    deg = np.degrees(1.0)
    lines: dict[str, Sequence[Line]] = {
        "pitch (deg)": _of_effort(flight, {"collective_rad": "collective", "tail_rad": "tail"}, deg),
        "cyclic (deg)": _of_effort(flight, {"lateral_rad": "lateral", "longitudinal_rad": "longitudinal"}, deg),
        "power (W)": _of_effort(flight, {"power_W": ""}),
    }
    caption = "Pitch of the blades behind the servos, and power of the engine."
    return picture("controls", "Controls", caption, lambda: panels(lines, height_in=3 * PANEL_IN + 0.4))
