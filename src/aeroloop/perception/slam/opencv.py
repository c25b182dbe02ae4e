"""OpenCV, imported when first used: it is an extra, and slow to import."""

from __future__ import annotations

from typing import Any

from aeroloop.core.errors import ConfigError

MISSING = "SLAM needs OpenCV: pip install 'aeroloop[vision]'"


def cv() -> Any:
    """The module cv2, on one thread: results then repeat to the bit, and other processes keep their cores."""
    try:
        import cv2
    except ImportError:
        raise ConfigError(MISSING) from None
    cv2.setNumThreads(1)
    return cv2
