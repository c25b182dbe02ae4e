"""The report's pictures of a robot's run: scheme, network, mechanism, path, and signals with the disturbed time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aeroloop.analysis import control_diagrams
from aeroloop.analysis.drawing import RED, REFERENCE_STYLE, Line, Picture, picture, single, stride
from aeroloop.analysis.fault_spans import FaultSpan, Span, fault_spans, merged, within
from aeroloop.analysis.statistics import Array
from aeroloop.analysis.synchronised_plots import Labels, Signals, lines
from aeroloop.analysis.synchronised_plots import pictures as signal_pictures
from aeroloop.core.faults import ROBOT_TARGETS
from aeroloop.families.rrr import mechanism
from aeroloop.families.rrr.analysis import columns, names
from aeroloop.families.rrr.disturbances import NOTHING_ADDED, Acting, acting
from aeroloop.families.rrr.law import gains
from aeroloop.families.rrr.robot import LEGS
from aeroloop.families.rrr.scenario import RobotScenario
from aeroloop.recording.log import Log

LABELS = Labels(
    axis="joint",
    error="mrad",
    control="torque (N m)",
    surface="s (rad/s)",
    control_title="Torque commands",
    control_caption="Output of the law for each motor.",
)
PLANT = control_diagrams.Plant(
    axes=f"{LEGS} joints",
    reference="references of\nthe joints\nr, r′, r″",
    command="torques",
    plant="motors, legs\nand platform\n(3-RRR)",
    disturbed_by="load, payload, friction",
    sensor="encoders (with noise)",
)
MOST_SAMPLES = 20_000
"""Of the disturbances, which are computed."""


def pictures(log: Log, scenario: RobotScenario) -> list[Picture]:
    table = scenario.aircraft.synchronisation
    chosen, found = gains(scenario), signals(log, scenario)
    diagrams = [control_diagrams.scheme(PLANT, table.law, chosen), control_diagrams.network("joint", chosen)]
    return [
        *(drawn for drawn in diagrams if drawn is not None),
        mechanism.mechanism(scenario),
        picture("path", "Path", "The platform from above.", lambda: _path(log, found.spans)),
        *signal_pictures(found, LABELS, phi=chosen.phi if chosen.k else 0.0, duration_s=_end_s(log)),
    ]


def signals(log: Log, scenario: RobotScenario) -> Signals:
    chosen = gains(scenario)

    def of(stream: str, pattern: str, scale: float = 1.0) -> list[Line]:
        return lines("joint {}", log.column(stream, "t_s"), scale * columns(log, stream, names(pattern)))

    told = len(log.rows["joint_law"]) > 0
    faults = fault_spans(log.rows["fault"], _end_s(log))
    return Signals(
        sync_errors=of("joints", "sync_error_{}_rad", 1e3),
        errors=of("joints", "error_{}_rad", 1e3),
        control=of("command", "torque_{}_Nm"),
        surface=of("joint_law", "surface_{}_rad_s") if told else (),
        weights={f"w {key.upper()}": of("joint_law", f"w_{key}_{{}}") for key in "pid"} if told and chosen.gs else {},
        disturbance=disturbance(log, scenario, faults),
        spans=disturbed(log, scenario, faults),
    )


def _end_s(log: Log) -> float:
    return float(log.column("joints", "t_s")[-1])


def disturbed(log: Log, scenario: RobotScenario, faults: Sequence[FaultSpan]) -> list[Span]:
    """Noise of the encoders for the whole run is not shaded."""
    table, end_s = scenario.aircraft.disturbance, _end_s(log)
    whole = [] if table.kind in ("none", "noise") else [(table.start_s, end_s)]
    return merged([*whole, *(fault.span for fault in faults)])


def disturbance(log: Log, scenario: RobotScenario, faults: Sequence[FaultSpan]) -> dict[str, Sequence[Line]]:
    """What disturbed the robot over time, as the plant computed it; quantities that were never disturbed are left
    out."""
    robot, table = scenario.aircraft.robot, scenario.aircraft.disturbance
    t_s = log.column("joints", "t_s")
    t_s = t_s[:: 1 + len(t_s) // MOST_SAMPLES]
    acts = _acting(t_s, scenario, faults)
    loads = np.array([act.load_Nm for act in acts])
    shares = np.array([act.shares for act in acts]) * _given(t_s, faults)
    payload = np.array([[act.payload[0]] for act in acts])
    friction = np.array([[act.friction[0] - robot.coulomb_Nm] for act in acts])
    found: dict[str, Sequence[Line]] = {}
    if loads.any():
        found["load (N m)"] = lines("joint {}", t_s, loads)
    if (shares != 1.0).any():
        found["torque given (%)"] = lines("joint {}", t_s, 100.0 * shares)
    if payload.any():
        found["payload (kg)"] = lines("", t_s, payload)
    if friction.any():
        found["more dry\nfriction (N m)"] = lines("", t_s, friction)
    if table.encoder_noise_rad or any(fault.target == "encoder" for fault in faults):
        sent_s = log.column("sensors", "t_s")
        measured, q = columns(log, "sensors", names("measured_{}_rad")), columns(log, "joints", names("q_{}_rad"))
        true = np.column_stack([np.interp(sent_s, log.column("joints", "t_s"), column) for column in q.T])
        found["encoder\nerror (mrad)"] = lines("joint {}", sent_s, 1e3 * (measured - true))
    return found


def _acting(t_s: Array, scenario: RobotScenario, faults: Sequence[FaultSpan]) -> list[Acting]:
    """By the plant's own function, with the faults in the order of the log."""
    switches = [(f.start_s, 1, f.kind, f.channel, f.values) for f in faults if f.target in ROBOT_TARGETS]
    switches += [(f.end_s, 0, f.kind, f.channel, ()) for f in faults if f.target in ROBOT_TARGETS]
    waiting = sorted(switches, key=lambda switch: switch[:2], reverse=True)
    added, acts = NOTHING_ADDED, []
    for t in t_s.tolist():
        while waiting and waiting[-1][0] <= t:
            at_s, _, kind, joint, values = waiting.pop()
            added = added.after(kind, joint, values, at_s)
        acts.append(acting(scenario.aircraft.robot, scenario.aircraft.disturbance, t, added))
    return acts


def _given(t_s: Array, faults: Sequence[FaultSpan]) -> Array:
    """Fraction of its torque that each motor gives by the faults of motors."""
    given = np.ones((len(t_s), LEGS))
    for fault in faults:
        if fault.target == "rotor" and fault.kind in ("weak", "dead"):
            share = fault.values[0] if fault.kind == "weak" else 0.0
            given[within(t_s, [fault.span]), fault.channel] *= share
    return given


def _path(log: Log, spans: Sequence[Span]) -> Any:
    figure, axes = single()
    x, y = (1e3 * log.column("truth", name) for name in ("x_m", "y_m"))
    axes.plot(stride(x), stride(y), label="platform")
    inside = within(log.column("truth", "t_s"), spans)
    if inside.any():
        axes.plot(*(stride(np.where(inside, values, np.nan)) for values in (x, y)), color=RED, label="disturbed")
    wanted = (stride(1e3 * log.column("setpoint", name)) for name in ("x_m", "y_m"))
    axes.plot(*wanted, label="setpoint", **REFERENCE_STYLE)
    axes.set(xlabel="x (mm)", ylabel="y (mm)")
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend(loc="center left", bbox_to_anchor=(0.0, 0.5))
    return figure
