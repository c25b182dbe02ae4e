"""Land detector: from the estimate and the thrust alone, without a range finder.

On the ground four conditions hold together for some time: a descent is commanded, the aircraft does not move, the
setpoint is below it, and the control law has therefore reduced the thrust. In a steady descent the aircraft moves; in a
hover no descent is commanded; at the start of a descent the conditions do not last.

The first contact is detected before that: the setpoint continues to sink and the aircraft does not. If it still tilted
into the wind then, it would tip over the leg that touches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.core.signals import NavEstimate, Setpoint

SUNK_M = 0.3
FELT_M = 0.15
"""A sinking setpoint this far below the aircraft indicates the first contact; in the air the distance is smaller."""
LOW_THRUST = 0.8
"""Relative to the hover thrust."""
HOVER_LEARNING_S = 5.0


def thrust_ratio(motors: Sequence[float]) -> float:
    """Thrust ratio of all rotors from their commands: thrust is proportional to the square."""
    squares = [u**2 if 0.0 <= u <= 1.0 else float(u > 1.0) for u in motors if math.isfinite(u)]
    return sum(squares) / len(motors) if squares else 0.0


class GroundContact:
    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._signs_s = 0.0
        self._hover = parameters.get("MPC_THR_HOVER")

    @property
    def hover_thrust(self) -> float:
        return self._hover

    def forget(self) -> None:
        """Reset for a new flight."""
        self._signs_s = 0.0
        self._hover = self._parameters.get("MPC_THR_HOVER")

    def learn_hover(self, thrust: float, estimate: NavEstimate, dt_s: float) -> None:
        """Learn the hover thrust: in the air without vertical motion, the thrust equals the weight."""
        if abs(estimate.vel_W[2]) > self._parameters.get("LNDMC_Z_VEL_MAX"):
            return
        given = self._parameters.get("MPC_THR_HOVER")
        self._hover += (thrust - self._hover) * dt_s / (HOVER_LEARNING_S + dt_s)
        self._hover = max(0.6 * given, min(1.6 * given, self._hover))

    def felt(self, estimate: NavEstimate, setpoint_z: float) -> bool:
        """Whether a descent to `setpoint_z` is blocked, as by the first leg on the ground."""
        held_up = estimate.vel_W[2] > -0.5 * self._parameters.get("MPC_LAND_SPEED")
        return held_up and estimate.pos_W[2] - setpoint_z > FELT_M

    def step(self, descent: bool, thrust: float, estimate: NavEstimate, setpoint: Setpoint, dt_s: float) -> bool:
        get = self._parameters.get
        vx, vy, vz = estimate.vel_W
        p, q, _ = estimate.rate_B
        signs = (
            descent
            and thrust < LOW_THRUST * self._hover
            and abs(vz) < get("LNDMC_Z_VEL_MAX")
            and (not estimate.position_ok or math.hypot(vx, vy) < get("LNDMC_XY_VEL_MAX"))
            and math.hypot(p, q) < math.radians(get("LNDMC_ROT_MAX"))
            and (not setpoint.hold_z or estimate.pos_W[2] - setpoint.pos_W[2] > SUNK_M)
        )
        self._signs_s = self._signs_s + dt_s if signs else 0.0
        return self._signs_s >= get("LNDMC_TRIG_TIME")
