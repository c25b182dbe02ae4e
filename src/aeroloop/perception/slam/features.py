"""Front ends on point features, ORB and SIFT: descriptors matched, RANSAC, then Gauss-Newton on pixels and depths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.perception.slam import se3
from aeroloop.perception.slam.camera import Frame, Intrinsics, back_projected, projected
from aeroloop.perception.slam.front_end import FrontEnd, Kept, Motion
from aeroloop.perception.slam.opencv import cv
from aeroloop.perception.slam.se3 import Array
from aeroloop.perception.slam.settings import Settings

FEWEST_PAIRS = 6
ORB_PATCH_PX = 31.0
"""Size of an ORB feature at the finest level of the pyramid. Its place is known to a fraction of its level's pixels."""


@dataclass(frozen=True)
class FeatureView:
    pixels: Array  # (n, 2), strongest first
    descriptors: Any  # (n, d)
    points_C: Array  # (n, 3) m; NaN where there is no depth
    scales: Array  # (n,) size of the feature by that of the finest level, at least 1


@dataclass(frozen=True)
class FeaturePairs:
    points_A: Array  # (n, 3), all with depth
    pixels_B: Array  # (n, 2)
    depth_B: Array  # (n,) m; NaN where there is none
    scales_B: Array  # (n,) standard deviation of the pixels by that of the finest level


class Features:
    """One class for both: they differ in detector and distances."""

    def __init__(
        self,
        camera: Intrinsics,
        settings: Settings,
        detector: Any,
        norm: int,
        distance: float,
        loop_distance: float,
        finest_px: float = np.inf,
    ) -> None:
        self._camera, self._settings, self._detector = camera, settings, detector
        self._matcher = cv().BFMatcher(norm)
        self._distance, self._loop_distance = distance, loop_distance
        self._finest_px = finest_px

    def view(self, frame: Frame) -> FeatureView:
        found, descriptors = self._detector.detectAndCompute(frame.grey, None)
        if descriptors is None or not len(found):
            return FeatureView(np.zeros((0, 2)), None, np.zeros((0, 3)), np.zeros(0))
        strength = np.array([point.response for point in found])
        order = np.argsort(-strength, kind="stable")[: self._settings.features]
        pixels = np.array([point.pt for point in found], dtype=float)[order]
        scales = np.maximum(np.array([point.size for point in found])[order] / self._finest_px, 1.0)
        u, v = np.rint(pixels).astype(int).T
        z = frame.depth_m[v, u]
        z = np.where((z > self._settings.near_m) & (z < self._settings.far_m), z, np.nan)
        return FeatureView(
            pixels, np.ascontiguousarray(descriptors[order]), back_projected(pixels, z, self._camera), scales
        )

    def matched(self, a: FeatureView, b: FeatureView) -> FeaturePairs:
        """Of the features of `a` with depth: nearest and clearly nearer than the second, each used once."""
        chosen = self._matches(a, b)
        in_a, in_b = chosen[:, 0], chosen[:, 1]
        return FeaturePairs(
            a.points_C[in_a],
            b.pixels[in_b],
            b.points_C[in_b, 2],
            np.hypot(a.scales[in_a], b.scales[in_b]) / np.sqrt(2.0),
        )

    def _matches(self, a: FeatureView, b: FeatureView) -> NDArray[np.intp]:
        with_depth = np.nonzero(np.isfinite(a.points_C[:, 2]))[0]
        if len(with_depth) < FEWEST_PAIRS or len(b.pixels) < FEWEST_PAIRS:
            return np.zeros((0, 2), dtype=np.intp)
        nearest = self._matcher.knnMatch(b.descriptors, a.descriptors[with_depth], k=2)
        rows = [(first.distance, first.trainIdx, first.queryIdx, second.distance) for first, second in nearest]
        table = np.array(rows)
        table = table[(table[:, 0] < self._settings.ratio * table[:, 3]) & (table[:, 0] < self._distance)]
        table = table[np.lexsort((table[:, 2], table[:, 0]))]
        _, once = np.unique(table[:, 1], return_index=True)
        kept = table[np.sort(once)]
        return np.stack([with_depth[kept[:, 1].astype(int)], kept[:, 2].astype(int)], axis=1)

    def motion(self, pairs: FeaturePairs, guess_AB: Array, seed: int) -> Motion | None:
        count = len(pairs.pixels_B)
        if count < FEWEST_PAIRS:
            return None
        cv2, settings = cv(), self._settings
        cv2.setRNGSeed(seed)
        found, rotation, translation, chosen = cv2.solvePnPRansac(
            pairs.points_A,
            pairs.pixels_B,
            self._camera.K,
            None,
            iterationsCount=settings.ransac_iterations,
            reprojectionError=settings.ransac_px,
            confidence=0.999,
            flags=cv2.SOLVEPNP_AP3P,
        )
        if not found or chosen is None or len(chosen) < FEWEST_PAIRS:
            return None
        first = se3.compose(cv2.Rodrigues(rotation)[0], translation.ravel())
        if not np.all(np.isfinite(first)):
            return None
        inside = chosen.ravel()
        used = FeaturePairs(
            pairs.points_A[inside], pairs.pixels_B[inside], pairs.depth_B[inside], pairs.scales_B[inside]
        )
        T_BA = refined(first, used, self._camera, settings)
        inliers = int(np.count_nonzero(_reprojection_px(T_BA, pairs, self._camera) < settings.ransac_px))
        return Motion(se3.inverse(T_BA), inliers, count)

    def similar(self, view: FeatureView, T_WC: Array, kept: Sequence[Kept]) -> list[int]:
        counts = np.array([self._similar_features(view, one.view) for one in kept], dtype=int)
        order = np.argsort(-counts, kind="stable")
        return [int(index) for index in order if counts[index] >= self._settings.loop_similar]

    def _similar_features(self, a: FeatureView, b: FeatureView) -> int:
        if not len(a.pixels) or not len(b.pixels):
            return 0
        most = self._settings.loop_descriptors
        pairs = self._matcher.match(a.descriptors[:most], b.descriptors[:most])
        return sum(pair.distance < self._loop_distance for pair in pairs)


