"""Linear model predictive control: ADMM around a cached Riccati gain (TinyMPC's scheme, arXiv:2310.16985).

In every control period the law minimises, over N steps of the linear model,

    sum over k of  x_k' Q x_k + u_k' R u_k,   x_{k+1} = A x_k + B u_k + c,   |u_k|, roll and yaw within bounds

where x is the error from the reference with the integrals of x, y, z and yaw (20 values) and u the command less that of
hover. The path ahead enters as c, what an error becomes in a step through the reference's acceleration alone. The board
has one reference at a time: it extrapolates by the reference's velocity and by an acceleration, which it gets as the
filtered change of that velocity from one period to the next. So c is the same in all N steps.

The quadratic program is split: a copy (z of the inputs, v of roll and yaw) stays within the bounds, the trajectory
obeys the model, and scaled multipliers (y, g) pull the two together. The trajectory's part is an LQR problem with the
same matrices in every iteration, so its gain K and cost P are computed at design time: an iteration is a backward
pass over vectors, a forward pass, and the clipping. z, y, v and g are the law's memory, from which the next period
starts. Bounds on states are approached, not met: the number of iterations is fixed, and so is the execution time.

A solution that is not finite, or that does not come within `residual_max` of the bounds, is not flown: the last good
command is held for `HELD_PERIODS`, then the LQR law flies until a solution is good again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from aeroloop.control import toolkit
from aeroloop.control.lqr import INTEGRATED, LAW_STATE
from aeroloop.control.toolkit import ROLL, VX, VY, VZ, YAW, YAW_RATE
from aeroloop.core.frames import Vec
from aeroloop.core.signals import REFERENCE_COUNT, SENSOR_COUNT

BOUNDED = (ROLL, YAW)
"""The bounded states; yaw as the error from its reference."""
ACCELERATED = (VX, VY, VZ, YAW_RATE)
"""The states whose references have an acceleration."""
FILTER_S = 0.1
"""Time constant of the reference's acceleration: references do not arrive exactly once in a period."""
HELD_PERIODS = 5
"""60 ms, as long as the board holds a command without sensors."""
SOLVED, HELD, LQR = 0, 1, 2
"""What flies: the solution, the last good command, or the LQR law."""
STATUS, STATUS_SIZE = "status", 2
"""The third output: what flies, and the residual of the bounds as a fraction of them; -1 if that is NaN."""

_N_X, _N_U, _N_B, _N_A = 20, 4, len(BOUNDED), len(ACCELERATED)
_BLOCK = 2 * (_N_U + _N_B)
"""Iterates of one step: z, y, v, g."""
HEAD = LAW_STATE + 1 + 2 * _N_A + _N_U + 1
"""Memory before the iterates: the LQR law's, whether there was a reference, its rates and accelerations, the last good
command, and the number of periods without a solution."""


@dataclass(frozen=True)
class Horizon:
    """Size of the problem."""

    steps: int
    step_s: float
    iterations: int
    residual_max: float  # as a fraction of the bounds
    input_penalty: float  # of the copies' distance, relative to the weight of the input
    state_penalty: float  # the same of roll and yaw, 1/rad2


@dataclass(frozen=True)
class Bounds:
    """Of the inputs as deviations from hover, of the states in rad, and of the reference's acceleration."""

    input_low: Vec  # (4,) N, N m
    input_high: Vec  # (4,)
    state: Vec  # (2,) rad, both ways
    acceleration: Vec  # (4,) m/s2 and rad/s2, both ways


@dataclass(frozen=True)
class Model:
    """A step of the horizon: x_{k+1} = A x_k + B u_k + path a, with the acceleration a of the reference."""

    A: Vec  # (20, 20)
    B: Vec  # (20, 4)
    path: Vec  # (20, 4)


@dataclass(frozen=True)
class Cached:
    """What ADMM keeps of the Riccati equation with its penalties."""

    rho_u: Vec  # (4,) penalties
    rho_x: Vec  # (2,)
    K: Vec  # (4, 20)
    P: Vec  # (20, 20) cost to go
    inverse: Vec  # (4, 4) of R + rho_u + B' P B


@dataclass(frozen=True)
class Problem:
    """The quadratic program."""

    model: Model
    Q: Vec  # (20,)
    R: Vec  # (4,)
    cached: Cached
    bounds: Bounds
    horizon: Horizon

    @property
    def terminal(self) -> Vec:
        """(20, 20) Cost of the last state, without the penalty."""
        cost = self.cached.P.copy()
        cost[BOUNDED, BOUNDED] -= self.cached.rho_x
        return cost


