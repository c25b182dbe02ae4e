"""How the ArduPilot of the tests flies: a plain cascade from position to motor pulses, for a quadrotor in X.

North, east, down; forward, right, down. Motors: 1 front right and 2 rear left (counter-clockwise), 3 front left and 4
rear right (clockwise). Enough to take off, hover, go somewhere and land; no more is needed of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

G_M_S2 = 9.80665
MIX = ((-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, 1.0, -1.0), (-1.0, -1.0, -1.0))
"""Of roll right, nose up and yaw right, for each motor."""
RATE_GAINS = (0.045, 0.07, 0.1)
SPIN = 0.1
MOST_TILT_RAD = math.radians(25.0)
CLIMB_M_S, SINK_M_S, SPEED_M_S, LAND_M_S = 2.5, 1.5, 4.0, 0.5
LAND_FAST_M_S, LAND_LOW_M = 1.5, 4.0

Vec = tuple[float, float, float]
Quat = tuple[float, float, float, float]


@dataclass(frozen=True)
class Motion:
    """What its estimator knows."""

    pos: Vec
    vel: Vec
    quat: Quat
    rate: Vec


def euler(quat: Quat) -> Vec:
    w, x, y, z = quat
    roll = math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = math.asin(max(-1.0, min(1.0, 2 * (w * y - z * x))))
    return roll, pitch, math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def limited(value: float, least: float, most: float) -> float:
    return min(most, max(least, value))


class Cascade:
    """Pulses of four motors; `landing` sinks until it is told to stop."""

    def __init__(self) -> None:
        self.target: Vec = (0.0, 0.0, 0.0)
        self.yaw = 0.0
        self.landing = False
        self.hover = 0.65
        self._lean = [0.0, 0.0]  # against steady wind

    def step(self, motion: Motion, dt_s: float) -> list[int]:
        (north, east, down), (vn, ve, vd) = motion.pos, motion.vel
        roll, pitch, yaw = euler(motion.quat)
        wish_n, wish_e = self.target[0] - north, self.target[1] - east
        length = math.hypot(wish_n, wish_e)
        slower = min(1.0, SPEED_M_S / length) if length > 0 else 1.0
        if self.landing:
            wish_d = LAND_FAST_M_S if -down > LAND_LOW_M else LAND_M_S
        else:
            wish_d = limited(self.target[2] - down, -CLIMB_M_S, SINK_M_S)
        off_n, off_e, off_d = wish_n * slower - vn, wish_e * slower - ve, wish_d - vd
        self._lean = [
            limited(lean + 0.3 * off * dt_s, -3, 3) for lean, off in zip(self._lean, (off_n, off_e), strict=True)
        ]
        an, ae = 2.0 * off_n + self._lean[0], 2.0 * off_e + self._lean[1]
        forward = math.cos(yaw) * an + math.sin(yaw) * ae
        right = -math.sin(yaw) * an + math.cos(yaw) * ae
        wish_pitch = limited(-math.atan(forward / G_M_S2), -MOST_TILT_RAD, MOST_TILT_RAD)
        wish_roll = limited(math.atan(right / G_M_S2), -MOST_TILT_RAD, MOST_TILT_RAD)
        wish_yaw = math.remainder(self.yaw - yaw, 2 * math.pi)
        p, q, r = motion.rate
        turns = (4.0 * (wish_roll - roll) - p, 4.0 * (wish_pitch - pitch) - q, limited(2.0 * wish_yaw, -1, 1) - r)
        axes = [gain * limited(turn, -4.0, 4.0) for gain, turn in zip(RATE_GAINS, turns, strict=True)]
        self.hover = limited(self.hover - 0.05 * off_d * dt_s, 0.3, 0.9)
        lift = limited((G_M_S2 - 3.0 * off_d) / (G_M_S2 * math.cos(roll) * math.cos(pitch)), 0.2, 2.0)
        throttle = self.hover * math.sqrt(lift)
        motors = [throttle + sum(m * a for m, a in zip(mix, axes, strict=True)) for mix in MIX]
        return [round(1000 + 1000 * limited(motor, SPIN, 1.0)) for motor in motors]


STABILIZE, GUIDED, RTL, LAND, BRAKE = 0, 4, 6, 9, 17
TAKEOFF, LAND_COMMAND, REPOSITION = 22, 21, 192
"""MAV_CMD."""
DISARM_DELAY_S = 10.0
LANDED_M, LANDED_S = 0.4, 1.0


class Copter:
    """arducopter: what it does armed and disarmed, in the few modes that a test needs."""

    mav_type = 2  # MAV_TYPE_QUADROTOR
    cascade: Callable[[], Any] = Cascade

    def __init__(self, loop_hz: float = 400.0) -> None:
        self.loop_hz = loop_hz
        self.mode = STABILIZE
        self.armed = self.flying = False
        self._cascade = self.cascade()
        self._home: Vec = (0.0, 0.0, 0.0)
        self._armed_s = self._still_s = 0.0

    def disarmed(self) -> list[int]:
        return [1000] * 4

    def idle(self, armed_for_s: float) -> list[int]:
        """Armed, on the ground."""
        return [round(1000 + 1000 * SPIN)] * 4

    def arm(self, motion: Motion, t_s: float) -> str:
        if self.mode in (LAND, RTL):
            return "Arm: Mode not armable"
        self.armed, self.flying = True, False
        self._home, self._armed_s = motion.pos, t_s
        self._cascade = self.cascade()
        self._cascade.yaw = euler(motion.quat)[2]
        return ""

    def disarm(self) -> str:
        if self.flying:
            return "Disarm: not landed"
        self.armed = False
        return ""

    def set_mode(self, mode: int, motion: Motion) -> str:
        if mode not in (STABILIZE, GUIDED, RTL, LAND, BRAKE):
            return "Mode change failed: no such mode in this test"
        if mode != self.mode:
            self.mode = mode
            self._cascade.landing = mode in (LAND, RTL)
            self._cascade.target = self._home if mode == RTL else motion.pos
        return ""

    def command(self, number: int, params: tuple[float, ...], motion: Motion) -> str | None:
        if number == TAKEOFF:
            if not self.armed or self.mode != GUIDED:
                return "Takeoff: not armed in GUIDED"
            if not params[6] > 0 or not math.isfinite(sum(params)):
                return "Takeoff: expected a height above home"
            self.flying = True
            self._cascade.target = (motion.pos[0], motion.pos[1], self._home[2] - params[6])
            return ""
        if number == LAND_COMMAND:
            return self.set_mode(LAND, motion)
        if number == REPOSITION:
            if not self.flying:
                return "Reposition: not flying"
            self.set_mode(GUIDED, motion)
            self._cascade.target = (params[4], params[5], self._cascade.target[2])
            return ""
        return None

    def parameter(self, name: str, value: float) -> None: ...

    def step(self, motion: Motion, t_s: float, dt_s: float) -> list[int]:
        if not self.flying:
            if t_s - self._armed_s > DISARM_DELAY_S:
                self.armed = False
            return self.idle(t_s - self._armed_s)
        if self._cascade.landing:
            low = motion.pos[2] > self._home[2] - LANDED_M and abs(motion.vel[2]) < 0.15
            self._still_s = self._still_s + dt_s if low else 0.0
            if self._still_s > LANDED_S:
                self.armed = self.flying = False
                return self.disarmed()
        return self._cascade.step(motion, dt_s)
