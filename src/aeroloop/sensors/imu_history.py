"""What an IMU has felt since its last sample, step by step of the body: for filters, averages and vibration.

Over a step the mean specific force is R_BW (a - g), with the attitude of the middle of the step, and the mean rate is
the rotation vector from the first attitude to the last over the step. So the sum of all steps, each turned back into
the world, is exactly the change of velocity (less gravity), and the product of all rotations the change of attitude.
Away from the centre of mass the force also has alpha x r + w x (w x r), with the mean alpha and w of the step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from aeroloop.core.frames import Quat, Vec3, quat_product
from aeroloop.sensors.low_pass import Window
from aeroloop.sensors.scene import Mat3, body_from_world, times
from aeroloop.sensors.vibration import RotorAngles


class Moving(Protocol):
    """The part of a body's state that is needed."""

    @property
    def quat_WB(self) -> Quat: ...
    @property
    def vel_W(self) -> Vec3: ...
    @property
    def rate_B(self) -> Vec3: ...


class ImuHistory:
    """Fed with every step of the body; read by the IMU at its samples."""

    def __init__(
        self, gyro: Window | None, accel: Window | None, rotors: RotorAngles | None, lever_B: Vec3 | None
    ) -> None:
        """Both windows or neither; `rotors` if they shake it."""
        self._gyro, self._accel, self.rotors, self._lever_B = gyro, accel, rotors, lever_B
        self.turn_W: Vec3 | None = None  # rate of the earth's rotation
        self._middle: Mat3 = body_from_world((1.0, 0.0, 0.0, 0.0))

    def step(self, before: Moving, after: Moving, force_W: Vec3, speed_rad_s: Sequence[float], dt_s: float) -> None:
        """A step of the body: `force_W` its mean specific force in the world's axes, `speed_rad_s` the mean speed of
        each rotor."""
        if self.rotors is not None:
            self.rotors.step(speed_rad_s, dt_s)
        if self._gyro is None or self._accel is None or dt_s <= 0.0:
            return
        self._middle = R_BW = body_from_world(middle_of(before.quat_WB, after.quat_WB))
        p, q, r = rotation_vector(before.quat_WB, after.quat_WB)
        rate_B = p / dt_s, q / dt_s, r / dt_s
        fx, fy, fz = times(R_BW, *force_W)
        if self._lever_B is not None:
            lx, ly, lz = self._of_rotation(before.rate_B, after.rate_B, rate_B, dt_s)
            fx, fy, fz = fx + lx, fy + ly, fz + lz
        self._accel.step((fx, fy, fz), dt_s)
        if self.turn_W is not None:
            ex, ey, ez = times(R_BW, *self.turn_W)
            rate_B = rate_B[0] + ex, rate_B[1] + ey, rate_B[2] + ez
        self._gyro.step(rate_B, dt_s)

    def strike(self, before: Moving, after: Moving) -> None:
        """A sudden change of motion after the last step."""
        if self._accel is None:
            return
        kick = times(self._middle, *(b - a for a, b in zip(before.vel_W, after.vel_W, strict=True)))
        if self._lever_B is not None:
            (p, q, r), (was_p, was_q, was_r) = after.rate_B, before.rate_B
            kx, ky, kz = cross((p - was_p, q - was_q, r - was_r), self._lever_B)
            kick = kick[0] + kx, kick[1] + ky, kick[2] + kz
        self._accel.strike(kick)

    def take(self) -> tuple[Vec3, Vec3] | None:
        """Rate and specific force for a sample; None where neither filter nor average is asked for, or before the
        first step."""
        if self._gyro is None or self._accel is None or self._gyro.empty:
            return None
        return self._gyro.take(), self._accel.take()

    def _of_rotation(self, was_B: Vec3, is_B: Vec3, mean_B: Vec3, dt_s: float) -> Vec3:
        assert self._lever_B is not None
        alpha_B = (is_B[0] - was_B[0]) / dt_s, (is_B[1] - was_B[1]) / dt_s, (is_B[2] - was_B[2]) / dt_s
        tangential = cross(alpha_B, self._lever_B)
        centripetal = cross(mean_B, cross(mean_B, self._lever_B))
        return tangential[0] + centripetal[0], tangential[1] + centripetal[1], tangential[2] + centripetal[2]


def middle_of(first: Quat, last: Quat) -> Quat:
    """The attitude halfway between two."""
    side = 1.0 if sum(a * b for a, b in zip(first, last, strict=True)) >= 0.0 else -1.0
    w, x, y, z = (a + side * b for a, b in zip(first, last, strict=True))
    size = math.sqrt(w * w + x * x + y * y + z * z)
    return w / size, x / size, y / size, z / size


def rotation_vector(first: Quat, last: Quat) -> Vec3:
    """From one attitude to another, in axes of the body (rad); at most half a turn."""
    w, x, y, z = first
    w, x, y, z = quat_product((w, -x, -y, -z), last)
    sine = math.sqrt(x * x + y * y + z * z)
    if sine < 1e-12:
        share = math.copysign(2.0, w)
    else:
        share = 2.0 * math.atan2(math.copysign(sine, w), abs(w)) / sine
    return share * x, share * y, share * z


def cross(a: Vec3, b: Vec3) -> Vec3:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]
