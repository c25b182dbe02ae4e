"""Dryden turbulence near the ground: MIL-F-8785C, section 3.7, Dryden form, low-altitude scales.

With the height h and the wind W20 at 20 ft, between 10 ft and 1000 ft (h in ft; outside, the nearest of them):
    L_w = h,        L_u = L_v = h / (0.177 + 0.000823 h)^1.2
    sigma_w = 0.1 W20,  sigma_u = sigma_v = sigma_w / (0.177 + 0.000823 h)^0.4
u lies along the horizontal wind relative to the aircraft, w is vertical, v is the third axis. In the time that the
air takes to pass by one length, T = L/V, white noise n is shaped by
    u: sqrt(2) n / (1 + s)        v, w: (1 + sqrt(3) s) / (1 + s)^2 n,      each times its sigma.
Both are solved exactly over a step of any length, so that no statistic depends on the step.

The step is one CasADi function of the state and five normal numbers, since it is made in every step of a flight.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Literal

import casadi as ca

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3
from aeroloop.core.noise_source import Normals
from aeroloop.world.flight_model import Runner

FT_M = 0.3048
LOWEST_M, HIGHEST_M = 10 * FT_M, 1000 * FT_M
_DRAWS = 5  # per step, always the same number
_BLOCK = 200 * _DRAWS
_STATES = 7
_MOMENT = struct.Struct(f"{5 + _DRAWS}d")
_SERIES_BELOW = 2e-3
_ROOT_2, _ROOT_3 = math.sqrt(2.0), math.sqrt(3.0)


Model = Literal["dryden", "von_karman"]


class Turbulence(Config, frozen=True):
    """Continuous random gusts (MIL-F-8785C); by default those near the ground, in the Dryden form."""

    w20_m_s: Annotated[
        float, meta("m/s", "wind speed at 20 ft; light 7.7, moderate 15.4, severe 23.1; 0 for none", ge=0, le=50)
    ] = 0.0
    min_airspeed_m_s: Annotated[
        float, meta("m/s", "minimum airspeed assumed, for a hovering aircraft", ge=0.1, le=50)
    ] = 1.0
    model: Annotated[Model, note("spectra; von Karman's by rational filters")] = "dryden"
    altitude: Annotated[
        Literal["low", "auto", "medium"],
        note(
            "scales and intensities: `low`: held above 1000 ft above ground; `auto`: medium altitude from 2000 ft on, "
            "linear in between; `medium`: at any height"
        ),
    ] = "low"
    sigma_m_s: Annotated[
        float, meta("m/s", "intensity at medium altitude, at any height; or give `exceedance`", ge=0, le=20)
    ] = 0.0
    exceedance: Annotated[
        float,
        meta(
            "-",
            "probability with which the intensity at medium altitude is exceeded, which gives it by height "
            "(MIL-F-8785C, figure 7); light 1e-2, moderate 1e-3, severe 1e-5, limits 1e-6 and 0.2; 0: `sigma_m_s`",
            ge=0,
            le=0.2,
        ),
    ] = 0.0
    rates: Annotated[
        bool, note("a wing also feels gusts as rates p, q, r of the air, by its span; fixed wings alone")
    ] = False
    fade_in_s: Annotated[
        float,
        meta("s", "time in which its amplitude rises from 0, as 1 - cos; 0: it is whole at the start", ge=0, le=3600),
    ] = 0.0

    def __post_init__(self) -> None:
        if 0.0 < self.exceedance < 1e-6:
            raise ValueError(f"exceedance: expected 0, or 1e-6 to 0.2, not {self.exceedance:g}")
        given = (self.sigma_m_s > 0.0) + (self.exceedance > 0.0)
        if given != (self.altitude != "low"):
            raise ValueError(
                "sigma_m_s: medium altitude has one intensity; expected sigma_m_s or exceedance with altitude = auto "
                f"or medium, and neither with low, not sigma_m_s = {self.sigma_m_s:g} and exceedance = "
                f"{self.exceedance:g} with {self.altitude}"
            )

    @property
    def blows(self) -> bool:
        return self.w20_m_s > 0.0 or self.altitude != "low"

    @property
    def near_ground(self) -> bool:
        """Whether this module has it all; otherwise `turbulence.py`."""
        return self.model == "dryden" and self.altitude == "low" and not self.rates


def scales(height_m: ca.SX, w20_m_s: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """Lengths of u and v and of w (m), intensities of u and v and of w (m/s)."""
    height_m = ca.fmin(ca.fmax(height_m, LOWEST_M), HIGHEST_M)
    shape = (0.177 + 0.000823 * height_m / FT_M) ** 0.4
    sigma_w = 0.1 * w20_m_s
    return height_m / (shape * shape * shape), height_m, sigma_w / shape, sigma_w


def exact_step(theta: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX, ca.SX]:
    """z1' = -z1 + n, z2' = -z2 + z1 over a time theta: the decay e^-theta and the noise's Cholesky factor.

    z1 <- decay z1 + l11 a,  z2 <- decay (z2 + theta z1) + l21 a + l22 b  with independent unit a and b.
    """
    decay = ca.exp(-theta)
    q11 = -0.5 * ca.expm1(-2.0 * theta)
    short = theta < _SERIES_BELOW  # there the closed forms cancel
    decay2 = decay * decay
    q12 = ca.if_else(
        short,
        theta * theta * (1 / 2 - theta * (2 / 3 - theta * (1 / 2 - theta * (4 / 15)))),
        0.25 - decay2 * (0.5 * theta + 0.25),
    )
    q22 = ca.if_else(
        short,
        theta * theta * theta * (1 / 3 - theta * (1 / 2 - theta * (2 / 5 - theta * (2 / 9)))),
        0.25 - decay2 * (0.5 * theta * (theta + 1.0) + 0.25),
    )
    l11 = ca.sqrt(q11)
    l21 = ca.if_else(l11 > 0, q12 / l11, 0)
    return decay, l11, l21, ca.sqrt(ca.fmax(0.0, q22 - l21 * l21))


@cache
def step_function() -> ca.Function:
    """(state, (dt, height over ground, velocity in the mean wind, draws), (W20, least airspeed)) -> (state, wind_W).

    State: u, z1 and z2 of v and of w, and the axis of u, a horizontal unit vector; 0, 0 before the first step.
    """
    state, moment, setting = ca.SX.sym("state", _STATES), ca.SX.sym("moment", 5 + _DRAWS), ca.SX.sym("setting", 2)
    u, v1, v2, w1, w2, axis_x, axis_y = (state[i] for i in range(_STATES))
    dt_s, height_m, vx, vy, vz, a, b, c, d, e = (moment[i] for i in range(5 + _DRAWS))
    w20, floor = setting[0], setting[1]
    flown_m = ca.fmax(ca.sqrt(vx * vx + vy * vy + vz * vz), floor) * dt_s
    length_uv, length_w, sigma_uv, sigma_w = scales(height_m, w20)

    theta = flown_m / length_uv
    decay, l11, l21, l22 = exact_step(theta)
    axis_x, axis_y = follow(axis_x, axis_y, vx, vy, decay, floor)
    u = decay * u + _ROOT_2 * l11 * a
    v2 = decay * (v2 + theta * v1) + l21 * b + l22 * c
    v1 = decay * v1 + l11 * b
    theta = flown_m / length_w
    decay, l11, l21, l22 = exact_step(theta)
    w2 = decay * (w2 + theta * w1) + l21 * d + l22 * e
    w1 = decay * w1 + l11 * d

    along = sigma_uv * u
    across = sigma_uv * (_ROOT_3 * v1 + (1.0 - _ROOT_3) * v2)
    up = sigma_w * (_ROOT_3 * w1 + (1.0 - _ROOT_3) * w2)
    wind = axis_x * along - axis_y * across, axis_y * along + axis_x * across, up
    row = ca.vertcat(u, v1, v2, w1, w2, axis_x, axis_y, *wind)
    return ca.Function("dryden_step", [state, moment, setting], [row], ["state", "moment", "setting"], ["row"])


def follow(x: ca.SX, y: ca.SX, vx: ca.SX, vy: ca.SX, decay: ca.SX, floor: ca.SX) -> tuple[ca.SX, ca.SX]:
    """Turn the axis of u towards the relative wind, as fast as the turbulence itself changes.

    An aircraft that yaws in place must not rotate the air with it. Forward and backward have the same statistics, so
    the axis follows the nearer of the two.
    """
    speed = ca.sqrt(vx * vx + vy * vy)
    begun, moves, fast = x * x + y * y > 0, speed > 0, speed > floor
    gain = (1.0 - decay) / speed
    gain = ca.if_else(x * vx + y * vy < 0, -gain, gain)
    towards_x, towards_y = decay * x + gain * vx, decay * y + gain * vy
    length = ca.sqrt(towards_x * towards_x + towards_y * towards_y)
    first_x, first_y = ca.if_else(moves, vx / speed, 1), ca.if_else(moves, vy / speed, 0)
    return (
        ca.if_else(begun, ca.if_else(fast, towards_x / length, x), first_x),
        ca.if_else(begun, ca.if_else(fast, towards_y / length, y), first_y),
    )


def stationary(a: Any, b: Any, c: Any, d: Any, e: Any) -> tuple[Any, ...]:
    """u, z1 and z2 of v and of w from unit normals: the covariance of (z1, z2) is ((1/2, 1/4), (1/4, 1/4))."""
    v = b / _ROOT_2, b / (2.0 * _ROOT_2) + c / (2.0 * _ROOT_2)
    w = d / _ROOT_2, d / (2.0 * _ROOT_2) + e / (2.0 * _ROOT_2)
    return (a, *v, *w)


class Dryden:
    """The turbulent part of the wind at the aircraft; stationary from the first sample on."""

    rate_W: Vec3 = (0.0, 0.0, 0.0)  # it has no gust rates

    def __init__(self, config: Turbulence, rng: Normals, run: Callable[[ca.Function], Runner]) -> None:
        """`rng` belongs to this object alone: it draws ahead, in blocks. `run` makes the step callable, compiled or
        not."""
        self._rng = rng
        self._run = step = run(step_function())
        self._before, moment, setting = step.inputs
        setting[:] = config.w20_m_s, config.min_airspeed_m_s
        self._moment = moment.data
        self._after, self._wind = step.outputs[0][:_STATES], step.outputs[0][_STATES:]
        a, b, c, d, e = rng.standard_normal(_DRAWS).tolist()
        self._after[:] = (*stationary(a, b, c, d, e), 0.0, 0.0)
        self._draws: list[float] = []
        self._next = 0

    def step(self, dt_s: float, height_m: float, relative_W: Vec3) -> Vec3:
        """Advance by `dt_s`; `relative_W` is the aircraft's velocity in the mean wind, height is above ground."""
        i = self._next
        if i == len(self._draws):
            self._draws, i = self._rng.standard_normal(_BLOCK).tolist(), 0
        self._next = i + _DRAWS
        _MOMENT.pack_into(self._moment, 0, dt_s, height_m, *relative_W, *self._draws[i : i + _DRAWS])
        self._before[:] = self._after
        self._run()
        x, y, z = self._wind.tolist()
        return x, y, z
