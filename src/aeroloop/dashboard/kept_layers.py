"""The newest layers of the 3D view, as processes of the flight offered them; `layers.py` shows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aeroloop.flight.live_view import LAYER
from aeroloop.protocols import layers
from aeroloop.realtime.latest import LatestIn, names

MOST_LAYERS = 8


@dataclass(frozen=True)
class Kept:
    version: int
    data: bytes


class KeptLayers:
    """The newest layers of the shown flight, by name."""

    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}
        self._readers: dict[str, LatestIn] = {}

    def read(self, folder: Path) -> None:
        """Those that have changed; what is no layer is left out."""
        for name in names(folder, LAYER)[:MOST_LAYERS]:
            data = self._readers.setdefault(name, LatestIn(folder, name)).take()
            if data is not None and layers.size(data) is not None:
                before = self.kept.get(name.removeprefix(LAYER))
                self.kept[name.removeprefix(LAYER)] = Kept(before.version + 1 if before else 1, data)
