"""The rocket's position setpoint: up, across and down along polynomials of fifth degree, then slowly onto its legs."""

from dataclasses import dataclass
from typing import Any

import casadi as ca
from rocket.airframe import flown
from rocket.scenario import RocketScenario

PEAK = 1.875
"""Largest slope of the polynomial."""
ABOVE_PAD_M, TOUCHDOWN_M_S, LAST_S = 0.6, 0.4, 3.0
"""The last piece: from this height at this speed for so long, to below the ground."""


@dataclass(frozen=True)
class Times:
    """Start time of each part of a hop, s."""

    climb: float
    across: float
    descent: float
    touchdown: float  # the last, slow piece


def times(scenario: RocketScenario) -> Times:
    hop = scenario.aircraft.hop
    across_m = float(ca.norm_2(ca.DM(hop.goal_m)))
    across = hop.start_s + PEAK * hop.height_m / hop.climb_m_s
    descent = across + PEAK * across_m / hop.across_m_s
    return Times(hop.start_s, across, descent, descent + PEAK * hop.height_m / hop.descent_m_s)


def reference(scenario: RocketScenario, t_s: Any) -> tuple[Any, Any, Any]:
    """Position, velocity and acceleration of the centre of mass."""
    hop, at, rest_m = scenario.aircraft.hop, times(scenario), flown(scenario).body.legs_m
    up, rises, lifts = _smooth(t_s, at.climb, at.across)
    over, moves, leans = _smooth(t_s, at.across, at.descent)
    down, sinks, drops = _smooth(t_s, at.descent, at.touchdown)
    lower_m = hop.height_m - ABOVE_PAD_M
    last_s = ca.fmin(ca.fmax(t_s - at.touchdown, 0), LAST_S)
    x_m, y_m = hop.goal_m
    pos = ca.vertcat(x_m * over, y_m * over, rest_m + hop.height_m * up - lower_m * down - TOUCHDOWN_M_S * last_s)
    slow = ca.if_else(ca.logic_and(t_s > at.touchdown, t_s < at.touchdown + LAST_S), TOUCHDOWN_M_S, 0)
    vel = ca.vertcat(x_m * moves, y_m * moves, hop.height_m * rises - lower_m * sinks - slow)
    return pos, vel, ca.vertcat(x_m * leans, y_m * leans, hop.height_m * lifts - lower_m * drops)


def _smooth(t_s: Any, from_s: float, to_s: float) -> tuple[Any, Any, Any]:
    """From 0 to 1 without a jump in acceleration, and its derivatives; a piece of length zero gives zeros."""
    if to_s <= from_s:
        return ca.SX(0), ca.SX(0), ca.SX(0)
    lasts_s = to_s - from_s
    x = ca.fmin(ca.fmax((t_s - from_s) / lasts_s, 0), 1)
    rate, change = 30 * x**2 * (1 - x) ** 2, 60 * x * (1 - x) * (1 - 2 * x)
    return x**3 * (10 + x * (6 * x - 15)), rate / lasts_s, change / lasts_s**2
