"""Images of a descent for the report: of those logged with the pad below, the nearest to some heights.

When the aircraft has climbed again, those of the next descent count.
"""

from __future__ import annotations

import base64
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter

from aeroloop.core.camera_streams import DESCENT_METADATA
from aeroloop.core.signals import NS

HEIGHTS_M = (10.0, 5.0, 2.0, 1.0, 0.3)
NEAR = math.log(1.5)
"""Largest difference of the logarithms of height and wanted height."""
IN_VIEW = 0.5
"""Largest distance from above the pad, as part of the height."""
KEPT_ROWS = 16384
"""An image arrives some time after the row with its height."""


class DescentImages:
    def __init__(
        self, camera: int, vehicle: int, pad: Callable[[float], Sequence[float]], truth_columns: Sequence[str]
    ) -> None:
        """`camera` and `vehicle`: their numbers; `pad`: its place at a time, in m."""
        self._camera, self._vehicle, self._pad = camera, vehicle, pad
        self._pick = itemgetter(*map(truth_columns.index, ("t_s", "vehicle", "x_m", "y_m", "z_m")))
        self._places: deque[tuple[float, ...]] = deque(maxlen=KEPT_ROWS)  # time, position
        self._best: dict[float, tuple[float, float, bytes]] = {}  # difference, time and image

    def taker(self, stream: str) -> Callable[[Sequence[float]], None] | None:
        return self._see if stream == "truth" else None

    def _see(self, row: Sequence[float]) -> None:
        t_s, vehicle, *pos_m = self._pick(row)
        if vehicle == self._vehicle:
            self._places.append((t_s, *pos_m))

    def take(self, camera: int, t_ns: int, jpeg: bytes) -> None:
        if camera != self._camera:
            return
        t_s, place = t_ns / NS, None
        while self._places and self._places[0][0] <= t_s + 1e-9:
            place = self._places.popleft()
        if place is None:
            return
        x, y, height_m = (own - pads for own, pads in zip(place[1:], self._pad(t_s), strict=True))
        if height_m <= 0.0 or math.hypot(x, y) > IN_VIEW * height_m:
            return
        for wanted_m in HEIGHTS_M:
            apart = math.log(height_m / wanted_m)
            if apart > NEAR:
                self._best.pop(wanted_m, None)
            elif abs(apart) < self._best.get(wanted_m, (NEAR,))[0]:
                self._best[wanted_m] = abs(apart), t_s, jpeg

    def kept(self) -> tuple[str, Mapping[str, str]]:
        """Name and content of the log's metadata: `HEIGHT TIME` -> JPEG in base 64."""
        return DESCENT_METADATA, {
            f"{wanted_m:g} {t_s:.3f}": base64.b64encode(jpeg).decode()
            for wanted_m, (_, t_s, jpeg) in sorted(self._best.items(), reverse=True)
        }