def with_path(B: Vec) -> Vec:
    """(20, 8) Input matrix of the continuous model: of the command, and of the reference's acceleration."""
    path = np.zeros((_N_X, _N_A))
    path[ACCELERATED, range(_N_A)] = -1.0
    return np.hstack([B, path])


def problem(A: Vec, B_and_path: Vec, Q: Vec, R: Vec, bounds: Bounds, horizon: Horizon) -> Problem:
    """From the model and the weights of one step of the horizon."""
    from scipy.linalg import solve_discrete_are  # slow to import, and most processes of a flight need no design

    B, path = B_and_path[:, :_N_U], B_and_path[:, _N_U:]
    rho_u, rho_x = horizon.input_penalty * R, np.full(_N_B, horizon.state_penalty)
    penalised = np.diag(Q)
    penalised[BOUNDED, BOUNDED] += rho_x
    P = solve_discrete_are(A, B, penalised, np.diag(R + rho_u))
    inverse = np.linalg.inv(np.diag(R + rho_u) + B.T @ P @ B)
    cached = Cached(rho_u, rho_x, inverse @ B.T @ P @ A, P, inverse)
    return Problem(Model(_sparse(A), _sparse(B), path), Q, R, cached, bounds, horizon)


def _sparse(matrix: Vec) -> Vec:
    """Without what is only rounding of the matrix exponential."""
    return np.where(np.abs(matrix) > 1e-12, matrix, 0.0)


def backward(p: Problem) -> ca.Function:
    """One step back: (gradient of the cost to go, P c, iterates of the step) -> (feed-forward, gradient)."""
    ahead, Pc, block = ca.SX.sym("ahead", _N_X), ca.SX.sym("Pc", _N_X), ca.SX.sym("block", _BLOCK)
    z, y, v, g = _parts(block)
    gradient = ahead + Pc
    for i, state in enumerate(BOUNDED):
        gradient[state] -= p.cached.rho_x[i] * (v[i] - g[i])
    slope = _times(p.model.B.T, gradient) - p.cached.rho_u * (z - y)
    outputs = [_times(p.cached.inverse, slope), _times(p.model.A.T, gradient) - _times(p.cached.K.T, slope)]
    return ca.Function("backward", [ahead, Pc, block], outputs)


def forward(p: Problem) -> ca.Function:
    """One step ahead: (state, feed-forward, c, iterates, residual) -> (state, iterates, residual)."""
    x, feed, c = ca.SX.sym("x", _N_X), ca.SX.sym("feed", _N_U), ca.SX.sym("c", _N_X)
    block, before = ca.SX.sym("block", _BLOCK), ca.SX.sym("before")
    _, y, _, g = _parts(block)
    u = -_times(p.cached.K, x) - feed
    x_next = _times(p.model.A, x) + _times(p.model.B, u) + c
    bounded = ca.vertcat(*(x_next[i] for i in BOUNDED))
    b = p.bounds
    z = toolkit.clip(u + y, b.input_low, b.input_high)
    v = toolkit.clip(bounded + g, -b.state, b.state)
    off_u, off_x, residual = u - z, bounded - v, before
    for i in range(_N_U):
        residual = ca.fmax(residual, ca.fabs(off_u[i]) * (2 / (b.input_high[i] - b.input_low[i])))
    for i in range(_N_B):
        residual = ca.fmax(residual, ca.fabs(off_x[i]) / b.state[i])
    outputs = [x_next, ca.vertcat(z, y + off_u, v, g + off_x), residual]
    return ca.Function("forward", [x, feed, c, block, before], outputs)


def iteration(p: Problem) -> ca.Function:
    """One iteration of ADMM: (state, c, P c, iterates) -> (iterates, residual).

    Its steps are calls of two functions, in C too: written out, five iterations would be 40,000 operations."""
    steps = p.horizon.steps
    x, c, Pc = ca.MX.sym("x", _N_X), ca.MX.sym("c", _N_X), ca.MX.sym("Pc", _N_X)
    iterates = ca.MX.sym("iterates", steps * _BLOCK)
    blocks = ca.vertsplit(iterates, _BLOCK)
    back, ahead = backward(p), forward(p)
    gradient, feeds = ca.MX(ca.DM.zeros(_N_X)), []
    for block in reversed(blocks):
        feed, gradient = back(gradient, Pc, block)
        feeds.append(feed)
    state, residual, moved = x, ca.MX(ca.DM.zeros(1)), []
    for feed, block in zip(reversed(feeds), blocks, strict=True):
        state, block, residual = ahead(state, feed, c, block, residual)
        moved.append(block)
    return ca.Function("iteration", [x, c, Pc, iterates], [ca.vertcat(*moved), residual])


