"""Feet on springs and dampers: ground contact whose stiffness and damping mean what they say.

With x the penetration of a foot along the ground's normal and s its displacement along the ground since it touched,

    N = max(0, k x + b dx/dt)                          over the normal, while x > 0
    T = -k s - b ds/dt,   |T| <= mu N                  along the ground; s yields where the foot slides

MuJoCo's own contacts are constraints that are softened in acceleration: their load depends on the step, and their
stiffness on the mass. They remain for everything but the feet.

A step of the vehicle is divided into steps of at most 0.5 ms while a foot is near the ground. The force of a part is
that of the positions in its middle, reached with the velocity at its beginning. That is the leapfrog (Verlet) scheme:
of second order, and symplectic, so that a spring without damping gains no energy. Velocities of the dampers are
extrapolated to the middle from the part before (Adams and Bashforth).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Protocol

from msgspec import Meta

from aeroloop.core.config import meta
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import GRAVITY_M_S2, Vec, Vec3
from aeroloop.core.signals import NS

_Stiffness = Annotated[float, Meta(gt=0, le=1e6)]
_Damping = Annotated[float, Meta(ge=0, le=1e4)]
Stiffness = Annotated[
    _Stiffness | None,
    meta("N/m", "stiffness of a foot on the ground, across it and along it; left out: MuJoCo's soft contact"),
]
Damping = Annotated[_Damping | None, meta("N s/m", "damping of a foot on the ground, with stiffness_N_m")]

LONGEST_S = 5e-4
ANGLE_RAD = 0.2
"""Largest phase of the fastest oscillation on the feet within a part of a step: leapfrog is 0.2 % off there."""
DECAY = 0.2
"""Largest part of a velocity that the dampers take within a part of a step."""
NEAR_M = 0.05
"""Steps are divided when a foot may come this near to the ground within the step."""


class ContactPlane(Protocol):
    """As `world.terrain` has it."""

    def height_m(self, x_m: float, y_m: float, /) -> float: ...
    def normal_W(self, x_m: float, y_m: float, /) -> Vec3: ...


class Moved(Protocol):
    """The body on its feet, as `world.engine` has it."""

    @property
    def qpos(self) -> Vec: ...
    @property
    def qvel(self) -> Vec: ...
    @property
    def mass_kg(self) -> float: ...
    @property
    def inertia_kgm2(self) -> Vec3: ...
    @property
    def centre_B(self) -> Vec3: ...
    def step(self, dt_ns: int, /) -> None: ...
    def push(self, force_W: Vec3, torque_W: Vec3, /) -> None: ...


@dataclass(frozen=True)
class Springs:
    """Of all feet; a foot is a ball."""

    stiffness_N_m: float
    damping_Ns_m: float
    friction: float
    feet_B_m: tuple[Vec3, ...]
    radius_m: float


def springs(
    stiffness_N_m: float | None,
    damping_Ns_m: float | None,
    friction: float,
    feet_B_m: tuple[Vec3, ...],
    radius_m: float,
) -> Springs | None:
    """None without stiffness."""
    if stiffness_N_m is None:
        return None
    return Springs(stiffness_N_m, damping_Ns_m or 0.0, friction, feet_B_m, radius_m)


def check(stiffness_N_m: float | None, damping_Ns_m: float | None, source: str) -> None:
    """ConfigError if one is given without the other."""
    if (stiffness_N_m is None) != (damping_Ns_m is None):
        raise ConfigError(f"{source}: contact.stiffness_N_m: expected together with contact.damping_Ns_m, or neither")


class _Foot:
    def __init__(self, pos_B: Vec3) -> None:
        self.pos_B = pos_B
        self.slip_W: Vec3 = (0.0, 0.0, 0.0)  # displacement along the ground since it touched
        self.vel_W: Vec3 | None = None  # at the beginning of the part before; None: that was no part of a step


class Feet:
    def __init__(self, own: Springs, ground: ContactPlane | None) -> None:
        """`ground`: None for level ground at height 0."""
        self._own, self._ground = own, ground
        self._feet = [_Foot(pos) for pos in own.feet_B_m]
        self._mass_kg = 0.0
        self._part_ns = 0
        self.touching = False
        self.load = 0.0
        """Largest force of the feet within the last step over the aircraft's weight."""

    def stepping(self, body: Moved) -> Callable[[int], None]:
        """Advances this body, on its feet."""
        return lambda dt_ns: self._step(body, dt_ns)

    def _step(self, body: Moved, dt_ns: int) -> None:
        self.touching, self.load = False, 0.0
        if not self._near(body, dt_ns / NS):
            for foot in self._feet:
                foot.slip_W, foot.vel_W = (0.0, 0.0, 0.0), None
            body.step(dt_ns)
            return
        if body.mass_kg != self._mass_kg:
            self._mass_kg = body.mass_kg
            self._part_ns = longest_part_ns(self._own, body.mass_kg, body.inertia_kgm2)
        parts = -(-dt_ns // self._part_ns)
        done_ns, weight_N = 0, self._mass_kg * GRAVITY_M_S2
        for part in range(1, parts + 1):
            part_ns = dt_ns * part // parts - done_ns
            force_W = self._push(body, part_ns / NS)
            self.load = max(self.load, math.hypot(*force_W) / weight_N)
            body.step(part_ns)
            done_ns += part_ns
        body.push((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))

    def _surface(self, x_m: float, y_m: float) -> tuple[float, Vec3]:
        ground = self._ground
        if ground is None or not math.isfinite(x_m + y_m):  # a grid has no cell for NaN, which the vehicle finds later
            return 0.0, (0.0, 0.0, 1.0)
        return ground.height_m(x_m, y_m), ground.normal_W(x_m, y_m)

    def _near(self, body: Moved, dt_s: float) -> bool:
        motion = _Motion(body)
        for foot in self._feet:
            (x, y, z), (vx, vy, vz) = motion.of(foot.pos_B)
            ground_m, (nx, ny, nz) = self._surface(x, y)
            gap_m = (z - ground_m) * nz - self._own.radius_m
            if not gap_m + dt_s * (nx * vx + ny * vy + nz * vz) > NEAR_M:  # near for NaN: that persists
                return True
        return False

    def _push(self, body: Moved, dt_s: float) -> Vec3:
        """Apply the forces of the feet over the next part of a step; returns their sum."""
        motion, half_s = _Motion(body), 0.5 * dt_s
        cx, cy, cz = motion.of(body.centre_B)[0]
        fx = fy = fz = tx = ty = tz = 0.0
        for foot in self._feet:
            (x, y, z), (vx, vy, vz) = motion.of(foot.pos_B)
            was = foot.vel_W or (vx, vy, vz)
            foot.vel_W = vx, vy, vz
            mid = x + half_s * vx, y + half_s * vy, z + half_s * vz
            later = 1.5 * vx - 0.5 * was[0], 1.5 * vy - 0.5 * was[1], 1.5 * vz - 0.5 * was[2]
            ground_m, normal = self._surface(mid[0], mid[1])
            nx, ny, nz = normal
            depth_m = self._own.radius_m - (mid[2] - ground_m) * nz
            if not depth_m > 0.0:
                foot.slip_W = 0.0, 0.0, 0.0
                continue
            self.touching = True
            gx, gy, gz = self._force(foot, depth_m, later, normal, dt_s)
            fx, fy, fz = fx + gx, fy + gy, fz + gz
            reach_m = self._own.radius_m - depth_m  # from the foot's centre to the ground
            ax, ay, az = mid[0] - nx * reach_m - cx, mid[1] - ny * reach_m - cy, mid[2] - nz * reach_m - cz
            tx, ty, tz = tx + ay * gz - az * gy, ty + az * gx - ax * gz, tz + ax * gy - ay * gx
        body.push((fx, fy, fz), (tx, ty, tz))
        return fx, fy, fz

    def _force(self, foot: _Foot, depth_m: float, vel_W: Vec3, normal: Vec3, dt_s: float) -> Vec3:
        own = self._own
        k, b = own.stiffness_N_m, own.damping_Ns_m
        (vx, vy, vz), (nx, ny, nz) = vel_W, normal
        rises_m_s = vx * nx + vy * ny + vz * nz
        normal_N = max(0.0, k * depth_m - b * rises_m_s)
        ux, uy, uz = vx - rises_m_s * nx, vy - rises_m_s * ny, vz - rises_m_s * nz
        sx, sy, sz = foot.slip_W
        half_s = 0.5 * dt_s
        mx, my, mz = sx + half_s * ux, sy + half_s * uy, sz + half_s * uz  # in the middle
        tx, ty, tz = -k * mx - b * ux, -k * my - b * uy, -k * mz - b * uz
        along_N, most_N = math.hypot(tx, ty, tz), own.friction * normal_N
        if along_N <= most_N:
            foot.slip_W = sx + dt_s * ux, sy + dt_s * uy, sz + dt_s * uz
        else:
            # It slides: the displacement becomes that which the friction can hold.
            share = most_N / along_N
            tx, ty, tz = share * tx, share * ty, share * tz
            foot.slip_W = -(tx + b * ux) / k, -(ty + b * uy) / k, -(tz + b * uz) / k
        return normal_N * nx + tx, normal_N * ny + ty, normal_N * nz + tz


class _Motion:
    """Position and velocity of points of a body."""

    def __init__(self, body: Moved) -> None:
        x, y, z, qw, qx, qy, qz = body.qpos[:7].tolist()
        self._pos, (*vel, self._p, self._q, self._r) = (x, y, z), body.qvel[:6].tolist()
        self._vel = vel
        self._rows = (
            (1.0 - 2.0 * (qy * qy + qz * qz), 2.0 * (qx * qy - qw * qz), 2.0 * (qx * qz + qw * qy)),
            (2.0 * (qx * qy + qw * qz), 1.0 - 2.0 * (qx * qx + qz * qz), 2.0 * (qy * qz - qw * qx)),
            (2.0 * (qx * qz - qw * qy), 2.0 * (qy * qz + qw * qx), 1.0 - 2.0 * (qx * qx + qy * qy)),
        )

    def of(self, point_B: Vec3) -> tuple[Vec3, Vec3]:
        x, y, z = point_B
        p, q, r = self._p, self._q, self._r
        u, v, w = q * z - r * y, r * x - p * z, p * y - q * x
        (X, Y, Z), (U, V, W) = self._pos, self._vel
        (a, b, c), (d, e, f), (g, h, i) = self._rows
        return (
            (X + a * x + b * y + c * z, Y + d * x + e * y + f * z, Z + g * x + h * y + i * z),
            (U + a * u + b * v + c * w, V + d * u + e * v + f * w, W + g * u + h * v + i * w),
        )


def longest_part_ns(own: Springs, mass_kg: float, inertia_kgm2: Vec3) -> int:
    """From a bound on the fastest oscillation and decay of the body on all its feet: the sum of those of each alone."""
    per_kg = sum(1.0 / mass_kg + sum(axis * axis for axis in foot) / min(inertia_kgm2) for foot in own.feet_B_m)
    oscillation_s = ANGLE_RAD / math.sqrt(own.stiffness_N_m * per_kg)
    decay_s = DECAY / max(own.damping_Ns_m * per_kg, 1e-9)
    return max(1, int(min(LONGEST_S, oscillation_s, decay_s) * NS))
