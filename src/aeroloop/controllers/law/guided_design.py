"""The design model for a multirotor's control law, and the law from a user's file.

The linear model is that of hover: error (position, rotation vector, velocity, rates), then the integral of position.
Its inputs are rotor speeds. Rotors follow with a lag, which the gain neglects and the delay margin includes; the margin
linearises any law about hover.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from aeroloop.control import custom, lqr
from aeroloop.control.cascade import Frame
from aeroloop.control.quad_toolkit import INPUTS, SETPOINT
from aeroloop.controllers.pixhawk.flight_law import Airframe, frame
from aeroloop.core.frames import Vec
from aeroloop.models import delay, linear, quadrotor

INTEGRATED = (0, 1, 2)
STATE_WEIGHTS = (4.0, 4.0, 8.0, 10.0, 10.0, 4.0, 2.0, 2.0, 4.0, 0.2, 0.2, 0.4, 0.5, 0.5, 2.0)
"""Position, rotation vector, velocity, rates, integral of position."""
INPUT_WEIGHT = 2e-4
"""Weight of a rotor's speed in rad/s: low enough in bandwidth for motors with lag."""
LONGEST_MARGIN_S = 0.2


@dataclass(frozen=True)
class Design:
    airframe: Airframe
    period_s: float

    @cached_property
    def frame(self) -> Frame:
        return frame(self.airframe)

    @property
    def rotors(self) -> int:
        return len(self.frame.rotor_spin)

    @cached_property
    def _linear(self) -> tuple[Vec, Vec, Vec]:
        A, B, speeds = quadrotor.hover_linear(self.airframe.flight)
        return (*linear.with_integrators(A, B, INTEGRATED), speeds)

    @property
    def A(self) -> Vec:
        """(15, 15) Continuous."""
        return self._linear[0]

    @property
    def B(self) -> Vec:
        """(15, rotors) For rotor speeds as inputs."""
        return self._linear[1]

    @property
    def hover_speeds_rad_s(self) -> Vec:
        return self._linear[2]

    @cached_property
    def K(self) -> Vec:
        """(rotors, 15) LQR: speeds = hover_speeds_rad_s - K (error, integral of position)."""
        Ad, Bd = linear.zero_order_hold(self.A, self.B, self.period_s)
        return lqr.gain(Ad, Bd, np.array(STATE_WEIGHTS), np.full(self.rotors, INPUT_WEIGHT))

    def command(self, speeds_rad_s: Any) -> Any:
        """Commands from rotor speeds: 0 to 1 from idle to full speed."""
        motors = self.airframe.motors
        return (speeds_rad_s - motors.speed_idle_rad_s) / (motors.speed_max_rad_s - motors.speed_idle_rad_s)

    def delay_margin_s(self, law: ca.Function) -> float:
        """Largest delay from sensor to actuator at which a law (state, setpoint, memory) -> (command, memory) is stable
        in hover.

        Motors lag and the estimate is exact. LONGEST_MARGIN_S if it is stable at least up to that; NaN if the law has
        no derivative in hover.
        """
        radius = self.delay_radius(law)
        return delay.smallest_unstable_s(radius, LONGEST_MARGIN_S, resolution_s=1e-4) if radius else math.nan

    def delay_radius(self, law: ca.Function) -> Callable[[float], float] | None:
        """Spectral radius of the loop over added delay; None if the law has no derivative in hover."""
        A, B = self._with_motors()
        feedback = self._feedback(law)
        if not feedback.finite:
            return None
        return lambda delay_s: delay.loop_radius(A, B, feedback, self.period_s, delay_s)

    def _with_motors(self) -> tuple[Vec, Vec]:
        """Errors and rotor speeds as a function of the commanded speeds; spin-up and spin-down have one lag here."""
        A, B, _ = quadrotor.hover_linear(self.airframe.flight)
        motors, (n, m) = self.airframe.motors, B.shape
        lag_s = max((motors.lag_up_s + motors.lag_down_s) / 2, 1e-4)
        spin = np.eye(m) / lag_s
        return np.block([[A, B], [np.zeros((m, n)), -spin]]), np.vstack([np.zeros((n, m)), spin])

    def _feedback(self, law: ca.Function) -> delay.Feedback:
        """The law linearised at its hover, in commanded speeds."""
        at, kept = ca.MX.sym("error", quadrotor.ERRORS), ca.MX.sym("memory", law.size1_in(2))
        half = at[3:6] / 2
        state = ca.vertcat(at[0:3], at[6:9], ca.sqrt(1 - ca.sumsqr(half)), half, at[9:12])
        command, after, *_ = law.call([state, ca.DM.zeros(SETPOINT), kept])
        motors = self.airframe.motors
        speeds = command * (motors.speed_max_rad_s - motors.speed_idle_rad_s)
        of_error = delay.Feedback.linearised(
            ca.Function("law", [at, kept], [speeds, after]), np.zeros(quadrotor.ERRORS)
        )
        blind = np.zeros((self.rotors, self.rotors))  # no law measures the rotor speeds
        C, E = np.hstack([of_error.C, blind]), np.hstack([of_error.E, np.zeros((len(of_error.F), self.rotors))])
        return delay.Feedback(C, of_error.D, E, of_error.F)


def own_law(path: Path, design: Design) -> ca.Function:
    """(state, setpoint, memory) -> (motors, memory)."""
    return custom.load(path, design, custom.Shape(INPUTS, design.rotors))
