"""Who flies a multirotor in tests: linear feedback of the true state, designed from the parameter file alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aeroloop.control import lqr
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, RigidState
from aeroloop.families.multirotor.airframe import Airframe
from aeroloop.models import linear, quadrotor

STEADY = (4.0, 4.0, 10.0, 20.0, 20.0, 4.0, 2.0, 2.0, 4.0, 0.5, 0.5, 0.5)
BRISK = (*(4.0,) * 3, *(1.0,) * 3, *(2.0,) * 3, *(0.2,) * 3)
"""Weights of position, attitude, velocity and rates."""


@dataclass
class Pilot:
    a: Airframe
    period_ns: int = 4_000_000
    weights: tuple[float, ...] = STEADY

    def __post_init__(self) -> None:
        A, B, self.hover = quadrotor.hover_linear(self.a.flight)
        Ad, Bd = linear.zero_order_hold(A, B, self.period_ns / NS)
        self.K = lqr.gain(Ad, Bd, np.array(self.weights), np.full(self.a.rotors.count, 1e-3))

    def speeds(self, truth: RigidState, goal_W: Vec3) -> list[float]:
        """rad/s, one per rotor."""
        turned = 2 * np.array(truth.quat_WB[1:]) * math.copysign(1.0, truth.quat_WB[0])
        off = np.clip(np.array(truth.pos_W) - goal_W, -1.0, 1.0)
        error = np.concatenate([off, turned, truth.vel_W, truth.rate_B])
        wanted: list[float] = (self.hover - self.K @ error).tolist()
        return wanted

    def controls(self, truth: RigidState, goal_W: Vec3) -> tuple[float, ...]:
        """Normalised, as an armed autopilot sends them."""
        motors = self.a.motors
        span = motors.speed_max_rad_s - motors.speed_idle_rad_s
        wanted = np.array(self.speeds(truth, goal_W))
        return tuple(np.clip((wanted - motors.speed_idle_rad_s) / span, 0.001, 1.0).tolist())
