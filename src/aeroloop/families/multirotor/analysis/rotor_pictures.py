"""The report's section of the rotor speeds, with its pictures: scheme, network, path, and signals with the disturbed
time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aeroloop.analysis import control_diagrams
from aeroloop.analysis.drawing import BLUE, RED, REFERENCE_STYLE, Line, Path3, Picture, picture, trajectory_3d
from aeroloop.analysis.fault_spans import FaultSpan, Span, fault_spans, merged, within
from aeroloop.analysis.section import Figures, Section, Text
from aeroloop.analysis.statistics import Array
from aeroloop.analysis.synchronised_plots import Labels, Signals, lines
from aeroloop.analysis.synchronised_plots import pictures as signal_pictures
from aeroloop.analysis.track import POSITION
from aeroloop.control.synchronisation_gains import ROTOR, ROTOR_POLES, Gains
from aeroloop.core.faults import sine
from aeroloop.families.multirotor import airframe
from aeroloop.families.multirotor.analysis.flight import SPEEDS, Flight
from aeroloop.families.multirotor.analysis.rotor_sync import names
from aeroloop.families.multirotor.rotor_drive import Differing
from aeroloop.families.multirotor.scenario import QuadrotorScenario
from aeroloop.sensors.noise import Errors

LABELS = Labels(
    axis="rotor",
    error="rad/s",
    control="speed (rad/s)",
    surface="s (rad/s)",
    control_title="Speed setpoints of the ESCs",
    control_caption="Output of the law for each ESC.",
)
CONCERNED = ("rotor", "battery", "tachometer")
"""Targets of faults that disturb the rotor speeds."""
MEANING = (
    "Equal errors of all rotors change lift; differences between them turn the aircraft: rolling, pitching and yawing "
    "torque. To keep the rotors together is to keep a motor's fault out of the attitude; it does not improve the path."
)
WIND = ("wind_x_m_s", "wind_y_m_s", "wind_z_m_s")


def rotor_pictures(flight: Flight, scenario: QuadrotorScenario) -> list[Picture]:
    t_s = flight.column("rotor_law", "t_s")
    if not t_s.size:
        return []
    table = scenario.aircraft.synchronisation
    law = table.law if table is not None else "none"
    gains = table.gains(ROTOR, ROTOR_POLES) if table is not None and law != "none" else None
    found = signals(flight, scenario, gains)
    shown = signal_pictures(
        found, LABELS, phi=gains.phi if gains is not None and gains.k else 0.0, duration_s=float(t_s[-1])
    )
    path = picture(
        "path-3d",
        "Path in space",
        "The path flown and its setpoint; red while something disturbed the rotors.",
        lambda: trajectory_3d(_paths(flight, found.spans)),
    )
    if gains is None:
        return [path, *shown]
    diagrams = (control_diagrams.scheme(_plant(flight), law, gains), control_diagrams.network("rotor", gains))
    return [*(drawn for drawn in diagrams if drawn is not None), path, *shown]


def _plant(flight: Flight) -> control_diagrams.Plant:
    return control_diagrams.Plant(
        axes=f"{flight.rotors} rotors",
        reference="speed setpoints\nof the\nflight controller",
        command="speeds",
        plant="ESCs, motors\nand rotors",
        disturbed_by="load, weak motor, air",
        sensor="tachometers (with noise)",
    )


def signals(flight: Flight, scenario: QuadrotorScenario, gains: Gains | None) -> Signals:
    from_s = _from_s(flight, scenario)

    def of(stream: str, pattern: str) -> list[Line]:
        t_s = flight.column(stream, "t_s")
        values = flight.columns(stream, names(flight.rotors, pattern))
        return lines("rotor {}", t_s[t_s >= from_s], values[t_s >= from_s])

    end_s = float(flight.column("rotor_law", "t_s")[-1])
    faults = [fault for fault in fault_spans(flight.rows("fault"), end_s) if fault.target in CONCERNED]
    spans = disturbed(scenario, faults, end_s)
    network = gains is not None and gains.gs > 0.0 and flight.column("rotor_weights", "t_s").size > 0
    return Signals(
        sync_errors=of("rotor_law", "sync_error_{}_rad_s"),
        errors=of("rotor_law", "error_{}_rad_s"),
        control=of("rotor_law", "command_{}_rad_s"),
        surface=of("rotor_law", "surface_{}_rad_s") if gains is not None else (),
        weights={f"w {key.upper()}": of("rotor_weights", f"w_{key}_{{}}") for key in "pid"} if network else {},
        disturbance={
            label: [Line(line.label, line.t_s[line.t_s >= from_s], line.values[line.t_s >= from_s]) for line in of_axes]
            for label, of_axes in disturbance(flight, scenario, faults).items()
        },
        spans=[(max(start_s, from_s), last_s) for start_s, last_s in spans if last_s > from_s],
    )


def _from_s(flight: Flight, scenario: QuadrotorScenario) -> float:
    """What is drawn begins where the metrics do: before that the take-off would hide everything else."""
    table, t_s = scenario.aircraft.synchronisation, flight.column("rotor_law", "t_s")
    from_s = table.evaluate_from_s if table is not None else 0.0
    return from_s if np.count_nonzero(t_s >= from_s) > 1 else 0.0


def disturbed(scenario: QuadrotorScenario, faults: Sequence[FaultSpan], end_s: float) -> list[Span]:
    """By loads of the scenario and by faults; wind, which blows at all times, is not shaded."""
    loads = ((load.from_s, end_s) for load in scenario.aircraft.motors.loads)
    return merged([*loads, *(fault.span for fault in faults)])


def disturbance(flight: Flight, scenario: QuadrotorScenario, faults: Sequence[FaultSpan]) -> dict[str, Sequence[Line]]:
    """What disturbed the rotors over time; quantities that were never disturbed are left out."""
    t_s, n = flight.column("rotor_law", "t_s"), flight.rotors
    found: dict[str, Sequence[Line]] = {}
    loads, given = _loads(t_s, scenario, faults, n), _given(t_s, faults, n)
    if loads.any():
        found["load (rad/s²)"] = lines("rotor {}", t_s, loads)
    if (given != 1.0).any():
        found["speed given (%)"] = lines("rotor {}", t_s, 100.0 * given)
    tachometer = scenario.aircraft.aboard.tachometer
    noisy = tachometer is not None and tachometer.errors != Errors()
    if len(flight.rows("tachometer")) and (noisy or any(fault.target == "tachometer" for fault in faults)):
        sent_s = flight.column("tachometer", "t_s")
        speeds = flight.columns("effort", SPEEDS[:n])
        true = np.column_stack([np.interp(sent_s, flight.column("effort", "t_s"), column) for column in speeds.T])
        measured = flight.columns("tachometer", names(n, "speed_{}_rad_s"))
        found["tachometer\nerror (rad/s)"] = lines("rotor {}", sent_s, measured - true)
    if len(flight.rows("air")) and (wind := flight.columns("air", WIND)).any():
        found["wind (m/s)"] = [
            Line(axis, flight.column("air", "t_s"), column) for axis, column in zip("xyz", wind.T, strict=True)
        ]
    return found


def _loads(t_s: Array, scenario: QuadrotorScenario, faults: Sequence[FaultSpan], rotors: int) -> Array:
    """Deceleration of each rotor: the scenario's by the drive's own function, and that of faults."""
    motor = airframe.flown(scenario).motors
    differing = Differing.of(motor, scenario.aircraft.motors, rotors)
    total = np.array([differing.load_rad_s2(t) for t in t_s.tolist()])
    for fault in faults:
        if fault.kind in ("load", "load_sine"):
            inside = within(t_s, [fault.span])
            since_s = t_s[inside] - fault.start_s
            wave = fault.kind == "load_sine"
            value = [sine(fault.values, t) for t in since_s.tolist()] if wave else fault.values[0]
            total[inside, fault.channel] += value
    return total


def _given(t_s: Array, faults: Sequence[FaultSpan], rotors: int) -> Array:
    """Fraction of the speed asked for that each rotor is given; thrust is proportional to its square."""
    given = np.ones((len(t_s), rotors))
    for fault in faults:
        inside = within(t_s, [fault.span])
        value = fault.values[0]
        match fault.kind:
            case "effectiveness":
                given[inside, fault.channel] *= value
            case "weak":
                given[inside, fault.channel] *= np.sqrt(value)
            case "dead":
                given[inside, fault.channel] = 0.0
            case "sag":
                given[inside] *= 1.0 - value
    return given


def _paths(flight: Flight, spans: Sequence[Span]) -> list[Path3]:
    paths = [Path3(flight.t_s, flight.pos_W, {"color": BLUE, "label": "flown"})]
    inside = within(flight.t_s, spans)
    if inside.any():
        while_disturbed = np.where(inside[:, None], flight.pos_W, np.nan)
        paths.append(Path3(flight.t_s, while_disturbed, {"color": RED, "label": "disturbed"}))
    wanted_s = flight.column("setpoint", "t_s")
    if wanted_s.size:
        style = {**REFERENCE_STYLE, "label": "setpoint"}
        paths.append(Path3(wanted_s, flight.columns("setpoint", POSITION), style))
    return paths


def rotor_section(flight: Flight, scenario: QuadrotorScenario) -> list[Section]:
    drawn = rotor_pictures(flight, scenario)
    if not drawn:
        return []
    table = scenario.aircraft.synchronisation
    law = table.law if table is not None else "none"
    since = f" Figures begin at {table.evaluate_from_s:g} s, as the metrics do." if table is not None else ""
    several = scenario.aircraft.count > 1
    if several:  # names of figures are anchors of the page
        drawn = [replace(each, name=f"{each.name}-{flight.number}") for each in drawn]
    title = f"Rotor speeds, vehicle {flight.number}" if several else "Rotor speeds"
    words = Text(f"Law: {law}. {MEANING}{since}")
    return [Section(f"rotors{flight.number or ''}", title, [words, Figures(drawn)])]
