"""The tilt-rotor's law `mppi`: `control.mppi` on the rollouts of this aircraft, with the LQR law as its fallback."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from aeroloop.batch.loop import Loop
from aeroloop.batch.sampling import Rollouts
from aeroloop.batch.sampling_build import built
from aeroloop.boards.config import SampledPredictive
from aeroloop.codegen.batch_build import loaded
from aeroloop.control import mppi
from aeroloop.control.host_law import Build, HostLawDesign, Solution, Solver
from aeroloop.control.toolkit import REFERENCED, YAW
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.families.tiltrotor import rollouts
from aeroloop.families.tiltrotor.design import Design, modelled
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.models import linear

SUBSTEPS = 1
"""Runge-Kutta steps in a step of the horizon."""


def regulator(plan: Design, scenario: TiltrotorScenario) -> rollouts.Regulator:
    """The LQR problem with the step of the horizon; the weights are those of a sum over control periods."""
    from scipy.linalg import solve_discrete_are  # slow to import, and few flights use it

    settings = scenario.controller.control.mppi
    step_s = settings.step_s
    A, B = linear.zero_order_hold(plan.A, plan.B, step_s)
    Q, R = (step_s / plan.period_s * weight for weight in plan.weights)
    P = solve_discrete_are(A, B, np.diag(Q), np.diag(R))
    K = np.linalg.solve(np.diag(R) + B.T @ P @ B, B.T @ P @ A)
    torque_Nm, thrust_N = settings.torque_max_Nm, settings.thrust_max_N
    low, high = np.array([0.0, 0.0, -torque_Nm, -torque_Nm]), np.array([thrust_N, thrust_N, torque_Nm, torque_Nm])
    if not np.all((low < plan.u_eq) & (plan.u_eq < high)):
        hover_N = float(np.max(plan.u_eq))
        raise ConfigError(f"control.mppi.thrust_max_N: expected more than {hover_N:.3g} N, the thrust of hover")
    return rollouts.Regulator(plan.state_eq, plan.u_eq, K, Q, R, P, low, high)


def feedback(own: rollouts.Regulator) -> mppi.Feedback:
    return mppi.Feedback(own.state_eq, own.u_eq, own.K, own.input_low, own.input_high, REFERENCED, YAW)


def sampling(settings: SampledPredictive, period_s: float, seed: int) -> mppi.Sampling:
    return mppi.Sampling(
        steps=settings.steps,
        step_s=settings.step_s,
        knots=settings.knots,
        std=np.array([settings.thrust_std_N] * 2 + [settings.torque_std_Nm] * 2),
        temperature=settings.temperature,
        effective_min=settings.effective_min,
        bounds=np.radians([settings.roll_max_deg, settings.yaw_error_max_deg]),
        penalties=np.array([settings.roll_penalty, settings.yaw_penalty]),
        accel_max=np.array([settings.accel_max_m_s2] * 3 + [settings.yaw_accel_max_rad_s2]),
        period_s=period_s,
        seed=seed,
    )


def loop(scenario: TiltrotorScenario, own: rollouts.Regulator) -> Loop:
    """The rollouts' program."""
    settings = scenario.controller.control.mppi
    model = modelled(scenario)
    return rollouts.loop(model, own, settings.knots, settings.step_s, SUBSTEPS)


class SamplingSolver:
    """`control.mppi.Mppi` as the solver of a host law."""

    def __init__(self, law: mppi.Mppi, memory: int) -> None:
        self._law, self.memory = law, memory

    def solve(self, measured: Vec, reference: Vec, memory: Vec, after: Vec) -> Solution:
        return Solution(*self._law.step(measured, reference, memory, after))

    def prepare(self, after: Vec) -> None:
        """Nothing: every rollout starts from the measurement."""


def law(scenario: TiltrotorScenario, plan: Design) -> HostLawDesign:
    settings = scenario.controller.control.mppi
    own = regulator(plan, scenario)
    chosen = sampling(settings, plan.period_s, scenario.seed)

    def compiled() -> Path:
        return built(loop(scenario, own), settings.engine)

    def solver(build: Build) -> Solver:
        threads = min(settings.threads, len(os.sched_getaffinity(0)))
        columns, knot_values = mppi.Columns(settings.knots).count, mppi.INPUTS * settings.knots
        sampler = Rollouts(loaded(compiled()), settings.rollouts, columns, knot_values, threads)
        return SamplingSolver(mppi.Mppi(feedback(own), chosen, sampler), chosen.memory)

    return HostLawDesign("mppi", solver, plan.law("dlqr"), plan.period_s, ahead=compiled, kept=mppi.KEPT)
