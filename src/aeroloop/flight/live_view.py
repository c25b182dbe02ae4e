"""What processes of a flight show on its pages beside rows: camera images, overlays on them, and layers of the 3D view.

Written only while somebody looks, and ten times a second at most (`realtime/latest.py`), so that a flight without a
viewer pays nothing. A process makes one `LiveView` of its flight's folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from aeroloop.core.overlay import Overlay
from aeroloop.protocols import frames, layers
from aeroloop.protocols.frames import Frame
from aeroloop.protocols.layers import Layer
from aeroloop.realtime.latest import LatestOut

IMAGE, DEPTH, OVERLAY, LAYER = "image-", "depth-", "overlay-", "layer-"
"""Beginnings of names; a camera's or layer's name follows."""


class LiveView:
    def __init__(self, folder: Path) -> None:
        self._out = LatestOut(folder)

    def image(self, camera: str, made: Callable[[], Frame], *, depth: bool = False) -> None:
        """A frame with a JPEG as its colour image; `made` is called only if somebody looks. `depth`: in colours."""
        self._offer((DEPTH if depth else IMAGE) + camera, lambda: frames.encode(made()))

    def overlay(self, camera: str, made: Callable[[], Overlay]) -> None:
        """Drawn over the images of this camera, until the next one or for a second."""
        self._offer(OVERLAY + camera, lambda: msgspec.json.encode(made()))

    def layer(self, name: str, made: Callable[[], Layer]) -> None:
        """Replaces the layer of this name in the 3D view; each has a switch with its name. Offer it again about once a
        second even if it is the same, for viewers who came later."""
        self._offer(LAYER + name, lambda: layers.encode(made()))

    def _offer(self, name: str, made: Callable[[], bytes]) -> None:
        if self._out.due(name):
            self._out.put(name, made())
