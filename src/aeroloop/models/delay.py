"""How much input delay a sampled state-feedback loop stands, predicted from its linear model.

With the input delayed by d = (n - 1) T + r, 0 < r <= T, sample k sees u_{k-n} for the first r seconds and
u_{k-n+1} for the rest. With B(s) the integral of exp(A v) dv B from 0 to s:

    x_{k+1} = Ad x_k + exp(A (T - r)) B(r) u_{k-n} + B(T - r) u_{k-n+1}

so the loop is linear in (x_k, u_{k-1}, ..., u_{k-n}) and its spectral radius tells whether it converges.
"""

from __future__ import annotations

import math

import numpy as np

from aeroloop.core.frames import Vec
from aeroloop.models.linear import zero_order_hold


def spectral_radius(A: Vec, B: Vec, K: Vec, period_s: float, delay_s: float) -> float:
    """Largest eigenvalue magnitude of the loop u = -K x, sampled at period_s, with the input delayed."""
    n_x, n_u = B.shape
    held = max(1, math.ceil(delay_s / period_s - 1e-12))
    rest_s = delay_s - (held - 1) * period_s
    Ad, _ = zero_order_hold(A, B, period_s)
    after, B_after = zero_order_hold(A, B, period_s - rest_s)
    _, B_first = zero_order_hold(A, B, rest_s)
    size = n_x + held * n_u
    loop = np.zeros((size, size))
    loop[:n_x, :n_x] = Ad
    loop[:n_x, size - n_u :] = after @ B_first  # u_{k-held}
    if held == 1:
        loop[:n_x, :n_x] -= B_after @ K
    else:
        loop[:n_x, size - 2 * n_u : size - n_u] += B_after
    loop[n_x : n_x + n_u, :n_x] = -K
    loop[n_x + n_u :, n_x : size - n_u] = np.eye((held - 1) * n_u)
    return float(np.max(np.abs(np.linalg.eigvals(loop))))


def margin_s(A: Vec, B: Vec, K: Vec, period_s: float, *, resolution_s: float = 1e-5) -> float:
    """The smallest delay at which the loop stops converging, up to two periods."""
    low, high = 0.0, 2 * period_s
    if spectral_radius(A, B, K, period_s, high) < 1.0:
        return high
    while high - low > resolution_s:
        middle = (low + high) / 2
        if spectral_radius(A, B, K, period_s, middle) < 1.0:
            low = middle
        else:
            high = middle
    return low
