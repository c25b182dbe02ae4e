"""Rigid motions SE(3): exponential, logarithm, adjoint, Jacobian. All functions take stacks (..., 4, 4) and (..., 6).

A tangent vector is (rho, phi): translation before rotation, in m and rad. exp(xi) = [exp(phi^), V(phi) rho; 0, 1].
Barfoot, State Estimation for Robotics, chapter 8 (2nd edition).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]

BERNOULLI = (1.0, 0.5, 1 / 12, 0.0, -1 / 720, 0.0, 1 / 30240, 0.0, -1 / 1209600)
"""Series of the inverse right Jacobian in powers of ad(xi); at an angle of pi the rest is below 1e-3."""
SMALL_RAD = 1e-4  # below, sine and cosine are replaced by their series


def hat(phi: Array) -> Array:
    """Skew-symmetric matrices of (..., 3)."""
    out = np.zeros((*phi.shape[:-1], 3, 3))
    x, y, z = phi[..., 0], phi[..., 1], phi[..., 2]
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -z, y, -x
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = z, -y, x
    return out


def compose(rotation: Array, translation: Array) -> Array:
    out = np.zeros((*translation.shape[:-1], 4, 4))
    out[..., :3, :3], out[..., :3, 3], out[..., 3, 3] = rotation, translation, 1.0
    return out


def inverse(T: Array) -> Array:
    transposed = np.swapaxes(T[..., :3, :3], -1, -2)
    return compose(transposed, -(transposed @ T[..., :3, 3:])[..., 0])


def normalised(T: Array) -> Array:
    """One motion with its rotation made orthonormal again."""
    return compose(Rotation.from_matrix(T[:3, :3]).as_matrix(), T[:3, 3])


def exp(xi: Array) -> Array:
    rho, phi = xi[..., :3], xi[..., 3:]
    rotation = Rotation.from_rotvec(phi.reshape(-1, 3)).as_matrix().reshape(*phi.shape, 3)
    a, b = _coefficients(phi)
    cross = hat(phi)
    V = np.eye(3) + a * cross + b * (cross @ cross)
    return compose(rotation, (V @ rho[..., None])[..., 0])


def log(T: Array) -> Array:
    matrices = T[..., :3, :3].reshape(-1, 3, 3)
    phi = Rotation.from_matrix(matrices).as_rotvec().reshape(*T.shape[:-2], 3)
    a, b = _coefficients(phi)
    cross = hat(phi)
    V = np.eye(3) + a * cross + b * (cross @ cross)
    rho = np.linalg.solve(V, T[..., :3, 3:])[..., 0]
    return np.concatenate([rho, phi], axis=-1)


def adjoint(T: Array) -> Array:
    """Ad(T): T exp(xi) T^-1 = exp(Ad(T) xi)."""
    out = np.zeros((*T.shape[:-2], 6, 6))
    rotation = T[..., :3, :3]
    out[..., :3, :3] = out[..., 3:, 3:] = rotation
    out[..., :3, 3:] = hat(T[..., :3, 3]) @ rotation
    return out


def inverse_right_jacobian(xi: Array) -> Array:
    """log(exp(xi) exp(d)) = xi + Jr^-1(xi) d for small d."""
    ad = np.zeros((*xi.shape[:-1], 6, 6))
    ad[..., :3, :3] = ad[..., 3:, 3:] = hat(xi[..., 3:])
    ad[..., :3, 3:] = hat(xi[..., :3])
    out = np.zeros_like(ad)
    power = np.broadcast_to(np.eye(6), ad.shape)
    for coefficient in BERNOULLI:
        out = out + coefficient * power
        power = power @ ad
    return out


def transformed(T: Array, points: Array) -> Array:
    """Points (n, 3) after one motion."""
    moved: Array = points @ T[:3, :3].T + T[:3, 3]
    return moved


def distance_m(T: Array) -> float:
    return float(np.linalg.norm(T[:3, 3]))


def angle_rad(T: Array) -> float:
    # The sine too: arccos alone is inaccurate at small angles.
    R = T[:3, :3]
    sine = 0.5 * np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return float(np.arctan2(sine, 0.5 * (np.trace(R) - 1.0)))


def from_quaternion(pos: Array, q_xyzw: Array) -> Array:
    """Positions (n, 3) and unit quaternions (n, 4), scalar last as TUM files have them."""
    return compose(Rotation.from_quat(q_xyzw).as_matrix(), pos)


def to_quaternion(T: Array) -> Array:
    """(n, 4), scalar last and not negative."""
    quaternions: Array = Rotation.from_matrix(T[..., :3, :3]).as_quat(canonical=True)
    return quaternions


def _coefficients(phi: Array) -> tuple[Array, Array]:
    """(1 - cos a)/a^2 and (a - sin a)/a^3, shaped to multiply matrices."""
    angle = np.linalg.norm(phi, axis=-1)[..., None, None]
    small = angle < SMALL_RAD
    safe = np.where(small, 1.0, angle)
    first = np.where(small, 0.5 - angle**2 / 24, (1 - np.cos(safe)) / safe**2)
    second = np.where(small, 1 / 6 - angle**2 / 120, (safe - np.sin(safe)) / safe**3)
    return first, second
