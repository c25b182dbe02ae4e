"""The trajectory generator: a moving setpoint with limited acceleration and jerk.

The point has position, velocity and acceleration, and each is the integral of the next: feed-forward values are always
consistent with the position. Every mode moves this one point, so a change of mode causes no step of the setpoint.

Far from its target the point moves at the allowed speed and brakes at half its maximum acceleration, near it the error
decays exponentially: v(e) = k e for small e, sqrt(2 a (e - a / 2 k^2)) beyond. The same law one derivative lower
converts the velocity error to acceleration, whose rate is limited by the jerk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from aeroloop.core.angles import wrap_pi
from aeroloop.core.frames import Vec3

LAG_SLOW_M = 0.7
LAG_STOP_M = 2.0
"""Between these distances from the aircraft the point slows down to wait for it."""

LOOK_AHEAD_S = 1.0
BRAKING = 0.5  # fraction of the maximum acceleration: the rest is for corners and for the jerk-limited onset
SETTLING = 0.3  # ratio of jerk to acceleration, as the gain near the target: a higher one would overshoot
SLOWEST_PASS_M_S = 0.5
YAW_SETTLE_S = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the point's motion."""

    speed_m_s: float  # horizontal
    up_m_s: float
    down_m_s: float
    accel_m_s2: float
    jerk_m_s3: float
    yaw_rate_rad_s: float


def rate_for(error: float, gain: float, accel: float) -> float:
    """The largest speed from which `error` (not negative) can still be removed with `accel`, linear near zero."""
    linear = accel / (gain * gain)
    return gain * error if error <= linear else math.sqrt(2.0 * accel * (error - 0.5 * linear))


def corner_speed(before: Vec3, corner: Vec3, after: Vec3, radius_m: float, accel_m_s2: float) -> float:
    """Speed at which a corner may be passed: on the circle that is tangent to the legs at `radius_m` from the corner.

    Its radius is r / tan(turn / 2); zero for a reversal, infinite for a straight path.
    """
    ux, uy, uz = corner[0] - before[0], corner[1] - before[1], corner[2] - before[2]
    vx, vy, vz = after[0] - corner[0], after[1] - corner[1], after[2] - corner[2]
    u, v = math.hypot(ux, uy, uz), math.hypot(vx, vy, vz)
    if u < 1e-3 or v < 1e-3:
        return 0.0
    cosine = (ux * vx + uy * vy + uz * vz) / (u * v)
    if cosine <= -0.99:
        return 0.0
    reach = min(radius_m, 0.5 * u, 0.5 * v)
    half_tangent = math.sqrt(max(0.0, (1.0 - cosine) / (1.0 + cosine)))
    if half_tangent < 1e-6:
        return math.inf
    return math.sqrt(BRAKING * accel_m_s2 * reach / half_tangent)


