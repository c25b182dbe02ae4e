"""Voxel map: the mean of the points in each cube that has enough of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeroloop.perception.slam.se3 import Array

LARGEST_M = 1000.0  # a map of a room or a hall; farther points come from a lost pose


@dataclass(frozen=True)
class VoxelMap:
    points_W: Array  # (n, 3) m
    colours: NDArray[np.uint8]  # (n, 3) RGB
    voxel_m: float


def voxel_map(points_W: Array, colours: NDArray[np.uint8], *, voxel_m: float, at_least: int) -> VoxelMap:
    near = np.all(np.abs(points_W) < LARGEST_M, axis=1)  # NaN too compares false
    points_W, colours = points_W[near], colours[near]
    cells = np.floor(points_W / voxel_m).astype(np.int64)
    base = np.int64(2 * LARGEST_M / voxel_m) + 2
    keys = (cells[:, 0] * base + cells[:, 1]) * base + cells[:, 2]
    _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    enough = counts >= at_least
    means = np.stack([np.bincount(places, points_W[:, axis], len(counts)) for axis in range(3)], axis=1)
    shades = np.stack([np.bincount(places, colours[:, axis], len(counts)) for axis in range(3)], axis=1)
    per_voxel = np.maximum(counts, 1)[:, None]
    return VoxelMap((means / per_voxel)[enough], (shades / per_voxel)[enough].astype(np.uint8), voxel_m)
