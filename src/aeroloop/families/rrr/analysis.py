"""Metrics of a robot's run, and the section of its report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from aeroloop.analysis import generic
from aeroloop.analysis.family import Analysis
from aeroloop.analysis.section import Block, Column, Figures, Section, Table, Text
from aeroloop.core.signals import Event
from aeroloop.families.rrr.kinematics import Kinematics, described
from aeroloop.families.rrr.measures import METRICS, measures
from aeroloop.families.rrr.pictures import columns, names, pictures
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
    return {**generic.metrics(log, scenario), **found}


def left(log: Log, scenario: RobotScenario) -> str:
    """When and where the platform left its workspace, and why, in words; empty: it did not."""
    ends = log.rows["event"][log.column("event", "code") == Event.DIVERGED]
    if not len(ends) or not len(log.rows["truth"]):
        return ""
    pose = columns(log, "truth", POSE)[-1]
    reason = Kinematics(scenario.aircraft.robot).at(pose).problem or "the last pose that could be simulated"
    return f"The platform left its workspace at {ends[0, 0]:.3f} s: {described(pose)} is {reason}."


def details(log: Log, scenario: RobotScenario) -> dict[str, Any]:
    return {**generic.details(log, scenario), "left_workspace": left(log, scenario) or None}


def sections(scenario: RobotScenario, log: Log, summary: Mapping[str, Any]) -> list[Section]:
    found, table = summary["metrics"], scenario.aircraft.synchronisation
    rows = [
        (words, "not known" if found.get(name) is None else f"{scale * found[name]:.3g}", unit)
        for name, (words, unit, scale) in TITLES.items()
    ]
    blocks: list[Block] = [Text(f"Law: {table.law}. Disturbance: {scenario.aircraft.disturbance.kind}. {MEANING}")]
    blocks.append(Table([Column("", "name"), Column("value"), Column("unit", "text")], rows))
    if len(log.rows["joints"]):
        blocks.append(Figures(pictures(log, scenario)))
    ended = left(log, scenario)
    remarks = [Section("verdict", "", [Text(ended)])] if ended else []
    return [*remarks, Section("joints", "Joints", blocks)]


ANALYSIS = Analysis[RobotScenario](metrics=metrics, details=details)
