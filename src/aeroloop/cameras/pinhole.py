"""The pinhole camera, in OpenCV's convention: x right, y down, z forward; pixel centres are whole numbers.

    u = fx x/z + cx,  v = fy y/z + cy,  cx = (W-1)/2,  cy = (H-1)/2

Distortion is OpenCV's with k1 k2 p1 p2 k3, on x/z and y/z.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aeroloop.core.camera import CameraModel
from aeroloop.core.frames import Quat, Vec, Vec3, rotation_rows

OPTICAL_IN_MOUNT: Vec = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
"""Columns: right, down and forward of the image in the mount's frame, whose x looks forward and z is up."""
UNDISTORT_STEPS = 30
Intrinsics = tuple[float, float, float, float]


@dataclass(frozen=True)
class Pose:
    """Of a camera: position, and rotation from its optical frame, in W."""

    pos_W: Vec
    R_WC: Vec


@dataclass(frozen=True)
class BodyPose:
    t_s: float
    pos_W: Vec3
    quat_WB: Quat


def intrinsics_px(focal_px: float, size_px: tuple[int, int]) -> Intrinsics:
    """fx fy cx cy."""
    return focal_px, focal_px, (size_px[0] - 1) / 2.0, (size_px[1] - 1) / 2.0


def project(points_C: Vec, intrinsics: Intrinsics) -> Vec:
    """Pixels of points (n, 3) in the optical frame."""
    fx, fy, cx, cy = intrinsics
    return np.stack([fx * points_C[:, 0] / points_C[:, 2] + cx, fy * points_C[:, 1] / points_C[:, 2] + cy], axis=1)


def unproject(pixels: Vec, depth_m: Vec, intrinsics: Intrinsics) -> Vec:
    """Points in the optical frame of pixels (n, 2) with their depths along z."""
    fx, fy, cx, cy = intrinsics
    return np.stack([(pixels[:, 0] - cx) / fx * depth_m, (pixels[:, 1] - cy) / fy * depth_m, depth_m], axis=1)


def distorted(xy: Vec, lens: Sequence[float]) -> Vec:
    """Normalised image points (n, 2) after the lens."""
    k1, k2, p1, p2, k3 = lens
    x, y = xy[:, 0], xy[:, 1]
    r2 = x * x + y * y
    radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
    return np.stack(
        [
            x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x),
            y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y,
        ],
        axis=1,
    )


def undistorted(xy: Vec, lens: Sequence[float]) -> Vec:
    """The inverse, by fixed-point iteration."""
    found: Vec = xy.copy()
    for _ in range(UNDISTORT_STEPS):
        found = found + (xy - distorted(found, lens))
    return found


def camera_pose(body: BodyPose, camera: CameraModel) -> Pose:
    R_WB, R_BM = np.array(rotation_rows(body.quat_WB)), np.array(rotation_rows(camera.quat_BM))
    return Pose(np.array(body.pos_W) + R_WB @ np.array(camera.pos_B), R_WB @ R_BM @ OPTICAL_IN_MOUNT)


def between(before: BodyPose, after: BodyPose, t_s: float) -> BodyPose:
    """Linear in position, slerp in attitude."""
    if after.t_s <= before.t_s or t_s <= before.t_s:
        return BodyPose(t_s, before.pos_W, before.quat_WB)
    if t_s >= after.t_s:
        return BodyPose(t_s, after.pos_W, after.quat_WB)
    part = (t_s - before.t_s) / (after.t_s - before.t_s)
    x, y, z = (a + part * (b - a) for a, b in zip(before.pos_W, after.pos_W, strict=True))
    return BodyPose(t_s, (x, y, z), slerp(before.quat_WB, after.quat_WB, part))


def slerp(first: Quat, second: Quat, part: float) -> Quat:
    a, b = np.array(first), np.array(second)
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    cosine = float(a @ b)
    if cosine < 0.0:
        b, cosine = -b, -cosine
    angle = float(np.arccos(min(1.0, cosine)))
    mixed = (
        a + part * (b - a)
        if angle < 1e-6
        else (np.sin((1.0 - part) * angle) * a + np.sin(part * angle) * b) / np.sin(angle)
    )
    w, x, y, z = (float(value) for value in mixed / np.linalg.norm(mixed))
    return w, x, y, z


class PoseHistory:
    """Rows of one aircraft's pose, in order; times before the first row have its pose."""

    def __init__(self) -> None:
        self._times_s: list[float] = []
        self._rows: list[BodyPose] = []

    def add(self, row: BodyPose) -> None:
        if not self._times_s or row.t_s > self._times_s[-1]:
            self._times_s.append(row.t_s)
            self._rows.append(row)

    @property
    def newest_s(self) -> float:
        return self._times_s[-1] if self._times_s else -np.inf

    def at(self, t_s: float) -> BodyPose:
        """Interpolated between the two rows around that time."""
        index = bisect_right(self._times_s, t_s)
        before, after = self._rows[max(0, index - 1)], self._rows[min(index, len(self._rows) - 1)]
        return between(before, after, t_s)

    def forget(self, before_s: float) -> None:
        """Rows that no frame from that time on needs."""
        old = bisect_right(self._times_s, before_s) - 1
        if old > 0:
            del self._times_s[:old], self._rows[:old]
