"""Images as bytes: JPEG for colour, PNG of 16 bits for depth. Needs OpenCV."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.errors import ConfigError

NO_OPENCV = "cameras: OpenCV is missing; expected pip install 'aeroloop[vision]'"
PNG_LEVEL = 1
"""More saves little and costs much."""


def opencv() -> Any:
    """The module, on one thread: the plant needs the other cores. ConfigError says how to install it."""
    try:
        import cv2
    except ImportError:
        raise ConfigError(NO_OPENCV) from None
    cv2.setNumThreads(1)
    return cv2


def jpeg(rgb: NDArray[np.uint8], quality: int) -> bytes:
    cv2 = opencv()
    return bytes(cv2.imencode(".jpg", rgb[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])[1])


def png16(depth: NDArray[np.uint16]) -> bytes:
    cv2 = opencv()
    return bytes(cv2.imencode(".png", depth, [cv2.IMWRITE_PNG_COMPRESSION, PNG_LEVEL])[1])


def depth_colours(depth: NDArray[np.uint16], unit_m: float, range_m: tuple[float, float]) -> NDArray[np.uint8]:
    """For people: near is red, far is blue, no reading is black."""
    cv2 = opencv()
    near_m, far_m = range_m
    part = np.clip((far_m - depth * np.float32(unit_m)) / np.float32(far_m - near_m), 0.0, 1.0)
    rgb: NDArray[np.uint8] = cv2.applyColorMap((255.0 * part).astype(np.uint8), cv2.COLORMAP_TURBO)[..., ::-1]
    return np.where(depth[..., None] > 0, rgb, np.uint8(0))


def png(jpeg: bytes) -> bytes:
    """A JPEG image again, without further loss."""
    cv2 = opencv()
    return bytes(cv2.imencode(".png", cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR))[1])
