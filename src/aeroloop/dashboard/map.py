"""The map of the fly page, drawn from numbers alone: no tiles, so no internet.

Pure: a `View` converts metres east and north of home to pixels and back, and the rest creates SVG. Colours are CSS
classes, which `flight_map.css` defines for light and dark pages.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aeroloop.world.terrain import Flat, Grid, Incline

CLOSEST_M_PER_PX, FARTHEST_M_PER_PX = 0.005, 50.0
SMALLEST_PX, LARGEST_PX = 50.0, 8000.0
REACH_M = 100_000.0
"""Maximum distance from home that the map shows."""
GRID_PX = 70.0
"""Minimum distance of grid lines."""
TOOLS_PX = 130.0
"""No grid labels up to this distance from the top at the left edge, where the buttons are."""
GROUND_POINTS = 160
"""Pixels along either side of the terrain image."""
GROUND_REACH_M = 500.0
"""Extent of an image of terrain without an edge."""


@dataclass(frozen=True, slots=True)
class View:
    """The visible part of the world: north is up."""

    east_m: float = 0.0  # of the middle
    north_m: float = 0.0
    m_per_px: float = 0.08
    width_px: float = 720.0
    height_px: float = 460.0

    def pixel(self, east_m: float, north_m: float) -> tuple[float, float]:
        """Right and down from the upper left corner."""
        return (
            self.width_px / 2 + (east_m - self.east_m) / self.m_per_px,
            self.height_px / 2 - (north_m - self.north_m) / self.m_per_px,
        )

    def metres(self, x_px: float, y_px: float) -> tuple[float, float]:
        """East and north of home: the inverse of `pixel`."""
        return (
            self.east_m + (x_px - self.width_px / 2) * self.m_per_px,
            self.north_m - (y_px - self.height_px / 2) * self.m_per_px,
        )

    def centred(self, east_m: float, north_m: float) -> View:
        return replace(self, east_m=_within(east_m, REACH_M), north_m=_within(north_m, REACH_M))

    def dragged(self, right_px: float, down_px: float) -> View:
        """After the user has dragged the map."""
        return self.centred(self.east_m - right_px * self.m_per_px, self.north_m + down_px * self.m_per_px)

    def zoomed(self, factor: float, x_px: float | None = None, y_px: float | None = None) -> View:
        """Zoom by `factor`; the point under the pixel (default: the middle) stays at its place."""
        x_px = self.width_px / 2 if x_px is None else x_px
        y_px = self.height_px / 2 if y_px is None else y_px
        m_per_px = min(max(self.m_per_px / factor, CLOSEST_M_PER_PX), FARTHEST_M_PER_PX)
        east_m, north_m = self.metres(x_px, y_px)
        grown = replace(self, m_per_px=m_per_px)
        now_east_m, now_north_m = grown.metres(x_px, y_px)
        return grown.centred(self.east_m + east_m - now_east_m, self.north_m + north_m - now_north_m)

    def sized(self, width_px: float, height_px: float) -> View:
        width_px, height_px = (min(max(size, SMALLEST_PX), LARGEST_PX) for size in (width_px, height_px))
        return replace(self, width_px=width_px, height_px=height_px)

    def fitted(self, points: Iterable[tuple[float, float]], margin_px: float = 60.0) -> View:
        """Fit all of them into the view."""
        places = list(points)
        if not places:
            return self
        easts, norths = [p[0] for p in places], [p[1] for p in places]
        wide_m, high_m = max(easts) - min(easts), max(norths) - min(norths)
        room_px = max(self.width_px - 2 * margin_px, 20.0), max(self.height_px - 2 * margin_px, 20.0)
        m_per_px = min(max(wide_m / room_px[0], high_m / room_px[1], 0.04), FARTHEST_M_PER_PX)
        middle = (max(easts) + min(easts)) / 2, (max(norths) + min(norths)) / 2
        return replace(self, m_per_px=m_per_px).centred(*middle)


@dataclass(frozen=True, slots=True)
class Pose:
    """Position and heading."""

    east_m: float
    north_m: float
    yaw_rad: float = 0.0  # counter-clockwise from east


def _within(value: float, reach: float) -> float:
    return min(max(value, -reach), reach)


def grid_step_m(m_per_px: float) -> float:
    """The distance of grid lines: 1, 2 or 5 times a power of ten."""
    least_m = GRID_PX * m_per_px
    decade = 10.0 ** math.floor(math.log10(least_m))
    return next(decade * leading for leading in (1, 2, 5, 10) if decade * leading >= least_m * (1 - 1e-9))


def scene(
    view: View,
    *,
    waypoints: Sequence[tuple[float, float]] = (),
    target: tuple[float, float] | None = None,
    homes: Sequence[tuple[float, float]] = ((0.0, 0.0),),
) -> str:
    """The static part: grid, home, waypoints, and target."""
    return _grid(view) + "".join(_home(view, home) for home in homes) + _plan(view, waypoints) + _target(view, target)


def live(
    view: View,
    *,
    trail: Sequence[tuple[float, float]] = (),
    aircraft: Pose | None = None,
    others: Sequence[Pose] = (),
    estimate: tuple[float, float] | None = None,
    setpoint: tuple[float, float] | None = None,
) -> str:
    """What moves."""
    parts = []
    points = [view.pixel(*place) for place in trail if all(map(math.isfinite, place))]
    if len(points) > 1:
        parts.append(f'<polyline class="map-trail" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')
    if setpoint and all(map(math.isfinite, setpoint)):
        x, y = view.pixel(*setpoint)
        parts.append(f'<path class="map-setpoint" d="M{x - 8:.1f} {y:.1f}h16M{x:.1f} {y - 8:.1f}v16"/>')
    if estimate and all(map(math.isfinite, estimate)):
        x, y = view.pixel(*estimate)
        parts.append(f'<circle class="map-estimate" cx="{x:.1f}" cy="{y:.1f}" r="15"/>')
    parts += [_aircraft(view, pose, "map-other") for pose in others]
    if aircraft:
        parts.append(_aircraft(view, aircraft, "map-aircraft"))
    return "".join(parts)


def _aircraft(view: View, pose: Pose, kind: str) -> str:
    if not all(map(math.isfinite, (pose.east_m, pose.north_m, pose.yaw_rad))):
        return ""
    x, y = view.pixel(pose.east_m, pose.north_m)
    turn_deg = -math.degrees(pose.yaw_rad)  # the arrow points right, as yaw 0; screen angles are clockwise
    return (
        f'<g class="{kind}" transform="translate({x:.1f} {y:.1f}) rotate({turn_deg:.1f})">'
        '<path d="M14 0L-9 9L-4 0L-9 -9Z"/></g>'
    )


def _grid(view: View) -> str:
    step_m = grid_step_m(view.m_per_px)
    west_m, north_m = view.metres(0.0, 0.0)
    east_m, south_m = view.metres(view.width_px, view.height_px)
    parts = []
    for number in range(math.ceil(west_m / step_m), math.floor(east_m / step_m) + 1):
        x, _ = view.pixel(number * step_m, 0.0)
        parts.append(f'<path class="map-grid{"" if number else " map-axis"}" d="M{x:.1f} 0V{view.height_px:.0f}"/>')
        parts.append(
            f'<text class="map-label" x="{x + 3:.1f}" y="{view.height_px - 5:.0f}">{_metres(number * step_m)}</text>'
        )
    for number in range(math.ceil(south_m / step_m), math.floor(north_m / step_m) + 1):
        _, y = view.pixel(0.0, number * step_m)
        parts.append(f'<path class="map-grid{"" if number else " map-axis"}" d="M0 {y:.1f}H{view.width_px:.0f}"/>')
        if TOOLS_PX < y < view.height_px - 20:
            parts.append(f'<text class="map-label" x="4" y="{y - 3:.1f}">{_metres(number * step_m)}</text>')
    length_px = step_m / view.m_per_px
    right, y = view.width_px - 14, 20
    parts.append(f'<path class="map-scale" d="M{right - length_px:.1f} {y - 5}v5H{right:.1f}v-5"/>')
    parts.append(
        f'<text class="map-scale-label" x="{right - length_px / 2:.1f}" y="{y + 14}">{_metres(step_m)} m</text>'
    )
    parts.append(
        f'<g class="map-north" transform="translate({right - 6:.0f} 58)"><path d="M0 -14L5 2L0 -1L-5 2Z"/>'
        '<text y="15">N</text></g>'
    )
    return "".join(parts)


def _metres(value: float) -> str:
    return f"{value:.10g}"


def _home(view: View, home: tuple[float, float]) -> str:
    x, y = view.pixel(*home)
    return (
        f'<g class="map-home" transform="translate({x:.1f} {y:.1f})"><circle r="10"/>'
        '<path d="M-5 1L0 -5L5 1M-3.5 0V5H3.5V0"/></g>'
    )


def _plan(view: View, waypoints: Sequence[tuple[float, float]]) -> str:
    points = [view.pixel(*place) for place in waypoints]
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    parts = [f'<polyline class="map-plan" points="{way}"/>'] if len(points) > 1 else []
    for number, (x, y) in enumerate(points):
        parts.append(
            f'<g class="map-waypoint" data-waypoint="{number}" transform="translate({x:.1f} {y:.1f})">'
            f'<circle class="map-touch" r="20"/><circle r="11"/><text y="4">{number + 1}</text></g>'
        )
    return "".join(parts)


def _target(view: View, target: tuple[float, float] | None) -> str:
    if target is None:
        return ""
    x, y = view.pixel(*target)
    return (
        f'<g class="map-target" transform="translate({x:.1f} {y:.1f})"><circle r="9"/><circle class="map-dot" r="2.5"/>'
        '<path d="M0 -15V-6M0 15V6M-15 0H-6M15 0H6"/></g>'
    )


@dataclass(frozen=True, slots=True)
class GroundImage:
    """A terrain image and its edges."""

    href: str
    west_m: float
    south_m: float
    east_m: float
    north_m: float

    def box(self, view: View) -> tuple[float, float, float, float]:
        """Left, top, width and height in pixels."""
        left, top = view.pixel(self.west_m, self.north_m)
        right, bottom = view.pixel(self.east_m, self.south_m)
        return left, top, right - left, bottom - top


def ground(terrain: Flat | Incline | Grid) -> GroundImage | None:
    """Shaded from the north-west and coloured by height; None if there is nothing to show."""
    if isinstance(terrain, Flat):
        return None
    if isinstance(terrain, Grid):
        west_m, south_m = terrain.corner_m
        north_m = south_m + terrain.spacing_m * (terrain.heights_m.shape[0] - 1)
        east_m = west_m + terrain.spacing_m * (terrain.heights_m.shape[1] - 1)
    else:
        west_m = south_m = -GROUND_REACH_M
        east_m = north_m = GROUND_REACH_M
    norths = np.linspace(north_m, south_m, GROUND_POINTS)
    easts = np.linspace(west_m, east_m, GROUND_POINTS)
    heights = np.array([[terrain.height_m(east, north) for east in easts] for north in norths])
    step_m = (north_m - south_m) / (GROUND_POINTS - 1), (east_m - west_m) / (GROUND_POINTS - 1)
    down, across = np.gradient(heights, *step_m)
    # Light from the north-west: `down` increases to the south, so ground that falls to the north-west is lit.
    light = np.clip((across + down) / math.sqrt(2.0) * 2.0, -1.0, 1.0)
    relief_m = float(np.ptp(heights)) or 1.0
    share = (heights - heights.min()) / relief_m
    band = np.floor(heights / grid_step_m(relief_m / 12 / GRID_PX)) % 2
    low, high = np.array((92.0, 140.0, 100.0)), np.array((176.0, 140.0, 90.0))
    colour = low + share[..., None] * (high - low) + 60.0 * light[..., None]
    alpha = 100.0 + 26.0 * band
    pixels = np.dstack((np.clip(colour, 0, 255), alpha)).astype(np.uint8)
    return GroundImage(
        f"data:image/png;base64,{base64.b64encode(png(pixels)).decode()}", west_m, south_m, east_m, north_m
    )


def png(pixels: np.ndarray) -> bytes:
    """RGBA rows, from the top, as a PNG file."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def thinned(trail: np.ndarray, most: int) -> list[tuple[float, float]]:
    """East and north of at most `most` rows, including the newest."""
    if not len(trail):
        return []
    kept = trail[:: -max(1, math.ceil(len(trail) / most))][::-1]
    return [(float(east), float(north)) for east, north in kept]
