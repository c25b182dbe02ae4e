"""What the map of a fixed wing shows beneath the aircraft: blocked cells, a plan's cells, paths and goal (SVG).

Pure. Colours are CSS classes. Cells that are out of sight, or too small to be seen, are left out.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from aeroloop.dashboard.map import View, png
from aeroloop.families.fixedwing.page_path import Boxes, Path, Place

SMALLEST_PX = 2.5
BLOCKED_RGBA = (200, 40, 40, 105)
CSS = """
.way-map { --cell:#33414d; --channel:#12813a; --coarse:#c05c00; --path:#8e1b8a; --goal:#b3261e; --trail:#1565c0;
  --paper:#ffffff; }
.body--dark .way-map { --cell:#c8d4de; --channel:#5fe08a; --coarse:#ffb454; --path:#f48df0; --goal:#ff8a80;
  --trail:#64b5f6; --paper:#1d252d; }
.way-map .flight-map { height:clamp(330px,70vh,860px); }
@media (max-width:599px) { .way-map .flight-map { height:clamp(300px,100vw,480px); } }
.way-map .map-grid { stroke:none; }
.way-map .map-label { paint-order:stroke; stroke:var(--paper); stroke-width:3px; stroke-opacity:.75; }
.way-map .map-scale-label, .way-map .map-north text { paint-order:stroke; stroke:var(--paper); stroke-width:3px; }
.way-map .map-trail { stroke-width:2.6; stroke-opacity:.95; }
.way-blocked { image-rendering:pixelated; }
.way-leaf { fill:none; stroke:var(--cell); stroke-width:.7; stroke-opacity:.38; }
.way-coarse { fill:var(--coarse); fill-opacity:.14; stroke:var(--coarse); stroke-width:1.4; }
.way-channel { fill:var(--channel); fill-opacity:.24; stroke:var(--channel); stroke-width:1.7; }
.way-before { fill:var(--channel); fill-opacity:.09; stroke:var(--channel); stroke-opacity:.5; stroke-width:1;
  stroke-dasharray:3 3; }
.way-path { fill:none; stroke:var(--path); stroke-width:2; stroke-dasharray:7 4; }
.way-past { stroke-opacity:.38; stroke-width:1.5; }
.way-goal path { fill:var(--goal); stroke:var(--paper); stroke-width:1.2; }
.way-goal text { font:600 12px sans-serif; fill:var(--goal); paint-order:stroke; stroke:var(--paper);
  stroke-width:3px; }
.way-legend { display:flex; flex-wrap:wrap; gap:4px 14px; font-size:13px; align-items:center; }
.way-legend span { display:inline-flex; gap:6px; align-items:center; }
.way-legend svg { width:22px; height:12px; }
"""
STAR = "M0 -11L3.2 -3.6L11 -3.4L4.9 1.6L7 9.3L0 4.9L-7 9.3L-4.9 1.6L-11 -3.4L-3.2 -3.6Z"
NO_BOXES: Boxes = np.empty((0, 4))


@dataclass(frozen=True, eq=False)
class Layers:
    """All in metres; empty until received."""

    blocked_href: str = ""
    side_m: float = 0.0
    leaves: Boxes = field(default_factory=lambda: NO_BOXES)
    coarse: Boxes = field(default_factory=lambda: NO_BOXES)  # from the channel's end to the goal
    channel: Boxes = field(default_factory=lambda: NO_BOXES)
    before: Boxes = field(default_factory=lambda: NO_BOXES)  # the channel of the previous plan, still flown for a while
    paths: Sequence[Path] = ()
    flown: int = 0  # number of the path that is followed
    goal_m: Place | None = None


def blocked_picture(blocked: NDArray[np.bool_]) -> str:
    """One pixel per cell; row 0 is in the south."""
    pixels = np.zeros((*blocked.shape, 4), dtype=np.uint8)
    pixels[blocked[::-1]] = BLOCKED_RGBA
    return f"data:image/png;base64,{base64.b64encode(png(pixels)).decode()}"


def layers(view: View, shown: Layers) -> str:
    """From the ground up."""
    parts = [_blocked(view, shown)]
    for kind, boxes in (
        ("way-leaf", shown.leaves),
        ("way-before", shown.before),
        ("way-coarse", shown.coarse),
        ("way-channel", shown.channel),
    ):
        parts.append(_boxes(view, boxes, kind))
    parts += [_path(view, path, past=path.number < shown.flown) for path in shown.paths]
    if shown.goal_m is not None and all(map(math.isfinite, shown.goal_m)):
        x, y = view.pixel(*shown.goal_m)
        parts.append(
            f'<g class="way-goal" data-testid="way-goal" transform="translate({x:.1f} {y:.1f})">'
            f'<path d="{STAR}"/><text x="14" y="5">goal</text></g>'
        )
    return "".join(parts)


def _blocked(view: View, shown: Layers) -> str:
    if not shown.blocked_href:
        return ""
    half_m = shown.side_m / 2
    left, top = view.pixel(-half_m, half_m)
    size = shown.side_m / view.m_per_px
    return (
        f'<image class="way-blocked" href="{shown.blocked_href}" x="{left:.1f}" y="{top:.1f}" '
        f'width="{size:.1f}" height="{size:.1f}" preserveAspectRatio="none"/>'
    )


def _boxes(view: View, boxes: Boxes, kind: str) -> str:
    if not len(boxes):
        return ""
    left, right = (view.width_px / 2 + (boxes[:, edge] - view.east_m) / view.m_per_px for edge in (0, 2))
    bottom, top = (view.height_px / 2 - (boxes[:, edge] - view.north_m) / view.m_per_px for edge in (1, 3))
    edges = np.stack((left, top, right - left, bottom - top), axis=1)
    seen = (right > 0) & (left < view.width_px) & (bottom > 0) & (top < view.height_px) & (edges[:, 2] >= SMALLEST_PX)
    drawn = "".join(f"M{x:.1f} {y:.1f}h{w:.1f}v{h:.1f}h{-w:.1f}z" for x, y, w, h in edges[seen].tolist())
    return f'<path class="{kind}" data-testid="{kind}" data-cells="{len(boxes)}" d="{drawn}"/>'


def _path(view: View, path: Path, *, past: bool) -> str:
    if len(path.points_m) < 2:
        return ""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (view.pixel(*place) for place in path.points_m))
    kind = "way-path way-past" if past else "way-path"
    return f'<polyline class="{kind}" data-testid="way-path" data-path="{path.number}" points="{points}"/>'


LEGEND = "".join(
    f'<span><svg viewBox="0 0 22 12" class="way-key">{sign}</svg>{words}</span>'
    for sign, words in (
        ('<path class="map-trail" d="M1 6H21"/>', "flown"),
        ('<path class="way-path" d="M1 6H21"/>', "current path"),
        ('<rect class="way-channel" x="5" y="1" width="10" height="10"/>', "channel"),
        ('<rect class="way-coarse" x="5" y="1" width="10" height="10"/>', "cells to the goal"),
        ('<rect class="way-leaf" x="5" y="1" width="10" height="10"/>', "cells of the newest plan"),
        ('<rect x="5" y="1" width="10" height="10" fill="rgba(200,40,40,.45)"/>', "blocked"),
    )
)
