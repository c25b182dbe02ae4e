"""A multirotor's nonlinear predictive law: rigid body with one thrust for each rotor, in any attitude.

State: (pos_W, vel_W, quat_WB, rate_B) of `quad_toolkit`; inputs: thrusts in N. Errors are those of `quad_toolkit`, of
the attitude from that which gives the reference's acceleration. An observer estimates the accelerations that the model
does not explain (wind, payload, rotors that differ), and the model has them as a constant disturbance.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from aeroloop.control.host_law import HostLawDesign
from aeroloop.control.mpc import FILTER_S
from aeroloop.control.nmpc import Bounds, Problem, Weights
from aeroloop.control.nmpc_solver import NonlinearLaw, RealTimeIteration
from aeroloop.control.quad_toolkit import (
    POS,
    QUAT,
    RATE,
    SETPOINT,
    STATE,
    VEL,
    WANTED_ACCEL,
    WANTED_POS,
    WANTED_VEL,
    YAW,
    YAW_RATE,
)
from aeroloop.control.toolkit import clip
from aeroloop.controllers.law.guided_design import Design
from aeroloop.controllers.law.guided_tables import GuidedNonlinear
from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.models import linear, quadrotor

DISTURBANCE = 6
"""Accelerations in m/s2 (world) and rad/s2 (body) that the model does not explain."""
OBSERVER_S = (0.6, 0.3)
"""Time constants of their estimates."""
DISTURBANCE_MAX = (6.0, 6.0, 6.0, 30.0, 30.0, 10.0)
JERK_MAX_M_S3 = 30.0
"""Bound on the change of acceleration that is read from setpoints."""
_ORDER = (*range(3), *range(7, 10), *range(3, 7), *range(10, 13))
"""Of `quad_toolkit`'s state in that of the model: (pos, quat, vel, rate)."""


def host_law(design: Design, settings: GuidedNonlinear, fallback: ca.Function) -> HostLawDesign:
    """The law `nmpc`; its fallback is the cascade."""
    law = nonlinear_law(design, settings)
    return HostLawDesign("nmpc", partial(RealTimeIteration, law), fallback, design.period_s, law.functions)


def nonlinear_law(design: Design, settings: GuidedNonlinear) -> NonlinearLaw:
    thrust = ca.SX.sym("thrust", design.rotors)
    command = design.command(ca.sqrt(thrust / design.frame.thrust_Ns2))
    return NonlinearLaw(
        problem(design, settings),
        front(design, settings),
        ca.Function("command", [thrust], [command]),
        design.period_s,
        settings.gap_max,
    )


def problem(design: Design, settings: GuidedNonlinear) -> Problem:
    from scipy.linalg import solve_discrete_are  # slow to import, and most processes of a flight need no design

    frame, rotors = design.frame, design.rotors
    A, B, speeds = quadrotor.hover_linear(design.airframe.flight)
    slopes = 2.0 * frame.thrust_Ns2 * speeds  # thrust over speed
    Q = np.array(settings.state_weights).repeat(3) * settings.step_s
    R = np.full(rotors, settings.thrust_weight * settings.step_s)
    P = solve_discrete_are(*linear.zero_order_hold(A, B / slopes, settings.step_s), np.diag(Q), np.diag(R))
    return Problem(
        model=model(design),
        error=error(),
        limits=limits(),
        integrated=(np.zeros((0, STATE)), np.zeros((0, SETPOINT))),
        weights=Weights(Q, R, P, slack=settings.slack_weight * settings.step_s, change=np.zeros(STATE)),
        bounds=Bounds(
            u_low=np.full(rotors, frame.thrust_least_N),
            u_high=np.full(rotors, frame.thrust_most_N),
            low=np.array([float(np.cos(np.radians(settings.tilt_max_deg)))]),
            high=np.array([np.inf]),
        ),
        u_rest=frame.thrust_Ns2 * speeds**2,
        steps=settings.steps,
        step_s=settings.step_s,
    )


def model(design: Design) -> ca.Function:
    """(state, thrusts, disturbance) -> (derivative of the state, its Jacobian), in still air of standard density."""
    p = design.airframe.flight
    x, u, d = ca.SX.sym("x", STATE), ca.SX.sym("u", design.rotors), ca.SX.sym("d", DISTURBANCE)
    speed = ca.sqrt(ca.fmax(u, design.frame.thrust_least_N / 2) / design.frame.thrust_Ns2)
    ordered = ca.vertcat(x[POS], x[QUAT], x[VEL], x[RATE])
    still = (ca.DM.zeros(design.rotors), ca.DM.zeros(3), p.rotors.density_kg_m3, GRAVITY_M_S2)
    dot = quadrotor.state_dot(p)(ordered, speed, *still)
    dot = ca.vertcat(*(dot[i] for i in _ORDER)) + ca.vertcat(ca.SX(3, 1), d[:3], ca.SX(4, 1), d[3:])
    return ca.Function("multirotor_jacobian", [x, u, d], ca.cse([dot, ca.jacobian(dot, ca.vertcat(x, u))]))


