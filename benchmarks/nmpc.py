"""Nonlinear predictive control: time of feedback and preparation, and how far one iteration is from convergence.

The laws fly their design models, as C: the tilt-rotor the spiral entered from a hover, the quadrotor a fast figure of
eight. Times are processor time of one thread. In every tenth period the problem is iterated to convergence; the cost of
both input sequences is that of the model flown with them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from aeroloop.boards.config import NonlinearPredictive
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.codegen.host import on_rung
from aeroloop.control import nmpc
from aeroloop.control.nmpc_solver import NonlinearLaw, RealTimeIteration
from aeroloop.controllers.law.guided import designed
from aeroloop.controllers.law.guided_nonlinear import nonlinear_law as multirotor_law
from aeroloop.controllers.law.guided_tables import GuidedNonlinear
from aeroloop.core.frames import Vec
from aeroloop.core.scenario_files import find, load
from aeroloop.families.tiltrotor.design import design, parameters
from aeroloop.families.tiltrotor.nonlinear import nonlinear_law
from aeroloop.ground.config import Lemniscate, Spiral
from aeroloop.ground.trajectories import build as build_path
from benchmarks.measure import Aim, Outcome, row

PERIOD_S = 0.012
PERIODS, QUICK_PERIODS = 300, 60
EVERY = 10
CONVERGED = 60
"""Iterations."""
WITHIN = 0.01
"""Of the converged cost."""
FEEDBACK_MS, PREPARATION_MS, QUAD_MS = 2.0, 5.0, 1.0
AT_MOST = Aim(1.0, at_least=False)


class Flown(NamedTuple):
    feedback_ms: Vec
    preparation_ms: Vec
    excess: Vec  # of the cost over the converged one, as a fraction


def run(quick: bool) -> Outcome:
    periods = QUICK_PERIODS if quick else PERIODS
    outcome = Outcome()
    for name, flown, (feedback_ms, preparation_ms) in (
        ("tilt-rotor, 20 states, N = 20", _tiltrotor(periods), (FEEDBACK_MS, PREPARATION_MS)),
        ("quadrotor, 13 states, N = 20", _quadrotor(periods), (QUAD_MS, PREPARATION_MS)),
    ):
        for what, taken, bound in (
            ("feedback", flown.feedback_ms, feedback_ms),
            ("preparation", flown.preparation_ms, preparation_ms),
        ):
            parts = [float(np.median(part)) for part in np.array_split(taken, 5)]
            outcome.rows.append(row(f"{name}: {what}", "ms", parts, "target", [bound] * len(parts), AT_MOST))
        high = ", ".join(
            f"{what} {np.percentile(taken, 50):.2f}, {np.percentile(taken, 95):.2f}, {np.max(taken):.2f} ms"
            for what, taken in (("feedback", flown.feedback_ms), ("preparation", flown.preparation_ms))
        )
        share = 100 * float(np.mean(flown.excess <= WITHIN))
        middle, most = 100 * float(np.median(flown.excess)), 100 * float(np.max(flown.excess))
        outcome.notes.append(f"{name}: median, 95 % and largest: {high}")
        outcome.notes.append(
            f"{name}: within {100 * WITHIN:g} % of the converged cost in {share:.0f} % of {len(flown.excess)} periods; "
            f"median excess {middle:.3f} %, largest {most:.2f} %"
        )
    return outcome


def _tiltrotor(periods: int) -> Flown:
    plan = design("cad", "published", PERIOD_S)
    law = nonlinear_law(parameters("cad"), plan, NonlinearPredictive())
    path = build_path(Spiral())

    def reference(t_s: float) -> Vec:
        at = path(t_s)
        return np.array([*at.pos_W, at.yaw_rad, *at.vel_W, at.yaw_rate_rad_s])

    start = plan.state_eq.copy()
    start[:3] = path(0.0).pos_W
    return _flown(law, start, reference, periods, PERIOD_S)


def _quadrotor(periods: int) -> Flown:
    scenario: Any = load(find("quad-law-nmpc"))
    plan, _ = designed(scenario)
    path = build_path(Lemniscate(center_W=(0.0, 0.0, 4.0), size_m=5.0, period_s=8.0))

    def reference(t_s: float) -> Vec:
        at, before, after = path(t_s), path(t_s - 0.01), path(t_s + 0.01)
        accel = (np.array(after.vel_W) - np.array(before.vel_W)) / 0.02
        return np.array([*at.pos_W, *at.vel_W, *accel, at.yaw_rad, at.yaw_rate_rad_s])

    start = np.zeros(13)
    start[:3], start[3:6], start[6] = path(0.0).pos_W, path(0.0).vel_W, 1.0
    return _flown(multirotor_law(plan, GuidedNonlinear()), start, reference, periods, plan.period_s)


def _flown(law: NonlinearLaw, start: Vec, reference: Callable[[float], Vec], periods: int, period_s: float) -> Flown:
    p, build = law.problem, on_rung("sil")
    solver, peer = RealTimeIteration(law, build), RealTimeIteration(law, build)
    front = build(law.front)
    moving = Evaluator(nmpc.step(replace(p, step_s=period_s)))  # the model in steps of the control period
    x, memory, after = start, np.zeros(solver.memory), np.zeros(solver.memory)
    feedback, preparation, excess = [], [], []
    for k in range(periods):
        given = reference(k * period_s)
        kept = memory.copy()
        began = time.thread_time()
        solution = solver.solve(x, given, memory, after)
        answered = time.thread_time()
        solver.prepare(after)
        done = time.thread_time()
        if solution.command is None:
            raise ArithmeticError(f"no solution in period {k}")
        memory[:] = after
        if k > 0:  # the first prepares as well
            feedback.append(1e3 * (answered - began))
            preparation.append(1e3 * (done - answered))
        U = solver.found
        if k % EVERY == EVERY - 1:
            front.inputs[0][:], front.inputs[1][:] = x, given
            front.inputs[2][:], front.inputs[3][:], disturbance = solver.kept(kept)
            front()
            z_0, references = front.outputs[0].copy(), front.outputs[1].reshape(p.steps + 1, -1).copy()
            _, best = peer.iterated(z_0, references, CONVERGED, U, disturbance)
            cost = peer.cost(z_0, best, references, disturbance)
            excess.append(peer.cost(z_0, U, references, disturbance) / cost - 1.0)
        moving.inputs[0][: p.x], moving.inputs[1][:] = x, U[0]
        moving()
        x = moving.outputs[0][: p.x].copy()
    return Flown(np.array(feedback), np.array(preparation), np.array(excess))
