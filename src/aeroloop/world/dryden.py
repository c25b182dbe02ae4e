"""Dryden turbulence near the ground: MIL-F-8785C, section 3.7, Dryden form, low-altitude scales.

With the height h and the wind W20 at 20 ft, between 10 ft and 1000 ft (h in ft; outside, the nearest of them):
    L_w = h,        L_u = L_v = h / (0.177 + 0.000823 h)^1.2
    sigma_w = 0.1 W20,  sigma_u = sigma_v = sigma_w / (0.177 + 0.000823 h)^0.4
u lies along the horizontal wind relative to the aircraft, w is vertical, v makes up the third. In the time that the
air takes to pass by one length, T = L/V, white noise n is shaped by
    u: sqrt(2) n / (1 + s)        v, w: (1 + sqrt(3) s) / (1 + s)^2 n,      each times its sigma.
Both are solved exactly over a step of any length, so that no statistic depends on the step.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np

from aeroloop.core.config import Config, meta
from aeroloop.core.frames import Vec3

FT_M = 0.3048
LOWEST_M, HIGHEST_M = 10 * FT_M, 1000 * FT_M
_DRAWS = 5  # per step, whatever happens
_BLOCK = 200 * _DRAWS
_SERIES_BELOW = 2e-3
_ROOT_2, _ROOT_3 = math.sqrt(2.0), math.sqrt(3.0)


class Turbulence(Config, frozen=True):
    """Continuous random gusts near the ground (Dryden, MIL-F-8785C)."""

    w20_m_s: Annotated[
        float, meta("m/s", "wind speed at 20 ft; light 7.7, moderate 15.4, severe 23.1; 0 for none", ge=0, le=50)
    ] = 0.0
    min_airspeed_m_s: Annotated[
        float, meta("m/s", "the air drifts past a hovering aircraft at least this fast", ge=0.1, le=50)
    ] = 1.0


def scales(height_m: float, w20_m_s: float) -> tuple[float, float, float, float]:
    """Lengths of u and v and of w (m), intensities of u and v and of w (m/s)."""
    height_m = min(max(height_m, LOWEST_M), HIGHEST_M)
    shape = (0.177 + 0.000823 * height_m / FT_M) ** 0.4
    sigma_w = 0.1 * w20_m_s
    return height_m / (shape * shape * shape), height_m, sigma_w / shape, sigma_w


def exact_step(theta: float) -> tuple[float, float, float, float]:
    """z1' = -z1 + n, z2' = -z2 + z1 over a time theta: the decay e^-theta and the noise's Cholesky factor.

    z1 <- decay z1 + l11 a,  z2 <- decay (z2 + theta z1) + l21 a + l22 b  with independent unit a and b.
    """
    decay = math.exp(-theta)
    q11 = -0.5 * math.expm1(-2.0 * theta)
    if theta < _SERIES_BELOW:  # the closed forms below cancel to nothing
        q12 = theta * theta * (1 / 2 - theta * (2 / 3 - theta * (1 / 2 - theta * (4 / 15))))
        q22 = theta * theta * theta * (1 / 3 - theta * (1 / 2 - theta * (2 / 5 - theta * (2 / 9))))
    else:
        decay2 = decay * decay
        q12 = 0.25 - decay2 * (0.5 * theta + 0.25)
        q22 = 0.25 - decay2 * (0.5 * theta * (theta + 1.0) + 0.25)
    l11 = math.sqrt(q11)
    l21 = q12 / l11 if l11 > 0.0 else 0.0
    return decay, l11, l21, math.sqrt(max(0.0, q22 - l21 * l21))


class Dryden:
    """The turbulent part of the wind where the aircraft is; stationary from the first sample on."""

    def __init__(self, config: Turbulence, rng: np.random.Generator) -> None:
        """`rng` is this object's own: it draws ahead, in blocks."""
        self._w20, self._floor = config.w20_m_s, config.min_airspeed_m_s
        self._rng = rng
        a, b, c, d, e = rng.standard_normal(_DRAWS).tolist()
        self._u = a
        # Stationary covariance of (z1, z2): ((1/2, 1/4), (1/4, 1/4)).
        self._v1, self._v2 = b / _ROOT_2, b / (2.0 * _ROOT_2) + c / (2.0 * _ROOT_2)
        self._w1, self._w2 = d / _ROOT_2, d / (2.0 * _ROOT_2) + e / (2.0 * _ROOT_2)
        self._axis: tuple[float, float] | None = None  # of u, horizontal unit vector
        self._draws: list[float] = []
        self._next = 0

    def step(self, dt_s: float, height_m: float, relative_W: Vec3) -> Vec3:
        """Advance by `dt_s`; `relative_W` is the aircraft's velocity in the mean wind, height is above ground."""
        vx, vy, vz = relative_W
        flown_m = max(math.sqrt(vx * vx + vy * vy + vz * vz), self._floor) * dt_s
        length_uv, length_w, sigma_uv, sigma_w = scales(height_m, self._w20)
        i = self._next
        if i == len(self._draws):
            self._draws, i = self._rng.standard_normal(_BLOCK).tolist(), 0
        a, b, c, d, e = self._draws[i : i + _DRAWS]
        self._next = i + _DRAWS

        theta = flown_m / length_uv
        decay, l11, l21, l22 = exact_step(theta)
        axis_x, axis_y = self._follow(vx, vy, decay)
        self._u = decay * self._u + _ROOT_2 * l11 * a
        self._v2 = decay * (self._v2 + theta * self._v1) + l21 * b + l22 * c
        self._v1 = decay * self._v1 + l11 * b
        theta = flown_m / length_w
        decay, l11, l21, l22 = exact_step(theta)
        self._w2 = decay * (self._w2 + theta * self._w1) + l21 * d + l22 * e
        self._w1 = decay * self._w1 + l11 * d

        u = sigma_uv * self._u
        v = sigma_uv * (_ROOT_3 * self._v1 + (1.0 - _ROOT_3) * self._v2)
        w = sigma_w * (_ROOT_3 * self._w1 + (1.0 - _ROOT_3) * self._w2)
        return axis_x * u - axis_y * v, axis_y * u + axis_x * v, w

    def _follow(self, vx: float, vy: float, decay: float) -> tuple[float, float]:
        """Turn the axis of u towards the relative wind, as fast as the turbulence itself changes.

        An aircraft that turns on the spot must not turn the air with it. Fore and aft are the same to the
        statistics, so the nearer of the two is followed.
        """
        speed = math.sqrt(vx * vx + vy * vy)
        if self._axis is None:
            self._axis = (vx / speed, vy / speed) if speed > 0.0 else (1.0, 0.0)
        elif speed > self._floor:
            x, y = self._axis
            gain = (1.0 - decay) / speed
            if x * vx + y * vy < 0.0:
                gain = -gain
            x, y = decay * x + gain * vx, decay * y + gain * vy
            length = math.sqrt(x * x + y * y)
            self._axis = (x / length, y / length)
        return self._axis
