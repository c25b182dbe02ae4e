"""Delay margin of a sampled feedback loop, predicted from its linear model.

With the input delayed by d = (n - 1) T + r, 0 < r <= T, sample k sees u_{k-n} for the first r seconds and
u_{k-n+1} for the rest. With B(s) the integral of exp(A v) dv B from 0 to s:

    x_{k+1} = Ad x_k + exp(A (T - r)) B(r) u_{k-n} + B(T - r) u_{k-n+1}

With a law u_k = C x_k + D m_k, m_{k+1} = E x_k + F m_k the loop is linear in (x_k, m_k, u_{k-1}, ..., u_{k-n}), and it
converges if its spectral radius is below 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from aeroloop.core.frames import Vec
from aeroloop.models.linear import zero_order_hold

RESOLUTION_S = 1e-5
SETTLE_PERIODS = 500
"""Periods in which the state of a law reaches its values at rest, if it has any."""


@dataclass(frozen=True)
class Feedback:
    """A linear law with state: u = C x + D m, then m = E x + F m."""

    C: Vec
    D: Vec
    E: Vec
    F: Vec

    @classmethod
    def static(cls, K: Vec) -> Feedback:
        """u = -K x."""
        n_u, n_x = K.shape
        return cls(-K, np.zeros((n_u, 0)), np.zeros((0, n_x)), np.zeros((0, 0)))

    @classmethod
    def linearised(cls, law: ca.Function, x0: Vec) -> Feedback:
        """A law (x, m) -> (u, m) linearised about x0; not finite if it has no derivative there."""
        x, m = (ca.MX.sym(name, law.size1_in(i)) for i, name in enumerate("xm"))
        memory = ca.DM.zeros(law.size1_in(1))
        for _ in range(SETTLE_PERIODS):
            _, memory = law(x0, memory)
        jacobians = [ca.jacobian(out, by) for out in law(x, m) for by in (x, m)]
        return cls(*(np.array(value) for value in ca.Function("slopes", [x, m], jacobians)(x0, memory)))

    @property
    def finite(self) -> bool:
        return all(np.isfinite(block).all() for block in (self.C, self.D, self.E, self.F))


def loop_radius(A: Vec, B: Vec, law: Feedback, period_s: float, delay_s: float, *, fresh: int = 0) -> float:
    """Largest eigenvalue magnitude of the loop, sampled at period_s, with the input delayed. The last `fresh` states
    begin at zero in each period: integrals, and so means, over it."""
    n_x, n_u, n_m = *B.shape, len(law.F)
    held = max(1, math.ceil(delay_s / period_s - 1e-12))
    rest_s = delay_s - (held - 1) * period_s
    Ad, _ = zero_order_hold(A, B, period_s)
    after, B_after = zero_order_hold(A, B, period_s - rest_s)
    _, B_first = zero_order_hold(A, B, rest_s)
    past = n_x + n_m  # index of the first earlier input
    size = past + held * n_u
    loop = np.zeros((size, size))
    loop[:n_x, : n_x - fresh] = Ad[:, : n_x - fresh]
    loop[:n_x, size - n_u :] = after @ B_first  # u_{k-held}
    now = np.hstack([law.C, law.D])  # u_k
    if held == 1:
        loop[:n_x, :past] += B_after @ now
    else:
        loop[:n_x, size - 2 * n_u : size - n_u] += B_after
    loop[n_x:past, :past] = np.hstack([law.E, law.F])
    loop[past : past + n_u, :past] = now
    loop[past + n_u :, past : size - n_u] = np.eye((held - 1) * n_u)
    return float(np.max(np.abs(np.linalg.eigvals(loop))))


def spectral_radius(A: Vec, B: Vec, K: Vec, period_s: float, delay_s: float) -> float:
    """Of the loop u = -K x."""
    return loop_radius(A, B, Feedback.static(K), period_s, delay_s)


def margin_s(A: Vec, B: Vec, K: Vec, period_s: float, *, resolution_s: float = RESOLUTION_S) -> float:
    """Of the loop u = -K x: the smallest delay at which it stops converging, up to two periods."""
    return smallest_unstable_s(lambda d: spectral_radius(A, B, K, period_s, d), 2 * period_s, resolution_s=resolution_s)


def smallest_unstable_s(
    radius: Callable[[float], float], most_s: float, *, resolution_s: float = RESOLUTION_S
) -> float:
    """The smallest delay at which a loop stops converging, from its radius by delay; `most_s` if it always
    converges."""
    low, high = 0.0, most_s
    if radius(high) < 1.0:
        return high
    while high - low > resolution_s:
        middle = (low + high) / 2
        if radius(middle) < 1.0:
            low = middle
        else:
            high = middle
    return low
