"""Metrics of a robot's run, and what went wrong in it, in words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aeroloop.analysis import generic
from aeroloop.analysis.family import Analysis
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


NEVER = ("diverged", "overruns", "board_restarts", "law_not_finite", "implausible_sensors")
ANALYSIS = Analysis[RobotScenario](metrics=metrics, details=details, never=NEVER)
