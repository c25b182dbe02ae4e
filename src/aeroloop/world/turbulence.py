"""Turbulence with the spectra of Dryden or von Karman, at low and medium altitude, with its gust rates.

Scales and intensities follow MIL-F-8785C, section 3.7, with the height above ground. Up to 1000 ft they are those of
`dryden.scales`. From 2000 ft on the turbulence is isotropic: L = 1750 ft for Dryden and 2500 ft for von Karman, and its
intensity is given, or is that which figure 7 gives for a probability of exceedance. In between both are linear in
height.

A wing of span b turns in gusts as in an air that rotates. With the gusts of the section's axes, u forward, v to the
left and w up, and V the airspeed (the specification's p, q and r in our axes forward, left, up):

    p: sigma_w^2 0.8 (pi L_w/4b)^(1/3) / L_w / (1 + (4b W/pi)^2), independent, W in rad/m
    q = -w' / V through the lag 1 / (1 + 4b/(pi V) s)
    r = +v' / V through the lag 1 / (1 + 3b/(pi V) s)

The lag's state m gives q = -(pi/4b) (w - m): nothing is differentiated. The axes are those of dryden.py: u lies along
the horizontal relative wind.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Protocol

import casadi as ca

from aeroloop.core.frames import Vec3
from aeroloop.core.noise_source import Normals
from aeroloop.world.dryden import FT_M, Model, Turbulence, follow, scales
from aeroloop.world.flight_model import Runner
from aeroloop.world.gust_filters import DRYDEN_U, DRYDEN_VW, KARMAN_U, KARMAN_VW, Form, passed, passed_with_lag

FORMS: dict[Model, tuple[Form, Form]] = {"dryden": (DRYDEN_U, DRYDEN_VW), "von_karman": (KARMAN_U, KARMAN_VW)}
MEDIUM_SCALE_M: dict[Model, float] = {"dryden": 1750 * FT_M, "von_karman": 2500 * FT_M}
LOW_UP_TO_M, MEDIUM_FROM_M = 1000 * FT_M, 2000 * FT_M
_BLENDED: dict[str, tuple[float, float]] = {
    "low": (1e9, 2e9),
    "auto": (LOW_UP_TO_M, MEDIUM_FROM_M),
    "medium": (-2.0, -1.0),
}
"""Heights between which low altitude becomes medium altitude."""
_STATIONARY = 1e4
"""A step of this many lengths L forgets everything: the first one draws from the stationary distribution."""
_BLOCK = 200  # steps

HEIGHTS_FT = (500, 1750, 3750, 7500, 15000, 25000, 35000, 45000, 55000, 65000, 75000, 80000)
PROBABILITIES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 2e-1)
_FIGURE_7_FT_S = (
    (18.7, 21.5, 28.4, 30.2, 30.7, 31.0, 25.2, 23.1, 17.5, 10.7, 8.4, 7.2),
    (15.6, 17.6, 23.0, 23.6, 22.1, 20.0, 16.0, 15.1, 12.1, 7.9, 6.2, 5.1),
    (11.8, 13.0, 16.0, 15.1, 11.6, 9.7, 8.1, 8.2, 7.9, 4.9, 3.2, 2.1),
    (8.6, 9.6, 10.6, 10.1, 8.0, 6.6, 5.0, 4.2, 2.7, 0.0, 0.0, 0.0),
    (6.6, 6.9, 7.4, 6.7, 4.6, 2.7, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0),
    (4.2, 3.6, 3.3, 1.6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (3.2, 2.2, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
)
"""Intensity over height, MIL-F-8785C, figure 7, a row for each probability, as JSBSim's FGWinds has read it."""


def intensities_m_s(exceedance: float) -> tuple[float, ...]:
    """At the heights of figure 7, linear in the logarithm of the probability between its curves."""
    i = min(max(bisect_left(PROBABILITIES, exceedance), 1), len(PROBABILITIES) - 1)
    low, high = math.log(PROBABILITIES[i - 1]), math.log(PROBABILITIES[i])
    part = min(max((math.log(exceedance) - low) / (high - low), 0.0), 1.0)
    rows = zip(_FIGURE_7_FT_S[i - 1], _FIGURE_7_FT_S[i], strict=True)
    return tuple(FT_M * (rare + part * (often - rare)) for rare, often in rows)