def prepare(p: Problem, K: Vec, state_eq: Vec, u_eq: Vec, period_s: float) -> ca.Function:
    """(sensors, reference, head of the memory) -> (state, c, P c, command of the LQR law, head of the memory)."""
    sensors, reference, head = toolkit.inputs(HEAD)
    law_state, started, rates, acceleration, good, bad = ca.vertsplit(head, _cuts(LAW_STATE, 1, _N_A, _N_A, _N_U, 1))
    error = toolkit.error(sensors, reference, state_eq)
    tracked = ca.vertcat(*(error[i] for i in INTEGRATED))
    integral = law_state[: len(INTEGRATED)] + period_s / 2 * (tracked + law_state[len(INTEGRATED) :])
    state = ca.vertcat(error, integral)
    rates_now = reference[_N_A:]
    limit = p.bounds.acceleration
    change = toolkit.clip(started * (rates_now - rates) / period_s, -limit, limit)
    acceleration += (1.0 - float(np.exp(-period_s / FILTER_S))) * (change - acceleration)
    outputs = [
        state,
        _times(p.model.path, acceleration),
        _times(p.cached.P @ p.model.path, acceleration),
        ca.DM(u_eq) - ca.DM(K) @ state,
        ca.vertcat(integral, tracked, 1.0, rates_now, acceleration, good, bad),
    ]
    return ca.Function("prepare", [sensors, reference, head], outputs)


def choose(p: Problem, u_eq: Vec) -> ca.Function:
    """(LQR command, head, iterates, residual) -> (command, head, iterates, status): what flies, and what is kept."""
    lqr_command, head = ca.SX.sym("lqr_command", _N_U), ca.SX.sym("head", HEAD)
    iterates, residual = ca.SX.sym("iterates", p.horizon.steps * _BLOCK), ca.SX.sym("residual")
    kept, good, bad = ca.vertsplit(head, _cuts(HEAD - _N_U - 1, _N_U, 1))
    solution = ca.DM(u_eq) + _parts(iterates[:_BLOCK])[0]
    # What is NaN anywhere makes the first multipliers or the last ones NaN; the clipping would hide it.
    total = ca.sum1(iterates[_N_U : 2 * _N_U]) + ca.sum1(iterates[-_N_B:])
    finite = ca.logic_or(total <= 0, total >= 0)
    solved = ca.logic_and(finite, residual <= p.horizon.residual_max)
    bad = ca.if_else(solved, 0, ca.fmin(bad + 1, HELD_PERIODS + 1))
    # Without a good command yet there is none to hold.
    holds = ca.logic_and(bad <= HELD_PERIODS, good[0] + good[1] > 0)
    good = ca.if_else(solved, solution, good)
    command = ca.if_else(ca.logic_or(solved, holds), good, lqr_command)
    level = ca.if_else(solved, SOLVED, ca.if_else(holds, HELD, LQR))
    status = ca.vertcat(level, ca.if_else(finite, residual, -1))
    outputs = [command, ca.vertcat(kept, good, bad), ca.if_else(finite, iterates, 0), status]
    return ca.Function("choose", [lqr_command, head, iterates, residual], outputs)


def law(p: Problem, K: Vec, state_eq: Vec, u_eq: Vec, period_s: float) -> ca.Function:
    """(sensors (16,), reference (8,), memory) -> (command (4,), memory, status (2,)); K is the LQR law's."""
    sensors, reference = ca.MX.sym("sensors", SENSOR_COUNT), ca.MX.sym("reference", REFERENCE_COUNT)
    memory = ca.MX.sym("memory", HEAD + p.horizon.steps * _BLOCK)
    head, iterates = ca.vertsplit(memory, [0, HEAD, memory.numel()])
    x, c, Pc, lqr_command, head = prepare(p, K, state_eq, u_eq, period_s)(sensors, reference, head)
    once, residual = iteration(p), ca.MX(1, 1)
    for _ in range(p.horizon.iterations):
        iterates, residual = once(x, c, Pc, iterates)
    command, head, iterates, status = choose(p, u_eq)(lqr_command, head, iterates, residual)
    return ca.Function(
        "law",
        [sensors, reference, memory],
        [command, ca.vertcat(head, iterates), status],
        list(toolkit.INPUTS),
        [*toolkit.OUTPUTS, STATUS],
    )


def _parts(block: Any) -> list[Any]:
    parts: list[Any] = ca.vertsplit(block, _cuts(_N_U, _N_U, _N_B, _N_B))
    return parts


def _cuts(*sizes: int) -> list[int]:
    return [0, *np.cumsum(sizes).tolist()]


def _times(matrix: Vec, vector: Any) -> Any:
    """The product without the zeros of the matrix."""
    return ca.densify(ca.sparsify(ca.DM(matrix)) @ vector)
