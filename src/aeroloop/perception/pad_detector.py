"""Where the pad is, from one image: markers, then one pose from all their corners together.

Camera frame C: OpenCV's optical frame (x right, y down, z forward). A point of the pad is at pos_C + rot_CP p_P. A
plane seen from far has two poses that fit almost equally well: both are refined, and the one with the smaller residual
is returned. Its rotation is uncertain from far away; only the translation is used for landing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aeroloop.perception.opencv import opencv
from aeroloop.perception.pad import MARKERS, Array, Image, check_scale, corners_P, dictionary

MAX_RESIDUAL_PX = 1.5
"""Root mean square over all corners."""
_REFINE = (3, 100, 1e-12)
"""Count and accuracy at which the refinement ends: both, in OpenCV's numbers."""


@dataclass(frozen=True, slots=True)
class Lens:
    """Intrinsics in pixels; pixel centres are whole numbers. Distortion: k1 k2 p1 p2 k3."""

    fx: float
    fy: float
    cx: float
    cy: float
    distortion: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0)

    @property
    def matrix(self) -> Array:
        return np.array([(self.fx, 0.0, self.cx), (0.0, self.fy, self.cy), (0.0, 0.0, 1.0)])


class Outcome(Enum):
    FOUND = "found"
    NOTHING = "no marker seen"
    TWICE = "one marker seen twice"  # a second pad, or a reflection: which one is meant is not known
    RESIDUAL = "corners do not fit the pad"  # also a pad of another shape


class PadPose(NamedTuple):
    pos_C: Array  # (3,) m, the pad's middle
    rot_CP: Array  # (3, 3)
    residual_px: float
    markers: tuple[int, ...]  # those used


class Sighting(NamedTuple):
    outcome: Outcome
    pose: PadPose | None
    corners_px: Mapping[int, Array]  # (4, 2) by id


class PadDetector:
    def __init__(self, lens: Lens, *, scale: float = 1.0) -> None:
        self._lens, self._scale = lens, check_scale(scale)
        aruco = opencv().aruco
        settings = aruco.DetectorParameters()
        settings.cornerRefinementMethod = aruco.CORNER_REFINE_SUBPIX
        settings.cornerRefinementWinSize = 5
        settings.minMarkerPerimeterRate = 0.02
        settings.minMarkerDistanceRate = 0.05
        settings.minDistanceToBorder = 1
        self._detector = aruco.ArucoDetector(dictionary(), settings)

    def look(self, grey: Image) -> Sighting:
        found, ids, _ = self._detector.detectMarkers(grey)
        numbers = [] if ids is None else [int(number) for number in np.ravel(ids)]
        seen = [
            (number, np.asarray(corners, float).reshape(4, 2))
            for number, corners in zip(numbers, found, strict=True)
            if 0 <= number < len(MARKERS)
        ]
        corners_px = dict(seen)
        if len(corners_px) < len(seen):
            return Sighting(Outcome.TWICE, None, corners_px)
        if not corners_px:
            return Sighting(Outcome.NOTHING, None, corners_px)
        pose = pad_pose(corners_px, self._lens, scale=self._scale)
        return Sighting(Outcome.RESIDUAL if pose is None else Outcome.FOUND, pose, corners_px)


def pad_pose(corners_px: Mapping[int, Array], lens: Lens, *, scale: float = 1.0) -> PadPose | None:
    """From the corners of at least one marker; None if they do not fit. One bad marker is left out."""
    pose, residuals = _solve(corners_px, lens, scale)
    if pose is not None and pose.residual_px <= MAX_RESIDUAL_PX:
        return pose
    if pose is None or len(corners_px) < 2:
        return None
    worst = max(residuals, key=lambda number: residuals[number])
    pose, _ = _solve({number: px for number, px in corners_px.items() if number != worst}, lens, scale)
    return pose if pose is not None and pose.residual_px <= MAX_RESIDUAL_PX else None