def scales_over_height(model: Model, height_m: ca.SX, setting: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """As `dryden.scales`, at any height; `setting` as in `step_function`."""
    length_uv, length_w, sigma_uv, sigma_w = scales(height_m, setting[0])
    low_m, high_m, medium, sigma = setting[2], setting[3], MEDIUM_SCALE_M[model], setting[5]
    for i, (below_ft, above_ft) in enumerate(pairwise(HEIGHTS_FT)):
        part = (height_m / FT_M - below_ft) / (above_ft - below_ft)
        sigma += ca.fmin(ca.fmax(part, 0), 1) * (setting[6 + i] - setting[5 + i])
    part = ca.fmin(ca.fmax((height_m - low_m) / (high_m - low_m), 0), 1)
    return (
        length_uv + part * (medium - length_uv),
        length_w + part * (medium - length_w),
        sigma_uv + part * (sigma - sigma_uv),
        sigma_w + part * (sigma - sigma_w),
    )


SETTINGS = 5 + len(HEIGHTS_FT)


def states(model: Model, *, rates: bool) -> int:
    """Of the filters u, v, w; the axis of u; and with rates the lagged v and w, and p."""
    along, across = FORMS[model]
    return len(along.poles) + 2 * len(across.poles) + 2 + 3 * rates


def draws(model: Model, *, rates: bool) -> int:
    return states(model, rates=rates) - 2


@cache
def step_function(model: Model, *, rates: bool) -> ca.Function:
    """(state, (dt, height over ground, velocity in the mean wind, draws), setting) -> (state, wind_W, rate_W).

    Setting: W20, least airspeed, the heights at which low altitude ends and medium altitude begins, span, and the
    intensities at the heights of figure 7. An axis of 0, 0 is that of a state before its first step.
    """
    along, across = FORMS[model]
    count, normals = states(model, rates=rates), draws(model, rates=rates)
    state, moment = ca.SX.sym("state", count), ca.SX.sym("moment", 5 + normals)
    setting = ca.SX.sym("setting", SETTINGS)
    parts = iter(ca.vertsplit(state))
    u, v, w = ([next(parts) for _ in form.poles] for form in (along, across, across))
    axis_x, axis_y = next(parts), next(parts)
    numbers = iter(ca.vertsplit(moment))
    dt_s, height_m, vx, vy, vz = (next(numbers) for _ in range(5))
    floor, span_m = setting[1], setting[4]
    flown_m = ca.fmax(ca.sqrt(vx * vx + vy * vy + vz * vz), floor) * dt_s
    length_uv, length_w, sigma_uv, sigma_w = scales_over_height(model, height_m, setting)
    begun = axis_x * axis_x + axis_y * axis_y > 0
    theta_uv, theta_w = (ca.if_else(begun, flown_m / length, _STATIONARY) for length in (length_uv, length_w))
    axis_x, axis_y = follow(axis_x, axis_y, vx, vy, ca.exp(-theta_uv), floor)

    u, along_y = passed(along, u, theta_uv, [next(numbers) for _ in along.poles])
    rate: tuple[ca.SX, ...] = ()
    more: tuple[ca.SX, ...] = ()
    if rates:
        of_v, of_w = 3 * span_m / math.pi, 4 * span_m / math.pi  # lengths of the lags
        lagged_v, lagged_w, p = next(parts), next(parts), next(parts)
        taken = [next(numbers) for _ in range(len(across.poles) + 1)]
        v, lagged_v, across_y = passed_with_lag(across, v, lagged_v, length_uv / of_v, theta_uv, taken)
        taken = [next(numbers) for _ in range(len(across.poles) + 1)]
        w, lagged_w, up_y = passed_with_lag(across, w, lagged_w, length_w / of_w, theta_w, taken)
        theta_p = ca.if_else(begun, flown_m / of_w, _STATIONARY)
        p = ca.exp(-theta_p) * p + ca.sqrt(-ca.expm1(-2 * theta_p)) * next(numbers)
        shape = 0.1 * math.pi**2 / (span_m * length_w) * (length_w / of_w) ** (1 / 3)
        # Fore and aft are the same to the axis, not to the wing: it turns with the side from which it meets the gusts.
        ahead = ca.if_else(axis_x * vx + axis_y * vy < 0, -1, 1)
        rolling, pitching = ahead * sigma_w * ca.sqrt(shape) * p, -ahead * sigma_w / of_w * (up_y - lagged_w)
        yawing = ahead * sigma_uv / of_v * (across_y - lagged_v)
        rate = axis_x * rolling - axis_y * pitching, axis_y * rolling + axis_x * pitching, yawing
        more = lagged_v, lagged_w, p
    else:
        v, across_y = passed(across, v, theta_uv, [next(numbers) for _ in across.poles])
        w, up_y = passed(across, w, theta_w, [next(numbers) for _ in across.poles])

    forth, left = sigma_uv * along_y, sigma_uv * across_y
    wind = axis_x * forth - axis_y * left, axis_y * forth + axis_x * left, sigma_w * up_y
    row = ca.vertcat(*u, *v, *w, axis_x, axis_y, *more, *wind, *rate)
    name = f"turbulence_{model}{'_rates' if rates else ''}"
    return ca.Function(name, [state, moment, setting], [row], ["state", "moment", "setting"], ["row"])


class SpectralTurbulence:
    """The turbulent part of the wind at the aircraft; stationary from the first sample on."""

    def __init__(
        self, config: Turbulence, rng: Normals, run: Callable[[ca.Function], Runner], span_m: float = 0.0
    ) -> None:
        """`rng` belongs to this object alone: it draws ahead, in blocks. `run` makes the step callable, compiled or
        not. `span_m` is needed for gust rates."""
        count = states(config.model, rates=config.rates)
        self._rng, self._count = rng, draws(config.model, rates=config.rates)
        self._run = step = run(step_function(config.model, rates=config.rates))
        self._before, self._moment, setting = step.inputs
        known = (config.sigma_m_s,) * len(HEIGHTS_FT)
        sigma_m_s = intensities_m_s(config.exceedance) if config.exceedance > 0.0 else known
        setting[:] = config.w20_m_s, config.min_airspeed_m_s, *_BLENDED[config.altitude], span_m, *sigma_m_s
        self._after, self._wind = step.outputs[0][:count], step.outputs[0][count : count + 3]
        self._rate = step.outputs[0][count + 3 :]
        self._draws: list[float] = []
        self._next = 0

    def step(self, dt_s: float, height_m: float, relative_W: Vec3) -> Vec3:
        """Advance by `dt_s`; `relative_W` is the aircraft's velocity in the mean wind, height is above ground."""
        i = self._next
        if i == len(self._draws):
            self._draws, i = self._rng.standard_normal(_BLOCK * self._count).tolist(), 0
        self._next = i + self._count
        self._moment[:] = (dt_s, height_m, *relative_W, *self._draws[i : i + self._count])
        self._before[:] = self._after
        self._run()
        x, y, z = self._wind.tolist()
        return x, y, z

    @property
    def rate_W(self) -> Vec3:
        """Angular velocity of the air as a wing feels it (rad/s), at the last step; 0 without `rates`."""
        x, y, z = self._rate.tolist() or (0.0, 0.0, 0.0)
        return x, y, z


class Gusts(Protocol):
    """Turbulence of either kind."""

    @property
    def rate_W(self) -> Vec3: ...
    def step(self, dt_s: float, height_m: float, relative_W: Vec3) -> Vec3: ...


class FadedIn:
    """Turbulence whose amplitude rises as (1 - cos(pi t/T))/2 in the first T seconds, and stays."""

    def __init__(self, whole: Gusts, fade_in_s: float) -> None:
        self._whole, self._fade_in_s = whole, fade_in_s
        self._since_s = self._part = 0.0

    def step(self, dt_s: float, height_m: float, relative_W: Vec3) -> Vec3:
        self._since_s = since_s = min(self._since_s + dt_s, self._fade_in_s)
        self._part = part = 0.5 * (1.0 - math.cos(math.pi * since_s / self._fade_in_s))
        x, y, z = self._whole.step(dt_s, height_m, relative_W)
        return part * x, part * y, part * z

    @property
    def rate_W(self) -> Vec3:
        x, y, z = self._whole.rate_W
        return self._part * x, self._part * y, self._part * z
