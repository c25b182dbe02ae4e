"""Gust filters over the length flown, solved exactly over a step of any length.

The spectra of MIL-F-8785C, section 3.7, are those of white noise n through a filter over theta, the distance through
the air divided by the scale L (1/s is a length L; the variance of the output is 1):

    Dryden       u: sqrt(2) / (1 + s)         v, w: (1 + sqrt(3) s) / (1 + s)^2
    von Karman   u: sqrt(2) (1 + 0.25 s) / (1 + 1.357 s + 0.1987 s^2)
                 v, w: (1 + 2.7478 s + 0.3398 s^2) / (1 + 2.9958 s + 1.9754 s^2 + 0.1539 s^3)

Von Karman's spectra are not rational. These are the approximations of the Aerospace Blockset's von Karman model: within
5 % of the spectrum up to 10/L rad/m, and with 97 % (u) and 96 % (v, w) of its variance.

A filter is the sum of first-order filters x' = -p x + n with the same noise, one for each pole p; a double pole is a
chain, x2' = -p x2 + x1. Over a step the noise of the states is Gaussian with the covariances
integral t^n exp(-(p + q) t) dt, so each state is exact, and no statistic depends on the step.

A lag m' = mu (y - m) of the output y is added for the gust rates: the average of a gust over the length of a wing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import casadi as ca
import numpy as np

ROOT_2, ROOT_3 = math.sqrt(2.0), math.sqrt(3.0)
_SERIES_BELOW, _TERMS = 0.1, 10
_LEAST_PIVOT = 1e-13
"""Fraction of a variance; the rest of a covariance that is smaller consists of rounding errors."""
APART = 0.01
"""A lag closer to a pole than this fraction is moved that far from it: partial fractions divide by the difference."""


@dataclass(frozen=True)
class Form:
    """Output: the sum of `weights` times states, a state for each pole; equal poles in sequence are a chain of two."""

    poles: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def powers(self) -> tuple[int, ...]:
        """1 for the second state of a chain: its response is t exp(-p t)."""
        return tuple(int(i > 0 and self.poles[i - 1] == pole) for i, pole in enumerate(self.poles))


def partial_fractions(gain: float, over: tuple[float, ...], under: tuple[float, ...]) -> Form:
    """The filter gain over(s) / under(s) with single real poles; coefficients from the highest power down."""
    poles = sorted(-root.real for root in np.roots(under))
    slope = np.polyder(under)
    weights = [gain * float(np.polyval(over, -pole) / np.polyval(slope, -pole)) for pole in poles]
    return Form(tuple(float(pole) for pole in poles), tuple(weights))


DRYDEN_U, DRYDEN_VW = Form((1.0,), (ROOT_2,)), Form((1.0, 1.0), (ROOT_3, 1.0 - ROOT_3))
KARMAN_U = partial_fractions(ROOT_2, (0.25, 1.0), (0.1987, 1.357, 1.0))
KARMAN_VW = partial_fractions(1.0, (0.3398, 2.7478, 1.0), (0.1539, 1.9754, 2.9958, 1.0))


def passed(form: Form, states: list[ca.SX], theta: ca.SX, draws: list[ca.SX]) -> tuple[list[ca.SX], ca.SX]:
    """The states after `theta`, and the output."""
    noise = _noise([(ca.SX(pole), power) for pole, power in zip(form.poles, form.powers, strict=True)], theta, draws)
    after = _moved(form, states, theta, noise)
    return after, _output(form, after)


def passed_with_lag(
    form: Form, states: list[ca.SX], lagged: ca.SX, mu: ca.SX, theta: ca.SX, draws: list[ca.SX]
) -> tuple[list[ca.SX], ca.SX, ca.SX]:
    """The states after `theta`, the lagged output, and the output."""
    for pole in sorted(set(form.poles)):
        mu = ca.if_else(ca.fabs(mu - pole) < APART * pole, pole * (1.0 + APART), mu)
    basis = [(ca.SX(pole), power) for pole, power in zip(form.poles, form.powers, strict=True)]
    *noise, mu_noise = _noise([*basis, (mu, 0)], theta, draws)
    after = _moved(form, states, theta, noise)
    mu_decay = ca.exp(-mu * theta)
    lagged = mu_decay * lagged
    for i, (pole, power, weight) in enumerate(zip(form.poles, form.powers, form.weights, strict=True)):
        apart, decay = mu - pole, ca.exp(-pole * theta)
        if power == 0:
            lagged += weight * mu / apart * ((decay - mu_decay) * states[i] + noise[i] - mu_noise)
            continue
        of_first = theta * decay / apart - (decay - mu_decay) / apart**2
        of_noise = noise[i] / apart - (noise[i - 1] - mu_noise) / apart**2
        lagged += weight * mu * ((decay - mu_decay) / apart * states[i] + of_first * states[i - 1] + of_noise)
    return after, lagged, _output(form, after)


def _output(form: Form, states: list[ca.SX]) -> ca.SX:
    return sum((weight * state for weight, state in zip(form.weights, states, strict=True)), start=ca.SX(0))


def _moved(form: Form, states: list[ca.SX], theta: ca.SX, noise: list[ca.SX]) -> list[ca.SX]:
    after = []
    for i, (pole, power) in enumerate(zip(form.poles, form.powers, strict=True)):
        before = states[i] + theta * states[i - 1] if power else states[i]
        after.append(ca.exp(-pole * theta) * before + noise[i])
    return after


def _noise(basis: list[tuple[ca.SX, int]], theta: ca.SX, draws: list[ca.SX]) -> list[ca.SX]:
    """The responses t^power exp(-pole t) to one white noise over `theta`, from as many unit normals."""
    count = len(basis)
    lower = [[ca.SX(0)] * count for _ in range(count)]
    for j in range(count):
        for i in range(j, count):
            pole, power = basis[i][0] + basis[j][0], basis[i][1] + basis[j][1]
            whole = integral(power, pole, theta)
            rest = whole - sum((lower[i][k] * lower[j][k] for k in range(j)), start=ca.SX(0))
            if i == j:
                lower[i][i] = ca.sqrt(ca.if_else(rest > _LEAST_PIVOT * whole, rest, 0))
            else:
                lower[i][j] = ca.if_else(lower[j][j] > 0, rest / lower[j][j], 0)
    return [sum((lower[i][k] * draws[k] for k in range(i + 1)), start=ca.SX(0)) for i in range(count)]


def integral(power: int, rate: ca.SX, upper: ca.SX) -> ca.SX:
    """Of t^power exp(-rate t) from 0 to `upper`, for powers 0 to 2."""
    x = rate * upper
    scale = rate ** (power + 1)
    if power == 0:
        return -ca.expm1(-x) / scale
    decay = ca.exp(-x)
    closed = 1.0 - decay * (1.0 + x) if power == 1 else 2.0 - decay * (2.0 + x * (2.0 + x))
    return ca.if_else(x < _SERIES_BELOW, _series(power, x), closed) / scale  # the closed forms cancel for small x


def _series(power: int, x: ca.SX) -> ca.SX:
    total = ca.SX(0)
    for j in reversed(range(_TERMS)):
        total = total * x + (-1.0) ** j / (math.factorial(j) * (power + 1 + j))
    return total * x ** (power + 1)
