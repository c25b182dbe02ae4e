"""Control design of a helicopter: hover -> linear model -> LQR with integral action -> margins of the closed loop.

The LQR knows 22 states: position, angles, velocity, rates, tilt of the disc, servos, and the integrals of the errors of
position and heading. Inflow is fast and stands at its equilibrium there, rotor speed and power are the governor's; the
margins are those of the whole model with the whole law, sampled, delayed, governor included.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np

from aeroloop.control import lqr
from aeroloop.control.flown_law import law_file
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.signals import NS
from aeroloop.families.helicopter import airframe, model
from aeroloop.families.helicopter.airframe import Helicopter
from aeroloop.families.helicopter.model import INFLOW, SERVOS, THROTTLE
from aeroloop.families.helicopter.scenario import HelicopterScenario
from aeroloop.models import delay, linear

KNOWN = SERVOS.stop
"""The first states of the model, those of the LQR."""
INTEGRATED = (0, 1, 2, 5)
"""Position and yaw among them."""
TILT_RAD, SERVO_RAD = 2.0, 2.0
"""Acceptable tilt of the disc and deflection of the servos: no weight of their own."""
MOST_DELAY_S = 0.3


@dataclass(frozen=True)
class Design:
    state_eq: Vec  # (22,)
    command_eq: Vec  # (5,)
    A: Vec  # (22, 22) of the whole model
    B: Vec  # (22, 5)
    K: Vec  # (4, 22) by states and integrals
    period_s: float
    airframe: Helicopter

    @property
    def low(self) -> Vec:
        """(5,) Of the commands."""
        return np.array([low for low, _ in self.airframe.command_limits])

    @property
    def high(self) -> Vec:
        return np.array([high for _, high in self.airframe.command_limits])

    def feedback(self, law: ca.Function) -> delay.Feedback:
        """A law (state of the model, memory) -> (command, memory), linearised in hover."""
        return delay.Feedback.linearised(law, self.state_eq)

    def radius(self, law: delay.Feedback, delay_s: float, gains: tuple[float, ...] = (1.0,) * model.INPUTS) -> float:
        """Spectral radius of the closed loop with added delay, and each input multiplied by a gain."""
        return delay.loop_radius(self.A, self.B * np.array(gains), law, self.period_s, delay_s)

    def delay_margin_s(self, law: delay.Feedback) -> float:
        return delay.smallest_unstable_s(lambda d: self.radius(law, d), MOST_DELAY_S, resolution_s=1e-4)


def reduced(A: Vec, B: Vec) -> tuple[Vec, Vec]:
    """The LQR's part of the linear model: inflow at its equilibrium, rotor speed and power constant, no throttle."""
    known, fast = np.arange(KNOWN), np.arange(model.STATES)[INFLOW]
    follows = np.linalg.solve(A[np.ix_(fast, fast)], A[np.ix_(fast, known)])
    return A[np.ix_(known, known)] - A[np.ix_(known, fast)] @ follows, B[:KNOWN, :THROTTLE]


@lru_cache(maxsize=8)
def design(h: Helicopter, period_s: float) -> Design:
    state_eq, command_eq = model.hover(h)
    A, B = linear.linearise(model.dynamics(h), state_eq, command_eq)
    Ad, Bd = linear.zero_order_hold(*linear.with_integrators(*reduced(A, B), INTEGRATED), period_s)
    w = h.law
    errors = (*w.position_m, *w.angle_rad, *w.velocity_m_s, *w.rate_rad_s)
    of_state = (*errors, *(TILT_RAD,) * 2, *(SERVO_RAD,) * 4, *w.integral_ms, w.yaw_integral_rads)
    of_input = (w.collective_rad, w.cyclic_rad, w.cyclic_rad, w.tail_rad)
    K = lqr.gain(Ad, Bd, 1.0 / np.square(of_state), 1.0 / np.square(of_input))
    return Design(state_eq, command_eq, A, B, K, period_s, h)


def of_scenario(scenario: HelicopterScenario) -> tuple[Helicopter, Design]:
    tables = scenario.aircraft
    h = airframe.load(tables.vehicle.airframe)
    return h, design(h, tables.control.period_s)


def for_laws(scenario: HelicopterScenario) -> Design:
    """What a law of a file is given."""
    return of_scenario(scenario)[1]


def check(scenario: HelicopterScenario) -> None:
    """ConfigError if it cannot hover, if its step does not fit, or if its own law is unstable."""
    tables = scenario.aircraft
    period_ns, step_ns = round(tables.control.period_s * NS), round(tables.world.step_s * NS)
    if period_ns % step_ns:
        raise ConfigError(
            f"world.step_s: expected a step that divides the control period ({tables.control.period_s:g} s), "
            f"not {tables.world.step_s:g}"
        )
    h, plan = of_scenario(scenario)
    if law_file(scenario):
        return
    from aeroloop.families.helicopter.law import law, of_state  # they build on the design

    radius = plan.radius(plan.feedback(of_state(law(h, plan))), 0.0)
    if not radius < 1.0:
        raise ConfigError(
            f"vehicle.airframe: law: the closed loop in hover is unstable (spectral radius {radius:.4f}); "
            "expected larger errors in [law], or a shorter control.period_s"
        )
