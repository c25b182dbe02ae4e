"""The law of a robot's joints on its board, and what must fit before a run.

The board is sent the measured angles and the references of the joints (angles, rates, accelerations), and answers with
torques. It reports the distances from the sliding surface, the outputs of the networks and their weights.
"""

from __future__ import annotations

import casadi as ca

from aeroloop.control import synchronisation
from aeroloop.control.board_law import BoardLaw, TelemetryRow
from aeroloop.control.clipping import nan_shown
from aeroloop.control.flown_law import law_file
from aeroloop.control.synchronisation import Axes
from aeroloop.control.synchronisation_certificate import JointPlants
from aeroloop.control.synchronisation_certificate import check as check_stable
from aeroloop.control.synchronisation_gains import JOINT, JOINT_POLES, Gains
from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS
from aeroloop.families.rrr import reference
from aeroloop.families.rrr.dynamics import joint_inertia
from aeroloop.families.rrr.robot import LEGS, Robot
from aeroloop.families.rrr.scenario import RobotScenario

INERTIA_RANGE = (0.017 / 0.02617506, 0.076 / 0.02617506)
"""Inertias over the workspace and payloads that a law must be stable for, by the one at the centre."""
EFFECTIVENESS = (0.5, 1.0)
TELEMETRY_HZ = 100.0
TOLD = 15
"""Surface, output of the networks, weights P, I and D."""


def axes(robot: Robot, period_s: float) -> Axes:
    most = robot.torque_max_Nm
    return Axes(count=LEGS, order=2, period_s=period_s, low=-most, high=most, inertia=joint_inertia(robot))


def design(scenario: RobotScenario) -> Axes:
    """What a law of a file is given: number, limits and inertia of the joints."""
    return axes(scenario.aircraft.robot, scenario.aircraft.control.period_s)


def gains(scenario: RobotScenario) -> Gains:
    return scenario.aircraft.synchronisation.gains(JOINT, JOINT_POLES)


def board_law(scenario: RobotScenario) -> BoardLaw:
    tables = scenario.aircraft
    of_joints, period_s = axes(tables.robot, tables.control.period_s), tables.control.period_s
    chosen, coupling = gains(scenario), tables.synchronisation.coupling
    measured, memory = ca.SX.sym("measured", LEGS + of_joints.references), ca.SX.sym("memory", of_joints.memory)
    torque, after, rho, nu, weights = synchronisation.law(of_joints, coupling)(
        measured[:LEGS], measured[LEGS:], memory, ca.DM(chosen)
    )
    told = ca.vertcat(synchronisation.surface(rho, chosen.beta, coupling), nu, weights)
    function = nan_shown(ca.Function("rrr_law", [measured, memory], [torque, after, told]))
    every = max(1, round(1 / (TELEMETRY_HZ * period_s)))
    return BoardLaw(function, period_s, tells=(TelemetryRow("joint_law", TOLD, every),), restarts=True)


def check(scenario: RobotScenario) -> None:
    """ConfigError if the path cannot be followed, or if its own law can be unstable."""
    tables = scenario.aircraft
    robot, table, period_s = tables.robot, tables.synchronisation, tables.control.period_s
    if table.law == "none":
        raise ConfigError("synchronisation.law: a robot's joints need feedback; expected a law, not none")
    if round(period_s * NS) % round(tables.world.step_s * NS):
        raise ConfigError(
            f"world.step_s: expected a step that divides the control period ({period_s:g} s), "
            f"not {tables.world.step_s:g}"
        )
    reference.check(robot, tables.reference, scenario.duration_s)
    if law_file(scenario):
        return
    inertia = joint_inertia(robot)
    least, most = (factor * inertia for factor in INERTIA_RANGE)
    plants = JointPlants((least, most), EFFECTIVENESS, robot.torque_lag_s)
    check_stable(axes(robot, period_s), gains(scenario), table.coupling, plants, certified=table.certified)