class TrajectoryGenerator:
    """The point, its heading, and the three ways to move it: with a velocity, along a leg, not at all."""

    def __init__(self) -> None:
        self.pos_W: Vec3 = (0.0, 0.0, 0.0)
        self.vel_W: Vec3 = (0.0, 0.0, 0.0)
        self.accel_W: Vec3 = (0.0, 0.0, 0.0)
        self.yaw_rad = 0.0
        self.yaw_rate_rad_s = 0.0

    @property
    def speed_m_s(self) -> float:
        return math.hypot(*self.vel_W)

    def follow_xy(self, pos_W: Vec3, vel_W: Vec3, speed_m_s: float) -> None:
        """Set the horizontal position to the aircraft's, so that a later hold starts there."""
        scale = min(1.0, speed_m_s / max(math.hypot(vel_W[0], vel_W[1]), 1e-9))
        self.pos_W = (pos_W[0], pos_W[1], self.pos_W[2])
        self.vel_W = (vel_W[0] * scale, vel_W[1] * scale, self.vel_W[2])
        self.accel_W = (0.0, 0.0, self.accel_W[2])

    def follow_z(self, pos_W: Vec3, vel_W: Vec3, limits: Limits) -> None:
        """Set the height to the aircraft's, so that a later hold starts there."""
        climb = max(-limits.down_m_s, min(limits.up_m_s, vel_W[2]))
        self.pos_W = (self.pos_W[0], self.pos_W[1], pos_W[2])
        self.vel_W = (self.vel_W[0], self.vel_W[1], climb)
        self.accel_W = (self.accel_W[0], self.accel_W[1], 0.0)

    def settle(self, pos_W: Vec3, yaw_rad: float) -> None:
        """Stand here."""
        self.pos_W = pos_W
        self.vel_W = self.accel_W = (0.0, 0.0, 0.0)
        self.yaw_rad = yaw_rad
        self.yaw_rate_rad_s = 0.0

    def fly(self, vel_W: Vec3, aircraft_W: Vec3, limits: Limits, dt_s: float) -> None:
        """Accelerate to this velocity; slower while the aircraft lags behind."""
        wait = self._wait(vel_W, aircraft_W)
        self._accelerate((vel_W[0] * wait, vel_W[1] * wait, vel_W[2] * wait), limits, dt_s)

    def toward(self, end_W: tuple[float, float], limits: Limits) -> tuple[float, float]:
        """The horizontal velocity that ends there."""
        dx, dy = end_W[0] - self.pos_W[0], end_W[1] - self.pos_W[1]
        left = math.hypot(dx, dy)
        speed = rate_for(left, SETTLING * limits.jerk_m_s3 / limits.accel_m_s2, BRAKING * limits.accel_m_s2)
        scale = min(speed, limits.speed_m_s) / max(left, 1e-9)
        return dx * scale, dy * scale

    def go(
        self,
        start_W: Vec3,
        end_W: Vec3,
        end_speed_m_s: float,
        radius_m: float,
        aircraft_W: Vec3,
        limits: Limits,
        dt_s: float,
    ) -> None:
        """Follow the leg to its end, or to within `radius_m` of it at `end_speed_m_s`."""
        x, y, z = self.pos_W
        left = math.hypot(end_W[0] - x, end_W[1] - y, end_W[2] - z)
        aim = self._aim(start_W, end_W, limits)
        dx, dy, dz = aim[0] - x, aim[1] - y, aim[2] - z
        distance = math.hypot(dx, dy, dz)
        if distance < 1e-9:
            self.fly((0.0, 0.0, 0.0), aircraft_W, limits, dt_s)
            return
        dx, dy, dz = dx / distance, dy / distance, dz / distance
        braking = BRAKING * limits.accel_m_s2
        speed = rate_for(left, SETTLING * limits.jerk_m_s3 / limits.accel_m_s2, braking)
        if end_speed_m_s > 0.0:
            # Slow enough slightly inside the radius: outside, a lagging aircraft might never pass.
            before = max(0.0, left - 0.8 * radius_m)
            speed = math.sqrt(max(end_speed_m_s, SLOWEST_PASS_M_S) ** 2 + 2.0 * braking * before)
        speed = min(
            speed,
            limits.speed_m_s / max(math.hypot(dx, dy), 1e-9),
            limits.up_m_s / max(dz, 1e-9),
            limits.down_m_s / max(-dz, 1e-9),
        )
        self.fly((dx * speed, dy * speed, dz * speed), aircraft_W, limits, dt_s)

    def turn_to(self, yaw_rad: float, limits: Limits, dt_s: float) -> None:
        error = wrap_pi(yaw_rad - self.yaw_rad)
        accel = limits.yaw_rate_rad_s / YAW_SETTLE_S
        rate = min(limits.yaw_rate_rad_s, rate_for(abs(error), 1.0 / YAW_SETTLE_S, 0.5 * accel))
        self.turn(math.copysign(rate, error), limits, dt_s)

    def turn(self, rate_rad_s: float, limits: Limits, dt_s: float) -> None:
        change = max(limits.yaw_rate_rad_s, abs(rate_rad_s)) / YAW_SETTLE_S * dt_s
        self.yaw_rate_rad_s += max(-change, min(change, rate_rad_s - self.yaw_rate_rad_s))
        self.yaw_rad = wrap_pi(self.yaw_rad + self.yaw_rate_rad_s * dt_s)

    def _aim(self, start_W: Vec3, end_W: Vec3, limits: Limits) -> Vec3:
        """A point on the leg somewhat ahead: steering towards it returns a point beside the leg to it."""
        ux, uy, uz = end_W[0] - start_W[0], end_W[1] - start_W[1], end_W[2] - start_W[2]
        length = math.hypot(ux, uy, uz)
        if length < 1e-6:
            return end_W
        ux, uy, uz = ux / length, uy / length, uz / length
        x, y, z = self.pos_W
        along = (x - start_W[0]) * ux + (y - start_W[1]) * uy + (z - start_W[2]) * uz
        ahead = max(0.0, along) + LOOK_AHEAD_S * max(1.0, self.speed_m_s)
        if ahead >= length:
            return end_W
        return start_W[0] + ux * ahead, start_W[1] + uy * ahead, start_W[2] + uz * ahead

    def _wait(self, vel_W: Vec3, aircraft_W: Vec3) -> float:
        """1: move; 0: wait. Only a point that would move away from the aircraft waits."""
        (x, y, z), (ax, ay, az) = self.pos_W, aircraft_W
        ex, ey, ez = x - ax, y - ay, z - az
        if vel_W[0] * ex + vel_W[1] * ey + vel_W[2] * ez <= 0.0:
            return 1.0
        lag = math.hypot(ex, ey, ez)
        return max(0.0, min(1.0, (LAG_STOP_M - lag) / (LAG_STOP_M - LAG_SLOW_M)))

    def _accelerate(self, vel_W: Vec3, limits: Limits, dt_s: float) -> None:
        ax, ay, az = self.accel_W
        wx, wy, wz = self._wanted_accel(vel_W, limits)
        jx, jy, jz = wx - ax, wy - ay, wz - az
        change = math.hypot(jx, jy, jz)
        part = min(1.0, limits.jerk_m_s3 * dt_s / change) if change > 0.0 else 0.0
        self.accel_W = (ax + jx * part, ay + jy * part, az + jz * part)
        vx, vy, vz = self.vel_W
        climb = vz + self.accel_W[2] * dt_s
        if climb > max(limits.up_m_s, vz) or climb < min(-limits.down_m_s, vz):
            # Stopping motion across a steep leg may require a climb or descent that the leg itself does not.
            self.accel_W = (self.accel_W[0], self.accel_W[1], 0.0)
            climb = vz
        self.vel_W = (vx + self.accel_W[0] * dt_s, vy + self.accel_W[1] * dt_s, climb)
        self.pos_W = (
            self.pos_W[0] + 0.5 * (vx + self.vel_W[0]) * dt_s,
            self.pos_W[1] + 0.5 * (vy + self.vel_W[1]) * dt_s,
            self.pos_W[2] + 0.5 * (vz + self.vel_W[2]) * dt_s,
        )

    def _wanted_accel(self, vel_W: Vec3, limits: Limits) -> Vec3:
        """Motion across the desired direction is stopped first, and only the remaining acceleration is used to speed
        up: otherwise a point that rounds a corner would be carried far off the next leg."""
        ex, ey, ez = vel_W[0] - self.vel_W[0], vel_W[1] - self.vel_W[1], vel_W[2] - self.vel_W[2]
        speed = math.hypot(*vel_W)
        px = py = pz = 0.0
        if speed > 1e-9:
            along = (ex * vel_W[0] + ey * vel_W[1] + ez * vel_W[2]) / (speed * speed)
            px, py, pz = along * vel_W[0], along * vel_W[1], along * vel_W[2]
        cx, cy, cz = ex - px, ey - py, ez - pz
        most, gain = limits.accel_m_s2, limits.jerk_m_s3 / limits.accel_m_s2
        error = math.hypot(cx, cy, cz)
        across = min(most, rate_for(error, gain, limits.jerk_m_s3))
        c = across / error if error > 1e-9 else 0.0
        error = math.hypot(px, py, pz)
        p = min(math.sqrt(most * most - across * across), rate_for(error, gain, limits.jerk_m_s3))
        p = p / error if error > 1e-9 else 0.0
        return c * cx + p * px, c * cy + p * py, c * cz + p * pz
