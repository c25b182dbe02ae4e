"""Pilot stick input: checked once, with its age, and converted to the setpoints of a mode."""

from __future__ import annotations

import math

from aeroloop.controllers.pixhawk.parameters import Parameters
from aeroloop.controllers.pixhawk.types import Sticks
from aeroloop.core.frames import Vec3

THRUST_LOW = 0.1
"""A thrust stick below this is at its bottom."""

_CENTRED = Sticks(0.0, 0.0, 0.0, 0.5)


def _clip(value: float) -> float:
    return max(-1.0, min(1.0, value))


class StickInput:
    """The last valid sample and its age."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self._last = _CENTRED
        self._at_ns: int | None = None
        self._roll_rad = 0.0
        self._pitch_rad = 0.0

    def take(self, t_ns: int, sticks: Sticks) -> bool:
        """False for a sample with a NaN, which is dropped, so that the input times out."""
        values = (sticks.roll, sticks.pitch, sticks.yaw, sticks.thrust)
        if not all(math.isfinite(value) for value in values):
            return False
        thrust = max(0.0, min(1.0, sticks.thrust))
        self._last = Sticks(_clip(sticks.roll), _clip(sticks.pitch), _clip(sticks.yaw), thrust)
        self._at_ns = t_ns
        return True

    def fresh(self, t_ns: int) -> bool:
        return self._at_ns is not None and (t_ns - self._at_ns) * 1e-9 <= self._parameters.get("COM_RC_LOSS_T")

    @property
    def thrust(self) -> float:
        return self._last.thrust

    def thrust_ratio(self, idle: float) -> float:
        """Manual thrust: linear from `idle` at the bottom to hover in the middle to full at the top."""
        hover = self._parameters.get("MPC_THR_HOVER")
        if self._last.thrust <= 0.5:
            return idle + (hover - idle) * self._last.thrust / 0.5
        return hover + (1.0 - hover) * (self._last.thrust - 0.5) / 0.5

    def level(self, roll_rad: float = 0.0, pitch_rad: float = 0.0) -> None:
        """Start smoothing from this attitude."""
        self._roll_rad, self._pitch_rad = roll_rad, pitch_rad

    def tilt(self, dt_s: float) -> tuple[float, float]:
        """Roll and pitch in rad; both together never tilt the aircraft more than one stick alone."""
        most = math.radians(self._parameters.get("MPC_MAN_TILT_MAX"))
        roll, pitch = self._last.roll, self._last.pitch
        scale = most / max(1.0, math.hypot(roll, pitch))
        tau = self._parameters.get("MC_MAN_TILT_TAU")
        part = dt_s / (tau + dt_s) if dt_s > 0.0 else 0.0
        self._roll_rad += part * (roll * scale - self._roll_rad)
        self._pitch_rad += part * (pitch * scale - self._pitch_rad)
        return self._roll_rad, self._pitch_rad

    def yaw_rate(self) -> float:
        """rad/s, counter-clockwise."""
        return -self._beyond_centre(self._last.yaw) * math.radians(self._parameters.get("MPC_MAN_Y_MAX"))

    def climb(self) -> float:
        """m/s."""
        stick = self._beyond_centre(2.0 * self._last.thrust - 1.0)
        return stick * self._parameters.get("MPC_Z_VEL_MAX_UP" if stick > 0.0 else "MPC_Z_VEL_MAX_DN")

    def velocity(self, yaw_rad: float) -> Vec3:
        """In world axes, from stick input forward and right."""
        forward, right = self._beyond_centre(self._last.pitch), self._beyond_centre(self._last.roll)
        scale = self._parameters.get("MPC_VEL_MANUAL") / max(1.0, math.hypot(forward, right))
        cos, sin = math.cos(yaw_rad), math.sin(yaw_rad)
        return scale * (forward * cos + right * sin), scale * (forward * sin - right * cos), self.climb()

    def _beyond_centre(self, stick: float) -> float:
        dead = self._parameters.get("MPC_HOLD_DZ")
        return math.copysign(max(0.0, abs(stick) - dead) / (1.0 - dead), stick)
