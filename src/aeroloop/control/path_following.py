"""PFOL: follows a path in the plane by bank angle; backstepping in the Serret-Frenet frame, roll lag by adaptation.

With mu = -roll the bank to the left, V the speed over ground and a virtual point at arc length s of the path with its
own motion (so that there is no projection that could be singular):

    chi' = (g/V) tan mu,   mu' = (mu_c - mu)/lag        lag is not known
    es' = V cos pt - (1 - kappa ed) s',   ed' = V sin pt - kappa es s',   pt = chi - psi(s)

    delta = -psi_inf tanh(kd ed)                        the approach course to the path
    s'    = V cos pt + ks es, not below 0
    w_d   = kappa s' + delta'(ed) ed' - gam ed V (sin pt - sin delta)/(pt - delta) - kw (pt - delta)
    z     = (g/V) tan mu - w_d
    v     = (V/g) cos^2(mu) (w_d' - c (pt - delta) - kz z)
    mu_c  = mu + lag_hat v,    lag_hat' = -Gam z (g/V) v / cos^2(mu), still while mu_c saturates

V1 = (es^2 + ed^2)/2 + (pt - delta)^2/(2 gam) falls as long as z = 0. Course and speed are those over ground, so a
steady wind needs no term. Two things are added for flight in gusts, where noise alone would drive lag_hat up (z v is
mostly -kz z^2): there is no adaptation for z within `still_rad_s`, and lag_hat decays to its initial value.

Jung, Tsiotras: Bank-to-turn control for a small UAV using backstepping and parameter adaptation. IFAC 2008.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import casadi as ca

from aeroloop.control.toolkit import clip, wrapped
from aeroloop.core.frames import GRAVITY_M_S2

STATE = (("s", "m"), ("lag", "s"), ("turn_rate_smooth", "rad/s"), ("started", "-"))
FLIGHT = (("x", "m"), ("y", "m"), ("course", "rad"), ("ground_speed", "m/s"), ("roll", "rad"))
POINT = (("x", "m"), ("y", "m"), ("psi", "rad"), ("kappa", "1/m"))
TUNING = (("ks", "1/s"), ("kw", "1/s"), ("kz", "1/s"), ("kd", "1/m"), ("slope", "rad/m"))
"""Gains that may change in flight; `slope` is psi_inf kd."""
GUIDANCE = (("roll_command", "rad"), ("along", "m"), ("cross", "m"), ("course_error", "rad"))


@dataclass(frozen=True, slots=True)
class PathGains:
    ks: float = 0.4  # 1/s
    kw: float = 0.8  # 1/s
    gam: float = 2e-4  # 1/m2
    kz: float = 2.0  # 1/s
    c: float = 0.0  # 1/s2
    psi_inf_rad: float = math.radians(70.0)
    kd_1_m: float = 0.012
    adaptation: float = 50.0  # Gam
    lag_s: float = 0.2  # lag_hat at the start
    lag_least_s: float = 0.1
    lag_most_s: float = 2.0
    derivative_s: float = 0.3
    slowest_m_s: float = 5.0  # minimum ground speed assumed by the law
    still_rad_s: float = 0.0
    leak_per_s: float = 0.0


def initial(s_m: float, gains: PathGains | None = None) -> tuple[float, ...]:
    """Initial state at a point of a path."""
    return s_m, (gains or PathGains()).lag_s, 0.0, 0.0


def tuning(gains: PathGains) -> tuple[float, ...]:
    """The gains as an input of the function, layout TUNING."""
    return gains.ks, gains.kw, gains.kz, gains.kd_1_m, gains.psi_inf_rad * gains.kd_1_m


def pfol(period_s: float, gains: PathGains | None = None, *, tuned: bool = False) -> ca.Function:
    """(state, flight, point, roll_most) -> (guidance, state); layouts STATE, FLIGHT, POINT, GUIDANCE.

    `point` is the path's at `state[0]`; `cross` is positive to the left of the path; `roll_most` in rad. With `tuned`
    the gains of TUNING are a fifth input.
    """
    gains = gains or PathGains()
    tuned_by = ca.SX.sym("tuning", len(TUNING))
    ks, kw, kz, kd, slope = ca.vertsplit(tuned_by) if tuned else tuning(gains)
    state, flight = ca.SX.sym("state", len(STATE)), ca.SX.sym("flight", len(FLIGHT))
    point, most = ca.SX.sym("point", len(POINT)), ca.SX.sym("roll_most")
    s, lag, smooth, started = ca.vertsplit(state)
    x, y, course, ground_speed, roll = ca.vertsplit(flight)
    path_x, path_y, psi, kappa = ca.vertsplit(point)
    V, mu = ca.fmax(ground_speed, gains.slowest_m_s), -roll
    turning = GRAVITY_M_S2 / V

    cos, sin = ca.cos(psi), ca.sin(psi)
    es, ed = cos * (x - path_x) + sin * (y - path_y), cos * (y - path_y) - sin * (x - path_x)
    pt = wrapped(course - psi)
    s_dot, delta, w_d = _turn_rate(V, es, ed, pt, kappa, gains, (ks, kw, kd, slope))
    w_most = turning * ca.tan(most)
    w_d = clip(w_d, -w_most, w_most)

    before = ca.if_else(started > 0.5, smooth, w_d)
    w_d_dot = (w_d - before) / gains.derivative_s
    z = turning * ca.tan(mu) - w_d
    v = ca.cos(mu) ** 2 / turning * (w_d_dot - gains.c * (pt - delta) - kz * z)
    asked = mu + lag * v
    mu_c = clip(asked, -most, most)

    learning = ca.logic_and(ca.fabs(asked) < most, ca.fabs(z) > gains.still_rad_s)
    lag_dot = -gains.adaptation * z * turning / ca.cos(mu) ** 2 * v
    lag_dot = ca.if_else(learning, lag_dot, 0) - gains.leak_per_s * (lag - gains.lag_s)
    lag_after = ca.fmin(ca.fmax(lag + period_s * lag_dot, gains.lag_least_s), gains.lag_most_s)
    after = ca.vertcat(s + period_s * s_dot, lag_after, before + period_s * w_d_dot, 1)
    return ca.Function(
        "pfol",
        [state, flight, point, most, *([tuned_by] if tuned else [])],
        [ca.vertcat(-mu_c, es, ed, pt), after],
        ["state", "flight", "point", "roll_most", *(["tuning"] if tuned else [])],
        ["guidance", "state_next"],
    )


def turn_rate(V: Any, es: Any, ed: Any, pt: Any, kappa: Any, gains: PathGains) -> tuple[Any, Any, Any]:
    """Speed of the virtual point, approach course, and turn rate setpoint."""
    ks, kw, _, kd, slope = tuning(gains)
    return _turn_rate(V, es, ed, pt, kappa, gains, (ks, kw, kd, slope))


def _turn_rate(
    V: Any, es: Any, ed: Any, pt: Any, kappa: Any, gains: PathGains, tuned: tuple[Any, Any, Any, Any]
) -> tuple[Any, Any, Any]:
    ks, kw, kd, slope_most = tuned
    tanh = ca.tanh(kd * ed)
    delta = -gains.psi_inf_rad * tanh
    slope = -slope_most * (1 - tanh**2)
    s_dot = ca.fmax(V * ca.cos(pt) + ks * es, 0)
    ed_dot = V * ca.sin(pt) - kappa * es * s_dot
    off = pt - delta
    tiny = ca.fabs(off) < 1e-4
    ratio = ca.if_else(tiny, ca.cos(delta), (ca.sin(pt) - ca.sin(delta)) / ca.if_else(tiny, 1, off))
    return s_dot, delta, kappa * s_dot + slope * ed_dot - gains.gam * ed * V * ratio - kw * off
