"""The predictive law in the report: bounds, iterations, residual, fallbacks.

The board sends no residual. The law is a pure function, so it is evaluated again on the logged sensors and setpoints,
in double precision; where links lost or delayed messages, the board's own residual may have been another.
"""

from __future__ import annotations

import numpy as np

from aeroloop.analysis.board import fallbacks
from aeroloop.analysis.page import number
from aeroloop.analysis.section import Block, Column, Note, Table
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import fastest
from aeroloop.control import mpc
from aeroloop.core.frames import Vec
from aeroloop.core.signals import REFERENCE_COUNT, SENSOR_COUNT
from aeroloop.families.tiltrotor.design import flight_law, of_scenario
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.recording.log import Log

COLUMNS = (Column("", "name"), Column("Value"))


def status(scenario: TiltrotorScenario, log: Log) -> Vec:
    """(n, 2) What flew in each period, and the residual, of the law evaluated again."""
    control = scenario.controller.control
    plan = of_scenario(scenario)
    run: Evaluator = fastest(flight_law(control, plan))
    sensors, setpoints = log.rows["sensors"], log.rows["setpoint"]
    if not len(sensors) or not len(setpoints):
        return np.empty((0, mpc.STATUS_SIZE))
    last = np.searchsorted(setpoints[:, 0], sensors[:, 0] + 1e-9, side="right") - 1
    rows = np.empty((len(sensors), mpc.STATUS_SIZE))
    for k, (row, setpoint) in enumerate(zip(sensors, setpoints[np.maximum(last, 0)], strict=True)):
        run.inputs[0][:], run.inputs[1][:] = row[-SENSOR_COUNT:], setpoint[-REFERENCE_COUNT:]
        run()
        run.inputs[2][:] = run.outputs[1]
        rows[k] = run.outputs[2]
    return rows


def blocks(scenario: TiltrotorScenario, log: Log) -> list[Block]:
    settings = scenario.controller.control.mpc
    again = status(scenario, log)
    largest = float(np.max(again[:, 1])) if len(again) else float("nan")
    rows = [
        (
            "Bounds on roll, and on yaw from its reference",
            f"{settings.roll_max_deg:g}, {settings.yaw_error_max_deg:g} deg",
        ),
        ("Horizon", f"{settings.steps} steps of {settings.step_s * 1e3:g} ms"),
        ("Iterations in each control period", str(settings.iterations)),
        ("Largest residual, as a fraction of the bounds", number(largest, digits=3)),
        ("Residual above which the law falls back", f"{settings.residual_max:g}"),
        ("Fallbacks that the board reported", number(fallbacks(log))),
    ]
    return [
        Table(COLUMNS, rows),
        Note("The residual is that of the law evaluated again on logged sensors and setpoints."),
    ]


def nonlinear_blocks(scenario: TiltrotorScenario, log: Log) -> list[Block]:
    """Of the law `nmpc`."""
    settings = scenario.controller.control.nmpc
    rows = [
        (
            "Bounds on roll, and on yaw from its reference",
            f"{settings.roll_max_deg:g}, {settings.yaw_error_max_deg:g} deg",
        ),
        ("Horizon", f"{settings.steps} steps of {settings.step_s * 1e3:g} ms"),
        ("Quadratic programs in each control period", "1"),
        ("Fallbacks that the board reported", number(fallbacks(log))),
    ]
    return [Table(COLUMNS, rows)]


def sampled_blocks(scenario: TiltrotorScenario, log: Log) -> list[Block]:
    """Of the law `mppi`."""
    settings = scenario.controller.control.mppi
    bounds = f"{settings.roll_max_deg:g}, {settings.yaw_error_max_deg:g} deg"
    rows = [
        ("Rollouts in each control period", f"{settings.rollouts} ({settings.engine})"),
        ("Bounds on roll, and on yaw from its reference", bounds),
        ("Horizon", f"{settings.steps} steps of {settings.step_s * 1e3:g} ms, {settings.knots} knots"),
        ("Noise at a knot", f"{settings.thrust_std_N:g} N, {settings.torque_std_Nm:g} N m"),
        ("Fallbacks that the board reported", number(fallbacks(log))),
    ]
    return [Table(COLUMNS, rows)]
