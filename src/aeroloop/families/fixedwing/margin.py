"""Delay margin of the inner loops, predicted in straight and level flight.

The linear model of the aircraft with its height and its servos' lags, sampled once a control period; the law, built-in
or a user's, is linearised there by differentiation. Body rates are means over the period, like the IMU values sent to
the board; otherwise the estimation is assumed exact, and its latency reduces the margin. So does path following around
these loops.
"""

from __future__ import annotations

import casadi as ca
import numpy as np

from aeroloop.analysis.delay_margin import DelayMargin, predicted
from aeroloop.core.frames import Vec
from aeroloop.families.fixedwing import airframe as airframes
from aeroloop.families.fixedwing.airframe import Airframe
from aeroloop.families.fixedwing.design import flight_law
from aeroloop.families.fixedwing.modes import reduced
from aeroloop.families.fixedwing.scenario import FixedWingScenario
from aeroloop.families.fixedwing.trim import quat_from_angles, trim
from aeroloop.models import delay, fixedwing, linear, rigid_body

MOST_PERIODS = 8
FIRST_RATE, RATES = 3, 3
"""Indices of p, q and r in the state."""


def delay_margin(scenario: FixedWingScenario) -> DelayMargin | None:
    """Delay margin of the scenario's law; None if it has no derivative there."""
    period_s = scenario.controller.board.period_s
    A, B, law = linear_loop(scenario)
    if not law.finite:
        return None

    def radius(delay_s: float) -> float:
        return delay.loop_radius(A, B, law, period_s, delay_s, fresh=RATES)

    return predicted(scenario, radius, MOST_PERIODS * period_s)


def linear_loop(scenario: FixedWingScenario) -> tuple[Vec, Vec, delay.Feedback]:
    """x' = A x + B u of the aircraft with its servos and the means of its rates, and the law's response to x; all about
    the trim."""
    airframe = airframes.load(scenario.aircraft.vehicle.airframe)
    speed_m_s, density = scenario.aircraft.mission.airspeed_m_s, airframe.cruise.density_kg_m3
    at = trim(airframe, speed_m_s, density_kg_m3=density)
    x0 = _state(at.alpha_rad, speed_m_s, at.roll_rad, at.pitch_rad, at.rate_B)
    A, B = _with_servos(*linear.linearise(_with_height(airframe, density), x0, np.array(at.controls)), airframe)
    A, B = _with_means(A, B, scenario.controller.board.period_s)
    cntr, see = flight_law(scenario).cntr, _estimate()
    x, m = ca.MX.sym("x", len(x0)), ca.MX.sym("m", cntr.size1_in(2))
    law = ca.Function("law", [x, m], cntr.call([see(x), ca.DM([at.roll_rad, 0.0, speed_m_s]), m]))
    of_state = delay.Feedback.linearised(law, x0)
    C, E = (_by_means(block, A.shape[0]) for block in (of_state.C, of_state.E))
    return A, B, delay.Feedback(C, of_state.D, E, of_state.F)


def _state(alpha_rad: float, speed_m_s: float, roll_rad: float, pitch_rad: float, rate_B: tuple[float, ...]) -> Vec:
    """(9,) of (u, v, w, p, q, r, phi, theta) in axes forward, right, down, and height."""
    p, q, r = rate_B
    along, down = speed_m_s * np.cos(alpha_rad), speed_m_s * np.sin(alpha_rad)
    return np.array([along, 0.0, down, p, -q, -r, roll_rad, -pitch_rad, 0.0])


def _vel_W(x: ca.SX) -> ca.SX:
    """With the nose to the east, in still air."""
    return rigid_body.rotation(quat_from_angles(x[6], -x[7])) @ (ca.DM(fixedwing.FLIP) * x[0:3])


def _with_height(airframe: Airframe, density_kg_m3: float) -> ca.Function:
    x, controls = ca.SX.sym("x", 9), ca.SX.sym("controls", fixedwing.CONTROLS)
    return ca.Function(
        "dynamics", [x, controls], [ca.vertcat(reduced(airframe, density_kg_m3)(x[:8], controls), _vel_W(x)[2])]
    )


def _with_servos(A: Vec, B: Vec, airframe: Airframe) -> tuple[Vec, Vec]:
    """Commands reach the surfaces after their lags; a servo without lag is modelled with one millisecond."""
    n, m = B.shape
    rates = np.diag(1.0 / np.maximum(np.array(airframe.servos.lag_s), 1e-3))
    return np.block([[A, B], [np.zeros((m, n)), -rates]]), np.vstack([np.zeros((n, m)), rates])


def _with_means(A: Vec, B: Vec, period_s: float) -> tuple[Vec, Vec]:
    """Appends the means of p, q and r over the period to the states."""
    n, m = B.shape
    picks = np.zeros((RATES, n))
    picks[:, FIRST_RATE : FIRST_RATE + RATES] = np.eye(RATES) / period_s
    return np.block([[A, np.zeros((n, RATES))], [picks, np.zeros((RATES, RATES))]]), np.vstack(
        [B, np.zeros((RATES, m))]
    )


def _by_means(block: Vec, states: int) -> Vec:
    """The law uses the means instead of the rates; the servos' positions are not its input."""
    rates = block[:, FIRST_RATE : FIRST_RATE + RATES]
    whole = np.zeros((block.shape[0], states))
    whole[:, : block.shape[1]] = block
    whole[:, FIRST_RATE : FIRST_RATE + RATES] = 0.0
    whole[:, states - RATES :] = rates
    return whole


def _estimate() -> ca.Function:
    """The output of an exact estimation, in the layout of control.wing."""
    x = ca.SX.sym("x", 9)
    vel_W, rate_B = _vel_W(x), ca.DM(fixedwing.FLIP) * x[3:6]
    airspeed = ca.norm_2(x[0:3])
    course, ground_speed = ca.atan2(vel_W[1], vel_W[0]), ca.norm_2(vel_W[:2])
    seen = ca.vertcat(0, 0, x[8], vel_W, x[6], -x[7], 0, rate_B, airspeed, course, ground_speed)
    return ca.Function("estimate", [x], [seen])
