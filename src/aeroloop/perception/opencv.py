"""OpenCV, which only vision needs: imported on first use, and with one thread, so that the plant keeps its core."""

from __future__ import annotations

from functools import cache
from typing import Any

from aeroloop.core.errors import ConfigError


@cache
def opencv() -> Any:
    try:
        import cv2
    except ImportError:
        raise ConfigError("vision needs OpenCV, which is not installed: pip install 'aeroloop[vision]'") from None
    cv2.setNumThreads(1)
    return cv2
