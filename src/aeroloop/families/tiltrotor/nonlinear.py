"""The tilt-rotor's nonlinear predictive law: problem, preview of the reference, fallback.

Errors and weights are those of the LQR law in the heading frame of the reference, so the law has no preferred heading.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from aeroloop.boards.config import NonlinearPredictive
from aeroloop.control import lqr, toolkit
from aeroloop.control.host_law import HostLawDesign
from aeroloop.control.mpc import FILTER_S
from aeroloop.control.nmpc import Bounds, Problem, Weights
from aeroloop.control.nmpc_solver import NonlinearLaw, RealTimeIteration
from aeroloop.control.toolkit import REFERENCED, ROLL, TILT_LEFT, TILT_RIGHT, YAW
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.signals import REFERENCE_COUNT, SENSOR_COUNT
from aeroloop.families.tiltrotor.design import Design
from aeroloop.models import linear, tiltrotor
from aeroloop.models.tiltrotor_jacobian import dynamics_and_jacobian

RATES = REFERENCE_COUNT // 2
"""A reference is four values (x, y, z, yaw), then their rates."""
TILT_CHANGE = 300.0
"""Weight in 1/rad2 of the change of a tilt angle in one iteration: forces are linear in small changes only."""
_Z = SENSOR_COUNT + len(lqr.INTEGRATED)


def host_law(parameters: tiltrotor.Parameters, plan: Design, settings: NonlinearPredictive) -> HostLawDesign:
    """The law `nmpc`; its fallback is `dlqr-heading`."""
    law = nonlinear_law(parameters, plan, settings)
    fallback = plan.law("dlqr-heading")
    return HostLawDesign("nmpc", partial(RealTimeIteration, law), fallback, plan.period_s, law.functions)


def nonlinear_law(parameters: tiltrotor.Parameters, plan: Design, settings: NonlinearPredictive) -> NonlinearLaw:
    u = ca.SX.sym("u", len(plan.u_eq))
    return NonlinearLaw(
        problem(parameters, plan, settings),
        front(plan, settings),
        ca.Function("command", [u], [u]),
        plan.period_s,
        settings.gap_max,
    )


def problem(parameters: tiltrotor.Parameters, plan: Design, settings: NonlinearPredictive) -> Problem:
    from scipy.linalg import solve_discrete_are  # slow to import, and most processes of a flight need no design

    if settings.thrust_max_N <= max(plan.u_eq):
        hover_N = float(np.max(plan.u_eq))
        raise ConfigError(f"control.nmpc.thrust_max_N: expected more than {hover_N:.3g} N, the thrust of hover")
    periods = settings.step_s / plan.period_s  # the weights are those of a sum over control periods
    Q, R = (periods * weight for weight in plan.weights)
    P = solve_discrete_are(*linear.zero_order_hold(plan.A, plan.B, settings.step_s), np.diag(Q), np.diag(R))
    thrust_N, torque_Nm = settings.thrust_max_N, settings.torque_max_Nm
    C, D = np.zeros((len(lqr.INTEGRATED), SENSOR_COUNT)), np.zeros((len(lqr.INTEGRATED), REFERENCE_COUNT))
    C[range(len(C)), lqr.INTEGRATED] = 1.0
    D[range(len(D)), range(len(D))] = 1.0
    change = np.zeros(_Z)
    change[[TILT_RIGHT, TILT_LEFT]] = TILT_CHANGE
    most_rad = np.radians([settings.roll_max_deg, settings.yaw_error_max_deg])
    return Problem(
        model=dynamics_and_jacobian(parameters),
        error=error(plan.state_eq),
        limits=limits(),
        integrated=(C, D),
        weights=Weights(Q, R, P, slack=periods * settings.slack_weight, change=change),
        bounds=Bounds(
            u_low=np.array([0.0, 0.0, -torque_Nm, -torque_Nm]),
            u_high=np.array([thrust_N, thrust_N, torque_Nm, torque_Nm]),
            low=-most_rad,
            high=most_rad,
        ),
        u_rest=plan.u_eq,
        steps=settings.steps,
        step_s=settings.step_s,
    )


def error(state_eq: Vec) -> ca.Function:
    """(z, reference) -> the 20 errors of the LQR law in the heading frame of the reference; yaw is not wrapped."""
    z, reference = ca.SX.sym("z", _Z), ca.SX.sym("reference", REFERENCE_COUNT)
    target = ca.SX(ca.DM(state_eq))
    target[list(REFERENCED)] = reference
    off = ca.vertcat(z[:SENSOR_COUNT] - target, z[SENSOR_COUNT:])
    cos_yaw, sin_yaw = ca.cos(reference[RATES - 1]), ca.sin(reference[RATES - 1])
    to_heading = ca.vertcat(ca.horzcat(cos_yaw, sin_yaw), ca.horzcat(-sin_yaw, cos_yaw))
    for east, north in lqr.HORIZONTAL:
        off[[east, north]] = to_heading @ off[[east, north]]
    return ca.Function("error", [z, reference], [off])


def limits() -> ca.Function:
    """(z, reference) -> roll, and yaw from its reference."""
    z, reference = ca.SX.sym("z", _Z), ca.SX.sym("reference", REFERENCE_COUNT)
    return ca.Function("limits", [z, reference], [ca.vertcat(z[ROLL], z[YAW] - reference[RATES - 1])])


def front(plan: Design, settings: NonlinearPredictive) -> ca.Function:
    """(sensors, reference, memory, last input) -> (z_0, references along the horizon, nothing, memory).

    The integrals are those of the LQR law. Ahead, the reference keeps its velocity and the filtered change of its
    velocity, as for the law `mpc`. Yaw continues beyond half a turn from one period to the next."""
    n = len(lqr.INTEGRATED)
    sensors, reference = ca.SX.sym("sensors", SENSOR_COUNT), ca.SX.sym("reference", REFERENCE_COUNT)
    memory = ca.SX.sym("memory", 2 * n + 2 + 2 * RATES)
    integral, before, started, yaw_before, rates, accel = ca.vertsplit(
        memory, [0, n, 2 * n, 2 * n + 1, 2 * n + 2, 2 * n + 2 + RATES, memory.numel()]
    )
    yaw = yaw_before + toolkit.wrapped(sensors[YAW] - yaw_before)
    now = ca.vertcat(reference[: RATES - 1], yaw + toolkit.wrapped(reference[RATES - 1] - yaw))
    state = ca.vertcat(sensors[:YAW], yaw, sensors[YAW + 1 :])
    off = ca.vertcat(*(state[index] for index in lqr.INTEGRATED)) - now
    integral = integral + plan.period_s / 2 * (off + before)
    limit = ca.DM([settings.accel_max_m_s2] * 3 + [settings.yaw_accel_max_rad_s2])
    rates_now = reference[RATES:]
    change = toolkit.clip(started * (rates_now - rates) / plan.period_s, -limit, limit)
    accel = accel + (1.0 - float(np.exp(-plan.period_s / FILTER_S))) * (change - accel)
    ahead: list[Any] = []
    for k in range(settings.steps + 1):
        t_s = k * settings.step_s
        ahead.append(ca.vertcat(now + t_s * rates_now + t_s**2 / 2 * accel, rates_now + t_s * accel))
    return ca.Function(
        "front",
        [sensors, reference, memory, ca.SX.sym("last", len(plan.u_eq))],
        [
            ca.vertcat(state, integral),
            ca.horzcat(*ahead),
            ca.SX(0, 1),
            ca.vertcat(integral, off, 1, yaw, rates_now, accel),
        ],
    )
