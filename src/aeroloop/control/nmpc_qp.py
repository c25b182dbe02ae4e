"""The quadratic program of a real-time iteration, condensed to the inputs, and solved by its dual.

    minimise  |V du + v|^2 + (du + w)' R (du + w) + slack s's    subject to  low <= rows du + y - [0, s] <= high

With H = 2 (V'V + R), the multipliers m of the rows, and du = -H^-1 (g + rows' m), the rows are y_0 - S m with
S = rows H^-1 rows' + [0, I / 2 slack], and m is positive only at `high`, negative only at `low`. `Prepared` has H, its
factor and S, for which v, w and y need not be known; `solve` is the rest.

`pivoted` finds m: block principal pivoting for bounds on both sides (Judice and Pires 1994). It exchanges all rows that
are on the wrong side at once, and if that does not reduce their number the last of them alone; S is positive definite,
so it ends at the only solution, in a few exchanges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aeroloop.core.frames import Vec

BLOCK_TRIES = 8
"""Exchanges of all rows that need not reduce their number."""
EXCHANGES = 200
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Prepared:
    """What depends on the guess alone."""

    V: Vec
    rows: Vec  # of the soft bounds; those of the inputs are the unit matrix
    R: Vec
    factor: Vec  # L^-1 of H = L L'
    dual: Vec  # S


def prepared(V: Vec, rows: Vec, R: Vec, slack: float) -> Prepared:
    H = 2.0 * (V.T @ V)
    H[np.diag_indices_from(H)] += 2.0 * R
    factor = np.linalg.inv(np.linalg.cholesky(H))
    half = np.hstack([factor, factor @ rows.T])
    dual = half.T @ half
    soft = np.arange(len(R), len(dual))
    dual[soft, soft] += 1.0 / (2.0 * slack)
    return Prepared(V, rows, R, factor, dual)


def solve(p: Prepared, v: Vec, w: Vec, y: Vec, low: Vec, high: Vec) -> Vec | None:
    """The change of the inputs; None if there is none."""
    g = 2.0 * (p.V.T @ v + p.R * w)
    free = -(p.factor.T @ (p.factor @ g))
    at = np.concatenate([free, p.rows @ free]) + y
    m = pivoted(p.dual, at, low, high)
    if m is None:
        return None
    if not m.any():
        return free
    inputs = len(p.R)
    change: Vec = free - p.factor.T @ (p.factor @ (m[:inputs] + p.rows.T @ m[inputs:]))
    return change


def pivoted(S: Vec, y: Vec, low: Vec, high: Vec) -> Vec | None:
    """m with low <= y - S m <= high, positive only at `high` and negative only at `low`."""
    side = np.zeros(len(y))
    m = np.zeros(len(y))
    least, tries = len(y) + 1, BLOCK_TRIES
    for _ in range(EXCHANGES):
        active = np.flatnonzero(side)
        m[:] = 0.0
        if len(active):
            bound = np.where(side[active] > 0, high[active], low[active])
            m[active] = np.linalg.solve(S[np.ix_(active, active)], y[active] - bound)
        rows = y - S[:, active] @ m[active]
        above, below = rows > high + TOLERANCE, rows < low - TOLERANCE
        free = side == 0
        wanted = np.where(free & above, 1.0, np.where(free & below, -1.0, np.where(m * side < 0, 0.0, side)))
        wrong = np.flatnonzero(wanted != side)
        if not len(wrong):
            return m
        if not np.all(np.isfinite(m)):
            return None
        if len(wrong) < least:
            least, tries = len(wrong), BLOCK_TRIES
        elif tries > 0:
            tries -= 1
        else:
            wrong = wrong[-1:]
        side[wrong] = wanted[wrong]
    return None
