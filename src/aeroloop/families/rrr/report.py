"""The section of a robot's report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aeroloop.analysis.section import Block, Column, Figures, Section, Table, Text
from aeroloop.families.rrr.analysis import left, rejected
from aeroloop.families.rrr.pictures import pictures
from aeroloop.families.rrr.scenario import RobotScenario
from aeroloop.recording.log import Log

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
    told = [text for text in (rejected(log), left(log, scenario)) if text]
    remarks = [Section("verdict", "", [Text(text) for text in told])] if told else []
    return [*remarks, Section("joints", "Joints", blocks)]
