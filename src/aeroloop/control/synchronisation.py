"""Synchronisation of n actuators: sliding mode on coupled errors, with one PID neural network an axis (PIDNN).

    e = r - y,  S = I - 11'/n,  s = (I + beta S) rho
    rho = e + lam I                       order 1, a rotor: y' = (K u - y) / tau
    rho = e' + 2 lam e + lam^2 I          order 2, a joint: J y'' = u
    wanted acceleration = base + k sat(s/Phi) + q s + nu,    nu = S Gs sn (w1 x1 + w2 x2 + w3 x3)

Every controller is a setting of the same function: PID has k = beta = Gs = 0 and its gain in q, sliding mode has
q = beta = Gs = 0. The push is not multiplied by the inverse of I + beta S: inside the boundary layer that would cancel
the coupling. nu has zero sum over the axes, so that the sign of the plant is known whatever its inertia, and learning
may use the sign alone. Weights are stored as deviations from w0: a memory of zeros is a fresh start. The equations of
the thesis (chapter 4) are lost; these are a reconstruction. `ring` couples neighbours in the surface s; the network
always takes out the mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import casadi as ca
import numpy as np

from aeroloop.control.toolkit import clip
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec

Coupling = Literal["mean", "ring"]

GAINS = (
    *("lam", "k", "phi", "q", "beta", "gs", "sn", "ti", "td"),
    *("eta", "gam", "dz", "w0_p", "w0_i", "w0_d", "imax", "feedforward"),
)
"""Order of the function's `gains`."""
WEIGHT_MAX = (1.0, 1.0, 0.3)
"""Upper bounds of the weights P, I, D; the lower bounds are 0."""
DELTA = 0.05
"""Added to |x|^2 in the learning step."""
REFERENCE_RATE_HZ, AXIS_RATE_HZ, NETWORK_RATE_HZ = 5.0, 80.0, 40.0
"""Low-pass filters: on r' (order 1), on y' (order 2), on the D neuron."""


@dataclass(frozen=True)
class Axes:
    """The axes, and the nominal model of one: order 1 with gain and lag, order 2 with inertia."""

    count: int
    order: Literal[1, 2]
    period_s: float
    low: float
    high: float
    gain: float = 1.0  # order 1: K0
    lag_s: float = 0.0  # order 1: tau0
    inertia: float = 0.0  # order 2: J0

    def __post_init__(self) -> None:
        if self.count < 2:
            raise ConfigError(f"synchronisation: expected two or more axes, not {self.count}")
        if not (math.isfinite(self.period_s) and self.period_s > 0.0):
            raise ConfigError(f"synchronisation: expected a period above 0 s, not {self.period_s:g}")
        if not self.low < self.high:
            raise ConfigError(f"synchronisation: expected limits low < high, not {self.low:g} and {self.high:g}")
        if self.order == 1 and not (self.lag_s > 0.0 and self.gain > 0.0):
            raise ConfigError("synchronisation: axes of order 1 need a nominal gain and lag above 0")
        if self.order == 2 and not self.inertia > 0.0:
            raise ConfigError("synchronisation: axes of order 2 need a nominal inertia above 0")

    @property
    def references(self) -> int:
        """Length of the law's `ref`: r, or r, r' and r''."""
        return self.count if self.order == 1 else 3 * self.count

    @property
    def memory(self) -> int:
        """Length of the law's memory: started, then I, last y (order 1: last r), filtered rate, x1, x2, x3, dw_P,
        dw_I and dw_D of each axis."""
        return 1 + 9 * self.count


def mean_free(count: int) -> Vec:
    """S: takes out the mean."""
    return np.eye(count) - np.ones((count, count)) / count


def coupling_matrix(count: int, coupling: Coupling) -> Vec:
    """The matrix that beta weighs in the surface."""
    if coupling == "mean":
        return mean_free(count)
    return np.eye(count) - (np.roll(np.eye(count), 1, axis=1) + np.roll(np.eye(count), -1, axis=1)) / 2


def share(rate_hz: float, period_s: float) -> float:
    """Fraction of the distance that a low-pass filter covers in one period."""
    return -math.expm1(-2.0 * math.pi * rate_hz * period_s)


