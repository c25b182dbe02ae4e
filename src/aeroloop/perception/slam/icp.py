"""Front end on geometry alone: point-to-plane ICP with projective association. No texture, and no OpenCV, is used.

A point of B, moved into A by the present estimate, belongs to the pixel of A on which it falls; the residual is its
distance from the plane there, divided by the standard deviation of depth. Where the geometry leaves a direction open
(a single wall), the guess decides: it is the prior with the standard deviation below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aeroloop.perception.slam import se3
from aeroloop.perception.slam.camera import Frame, Intrinsics, back_projected, projected
from aeroloop.perception.slam.front_end import Kept, Motion
from aeroloop.perception.slam.se3 import Array
from aeroloop.perception.slam.settings import Settings

PER_INLIER = 50
"""Neighbouring pixels share noise and surface: this many pairs count as one inlier, so that limits and weights of the
other front ends hold here."""
PER_FREE_PAIR = 2000
"""Calibration errors of depth are the same over a large part of the image: this many pairs give the information of one
with independent noise. A distorted flat wall otherwise looks like a reason to stand still."""
PRIOR_SIGMA = 0.02  # m and rad
JUMP = 0.05  # no plane across a step of depth above this fraction
FACING = 0.7  # cosine between the normals of a pair, at least
CONVERGED = 1e-5


@dataclass(frozen=True)
class DepthView:
    points_C: Array  # (h, w, 3) m; NaN where there is none
    normals_C: Array  # (h, w, 3) towards the camera; NaN where there is none


class Icp:
    def __init__(self, camera: Intrinsics, settings: Settings) -> None:
        self._settings = settings
        stride = settings.icp_stride
        offset = (stride - 1) / 2  # the centre of a block of pixels
        self._camera = Intrinsics(
            width=max(16, camera.width // stride),
            height=max(16, camera.height // stride),
            fx=camera.fx / stride,
            fy=camera.fy / stride,
            cx=(camera.cx - offset) / stride,
            cy=(camera.cy - offset) / stride,
        )

    def view(self, frame: Frame) -> DepthView:
        depth = _averaged(frame.depth_m, self._settings.icp_stride, self._settings.near_m, self._settings.far_m)
        height, width = depth.shape
        v, u = np.mgrid[0:height, 0:width]
        pixels = np.stack([u.ravel(), v.ravel()], axis=1).astype(float)
        points = back_projected(pixels, depth.ravel(), self._camera).reshape(height, width, 3)
        return DepthView(points, _normals(points))

    def matched(self, a: DepthView, b: DepthView) -> tuple[DepthView, DepthView]:
        """Association is part of each iteration, so nothing is done here."""
        return a, b

    def motion(self, pairs: tuple[DepthView, DepthView], guess_AB: Array, seed: int) -> Motion | None:
        a, b = pairs
        usable = np.isfinite(b.normals_C[..., 0])
        points_B, normals_B = b.points_C[usable], b.normals_C[usable]
        if len(points_B) < PER_INLIER:
            return None
        T_AB, limit_m = guess_AB, 2 * self._settings.icp_distance_m
        for _ in range(self._settings.icp_iterations):
            points, planes, normals, _ = self._paired(T_AB, a, points_B, normals_B, limit_m)
            if len(points) < PER_INLIER:
                return None
            sigma = self._settings.icp_depth_sigma * np.sqrt(2.0) * planes[:, 2] ** 2
            residual = np.einsum("ni,ni->n", points - planes, normals) / sigma
            weights = self._settings.huber / np.maximum(np.abs(residual), self._settings.huber)
            J = np.concatenate([normals, np.cross(points, normals)], axis=1) / sigma[:, None]
            away = se3.log(guess_AB @ se3.inverse(T_AB))
            H = (J * weights[:, None]).T @ J / PER_FREE_PAIR + np.eye(6) / PRIOR_SIGMA**2
            g = (J * weights[:, None]).T @ residual / PER_FREE_PAIR - away / PRIOR_SIGMA**2
            step = np.linalg.solve(H, -g)
            T_AB = se3.exp(step) @ T_AB
            limit_m = max(self._settings.icp_distance_m, 0.8 * limit_m)
            if float(np.abs(step).max()) < CONVERGED:
                break
        points, _, _, overlapping = self._paired(T_AB, a, points_B, normals_B, 0.5 * self._settings.icp_distance_m)
        return Motion(T_AB, len(points) // PER_INLIER, max(1, overlapping // PER_INLIER))

    def similar(self, view: DepthView, T_WC: Array, kept: Sequence[Kept]) -> list[int]:
        """By the estimate alone: a loop is found only while drift is below the limits."""
        near = []
        for index, one in enumerate(kept):
            relative = se3.inverse(one.T_WC) @ T_WC
            far_m, turned_deg = se3.distance_m(relative), np.degrees(se3.angle_rad(relative))
            if far_m < self._settings.loop_near_m and turned_deg < self._settings.loop_near_deg:
                near.append((far_m / self._settings.loop_near_m + turned_deg / self._settings.loop_near_deg, index))
        return [index for _, index in sorted(near)]

    def _paired(
        self, T_AB: Array, a: DepthView, points_B: Array, normals_B: Array, limit_m: float
    ) -> tuple[Array, Array, Array, int]:
        """Points of B in A's frame, the points and normals of A they fall on, and how many fall on a point of A."""
        height, width = a.points_C.shape[:2]
        points = se3.transformed(T_AB, points_B)
        normals = normals_B @ T_AB[:3, :3].T
        ahead = points[:, 2] > 0.05
        points, normals = points[ahead], normals[ahead]
        u, v = np.rint(projected(points, self._camera)).T
        inside = (u >= 0) & (u < width) & (v >= 0) & (v < height)
        points, normals = points[inside], normals[inside]
        columns, rows = u[inside].astype(int), v[inside].astype(int)
        planes, normals_A = a.points_C[rows, columns], a.normals_C[rows, columns]
        seen = np.isfinite(normals_A[:, 0])
        # NaN compares false: pixels without a plane are left out.
        near = np.linalg.norm(points - planes, axis=1) < limit_m
        near &= np.einsum("ni,ni->n", normals, normals_A) > FACING
        return points[near], planes[near], normals_A[near], int(np.count_nonzero(seen))


