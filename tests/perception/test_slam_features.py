"""Refinement of a motion between two views: what is measured more coarsely counts less."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("cv2")
from aeroloop.perception.slam import se3
from aeroloop.perception.slam.camera import Intrinsics, projected
from aeroloop.perception.slam.features import FeaturePairs, refined
from aeroloop.perception.slam.settings import settings_of

CAMERA = Intrinsics(width=640, height=480, fx=525.0, fy=525.0, cx=319.5, cy=239.5)
SETTINGS = settings_of(())


def pairs_of(T_BA: se3.Array, rng: np.random.Generator) -> FeaturePairs:
    """150 features of a pyramid of eight levels, whose error in pixels grows with the level."""
    pixels_A = rng.uniform((0.0, 0.0), (640.0, 480.0), (150, 2))
    z = rng.uniform(1.0, 4.0, 150)
    rays = (pixels_A - (CAMERA.cx, CAMERA.cy)) / (CAMERA.fx, CAMERA.fy)
    points_A = np.column_stack([rays * z[:, None], z])
    points_B = se3.transformed(T_BA, points_A)
    scales = SETTINGS.level_scale ** rng.integers(0, SETTINGS.levels, 150)
    noise_px = 0.5 * scales[:, None] * rng.normal(size=(150, 2))
    depth_B = points_B[:, 2] * (1.0 + 0.004 * rng.normal(size=150))
    return FeaturePairs(points_A, projected(points_B, CAMERA) + noise_px, depth_B, scales)


def test_features_of_coarse_levels_count_less() -> None:
    T_BA = se3.exp(np.array([0.2, -0.05, 0.1, 0.02, 0.1, -0.03]))
    errors_m: list[tuple[float, float]] = []
    for seed in range(30):
        pairs = pairs_of(T_BA, np.random.default_rng(seed))
        alike = replace(pairs, scales_B=np.full(150, float(pairs.scales_B.mean())))
        found = (refined(T_BA, used, CAMERA, SETTINGS) for used in (pairs, alike))
        weighted_m, alike_m = (se3.distance_m(se3.inverse(T_BA) @ T) for T in found)
        errors_m.append((weighted_m, alike_m))
    weighted_m, alike_m = np.sqrt(np.mean(np.square(errors_m), axis=0))
    assert weighted_m < 0.85 * alike_m
    assert weighted_m < 0.002
