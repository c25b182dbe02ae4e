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
