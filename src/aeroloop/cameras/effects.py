"""What a real camera does to an ideal image: lens, vignette and gain, noise, quantisation; and errors of depth.

Random numbers come from streams named by seed, camera and frame number: a frame that is left out changes no other.
Exposure and rolling shutter are poses, and happen in `shots.py`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from aeroloop.cameras.pinhole import intrinsics_px, undistorted
from aeroloop.core.camera import DepthModel
from aeroloop.core.frames import Vec

Singles = NDArray[np.float32]
WIDER, WIDEST = 1.1, 1.6
"""A lens bends rays from outside the image into it, so the ideal image is larger: at least and at most this much."""
TABLE = 1 << 21
"""Normal numbers drawn once a flight; a frame enters at a random place, which is four times faster than fresh ones."""
FIELD_POINTS = (6, 8)
DISPARITY_STEP_PX = 1 / 8
EDGE_RATIO = 0.05
"""Depth that changes by more than this fraction between neighbours gives no reading."""
DEPTH_UNIT_M = 0.001
FLIGHT, FRAME, CALIBRATION, LINK = range(4)


def generator(seed: int, camera: str, purpose: int, number: int = 0) -> np.random.Generator:
    """The random stream of one purpose of one camera."""
    key = (zlib.crc32(b"camera"), zlib.crc32(camera.encode()), purpose, number)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


@lru_cache(maxsize=8)
def wider(lens: tuple[float, ...], focal_px: float, size_px: tuple[int, int]) -> tuple[int, int]:
    """Size of the ideal image before a lens; even, so that the principal points differ by whole pixels."""
    fx, fy, cx, cy = intrinsics_px(focal_px, size_px)
    edge = np.linspace(-1.0, 1.0, 33)
    one = np.ones_like(edge)
    border = np.concatenate([np.stack(pair, axis=1) for pair in ((edge, one), (edge, -one), (one, edge), (-one, edge))])
    ideal = np.abs(undistorted(border * (cx / fx, cy / fy), lens)).max(axis=0) * (fx / cx, fy / cy)
    width, height = (
        2 * round(side / 2 * min(WIDEST, max(WIDER, reach + 0.02)))
        for side, reach in zip(size_px, ideal.tolist(), strict=True)
    )
    return width, height


@lru_cache(maxsize=8)
def lens_map(lens: tuple[float, ...], focal_px: float, size_px: tuple[int, int]) -> tuple[Singles, Singles]:
    """For each pixel of the image where it lies in the wider ideal one."""
    fx, fy, cx, cy = intrinsics_px(focal_px, size_px)
    _, _, wide_cx, wide_cy = intrinsics_px(focal_px, wider(lens, focal_px, size_px))
    v, u = np.mgrid[0 : size_px[1], 0 : size_px[0]]
    seen = np.stack([(u.ravel() - cx) / fx, (v.ravel() - cy) / fy], axis=1)
    ideal = undistorted(seen, lens)
    x, y = (ideal[:, 0] * fx + wide_cx).reshape(u.shape), (ideal[:, 1] * fy + wide_cy).reshape(u.shape)
    return x.astype(np.float32), y.astype(np.float32)


def bent(image: NDArray[Any], lens: Sequence[float], focal_px: float, size_px: tuple[int, int], *, smooth: bool) -> Any:
    """The image behind the lens, of the wider ideal one; depth is not mixed between pixels."""
    import cv2

    x, y = lens_map(tuple(lens), focal_px, size_px)
    how = cv2.INTER_LINEAR if smooth else cv2.INTER_NEAREST
    return cv2.remap(image.astype(np.float32), x, y, how, borderMode=cv2.BORDER_REPLICATE)


@lru_cache(maxsize=8)
def vignette_of(size_px: tuple[int, int], loss: float) -> Singles:
    """Factor on the brightness, 1 in the middle and 1 - loss in the corners."""
    width, height = size_px
    v, u = np.mgrid[0:height, 0:width]
    squared = ((u - (width - 1) / 2) ** 2 + (v - (height - 1) / 2) ** 2) / (((width - 1) ** 2 + (height - 1) ** 2) / 4)
    factor: Singles = (1.0 - loss * squared)[..., None].astype(np.float32)
    return factor


def noise_table(seed: int, camera: str) -> Singles:
    return generator(seed, camera, FLIGHT).standard_normal(TABLE, dtype=np.float32)


def taken(table: Singles, start: int, shape: tuple[int, ...]) -> Singles:
    """Numbers of the table from a place on, around its end."""
    count = int(np.prod(shape))
    turns = -(-(start + count) // len(table))
    return (
        np.tile(table, turns)[start : start + count].reshape(shape)
        if turns > 1
        else table[start : start + count].reshape(shape)
    )


def noisy(image: Singles, rng: np.random.Generator, table: Singles, read: float, shot: float) -> Singles:
    """Variance read^2 + shot I, in grey levels."""
    if not read and not shot:
        return image
    normal = taken(table, int(rng.integers(len(table))), image.shape)
    sigma = np.sqrt(np.float32(read * read) + np.float32(shot) * np.maximum(image, 0.0))
    found: Singles = image + sigma * normal
    return found


def quantised(image: Singles) -> NDArray[np.uint8]:
    return np.clip(np.rint(image), 0.0, 255.0).astype(np.uint8)


def calibration_field(
    seed: int, camera: str, size_px: tuple[int, int], scale_error: float, field_error: float
) -> Vec | None:
    """Factor on depth of each pixel, drawn once a flight; None: exact."""
    if not scale_error and not field_error:
        return None
    rng = generator(seed, camera, CALIBRATION)
    scale = 1.0 + scale_error * rng.standard_normal()
    coarse = rng.standard_normal(FIELD_POINTS)
    width, height = size_px
    rows, columns = np.linspace(0, FIELD_POINTS[0] - 1, height), np.linspace(0, FIELD_POINTS[1] - 1, width)
    smooth = ndimage.map_coordinates(coarse, np.meshgrid(rows, columns, indexing="ij"), order=3, mode="nearest")
    field: Vec = scale * (1.0 + field_error * smooth)
    return field


def depth_image(
    depth_m: Vec, model: DepthModel, focal_px: float, field: Vec | None, rng: np.random.Generator
) -> NDArray[np.uint16]:
    """Depth in DEPTH_UNIT_M with the errors of a disparity sensor; 0: no reading."""
    height, width = depth_m.shape
    low_m, high_m = model.range_m
    valid = (depth_m >= low_m) & (depth_m <= high_m) & ~_edges(depth_m)
    if model.dropout:
        blocks = rng.random((-(-height // 4), -(-width // 4))) < model.dropout
        valid &= ~np.repeat(np.repeat(blocks, 4, axis=0), 4, axis=1)[:height, :width]
    z: Vec = np.clip(depth_m, low_m, high_m)
    if field is not None:
        z = z * field
    if model.noise_px:
        scale = focal_px * model.baseline_m
        normal = rng.standard_normal((-(-height // 2), -(-width // 2)), dtype=np.float32)
        pairs = np.repeat(np.repeat(normal, 2, axis=0), 2, axis=1)[:height, :width]
        disparity = np.rint((scale / z + model.noise_px * pairs) / DISPARITY_STEP_PX) * DISPARITY_STEP_PX
        valid &= disparity > 0.0
        z = scale / np.maximum(disparity, DISPARITY_STEP_PX)
    return np.where(valid, np.clip(np.rint(z / DEPTH_UNIT_M), 0, 65535), 0).astype(np.uint16)


def _edges(depth_m: Vec) -> NDArray[np.bool_]:
    """Pixels beside a step of depth."""
    found = np.zeros(depth_m.shape, dtype=bool)
    across = np.abs(np.diff(depth_m, axis=1)) > EDGE_RATIO * depth_m[:, :-1]
    down = np.abs(np.diff(depth_m, axis=0)) > EDGE_RATIO * depth_m[:-1]
    found[:, :-1] |= across
    found[:, 1:] |= across
    found[:-1] |= down
    found[1:] |= down
    return found
