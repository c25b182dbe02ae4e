"""What the ArduPilot of the tests demands of a simulator's states: one flight, one clock, the right axes and units."""

from __future__ import annotations

import math
from collections.abc import Callable

from peers.ardupilot_copter import Quat, Vec

WINDOW_S = 0.5
LONGEST_STEP_S = 0.05
LATEST_START_S = 1.0
GRAVITY: Vec = (0.0, 0.0, 9.80665)


def rotated(quat: Quat, vec: Vec) -> Vec:
    """From body to world."""
    w, x, y, z = quat
    a, b, c = vec
    u, v, s = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    return a + w * u + y * s - z * v, b + w * v + z * u - x * s, c + w * s + x * v - y * u


def turned(quat: Quat, rate: Vec, dt_s: float) -> Quat:
    p, q, r = (0.5 * dt_s * axis for axis in rate)
    w, x, y, z = quat
    out = (w - x * p - y * q - z * r, x + w * p + y * r - z * q, y + w * q + z * p - x * r, z + w * r + x * q - y * p)
    size = math.hypot(*out)
    return out[0] / size, out[1] / size, out[2] / size, out[3] / size


class Judge:
    """Takes accepted states in order."""

    def __init__(self, complain: Callable[[str, str], None]) -> None:
        self._complain = complain
        self.t_s: float | None = None
        self.dt_s = 0.0
        self._from_s = 0.0
        self._pos: Vec = (0.0, 0.0, 0.0)
        self._vel: Vec = (0.0, 0.0, 0.0)
        self._quat: Quat = (1.0, 0.0, 0.0, 0.0)
        self._moved = [0.0] * 3
        self._pushed = [0.0] * 3
        self._steps: list[float] = []

    def take(self, state: dict[str, tuple[float, ...]], *, at_rest: bool) -> None:
        (t_s,) = state["timestamp"]
        gyro, accel, pos, vel, quat = (
            state[key] for key in ("gyro", "accel_body", "position", "velocity", "quaternion")
        )
        self._clock(t_s)
        if abs(math.hypot(*quat) - 1.0) > 1e-6:
            self._complain("quaternion", f"its norm is {math.hypot(*quat):.9f}")
        if "airspeed" not in state or "velocity_wind" not in state:
            self._complain("airspeed", "no airspeed or wind: ArduPilot would take the speed over ground")
        elif abs(state["airspeed"][0] - math.dist(vel, state["velocity_wind"])) > 1e-3:
            self._complain("airspeed", "airspeed is not the speed through the wind")
        if at_rest and not (abs(accel[2] + 9.8) < 0.5 and math.hypot(accel[0], accel[1]) < 1.0):
            self._complain("rest", f"at rest accel_body is {accel}: expected (0, 0, -9.8), forward, right, down")
        if math.hypot(*gyro) > 30 or math.hypot(*accel) > 200:
            self._complain("units", f"gyro {gyro}, accel_body {accel} are not rad/s and m/s2")
        self._window(t_s, gyro, accel, pos, vel, quat)

    def _clock(self, t_s: float) -> None:
        if self.t_s is None:
            if not 0 <= t_s <= LATEST_START_S:
                self._complain("clock", f"the first timestamp is {t_s:g} s, not near 0")
            self.t_s = t_s
            return
        self.dt_s = t_s - self.t_s
        if self.dt_s <= 0:
            self._complain("clock", f"Detected physics reset: {self.t_s:.6f} s, then {t_s:.6f} s")
        elif self.dt_s > LONGEST_STEP_S:
            self._complain("clock", f"the clock jumped by {self.dt_s:.3f} s (AP_Logger: stuck thread)")
        self.t_s = t_s

    def _window(self, t_s: float, gyro: Vec, accel: Vec, pos: Vec, vel: Vec, quat: Quat) -> None:
        if not self._steps:
            self._begin(t_s, pos, vel, quat)
            return
        dt_s = self.dt_s
        force = rotated(quat, accel)
        for axis in range(3):
            self._moved[axis] += vel[axis] * dt_s
            self._pushed[axis] += (force[axis] + GRAVITY[axis]) * dt_s
        self._quat = turned(self._quat, gyro, dt_s)
        self._steps.append(dt_s)
        lasted_s = t_s - self._from_s
        if lasted_s < WINDOW_S:
            return
        went = math.dist(pos, [a + b for a, b in zip(self._pos, self._moved, strict=True)])
        if went > 0.03 + 0.05 * math.hypot(*self._moved):
            self._complain("velocity", f"position and velocity differ by {went:.3f} m within {lasted_s:.1f} s")
        sped = math.dist(vel, [a + b for a, b in zip(self._vel, self._pushed, strict=True)])
        if sped > 0.5 * lasted_s + 0.1:
            self._complain("accel_body", f"velocity and accelerometer differ by {sped:.3f} m/s in {lasted_s:.1f} s")
        off = 2 * math.acos(min(1.0, abs(sum(a * b for a, b in zip(quat, self._quat, strict=True)))))
        if off > 0.05:
            self._complain("gyro", f"attitude and gyro differ by {off:.3f} rad within {lasted_s:.1f} s")
        self._begin(t_s, pos, vel, quat)

    def _begin(self, t_s: float, pos: Vec, vel: Vec, quat: Quat) -> None:
        self._from_s, self._pos, self._vel, self._quat = t_s, pos, vel, quat
        self._moved, self._pushed, self._steps = [0.0] * 3, [0.0] * 3, [0.0]
