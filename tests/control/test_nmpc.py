"""Nonlinear predictive control: its quadratic program against OSQP, its iterations against Ipopt, its derivatives
against differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest

from aeroloop.boards.config import NonlinearPredictive
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.control import nmpc, nmpc_qp
from aeroloop.control.nmpc_solver import NonlinearLaw, RealTimeIteration
from aeroloop.controllers.law.guided import designed
from aeroloop.controllers.law.guided_nonlinear import nonlinear_law as multirotor_law
from aeroloop.controllers.law.guided_tables import GuidedNonlinear
from aeroloop.core.frames import Vec
from aeroloop.core.scenario_files import find, load
from aeroloop.families.tiltrotor.design import design, parameters
from aeroloop.families.tiltrotor.nonlinear import nonlinear_law
from aeroloop.models import tiltrotor
from aeroloop.models.tiltrotor_jacobian import dynamics_and_jacobian

STEPS = 6


@pytest.fixture(scope="module")
def tilting() -> NonlinearLaw:
    settings = NonlinearPredictive(steps=STEPS, step_s=0.04, roll_max_deg=3.0)
    law = nonlinear_law(parameters("cad"), design("cad", "published", 0.012), settings)
    return replace(law, problem=replace(law.problem, model=dynamics_and_jacobian(parameters("cad"))))


@pytest.fixture(scope="module")
def multirotor() -> NonlinearLaw:
    scenario: Any = load(find("quad-law-hover"))
    plan, _ = designed(scenario)
    return multirotor_law(plan, GuidedNonlinear(steps=STEPS, step_s=0.06, tilt_max_deg=12.0))


def test_the_jacobian_of_the_equations_of_motion_is_casadis() -> None:
    p = parameters("cad")
    f, g = dynamics_and_jacobian(p), tiltrotor.dynamics(p)
    x, u = ca.SX.sym("x", 16), ca.SX.sym("u", 4)
    jacobian = ca.Function("J", [x, u], [g(x, u), ca.jacobian(g(x, u), ca.vertcat(x, u))])
    rng = np.random.default_rng(1)
    for _ in range(3):
        state, command = 0.4 * rng.normal(size=16), np.array([9.0, 11.0, 0.1, -0.2])
        for ours, theirs in zip(f(state, command, np.zeros(0)), jacobian(state, command), strict=True):
            np.testing.assert_allclose(np.array(ours), np.array(theirs), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("name", ["tilting", "multirotor"])
def test_sensitivities_of_a_step_are_those_of_differences(name: str, request: pytest.FixtureRequest) -> None:
    p: nmpc.Problem = request.getfixturevalue(name).problem
    step, rng = nmpc.step(p), np.random.default_rng(2)
    z, u, d = 0.3 * rng.normal(size=p.z), p.u_rest * 1.1 + 0.01, 0.5 * rng.normal(size=p.disturbance)
    both, jacobian = np.concatenate([z, u]), np.array(step(z, u, d)[1])
    for i in range(len(both)):
        low, high = both.copy(), both.copy()
        low[i], high[i] = both[i] - 1e-6, both[i] + 1e-6
        ends = (np.array(step(row[: p.z], row[p.z :], d)[0]).ravel() for row in (low, high))
        before, after = ends
        np.testing.assert_allclose(jacobian[:, i], (after - before) / 2e-6, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_the_quadratic_program_has_the_solution_of_osqp(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs, soft, slack = 12, 9, 50.0
    V, rows, R = rng.normal(size=(30, inputs)), rng.normal(size=(soft, inputs)), rng.uniform(0.1, 2.0, inputs)
    v, w = 3.0 * rng.normal(size=30), rng.normal(size=inputs)
    y = np.concatenate([0.2 * rng.normal(size=inputs), rng.normal(size=soft)])
    low, high = np.full(inputs + soft, -0.3), np.full(inputs + soft, 0.3)
    low[-1] = -np.inf
    found = nmpc_qp.solve(nmpc_qp.prepared(V, rows, R, slack), v, w, y, low, high)
    assert found is not None
    H = np.zeros((inputs + soft,) * 2)
    H[:inputs, :inputs] = 2 * (V.T @ V + np.diag(R))
    H[inputs:, inputs:] = 2 * slack * np.eye(soft)
    A = np.block([[np.eye(inputs), np.zeros((inputs, soft))], [rows, -np.eye(soft)]])
    g = np.concatenate([2 * (V.T @ v + R * w), np.zeros(soft)])
    options = {"osqp": {"verbose": False, "eps_abs": 1e-10, "eps_rel": 1e-10, "max_iter": 20000}}
    osqp = ca.conic("osqp", "osqp", {"h": ca.DM(H).sparsity(), "a": ca.DM(A).sparsity()}, options)
    solved = osqp(h=H, a=A, g=g, lba=low - y, uba=high - y)["x"]
    np.testing.assert_allclose(found, np.array(solved).ravel()[:inputs], atol=1e-7)
    assert np.any(np.abs(np.abs(found + y[:inputs]) - 0.3) < 1e-9)  # a bound of the inputs is active


def ipopt(p: nmpc.Problem, z_0: Vec, references: Vec) -> Vec:
    """(N, u) Inputs that Ipopt finds for the same problem, written down independently, with slacks as variables."""
    step, w, b = nmpc.step(p), p.weights, p.bounds
    U, slacks = ca.MX.sym("U", p.u, p.steps), ca.MX.sym("S", len(b.low), p.steps)
    shares = nmpc.integrals_of_reference(p, references)
    z: Any = ca.MX(ca.DM(z_0))
    cost: Any = 0
    rows = []
    for k in range(p.steps):
        after = step(z, U[:, k], ca.DM.zeros(p.disturbance))[0]
        z = after - ca.vertcat(ca.DM.zeros(p.x), ca.DM(shares[k]))
        e = p.error(z, references[k + 1])
        cost += e.T @ ca.DM(w.P) @ e if k + 1 == p.steps else e.T @ ca.diag(ca.DM(w.Q)) @ e
        off = U[:, k] - ca.DM(p.u_rest)
        cost += off.T @ ca.diag(ca.DM(w.R)) @ off + w.slack * ca.sumsqr(slacks[:, k])
        rows.append(p.limits(z, references[k + 1]) - slacks[:, k])
    x = ca.vertcat(ca.vec(U), ca.vec(slacks))
    options: Any = {
        "print_time": False,
        "ipopt": {
            "print_level": 0,
            "tol": 1e-11,
            "hessian_approximation": "limited-memory",
            "limited_memory_max_history": 60,
            "max_iter": 600,
        },
    }
    written: Any = {"x": x, "f": cost, "g": ca.vertcat(*rows)}
    solver = ca.nlpsol("peer", "ipopt", written, options)
    free = np.full(len(b.low) * p.steps, np.inf)
    found = solver(
        x0=np.concatenate([np.tile(p.u_rest, p.steps), np.zeros(len(free))]),
        lbx=np.concatenate([np.tile(b.u_low, p.steps), -free]),
        ubx=np.concatenate([np.tile(b.u_high, p.steps), free]),
        lbg=np.tile(b.low, p.steps),
        ubg=np.tile(b.high, p.steps),
    )
    inputs: Vec = np.array(found["x"]).ravel()[: p.u * p.steps].reshape(p.steps, p.u)
    return inputs


@pytest.mark.parametrize("name", ["multirotor", pytest.param("tilting", marks=pytest.mark.soak)])
def test_iterated_to_convergence_it_finds_what_ipopt_finds(name: str, request: pytest.FixtureRequest) -> None:
    law: NonlinearLaw = request.getfixturevalue(name)
    p, solver = law.problem, RealTimeIteration(law, Evaluator)
    z_0 = np.zeros(p.z)
    if name == "multirotor":
        z_0[6] = 1.0
        reference = np.array([0.6, -0.3, 0.2, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.4, 0.0])
    else:
        z_0[:16] = design("cad", "published", 0.012).state_eq
        reference = np.array([0.0, 0.0, 0.0, 0.01, 0.0, 0.15, 0.0, 0.0])
    references = np.tile(reference, (p.steps + 1, 1))
    _, U = solver.iterated(z_0, references, 250 if name == "tilting" else 60)
    theirs = ipopt(p, z_0, references)
    ours, best = solver.cost(z_0, U, references), solver.cost(z_0, theirs, references)
    assert abs(ours - best) < 1e-6 * best
    np.testing.assert_allclose(U, theirs, atol=1e-4)
    values = solver.cost(z_0, np.tile(p.u_rest, (p.steps, 1)), references)
    assert values > 1.02 * best  # there was something to find