def _solve(corners_px: Mapping[int, Array], lens: Lens, scale: float) -> tuple[PadPose | None, dict[int, float]]:
    """The better pose, and the mean square residual of each marker."""
    cv2 = opencv()
    numbers = tuple(sorted(corners_px))
    points_P = np.concatenate([corners_P(number, scale) for number in numbers])
    points_px = np.concatenate([np.asarray(corners_px[number], float) for number in numbers])
    camera, distortion = lens.matrix, np.array(lens.distortion)
    # OpenCV's rotation vectors are NaN or far off near half a turn, which is what a camera above the pad sees. So it
    # gets the points in a frame Q that is turned like the image.
    rot_QP = _turned_like(points_P, points_px)
    points_Q = points_P @ rot_QP.T
    middle_Q = points_Q.mean(axis=0)
    try:
        _, turns, shifts, _ = cv2.solvePnPGeneric(
            points_Q - middle_Q, points_px, camera, distortion, flags=cv2.SOLVEPNP_IPPE
        )
    except cv2.error:  # corners on one line, or in one point
        return None, {}
    best: PadPose | None = None
    residuals: dict[int, float] = {}
    for turn, shift in zip(turns, shifts, strict=True):
        turn, shift = np.array(turn, float), np.array(shift, float).reshape(3, 1)
        if not np.isfinite(shift).all():  # OpenCV's answer where the pad is exactly parallel to the image
            turn, shift = np.zeros((3, 1)), _parallel(points_Q - middle_Q, points_px, lens)
        shift -= cv2.Rodrigues(turn)[0] @ middle_Q.reshape(3, 1)
        turn, shift = cv2.solvePnPRefineLM(points_Q, points_px, camera, distortion, turn, shift, _REFINE)
        off_px2 = _squares(cv2, points_Q, points_px, turn, shift, camera, distortion)
        residual_px = float(np.sqrt(off_px2.mean()))
        if not np.isfinite(residual_px) or shift[2, 0] <= 0.0:
            continue
        if best is None or residual_px < best.residual_px:
            best = PadPose(shift.reshape(3), cv2.Rodrigues(turn)[0] @ rot_QP, residual_px, numbers)
            residuals = dict(zip(numbers, off_px2.reshape(-1, 4).mean(axis=1).tolist(), strict=True))
    return best, residuals


def _turned_like(points_P: Array, points_px: Array) -> Array:
    """The rotation from the pad's frame to one with z away from the camera, and x and y roughly as in the image."""
    facing = np.diag([1.0, -1.0, -1.0])
    flat = points_P @ facing
    x, y = (flat - flat.mean(axis=0))[:, :2].T
    u, v = (points_px - points_px.mean(axis=0)).T
    yaw = np.arctan2(np.sum(x * v - y * u), np.sum(x * u + y * v))
    cos, sin = np.cos(yaw), np.sin(yaw)
    return np.array([(cos, -sin, 0.0), (sin, cos, 0.0), (0.0, 0.0, 1.0)]) @ facing


def _parallel(points_Q: Array, points_px: Array, lens: Lens) -> Array:
    """The position (3, 1) of points that are turned like the image and parallel to it, but for the lens distortion."""
    middle_px = points_px.mean(axis=0)
    depth = np.sqrt(lens.fx * lens.fy) * np.linalg.norm(points_Q) / np.linalg.norm(points_px - middle_px)
    ray = np.array([(middle_px[0] - lens.cx) / lens.fx, (middle_px[1] - lens.cy) / lens.fy, 1.0])
    return np.asarray(depth * ray.reshape(3, 1), float)


def _squares(
    cv2: Any, points_P: Array, points_px: Array, turn: Array, shift: Array, camera: Array, distortion: Array
) -> npt.NDArray[np.float64]:
    projected = cv2.projectPoints(points_P, turn, shift, camera, distortion)[0].reshape(-1, 2)
    return np.asarray(np.sum((projected - points_px) ** 2, axis=1), float)
