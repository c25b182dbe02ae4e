"""Motion of a body relative to the air in the middle of a step, at which its drag is evaluated for the whole step."""

from __future__ import annotations

from collections.abc import Sequence

from aeroloop.core.frames import Vec3


def mid_step(
    qpos: Sequence[float], qvel: Sequence[float], qacc: Sequence[float], wind_W: Vec3, half_s: float
) -> tuple[Vec3, Vec3]:
    """Velocity through the air in B and body rates, half a step after this motion of a free body (`engine.py`)."""
    _, _, _, w, x, y, z = qpos[:7]
    vx, vy, vz, p, q, r = qvel[:6]
    ax, ay, az, p_dot, q_dot, r_dot = qacc[:6]
    wind_x, wind_y, wind_z = wind_W
    vx, vy, vz = vx + (half_s * ax - wind_x), vy + (half_s * ay - wind_y), vz + (half_s * az - wind_z)
    p, q, r = p + half_s * p_dot, q + half_s * q_dot, r + half_s * r_dot
    # R_WB' v, then rotated by the body's rotation in half a step.
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    wx, wy, wz = w * x, w * y, w * z
    a = (1.0 - 2.0 * (yy + zz)) * vx + 2.0 * (xy + wz) * vy + 2.0 * (xz - wy) * vz
    b = 2.0 * (xy - wz) * vx + (1.0 - 2.0 * (xx + zz)) * vy + 2.0 * (yz + wx) * vz
    c = 2.0 * (xz + wy) * vx + 2.0 * (yz - wx) * vy + (1.0 - 2.0 * (xx + yy)) * vz
    return (a - half_s * (q * c - r * b), b - half_s * (r * a - p * c), c - half_s * (p * b - q * a)), (p, q, r)
