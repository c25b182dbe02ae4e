"""Mass, centre and inertia of bodies; poses of their frames.

    moved:     c' = R c + p,  I' = R I R^T
    combined:  m = sum m_i,  c = sum m_i c_i / m,  I = sum I_i + m_i (|d_i|^2 E - d_i d_i^T),  d_i = c_i - c

Inertia is a matrix about the centre of mass, along the axes of the frame that the centre is given in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from aeroloop.core.frames import Quat, Vec, Vec3, quat_from_euler, rotation_rows


@dataclass(frozen=True, eq=False)
class Pose:
    """A frame in another: x_outer = rotation x_inner + pos_m."""

    rotation: Vec  # (3, 3)
    pos_m: Vec  # (3,)

    def __matmul__(self, inner: Pose) -> Pose:
        return Pose(self.rotation @ inner.rotation, self.rotation @ inner.pos_m + self.pos_m)

    @property
    def inverse(self) -> Pose:
        return Pose(self.rotation.T, -self.rotation.T @ self.pos_m)

    def points(self, points_m: Vec) -> Vec:
        """Rows of points from the inner frame to the outer one."""
        moved: Vec = points_m @ self.rotation.T + self.pos_m
        return moved


HERE = Pose(np.eye(3), np.zeros(3))


def pose(pos_m: Iterable[float], roll_pitch_yaw_rad: Vec3 = (0.0, 0.0, 0.0)) -> Pose:
    """Rotations about the fixed axes x, y, z in this order, as URDF and SDF have them."""
    return pose_of_quat(pos_m, quat_from_euler(*roll_pitch_yaw_rad))


def pose_of_quat(pos_m: Iterable[float], quat: Quat) -> Pose:
    return Pose(np.array(rotation_rows(quat), dtype=float), np.array(tuple(pos_m), dtype=float))


def quat_of(rotation: Vec) -> Quat:
    """Of a rotation matrix, by the largest of its four components (Shepperd)."""
    r = rotation
    squares = (1 + r[0, 0] + r[1, 1] + r[2, 2], *(1 + 2 * r[i, i] - r[0, 0] - r[1, 1] - r[2, 2] for i in range(3)))
    largest = int(np.argmax(squares))
    s = 2.0 * math.sqrt(squares[largest])
    w, x, y, z = (
        (s / 4, (r[2, 1] - r[1, 2]) / s, (r[0, 2] - r[2, 0]) / s, (r[1, 0] - r[0, 1]) / s),
        ((r[2, 1] - r[1, 2]) / s, s / 4, (r[0, 1] + r[1, 0]) / s, (r[0, 2] + r[2, 0]) / s),
        ((r[0, 2] - r[2, 0]) / s, (r[0, 1] + r[1, 0]) / s, s / 4, (r[1, 2] + r[2, 1]) / s),
        ((r[1, 0] - r[0, 1]) / s, (r[0, 2] + r[2, 0]) / s, (r[1, 2] + r[2, 1]) / s, s / 4),
    )[largest]
    return float(w), float(x), float(y), float(z)


@dataclass(frozen=True, eq=False)
class Inertial:
    mass_kg: float
    centre_m: Vec  # (3,)
    inertia_kgm2: Vec  # (3, 3), about the centre

    def moved(self, to: Pose) -> Inertial:
        return Inertial(
            self.mass_kg,
            to.rotation @ self.centre_m + to.pos_m,
            to.rotation @ self.inertia_kgm2 @ to.rotation.T,
        )

    def scaled(self, factor: float) -> Inertial:
        """The same distribution with this multiple of the mass."""
        return Inertial(self.mass_kg * factor, self.centre_m, self.inertia_kgm2 * factor)

    @property
    def gyration_m(self) -> float:
        """Root mean square distance of its mass from the centre: trace(I) = 2 m k^2."""
        return math.sqrt(max(0.0, float(np.trace(self.inertia_kgm2))) / 2.0 / self.mass_kg)


def combined(parts: Iterable[Inertial]) -> Inertial:
    """All bodies as one. A single one is returned unchanged, to the last digit."""
    heavy = [part for part in parts if part.mass_kg > 0.0]
    if len(heavy) == 1:
        return heavy[0]
    mass_kg = sum(part.mass_kg for part in heavy)
    if mass_kg == 0.0:
        return Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
    centre_m: Vec = sum((part.mass_kg * part.centre_m for part in heavy), np.zeros(3)) / mass_kg
    inertia: Vec = np.zeros((3, 3))
    for part in heavy:
        d = part.centre_m - centre_m
        inertia = inertia + part.inertia_kgm2 + part.mass_kg * (d @ d * np.eye(3) - np.outer(d, d))
    return Inertial(mass_kg, centre_m, inertia)


def of_shape(kind: str, size_m: Vec3, density_kg_m3: float) -> Inertial:
    """A solid about its own origin; sizes as in `core.shape`: half lengths, or radius and half height along z."""
    a, b, c = size_m
    if kind == "box":
        volume, squares = 8 * a * b * c, (a * a / 3, b * b / 3, c * c / 3)
    elif kind == "cylinder":
        volume, squares = 2 * math.pi * a * a * b, (a * a / 4, a * a / 4, b * b / 3)
    elif kind == "capsule":
        volume, squares = _capsule(a, b)
    else:
        radii = (a, a, a) if kind == "sphere" else (a, b, c)
        volume = 4 / 3 * math.pi * radii[0] * radii[1] * radii[2]
        squares = (radii[0] ** 2 / 5, radii[1] ** 2 / 5, radii[2] ** 2 / 5)
    x2, y2, z2 = squares  # means of the squared coordinates
    mass_kg = density_kg_m3 * volume
    return Inertial(mass_kg, np.zeros(3), mass_kg * np.diag([y2 + z2, x2 + z2, x2 + y2]))


def _capsule(radius: float, half: float) -> tuple[float, Vec3]:
    """Volume and mean squared coordinates; each half ball has its centre of mass 3/8 of the radius beyond the end."""
    tube, balls = 2 * math.pi * radius**2 * half, 4 / 3 * math.pi * radius**3
    volume = tube + balls
    across = (tube * radius**2 / 4 + balls * radius**2 / 5) / volume
    along = (tube * half**2 / 3 + balls * (radius**2 / 5 + half**2 + 3 / 4 * half * radius)) / volume
    return volume, (across, across, along)
