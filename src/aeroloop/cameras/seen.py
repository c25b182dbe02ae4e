"""The poses that a frame needs, where there are other aircraft that a camera may see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from aeroloop.cameras.pinhole import BodyPose, PoseHistory

Place = Callable[[Mapping[int, BodyPose]], None]
"""Puts these aircraft into the scene, and no others: `others.Placed`."""
LOST_S = 1.0
"""An aircraft whose poses end this long before those of the others is not waited for."""


@dataclass(frozen=True)
class SeenPoses:
    """What a camera needs for a frame: the poses of its own aircraft, and of those that it may see."""

    own: PoseHistory
    others: Mapping[int, PoseHistory]
    place: Place | None = None

    @property
    def newest_s(self) -> float:
        """All poses up to this time are there; aircraft that have none any more do not count."""
        times_s = [history.newest_s for history in self.others.values()]
        newest_s = max(self.own.newest_s, *times_s, -np.inf)
        return min([self.own.newest_s, *(t_s for t_s in times_s if max(t_s, 0.0) > newest_s - LOST_S)])

    def at(self, t_s: float) -> BodyPose:
        return self.own.at(t_s)

    def set_scene(self, t_s: float) -> None:
        """Before a frame of this time is drawn."""
        if self.place is not None:
            seen = {number: history for number, history in self.others.items() if history.newest_s > -np.inf}
            self.place({number: history.at(t_s) for number, history in seen.items()})
