"""What a front end does: turn a frame into a view, match two views, compute the motion between them, find similar ones.

`matched` and `motion` are two calls so that their times can be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from aeroloop.perception.slam.camera import Frame, Intrinsics
from aeroloop.perception.slam.se3 import Array
from aeroloop.perception.slam.settings import FrontEndName, Settings

View = Any
"""What a front end keeps of a frame; only the front end that made it reads it."""
Pairs = Any
"""What belongs together in two views; likewise."""


@dataclass(frozen=True)
class Motion:
    """Pose of a view in the frame of the other."""

    T_AB: Array  # (4, 4)
    inliers: int
    matches: int


@dataclass(frozen=True)
class Kept:
    """A keyframe in the loop search."""

    view: View
    T_WC: Array


class FrontEnd(Protocol):
    def view(self, frame: Frame) -> View: ...

    def matched(self, a: View, b: View) -> Pairs: ...

    def motion(self, pairs: Pairs, guess_AB: Array, seed: int) -> Motion | None:
        """None if no motion explains the pairs."""
        ...

    def similar(self, view: View, T_WC: Array, kept: Sequence[Kept]) -> list[int]:
        """Indices of the keyframes that may show the same, best first."""
        ...


def make(name: FrontEndName, camera: Intrinsics, settings: Settings) -> FrontEnd:
    # Imported here: both modules import this one, and ICP alone needs no OpenCV.
    from aeroloop.perception.slam.features import orb, sift
    from aeroloop.perception.slam.icp import Icp

    makers: dict[str, Callable[[Intrinsics, Settings], FrontEnd]] = {"orb": orb, "sift": sift, "icp": Icp}
    return makers[name](camera, settings)
