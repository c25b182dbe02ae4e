"""Calibration of an RGB-D camera, and depth images as points.

Pixel centres are whole numbers, as OpenCV counts. Depth is along the optical axis, not along the ray.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.config import Config, convert, meta, read_toml
from aeroloop.perception.slam.opencv import cv
from aeroloop.perception.slam.se3 import Array

FILE = "calibration.toml"
MAX_WIDTH, MAX_HEIGHT = 4096, 3072


class Intrinsics(Config, frozen=True):
    width: Annotated[int, meta("px", "image width", ge=16, le=MAX_WIDTH)]
    height: Annotated[int, meta("px", "image height", ge=16, le=MAX_HEIGHT)]
    fx: Annotated[float, meta("px", "focal length, horizontal", gt=0, le=1e5)]
    fy: Annotated[float, meta("px", "focal length, vertical", gt=0, le=1e5)]
    cx: Annotated[float, meta("px", "principal point, from the centre of the first pixel", ge=-1e5, le=1e5)]
    cy: Annotated[float, meta("px", "the same, downwards", ge=-1e5, le=1e5)]

    @property
    def K(self) -> Array:
        return np.array([[self.fx, 0.0, self.cx], [0.0, self.fy, self.cy], [0.0, 0.0, 1.0]])


TUM_DEFAULT = Intrinsics(width=640, height=480, fx=525.0, fy=525.0, cx=319.5, cy=239.5)


class Calibration(Config, frozen=True):
    """Content of calibration.toml; without the file, the values that TUM recommends for its sequences."""

    colour: Intrinsics = TUM_DEFAULT
    depth: Intrinsics | None = None  # None: depth is registered to the colour image
    baseline_m: Annotated[float, meta("m", "colour camera right of the depth camera", ge=-1, le=1)] = 0.0
    depth_unit_m: Annotated[float, meta("m", "one count of the depth image", gt=0, le=0.1)] = 0.0002


def load(folder: Path) -> tuple[Calibration, bool]:
    """The calibration of a sequence, and whether its folder has one."""
    path = folder / FILE
    if not path.exists():
        return Calibration(), False
    return convert(read_toml(path), Calibration, str(path)), True


def as_table(calibration: Calibration) -> dict[str, Any]:
    import msgspec

    table: dict[str, Any] = msgspec.to_builtins(calibration)
    return {key: value for key, value in table.items() if value is not None}


@dataclass(frozen=True)
class Frame:
    """One image of each kind."""

    number: int  # in the sequence
    t_s: float
    grey: NDArray[np.uint8]  # (h, w)
    rgb: NDArray[np.uint8]  # (h, w, 3)
    depth_m: Array  # (h, w) along the optical axis of the colour camera; 0: none


def frame_of(
    number: int, t_ns: int, rgb: NDArray[np.uint8], depth: NDArray[np.uint16], calibration: Calibration
) -> Frame:
    """From images as they arrive; ValueError if they have another size than the calibration."""
    own = calibration.depth or calibration.colour
    for name, image, camera in (("colour", rgb, calibration.colour), ("depth", depth, own)):
        height, width = image.shape[:2]
        if (width, height) != (camera.width, camera.height):
            raise ValueError(f"{name} image: expected {camera.width}x{camera.height} pixels, not {width}x{height}")
    return prepared(number, t_ns / 1e9, rgb, depth, calibration)


def prepared(
    number: int, t_s: float, rgb: NDArray[np.uint8], depth: NDArray[np.uint16], calibration: Calibration
) -> Frame:
    cv2 = cv()
    depth_m = registered(depth.astype(np.float64) * calibration.depth_unit_m, calibration)
    return Frame(number, t_s, cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY), rgb, depth_m)


def registered(depth_m: Array, calibration: Calibration) -> Array:
    """Depth as the colour camera sees it: unchanged if it is registered already."""
    own, colour = calibration.depth, calibration.colour
    if own is None or (own == colour and calibration.baseline_m == 0.0):
        return depth_m
    v, u = np.nonzero(depth_m > 0)
    z = depth_m[v, u]
    x = (u - own.cx) * z / own.fx - calibration.baseline_m
    y = (v - own.cy) * z / own.fy
    u_c = np.rint(colour.fx * x / z + colour.cx).astype(int)
    v_c = np.rint(colour.fy * y / z + colour.cy).astype(int)
    inside = (u_c >= 0) & (u_c < colour.width) & (v_c >= 0) & (v_c < colour.height)
    out = np.full((colour.height, colour.width), np.inf)
    np.minimum.at(out, (v_c[inside], u_c[inside]), z[inside])  # the nearer surface hides the farther
    return np.where(np.isfinite(out), out, 0.0)


def back_projected(pixels: Array, z: Array, camera: Intrinsics) -> Array:
    """Points (n, 3) in the camera's frame of pixels (n, 2) with their depth."""
    x = (pixels[:, 0] - camera.cx) * z / camera.fx
    y = (pixels[:, 1] - camera.cy) * z / camera.fy
    return np.stack([x, y, z], axis=1)


def projected(points_C: Array, camera: Intrinsics) -> Array:
    """Pixels (n, 2) of points in front of the camera."""
    u = camera.fx * points_C[:, 0] / points_C[:, 2] + camera.cx
    v = camera.fy * points_C[:, 1] / points_C[:, 2] + camera.cy
    return np.stack([u, v], axis=1)


def cloud(frame: Frame, camera: Intrinsics, *, stride: int, near_m: float, far_m: float) -> tuple[Array, Any]:
    """Each n-th pixel with a depth in range: points in the camera's frame and their colours."""
    offset = stride // 2
    depth = frame.depth_m[offset::stride, offset::stride]
    v, u = np.nonzero((depth > near_m) & (depth < far_m))
    pixels = np.stack([u, v], axis=1).astype(np.float64) * stride + offset
    return back_projected(pixels, depth[v, u], camera), frame.rgb[offset::stride, offset::stride][v, u]