def orb(camera: Intrinsics, settings: Settings) -> FrontEnd:
    cv2 = cv()
    detector = cv2.ORB_create(
        nfeatures=settings.features,
        scaleFactor=settings.level_scale,
        nlevels=settings.levels,
        fastThreshold=settings.fast_threshold,
    )
    return Features(
        camera, settings, detector, cv2.NORM_HAMMING, settings.orb_distance, settings.orb_loop_distance, ORB_PATCH_PX
    )


def sift(camera: Intrinsics, settings: Settings) -> FrontEnd:
    cv2 = cv()
    detector = cv2.SIFT_create(nfeatures=settings.features)
    return Features(camera, settings, detector, cv2.NORM_L2, settings.sift_distance, settings.sift_loop_distance)


def refined(T_BA: Array, pairs: FeaturePairs, camera: Intrinsics, settings: Settings) -> Array:
    """Gauss-Newton with Huber weights on reprojection and depth, T_BA changed from the left."""
    z_A = pairs.points_A[:, 2]
    with_depth = np.isfinite(pairs.depth_B)
    depth_B = np.where(with_depth, pairs.depth_B, 1.0)
    depth_sigma = settings.depth_sigma * np.sqrt(z_A**4 + depth_B**4)
    pixel_sigma = settings.pixel_sigma_px * pairs.scales_B
    for _ in range(settings.refine_iterations):
        x, y, z = (points := se3.transformed(T_BA, pairs.points_A)).T
        z = np.maximum(z, 1e-3)
        residual_px = (projected(np.stack([x, y, z], axis=1), camera) - pairs.pixels_B) / pixel_sigma[:, None]
        residual_z = np.where(with_depth, (z - depth_B) / depth_sigma, 0.0)
        # d(point)/d(rho, phi) = [I, -point^]
        d_point = np.concatenate([np.broadcast_to(np.eye(3), (len(points), 3, 3)), -se3.hat(points)], axis=2)
        zero = np.zeros_like(z)
        d_u = np.stack([camera.fx / z, zero, -camera.fx * x / z**2], axis=1)
        d_v = np.stack([zero, camera.fy / z, -camera.fy * y / z**2], axis=1)
        d_pixel = np.stack([d_u, d_v], axis=1) / pixel_sigma[:, None, None]
        J_px = d_pixel @ d_point
        J_z = np.where(with_depth[:, None], d_point[:, 2] / depth_sigma[:, None], 0.0)
        w_px = _huber(np.linalg.norm(residual_px, axis=1), settings.huber)
        w_z = _huber(np.abs(residual_z), settings.huber)
        H = np.einsum("n,nki,nkj->ij", w_px, J_px, J_px) + np.einsum("n,ni,nj->ij", w_z, J_z, J_z)
        g = np.einsum("n,nki,nk->i", w_px, J_px, residual_px) + np.einsum("n,ni,n->i", w_z, J_z, residual_z)
        step = np.linalg.solve(H + 1e-9 * np.eye(6), -g)
        T_BA = se3.exp(step) @ T_BA
        if float(np.abs(step).max()) < 1e-8:
            break
    return T_BA


def _huber(size: Array, threshold: float) -> Array:
    return threshold / np.maximum(size, threshold)


def _reprojection_px(T_BA: Array, pairs: FeaturePairs, camera: Intrinsics) -> Array:
    points = se3.transformed(T_BA, pairs.points_A)
    in_front = points[:, 2] > 1e-3
    points = np.where(in_front[:, None], points, 1.0)
    distance: Array = np.linalg.norm(projected(points, camera) - pairs.pixels_B, axis=1)
    return np.where(in_front, distance, np.inf)