def error() -> ca.Function:
    """(state, setpoint) -> (12,) position, attitude, velocity and rates, the first three in the heading frame."""
    x, r = ca.SX.sym("x", STATE), ca.SX.sym("r", SETPOINT)
    cos, sin = ca.cos(r[YAW]), ca.sin(r[YAW])
    to_heading = ca.vertcat(ca.horzcat(cos, sin, 0), ca.horzcat(-sin, cos, 0), ca.horzcat(0, 0, 1))
    force = to_heading @ r[WANTED_ACCEL] + ca.vertcat(0, 0, GRAVITY_M_S2)
    up = force / ca.norm_2(force)
    # The shortest rotation from upright to `up`, after the rotation by yaw.
    scale = ca.sqrt(2 * (1 + up[2]))
    tilt = ca.vertcat(scale / 2, -up[1] / scale, up[0] / scale, 0)
    heading = ca.vertcat(ca.cos(r[YAW] / 2), 0, 0, ca.sin(r[YAW] / 2))
    w, *turn = ca.vertsplit(_product(_inverse(_product(heading, tilt)), x[QUAT]))
    turned: Any = ca.vertcat(*turn)
    turned = 2 * turned * ca.if_else(w < 0, -1, 1) / ca.norm_2(x[QUAT])
    rate = x[RATE] - ca.vertcat(0, 0, r[YAW_RATE])
    off = ca.vertcat(to_heading @ (x[POS] - r[WANTED_POS]), turned, to_heading @ (x[VEL] - r[WANTED_VEL]), rate)
    return ca.Function("error", [x, r], [off])


def limits() -> ca.Function:
    """(state, setpoint) -> cosine of the tilt."""
    x, r = ca.SX.sym("x", STATE), ca.SX.sym("r", SETPOINT)
    _, a, b, _ = ca.vertsplit(x[QUAT])
    return ca.Function("limits", [x, r], [1 - 2 * (a**2 + b**2) / ca.sumsqr(x[QUAT])])


def front(design: Design, settings: GuidedNonlinear) -> ca.Function:
    """(state, setpoint, memory, last thrusts) -> (state, setpoints along the horizon, disturbance, memory).

    Memory: whether there was a period before, its state and disturbance, the thrusts of motors that lag, the setpoint's
    acceleration and its filtered change. Ahead, the setpoint keeps that change of acceleration, and its yaw rate."""
    n = design.rotors
    state, setpoint, last = ca.SX.sym("state", STATE), ca.SX.sym("setpoint", SETPOINT), ca.SX.sym("last", n)
    sizes = (1, STATE, DISTURBANCE, n, 3, 3)
    memory = ca.SX.sym("memory", sum(sizes))
    started, before, d, given, accel_before, jerk = ca.vertsplit(memory, np.cumsum([0, *sizes]).tolist())
    quat = state[QUAT] * ca.if_else(ca.dot(state[QUAT], before[QUAT]) < 0, -1, 1)
    now = ca.vertcat(state[POS], state[VEL], quat, state[RATE])
    motors = design.airframe.motors
    lag_s = max((motors.lag_up_s + motors.lag_down_s) / 2, 1e-4)
    given = ca.if_else(started > 0.5, given + (1 - float(np.exp(-design.period_s / lag_s))) * (last - given), 0)
    given = ca.fmax(given, design.frame.thrust_least_N)
    modelled = model(design)(before, given, ca.DM.zeros(DISTURBANCE))[0]
    moved = (now - before) / design.period_s - modelled
    unexplained = ca.vertcat(moved[VEL], moved[RATE])
    shares = [1.0 - float(np.exp(-design.period_s / time_s)) for time_s in OBSERVER_S]
    gains = ca.DM([shares[0]] * 3 + [shares[1]] * 3)
    most = ca.DM(DISTURBANCE_MAX)
    d = ca.if_else(started > 0.5, clip(d + gains * (unexplained - d), -most, most), 0)
    accel = setpoint[WANTED_ACCEL]
    change = clip(started * (accel - accel_before) / design.period_s, -JERK_MAX_M_S3, JERK_MAX_M_S3)
    jerk = jerk + (1.0 - float(np.exp(-design.period_s / FILTER_S))) * (change - jerk)
    ahead: list[Any] = []
    for k in range(settings.steps + 1):
        t_s = k * settings.step_s
        vel = setpoint[WANTED_VEL]
        pos_ahead = setpoint[WANTED_POS] + t_s * vel + t_s**2 / 2 * accel + t_s**3 / 6 * jerk
        vel_ahead, accel_ahead = vel + t_s * accel + t_s**2 / 2 * jerk, accel + t_s * jerk
        yaw = setpoint[YAW] + t_s * setpoint[YAW_RATE]
        ahead.append(ca.vertcat(pos_ahead, vel_ahead, accel_ahead, yaw, setpoint[YAW_RATE]))
    outputs = [now, ca.horzcat(*ahead), d, ca.vertcat(1, now, d, given, accel, jerk)]
    return ca.Function("front", [state, setpoint, memory, last], outputs)


def _inverse(quat: Any) -> Any:
    return ca.vertcat(quat[0], -quat[1:4])


def _product(a: Any, b: Any) -> Any:
    return ca.vertcat(a[0] * b[0] - ca.dot(a[1:4], b[1:4]), a[0] * b[1:4] + b[0] * a[1:4] + ca.cross(a[1:4], b[1:4]))
