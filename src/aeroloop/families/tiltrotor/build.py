"""A tilt-rotor put together for a flight: multibody world, lagged actuators, state sensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from aeroloop.actuators.lagged import LaggedActuators
from aeroloop.core.bounds import beyond
from aeroloop.core.frames import quat_from_euler
from aeroloop.core.signals import NS, Command, Effort, Truth
from aeroloop.families.tiltrotor import airframe
from aeroloop.families.tiltrotor.design import parameters
from aeroloop.families.tiltrotor.rows import TiltrotorRows
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.ground.trajectories import build as build_path
from aeroloop.models.tiltrotor import equilibrium
from aeroloop.sensors.state import StateSensors
from aeroloop.sim.vehicle import Driven, Stages, TouchDown, Vehicle
from aeroloop.world.multibody import Multibody


def build_world(scenario: TiltrotorScenario) -> tuple[Multibody, Command]:
    """The aircraft at hover where the flight starts, and the command that keeps it there."""
    p = parameters(scenario.aircraft.vehicle.parameters)
    q_eq, u_eq, _ = equilibrium(p)
    path_start = build_path(scenario.controller.ground.trajectory)(0.0)
    start_W = scenario.aircraft.world.start_pos_W or path_start.pos_W
    moving_W = path_start.vel_W if scenario.aircraft.world.start == "moving" else (0.0, 0.0, 0.0)
    world = Multibody(airframe.build(p, scenario.aircraft.world.step_s))
    attitude = quat_from_euler(float(q_eq[3]), float(q_eq[4]), scenario.aircraft.world.start_yaw_rad)
    world.reset(start_W, attitude, (float(q_eq[6]), float(q_eq[7])), vel_W=moving_W)
    return world, tuple(u_eq.tolist())


def out_of_control(truth: Truth, bound_m: float) -> bool:
    """Beyond the bound, upside down, or a pod turned right round; written so that NaN counts as lost too."""
    _, qx, qy, _ = truth.quat_WB
    upright = qx * qx + qy * qy < 0.5
    right, left = truth.tilt_rad
    pods_valid = abs(right) < math.pi and abs(left) < math.pi
    return beyond(truth.pos_W, bound_m) or not (upright and pods_valid)


def vehicle(
    scenario: TiltrotorScenario, number: int, publish: Mapping[str, Callable[..., None]]
) -> Vehicle[Effort, Truth]:
    world, hover = build_world(scenario)
    actuators = LaggedActuators(scenario.aircraft.actuators, hover)
    sensors = StateSensors(scenario.aircraft.sensors, np.random.default_rng([scenario.seed, 1]))
    bound_m = scenario.aircraft.world.bound_m
    stages = Stages(
        motion=Driven(actuators, world),
        surroundings=None,
        sense=lambda truth, effort: [],
        lost=lambda truth: out_of_control(truth, bound_m),
        contact=TouchDown(lambda: world.touching),
        switch=sensors.switch,
        rows=TiltrotorRows(publish, round(scenario.controller.control.period_s * NS)),
        measure=sensors.sample,
    )
    step_ns = round(scenario.aircraft.world.step_s * NS)
    return Vehicle(stages, step_ns=step_ns, command=hover, first_effort=actuators.step(hover, 0))
