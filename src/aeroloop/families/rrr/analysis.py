"""Metrics of a robot's run, and the section of its report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from aeroloop.analysis import generic
from aeroloop.analysis.drawing import REFERENCE_STYLE, Line, Picture, over_time, panels, picture, single
from aeroloop.analysis.family import Analysis
from aeroloop.analysis.section import Block, Column, Figures, Section, Table, Text
from aeroloop.analysis.statistics import Array
from aeroloop.analysis.vehicle_log import happened
from aeroloop.core.signals import Event
from aeroloop.core.stream import KEYS
from aeroloop.families.rrr.kinematics import Kinematics, described
from aeroloop.families.rrr.measures import METRICS, measures
from aeroloop.families.rrr.robot import LEGS
from aeroloop.families.rrr.scenario import RobotScenario
from aeroloop.recording.log import Log

POSE = ("x_m", "y_m", "angle_rad")
MEANING = (
    "Equal errors of all joints turn the platform, differences between them move it sideways: to keep the joints "
    "together is to keep the platform in its place. It does not improve the platform's angle."
)
TITLES = {
    "joint_rms_rad": ("error of the joints, RMS", "mrad", 1e3),
    "joint_sync_rms_rad": ("synchronisation error, RMS", "mrad", 1e3),
    "joint_error_max_rad": ("largest error of a joint", "mrad", 1e3),
    "position_rms_m": ("error of the platform's place, RMS", "mm", 1e3),
    "angle_rms_rad": ("error of the platform's angle, RMS", "mrad", 1e3),
    "torque_rms_Nm": ("torque, RMS", "N m", 1.0),
    "torque_chatter_pct": ("chatter", "% of the largest torque", 1.0),
}


def names(pattern: str) -> tuple[str, ...]:
    return tuple(pattern.format(i) for i in range(1, LEGS + 1))


def columns(log: Log, stream: str, of: tuple[str, ...]) -> Array:
    return np.column_stack([log.column(stream, name) for name in of])


def metrics(log: Log, scenario: RobotScenario) -> dict[str, float]:
    since_s = scenario.aircraft.synchronisation.evaluate_from_s
    counted = log.column("joints", "t_s") >= since_s
    sent = log.column("command", "t_s") >= since_s
    found = dict.fromkeys(METRICS, math.nan)
    if counted.any():
        errors = columns(log, "joints", names("error_{}_rad"))[counted]
        off = (columns(log, "setpoint", POSE) - columns(log, "truth", POSE))[counted]
        command = columns(log, "command", names("torque_{}_Nm"))[sent]
        found = measures(errors, off, command, scenario.aircraft.robot.torque_max_Nm)
    implausible = {"implausible_sensors": happened(log, Event.IMPLAUSIBLE_SENSORS, "board_event")}
    return {**generic.metrics(log, scenario), **implausible, **found}


def left(log: Log, scenario: RobotScenario) -> str:
    """When and where the platform left its workspace, and why, in words; empty: it did not."""
    ends = log.rows["event"][log.column("event", "code") == Event.DIVERGED]
    if not len(ends) or not len(log.rows["truth"]):
        return ""
    pose = columns(log, "truth", POSE)[-1]
    reason = Kinematics(scenario.aircraft.robot).at(pose).problem or "the last pose that could be simulated"
    return f"The platform left its workspace at {ends[0, 0]:.3f} s: {described(pose)} is {reason}."


def rejected(log: Log) -> str:
    """When, where and what the board was sent that is no number, in words; empty: nothing."""
    said = log.rows["board_event"][log.column("board_event", "code") == Event.IMPLAUSIBLE_SENSORS]
    if not len(said):
        return ""
    t_s, value = said[0, 0], [name for name in log.columns["sensors"] if name not in KEYS][int(said[0, -1])]
    before = max(0, int(np.searchsorted(log.column("truth", "t_s"), t_s, side="right")) - 1)
    pose = columns(log, "truth", POSE)[before]
    more = f" It did so {len(said) - 1} times more." if len(said) > 1 else ""
    return (
        f"The board was sent a {value} that is NaN or infinite at {t_s:.3f} s, with the platform at {described(pose)}: "
        f"it held its torques for this sample and started the law again.{more}"
    )


def details(log: Log, scenario: RobotScenario) -> dict[str, Any]:
    own = {"left_workspace": left(log, scenario) or None, "values_rejected": rejected(log) or None}
    return {**generic.details(log, scenario), **own}


def _lines(log: Log, stream: str, pattern: str, scale: float = 1.0) -> list[Line]:
    t_s = log.column(stream, "t_s")
    return [Line(f"joint {i}", t_s, scale * log.column(stream, pattern.format(i))) for i in range(1, LEGS + 1)]


def _path(log: Log) -> Any:
    figure, axes = single()
    for stream, style in (("truth", {"label": "platform"}), ("setpoint", {"label": "setpoint", **REFERENCE_STYLE})):
        x, y = (1e3 * log.column(stream, name) for name in ("x_m", "y_m"))
        axes.plot(x[::4], y[::4], **style)
    axes.set(xlabel="x (mm)", ylabel="y (mm)")
    axes.set_aspect("equal", adjustable="datalim")
    axes.legend()
    return figure


def pictures(log: Log) -> list[Picture]:
    drawn = [
        picture("path", "Path", "The platform from above.", lambda: _path(log)),
        picture(
            "sync-errors",
            "Synchronisation errors",
            "Error of each joint minus the mean error of all.",
            lambda: over_time("S e (mrad)", _lines(log, "joints", "sync_error_{}_rad", 1e3)),
        ),
        picture(
            "joint-errors",
            "Errors of the joints",
            "Reference minus true angle.",
            lambda: over_time("error (mrad)", _lines(log, "joints", "error_{}_rad", 1e3)),
        ),
        picture(
            "joint-torques",
            "Torque commands",
            "What the law asks of each motor.",
            lambda: over_time("torque (N m)", _lines(log, "command", "torque_{}_Nm")),
        ),
    ]
    if len(log.rows["joint_law"]):
        drawn += [
            picture(
                "surface",
                "Sliding surface",
                "Distance of each joint from the sliding surface; within the boundary layer the law is linear.",
                lambda: over_time("s (rad/s)", _lines(log, "joint_law", "surface_{}_rad_s")),
            ),
            picture(
                "weights",
                "Weights",
                "Weights of each joint's network: they rise while an error lasts and leak back.",
                lambda: panels(
                    {f"w {key.upper()}": _lines(log, "joint_law", f"w_{key}_{{}}") for key in "pid"}, height_in=4.0
                ),
            ),
        ]
    return drawn


def sections(scenario: RobotScenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    found, table = summary["metrics"], scenario.aircraft.synchronisation
    rows = [
        (words, "not known" if found.get(name) is None else f"{scale * found[name]:.3g}", unit)
        for name, (words, unit, scale) in TITLES.items()
    ]
    blocks: list[Block] = [Text(f"Law: {table.law}. Disturbance: {scenario.aircraft.disturbance.kind}. {MEANING}")]
    blocks.append(Table([Column("", "name"), Column("value"), Column("unit", "text")], rows))
    if len(log.rows["joints"]):
        blocks.append(Figures(pictures(log)))
    told = [text for text in (rejected(log), left(log, scenario)) if text]
    remarks = [Section("verdict", "", [Text(text) for text in told])] if told else []
    return [*remarks, Section("joints", "Joints", blocks)]


NEVER = ("diverged", "overruns", "board_restarts", "law_not_finite", "implausible_sensors")
ANALYSIS = Analysis[RobotScenario](metrics=metrics, details=details, never=NEVER)
