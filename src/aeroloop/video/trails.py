"""Lines of a film: paths of the scenarios, setpoints and what is flown, as segments in the order of their times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import mujoco
import numpy as np

from aeroloop.core.frames import Vec, Vec3
from aeroloop.video.crafts import Craft

TRAIL_POINTS, PLAN_POINTS = 240, 160
TRAIL_PX, THIN_PX = 4.0, 2.5
SETPOINT_RGB, PLAN_RGB = (0.96, 0.62, 0.04), (0.58, 0.64, 0.72)


@dataclass(frozen=True)
class Segment:
    t_s: float  # drawn from this time on
    from_W: Vec
    to_W: Vec
    rgb: Vec3
    width_px: float


def segments(crafts: Sequence[Craft], span_s: tuple[float, float]) -> list[Segment]:
    found = [segment for craft in crafts for segment in _of(craft, span_s)]
    return sorted(found, key=lambda segment: segment.t_s)


def newest(craft: Craft, span_s: tuple[float, float], t_s: float) -> Segment:
    """From the last point of its trail to the aircraft."""
    points = flown(craft, span_s)
    index = max(0, int(np.searchsorted(points[:, 0], t_s, side="right")) - 1)
    pos_W = np.array(craft.pose(t_s).pos_W)
    return Segment(t_s, points[index, 1:] if len(points) else pos_W, pos_W, craft.rgb, TRAIL_PX)


def flown(craft: Craft, span_s: tuple[float, float]) -> Vec:
    return _thinned(np.column_stack([craft.t_s, craft.pos_W]), span_s)


def connect(geom: Any, segment: Segment, scale: float = 1.0) -> None:
    """Make a geometry of MuJoCo's scene this line; `scale`: of its width, for larger pictures."""
    line = mujoco.mjtGeom.mjGEOM_LINE
    mujoco.mjv_initGeom(
        geom, line, np.zeros(3), np.zeros(3), np.eye(3).ravel(), np.array([*segment.rgb, 1.0], np.float32)
    )
    mujoco.mjv_connector(geom, line, scale * segment.width_px, segment.from_W, segment.to_W)
    geom.emission = 1.0


def _of(craft: Craft, span_s: tuple[float, float]) -> Iterator[Segment]:
    plan = craft.plan()
    plan = plan[:: len(plan) // PLAN_POINTS + 1]
    yield from _joined(np.column_stack([np.full(len(plan), -np.inf), plan]), PLAN_RGB, THIN_PX)
    yield from _joined(_thinned(craft.places(craft.page.setpoint), span_s), SETPOINT_RGB, THIN_PX)
    yield from _joined(flown(craft, span_s), craft.rgb, TRAIL_PX)


def _joined(points: Vec, rgb: Vec3, width_px: float) -> Iterator[Segment]:
    """Of points (n, 4): time and position."""
    for before, after in pairwise(points):
        yield Segment(float(after[0]), before[1:], after[1:], rgb, width_px)


def _thinned(points: Vec, span_s: tuple[float, float]) -> Vec:
    """Some of the rows of a time, evenly in time."""
    own = points[(points[:, 0] >= span_s[0]) & (points[:, 0] <= span_s[1])]
    if len(own) < 2:
        return own
    wanted_s = np.linspace(own[0, 0], own[-1, 0], min(TRAIL_POINTS, len(own)))
    rows: Vec = own[np.unique(np.searchsorted(own[:, 0], wanted_s, side="left").clip(max=len(own) - 1))]
    return rows
