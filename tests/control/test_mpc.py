"""The predictive law: its iterations against an independent solver, its path ahead, and its fallback."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from msgspec.structs import replace as with_settings

from aeroloop.boards.config import Control, Predictive
from aeroloop.codegen.embedded import embedded
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.control import lqr, mpc
from aeroloop.control.toolkit import REFERENCED, ROLL, YAW
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.families.tiltrotor.design import Design, design, flight_law

NEAR = 1e-6
"""Of command and states, in N, N m, m and rad: both solvers stop at tolerances, and ADMM's distance halves in tens of
iterations."""
MANY = 1000


@pytest.fixture(scope="module")
def plan() -> Design:
    return design("cad", "published", 0.012)


@pytest.fixture(scope="module")
def problem(plan: Design) -> mpc.Problem:
    return plan.predictive_problem(Predictive())


def reference_solution(p: mpc.Problem, x0: Vec, c: Vec, solver: str) -> tuple[Vec, Vec]:
    """Inputs (N, 4) and states (N, 20) of the same quadratic program, written down anew."""
    N = p.horizon.steps
    u, x = ca.SX.sym("u", 4, N), ca.SX.sym("x", 20, N)
    cost, dynamics, before = ca.SX(0), [], ca.SX(ca.DM(x0))
    for k in range(N):
        weight = ca.diag(ca.DM(p.Q)) if k + 1 < N else ca.DM(p.terminal)
        now = x[:, k]
        cost += (now.T @ weight @ now + u[:, k].T @ ca.diag(ca.DM(p.R)) @ u[:, k]) / 2
        dynamics.append(now - ca.DM(p.model.A) @ before - ca.DM(p.model.B) @ u[:, k] - ca.DM(c))
        before = now
    low, high = np.full((20, N), -np.inf), np.full((20, N), np.inf)
    low[(ROLL, YAW), :], high[(ROLL, YAW), :] = -p.bounds.state[:, None], p.bounds.state[:, None]
    bounds = [
        np.concatenate([np.tile(of_u, N), of_x.ravel(order="F")])
        for of_u, of_x in ((p.bounds.input_low, low), (p.bounds.input_high, high))
    ]
    options: dict[str, Any] = {"error_on_fail": True, "print_time": False}
    if solver == "qrqp":
        options |= {"print_iter": False, "print_header": False, "print_info": False}
    else:
        options |= {"osqp": {"verbose": False, "eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 200_000, "polish": True}}
    variables = ca.vertcat(ca.vec(u), ca.vec(x))
    solve = ca.qpsol("solve", solver, {"x": variables, "f": cost, "g": ca.vertcat(*dynamics)}, options)
    w = solve(lbx=bounds[0], ubx=bounds[1], lbg=0, ubg=0)["x"].full().ravel()
    return w[: 4 * N].reshape(N, 4), w[4 * N :].reshape(N, 20)


def iterated(p: mpc.Problem, x0: Vec, c: Vec, times: int) -> tuple[Vec, float]:
    """Copies z of the inputs (N, 4) after this many iterations from zero, and the residual."""
    run = Evaluator(mpc.iteration(p))
    run.inputs[0][:], run.inputs[1][:], run.inputs[2][:] = x0, c, p.cached.P @ c
    for _ in range(times):
        run()
        run.inputs[3][:] = run.outputs[0]
    return run.outputs[0].reshape(p.horizon.steps, -1)[:, :4].copy(), float(run.outputs[1][0])


def a_state(seed: int, size: float) -> Vec:
    rng = np.random.default_rng(seed)
    x0 = np.zeros(20)
    x0[:3], x0[8:11] = size * rng.normal(0, 0.3, 3), size * rng.normal(0, 0.5, 3)
    x0[ROLL], x0[YAW] = size * rng.normal(0, 0.05), size * rng.normal(0, 0.02)
    return x0


@pytest.mark.parametrize(("size", "solver"), [(0.02, "osqp"), (1.0, "osqp"), (1.0, "qrqp")])
def test_iterations_converge_to_the_solution_of_another_solver(problem: mpc.Problem, size: float, solver: str) -> None:
    x0, c = a_state(3, size), problem.model.path @ np.array([0.3, -0.5, 0.1, 0.0])
    u, x = reference_solution(problem, x0, c, solver)
    at_bounds = np.any(np.abs(np.abs(x[:, (ROLL, YAW)]) - problem.bounds.state) < 1e-5)
    assert at_bounds == (size >= 1), "the small error needs no bound, the large ones do"
    z, residual = iterated(problem, x0, c, MANY)
    assert residual < 1e-5
    assert np.max(np.abs(z - u)) < NEAR


def test_bounds_on_inputs_are_kept_by_the_converged_solution(plan: Design) -> None:
    problem = plan.predictive_problem(Predictive(thrust_max_N=10.8, roll_max_deg=60, yaw_error_max_deg=60))
    x0 = np.zeros(20)
    x0[2] = -2.0  # far too low: full thrust
    u, _ = reference_solution(problem, x0, np.zeros(20), "osqp")
    assert np.any(np.isclose(u[:, 0] + plan.u_eq[0], 10.8, atol=1e-6))
    assert np.max(np.abs(iterated(problem, x0, np.zeros(20), MANY)[0] - u)) < NEAR


def test_the_path_ahead_is_what_the_reference_does_and_the_model_does_not(plan: Design, problem: mpc.Problem) -> None:
    """c = A r_k - r_{k+1}: a reference that accelerates leaves an aircraft at rest behind, its integrals too."""
    accel, T = np.array([0.4, -0.3, 0.2, 0.1]), problem.horizon.step_s
    c = problem.model.path @ accel
    for i, (position, rate) in enumerate(zip((0, 1, 2, 5), (8, 9, 10, 13), strict=True)):
        assert c[[position, rate]] == pytest.approx([-accel[i] * T**2 / 2, -accel[i] * T], abs=1e-12)
        assert c[16 + i] == pytest.approx(-accel[i] * T**3 / 6, abs=1e-12)
    assert np.count_nonzero(np.abs(c) > 1e-12) == 12


def hover(plan: Design) -> tuple[Vec, Vec]:
    return plan.state_eq.copy(), plan.state_eq[list(REFERENCED)].copy()


def test_acceleration_of_the_reference_is_learnt_from_its_velocity(plan: Design) -> None:
    law, (sensors, reference) = plan.law("mpc"), hover(plan)
    memory = np.zeros(law.numel_in(2))
    first = lqr.LAW_STATE + 1 + 4
    for k in range(100):
        reference[4] = 1.0 + 0.012 * 0.5 * k  # from the first one on at speed: no step of acceleration
        memory = law(sensors, reference, memory)[1].full().ravel()
        assert -1e-9 <= memory[first] <= 0.5 + 1e-9
    assert memory[first : first + 4] == pytest.approx([0.5, 0, 0, 0], abs=1e-4)
    reference[4] = -50.0
    limit = 0.5 + (1 - np.exp(-0.012 / mpc.FILTER_S)) * (-2.0 - 0.5)
    assert law(sensors, reference, memory)[1].full().ravel()[first] == pytest.approx(limit, abs=1e-4)


def test_hover_needs_no_correction(plan: Design) -> None:
    sensors, reference = hover(plan)
    command, _, status = plan.law("mpc")(sensors, reference, 0)
    assert command.full().ravel() == pytest.approx(plan.u_eq, abs=1e-12)
    assert status.full().ravel() == pytest.approx([mpc.SOLVED, 0.0])


def test_iterations_continue_from_those_of_the_last_period(plan: Design) -> None:
    """The same error a second time: the residual is smaller than from zero."""
    sensors, reference = hover(plan)
    sensors[9] += 1.5
    law = plan.law("mpc")
    residuals, memory = [], np.zeros(law.numel_in(2))
    for _ in range(6):
        _, after, status = law(sensors, reference, memory)
        memory[mpc.HEAD :] = after.full().ravel()[mpc.HEAD :]
        residuals.append(float(status[1]))
    assert residuals[5] < 0.5 * residuals[0]


def flown(law: ca.Function, inputs: list[tuple[Vec, Vec]], memory: Vec) -> list[tuple[Vec, Vec, Vec]]:
    rows = []
    for sensors, reference in inputs:
        command, memory, status = (value.full().ravel() for value in law(sensors, reference, memory))
        rows.append((command, memory, status))
    return rows


def test_no_convergence_holds_the_last_good_command_then_flies_the_lqr_law(plan: Design) -> None:
    law = flight_law(Control(law="mpc", mpc=Predictive(residual_max=0.05)), plan)
    calm, (upset, reference) = hover(plan), hover(plan)
    upset[9] += 4.0
    good, *bad, back = flown(law, [calm, *[(upset, reference)] * 8, calm], np.zeros(law.numel_in(2)))
    assert [int(row[2][0]) for row in bad] == [mpc.HELD] * mpc.HELD_PERIODS + [mpc.LQR] * 3
    assert all(row[2][1] > 0.05 for row in bad)
    for command, _, _ in bad[: mpc.HELD_PERIODS]:
        assert command == pytest.approx(good[0], abs=0)
    lqr_law, memory = plan.law("dlqr"), np.zeros(lqr.LAW_STATE)
    for (sensors, given), (command, _, status) in zip([calm, *[(upset, reference)] * 8], [good, *bad], strict=True):
        expected, memory = (value.full().ravel() for value in lqr_law(sensors, given, memory))
        if status[0] == mpc.LQR:
            assert command == pytest.approx(expected, abs=1e-12)
    assert back[2][0] in (mpc.SOLVED, mpc.LQR)


def test_without_a_good_command_yet_the_lqr_law_flies_at_once(plan: Design) -> None:
    law, (sensors, reference) = flight_law(Control(law="mpc", mpc=Predictive(residual_max=0.01)), plan), hover(plan)
    sensors[9] += 1.0
    command, _, status = law(sensors, reference, 0)
    assert int(status[0]) == mpc.LQR
    assert command.full() == pytest.approx(plan.law("dlqr")(sensors, reference, 0)[0].full(), abs=1e-12)


@pytest.mark.parametrize("where", [0, 5, 9, 11, 60, 119])
def test_nan_in_the_iterates_is_not_flown_and_does_not_stay(plan: Design, where: int) -> None:
    law, calm = plan.law("mpc"), hover(plan)
    (good,) = flown(law, [calm], np.zeros(law.numel_in(2)))
    memory = good[1].copy()
    memory[mpc.HEAD + where] = np.nan
    spoilt, after = flown(law, [calm, calm], memory)
    assert spoilt[2].tolist() == [mpc.HELD, -1.0]
    assert spoilt[0] == pytest.approx(good[0], abs=0)
    assert np.isfinite(spoilt[1]).all()
    assert after[2][0] == mpc.SOLVED


def test_work_is_fixed_and_not_written_out(plan: Design) -> None:
    """The C of more iterations and of more steps calls the same functions: it hardly grows."""
    sizes = [
        len(embedded(plan.law("mpc", with_settings(Predictive(), **change))).c)
        for change in ({}, {"iterations": 10}, {"steps": 20})
    ]
    assert sizes[1] < 1.03 * sizes[0]
    assert sizes[2] < 1.6 * sizes[0]  # `choose` copies the iterates one by one
    text = embedded(plan.law("mpc")).c
    assert text.count("/* backward:") == text.count("/* forward:") == text.count("/* iteration:") == 1


def test_thrust_bound_below_hover_is_refused(plan: Design) -> None:
    with pytest.raises(ConfigError, match=r"control\.mpc\.thrust_max_N: expected more than 10\.3 N"):
        plan.law("mpc", Predictive(thrust_max_N=9.0))


def test_a_wrong_penalty_would_be_seen(problem: mpc.Problem) -> None:
    """The comparison with another solver notices a gain that is not the one of its Riccati equation."""
    x0, c = a_state(3, 1.0), np.zeros(20)
    u, _ = reference_solution(problem, x0, c, "osqp")
    wrong = replace(problem, cached=replace(problem.cached, K=1.01 * problem.cached.K))
    assert np.max(np.abs(iterated(wrong, x0, c, MANY)[0] - u)) > 100 * NEAR
