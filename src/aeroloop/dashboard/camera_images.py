"""Camera images for browsers: of the running flight (`flight/live_view.py`), each with the overlay that is near it."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from aeroloop.core.camera import Camera, fitted
from aeroloop.core.overlay import Overlay
from aeroloop.core.signals import NS
from aeroloop.flight.live_view import DEPTH, IMAGE, OVERLAY
from aeroloop.protocols.frames import FrameReader
from aeroloop.realtime.latest import LatestIn

OVERLAY_S = 1.0
"""An overlay that is older than its image by more than this is not drawn."""
STALE_S = 1.0
STALE_FRAMES = 3.0
"""No new image for this long: the page says so; for slow cameras this many periods."""


@dataclass(frozen=True)
class Picture:
    number: int
    t_s: float
    size_px: tuple[int, int]
    jpeg: bytes


@dataclass(frozen=True)
class CameraInfo:
    """What a page needs to know of a camera."""

    name: str
    has_depth: bool
    stale_s: float

    def plain(self) -> dict[str, Any]:
        return {"name": self.name, "depth": self.has_depth, "stale_s": self.stale_s}


def infos(cameras: Sequence[Camera], speed: float) -> list[CameraInfo]:
    """`speed`: simulated seconds a second."""
    models = [fitted(camera) for camera in cameras]
    return [
        CameraInfo(model.name, model.depth is not None, max(STALE_S, STALE_FRAMES / (model.rate_hz * speed)))
        for model in models
    ]


class LiveImages:
    """A reader of one camera of a running flight."""

    def __init__(self, folder: Path, camera: str, *, depth: bool = False) -> None:
        self._images = LatestIn(folder, (DEPTH if depth else IMAGE) + camera)
        self._overlays = LatestIn(folder, OVERLAY + camera)
        self._overlay: Overlay | None = None

    def take(self) -> Picture | None:
        """The newest image, if it is another than at the last call."""
        data = self._images.take()
        frame = next(FrameReader().feed(data), None) if data is not None else None
        return None if frame is None else Picture(frame.number, frame.t_ns / NS, frame.size_px, frame.rgb)

    def overlay(self, t_s: float) -> Overlay | None:
        """For an image of that time."""
        data = self._overlays.take()
        if data is not None:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                self._overlay = msgspec.json.decode(data, type=Overlay)
        near = self._overlay is not None and abs(self._overlay.t_s - t_s) <= OVERLAY_S
        return self._overlay if near else None


def answer(picture: Picture, overlay: Overlay | None, now_s: float) -> dict[str, Any]:
    """For the page's script; `now_s`: simulated time."""
    return {
        "number": picture.number,
        "t_s": picture.t_s,
        "age_s": max(0.0, now_s - picture.t_s),
        "size": picture.size_px,
        "jpeg": base64.b64encode(picture.jpeg).decode(),
        "overlay": msgspec.to_builtins(overlay) if overlay is not None else None,
    }


class Rhythm:
    """At most ten images a second, on average."""

    PERIOD_S = 0.1

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._due_s = 0.0

    def wait_s(self) -> float:
        """Until the next one may be sent."""
        return max(0.0, self._due_s - self._now_s())

    def sent(self) -> None:
        self._due_s = max(self._due_s + self.PERIOD_S, self._now_s() + self.PERIOD_S / 2)