def _averaged(depth_m: Array, stride: int, near_m: float, far_m: float) -> Array:
    """Mean of the pixels of each block that lie on one surface; NaN where less than half have a depth."""
    height, width = (size // stride * stride for size in depth_m.shape)
    blocks = depth_m[:height, :width].reshape(height // stride, stride, width // stride, stride).swapaxes(1, 2)
    flat = blocks.reshape(height // stride, width // stride, stride * stride)
    valid = (flat > near_m) & (flat < far_m)
    count = valid.sum(axis=2)
    mean = np.where(valid, flat, 0.0).sum(axis=2) / np.maximum(count, 1)
    low = np.where(valid, flat, np.inf).min(axis=2)
    high = np.where(valid, flat, 0.0).max(axis=2)
    smooth = (2 * count >= stride * stride) & (high - low < 2 * JUMP * np.maximum(mean, 1e-6))
    return np.where(smooth, mean, np.nan)


def _normals(points: Array) -> Array:
    """From the neighbours two pixels away on both sides."""
    out = np.full_like(points, np.nan)
    right = points[2:-2, 4:] - points[2:-2, :-4]
    down = points[4:, 2:-2] - points[:-4, 2:-2]
    centre_z = points[2:-2, 2:-2, 2]
    normal = np.cross(down, right)  # x right, y down: towards the camera
    length = np.linalg.norm(normal, axis=2)
    steps = np.maximum(np.abs(right[..., 2]), np.abs(down[..., 2]))
    good = (length > 1e-9) & (steps < 4 * JUMP * centre_z)
    out[2:-2, 2:-2] = np.where(good[..., None], normal / np.where(length > 0, length, 1.0)[..., None], np.nan)
    return out
