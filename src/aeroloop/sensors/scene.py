"""The true quantities at one time that the sensors measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from aeroloop.core.frames import Quat, Vec3
from aeroloop.core.signals import Air, Place, RigidState

Mat3 = tuple[Vec3, Vec3, Vec3]


class Scene(Protocol):
    """One for all sensors that sample at a time; quantities are computed only when read."""

    @property
    def state(self) -> RigidState: ...
    @property
    def air(self) -> Air: ...
    @property
    def place(self) -> Place: ...
    @property
    def R_BW(self) -> Mat3: ...  # rows: axes of the body in world coordinates
    @property
    def force_B(self) -> Vec3: ...  # specific force, m/s2
    @property
    def motor_current_A(self) -> float: ...  # sum over the motors
    @property
    def thrust_N(self) -> float: ...  # sum over the motors
    @property
    def terrain_m(self) -> float: ...  # height of the ground at the end of a beam along body -z, in the world's z
    @property
    def rotor_speed_rad_s(self) -> Sequence[float]: ...  # empty: rotors without a simulated speed
    @property
    def ground_m(self) -> float: ...  # height of the ground below the aircraft, in the world's z


@dataclass(slots=True)
class StateScene:
    """The scene of a state and its surroundings."""

    state: RigidState
    air: Air
    place: Place
    R_BW: Mat3
    motor_current_A: float = 0.0
    thrust_N: float = 0.0
    terrain_m: float = 0.0
    rotor_speed_rad_s: Sequence[float] = ()
    ground_m: float = 0.0

    @property
    def force_B(self) -> Vec3:
        ax, ay, az = self.state.accel_W
        return times(self.R_BW, ax, ay, az + self.place.gravity_m_s2)


def body_from_world(quat_WB: Quat) -> Mat3:
    """R_BW, by rows, of a unit quaternion."""
    w, x, y, z = quat_WB
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)),
        (2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)),
        (2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)),
    )


def times(matrix: Mat3, x: float, y: float, z: float) -> Vec3:
    a, b, c = matrix
    return (
        a[0] * x + a[1] * y + a[2] * z,
        b[0] * x + b[1] * y + b[2] * z,
        c[0] * x + c[1] * y + c[2] * z,
    )