@cache
def law(axes: Axes, coupling: Coupling = "mean") -> ca.Function:
    """(y (n,), ref, memory, gains) -> (u (n,), memory_next, rho (n,), nu (n,), weights (3n,)): P of all axes
    first, then I, then D."""
    n, ts = axes.count, axes.period_s
    y, ref = ca.SX.sym("y", n), ca.SX.sym("ref", axes.references)
    memory, gains = ca.SX.sym("memory", axes.memory), ca.SX.sym("gains", len(GAINS))
    g = dict(zip(GAINS, ca.vertsplit(gains), strict=True))
    started = memory[0] > 0.5
    integral, last, rate, *rest = (memory[1 + n * i : 1 + n * (i + 1)] for i in range(9))
    x_last, dw = rest[0:3], rest[3:6]
    lam = g["lam"]

    e = ref[0:n] - y
    if axes.order == 1:
        filtered = rate + share(REFERENCE_RATE_HZ, ts) * ((ref - last) / ts - rate)
        rate = ca.if_else(started, filtered, 0)
        last = ref
        rho = e + lam * integral
        base = g["feedforward"] * rate + lam * e
    else:
        ref_rate, ref_accel = ref[n : 2 * n], ref[2 * n : 3 * n]
        filtered = rate + share(AXIS_RATE_HZ, ts) * ((y - last) / ts - rate)
        rate = ca.if_else(started, filtered, ref_rate)
        last = y
        e_rate = ref_rate - rate
        rho = e_rate + 2 * lam * e + lam * lam * integral
        base = g["feedforward"] * ref_accel + 2 * lam * e_rate + lam * lam * e

    s = surface(rho, g["beta"], coupling)
    push = g["k"] * clip(s / g["phi"], -1, 1) + g["q"] * s

    et = clip(_without_mean(rho) / g["sn"], -1, 1)
    x1 = et
    x2 = clip(x_last[1] + ts / g["ti"] * et, -1, 1)
    x3 = clip(x_last[2] + share(NETWORK_RATE_HZ, ts) * (g["td"] * (et - x_last[0]) / ts - x_last[2]), -1, 1)
    x3 = ca.if_else(started, x3, 0)  # the first error is no change
    w0 = (g["w0_p"], g["w0_i"], g["w0_d"])
    w = [clip(w0[j] + dw[j], 0, WEIGHT_MAX[j]) for j in range(3)]
    nu = _without_mean(g["gs"] * g["sn"] * (w[0] * x1 + w[1] * x2 + w[2] * x3))

    accel = base + push + nu
    want = (y / axes.lag_s + accel) * (axes.lag_s / axes.gain) if axes.order == 1 else axes.inertia * accel
    u = clip(want, axes.low, axes.high)
    above, below = want > axes.high, want < axes.low
    saturated = ca.logic_or(above, below)
    winds = ca.logic_or(ca.logic_and(above, e > 0), ca.logic_and(below, e < 0))
    integral = ca.if_else(winds, integral, clip(integral + ts * e, -g["imax"], g["imax"]))

    learns = ca.logic_and(ca.logic_and(ca.fabs(et) > g["dz"], ca.logic_not(saturated)), started)
    square = x_last[0] ** 2 + x_last[1] ** 2 + x_last[2] ** 2
    step = ca.if_else(learns, g["eta"] * et / (DELTA + square), 0)
    dw = [clip(w[j] + ts * (step * x_last[j] - g["gam"] * (w[j] - w0[j])), 0, WEIGHT_MAX[j]) - w0[j] for j in range(3)]
    x2 = ca.if_else(saturated, x_last[1], x2)
    memory_next = ca.vertcat(1, integral, last, rate, x1, x2, x3, *dw)
    return ca.Function(
        f"synchronisation_{n}_{axes.order}",
        [y, ref, memory, gains],
        [ca.densify(part) for part in (u, memory_next, rho, nu, ca.vertcat(*w))],
        ["y", "ref", "memory", "gains"],
        ["u", "memory_next", "rho", "nu", "weights"],
    )


def surface(rho: Any, beta: Any, coupling: Coupling = "mean") -> Any:
    """s = (I + beta S) rho, for symbols and for numbers."""
    return rho + beta * (ca.DM(coupling_matrix(rho.shape[0], coupling)) @ rho)


def _without_mean(values: Any) -> Any:
    return values - ca.sum1(values) / values.numel()


def synchronisation_error(errors: Sequence[float]) -> tuple[float, ...]:
    """S e."""
    mean = sum(errors) / len(errors)
    return tuple(e - mean for e in errors)
