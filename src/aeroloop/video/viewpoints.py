"""Where the camera of a film is, as functions of simulated time: pure, so that a frame depends on its time alone.

    chase    behind the aircraft and above it, in the direction of its nose, smoothed; it never tilts
    free     stays where it is: all of the flight in view, or at a given place, then it turns to the aircraft
    onboard  the scenario's first camera, or ahead of the nose

Of a robot that stays in its place `chase` stays too, and `onboard` looks down at it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aeroloop.cameras.pinhole import Pose, camera_pose
from aeroloop.core.camera import CameraModel, fitted
from aeroloop.core.frames import Vec, Vec3, quat_from_euler
from aeroloop.video.crafts import Craft
from aeroloop.world.relief import Surface
from aeroloop.world.room_layout import Layout

KINDS = ("chase", "free", "onboard")
FOVY_DEG, ONBOARD_FOVY_DEG = 42.0, 70.0
CHASE_BACK, CHASE_UP = 4.2, 1.5
"""Of the chase camera from the aircraft, in its reach."""
FREE_ELEVATION_DEG, FREE_AZIMUTH_DEG = 28.0, -115.0
"""Direction from the middle of a flight to the free camera; from east counter-clockwise."""
STANDS_ELEVATION_DEG, STANDS_BACK = 52.0, 3.0
ROOM_ELEVATION_DEG = 58.0
"""Over the walls, which have no ceiling."""
NEAR_M, BESIDE = 60.0, 3.0
"""Other aircraft are in view of the free camera up to this distance, and up to this multiple of the flight's extent."""
MARGIN, MOST_POINTS = 0.86, 2000
CLEAR = 0.4
"""Least height above the ground, in the aircraft's reach."""
FREE_WAY_M = 0.15
STEPS = 40

View = Callable[[float], Pose]
"""From simulated time."""


@dataclass(frozen=True)
class Surroundings:
    ground: Surface
    room: Layout | None


def focal_px(kind: str, craft: Craft, height_px: int) -> float:
    fovy_deg = FOVY_DEG
    if kind == "onboard":
        mounted = _mounted(craft)
        fovy_deg = mounted.fovy_deg if mounted is not None else ONBOARD_FOVY_DEG
    return height_px / 2.0 / math.tan(math.radians(fovy_deg) / 2.0)


def hides_own(kind: str, craft: Craft) -> bool:
    """A camera aboard would look at its own airframe."""
    return kind == "onboard" and not craft.page.stands


def of_kind(
    kind: str,
    crafts: Sequence[Craft],
    span_s: tuple[float, float],
    around: Surroundings,
    *,
    aspect: float = 16 / 9,
    eye_W: Vec3 | None = None,
) -> View:
    """Of the first of the aircraft. `span_s`: of the film; `aspect`: width by height; `eye_W`: where a free camera
    stands."""
    craft = crafts[0]
    if kind == "onboard":
        return _onboard(craft)
    if kind == "free":
        return _observer(craft, eye_W) if eye_W is not None else _overview(crafts, span_s, around, aspect)
    return _standing(craft, span_s) if craft.page.stands else _chase(craft, around)


def look_at(eye_W: Vec, target_W: Vec) -> Pose:
    """The image's top is up; looking straight down it is north."""
    forward = target_W - eye_W
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    if np.linalg.norm(right) < 1e-6:
        right = np.array([1.0, 0.0, 0.0])
    right = right / np.linalg.norm(right)
    return Pose(eye_W, np.stack([right, np.cross(forward, right), forward], axis=1))


def _chase(craft: Craft, around: Surroundings) -> View:
    reach_m = craft.shape.reach_m

    def view(t_s: float) -> Pose:
        pos_W, heading = np.array(craft.pose(t_s).pos_W), craft.heading_rad(t_s)
        back = np.array([-math.cos(heading), -math.sin(heading), 0.0])
        eye_W = pos_W + reach_m * (CHASE_BACK * back + np.array([0.0, 0.0, CHASE_UP]))
        eye_W = _above(_reachable(pos_W, eye_W, around.room), around.ground, CLEAR * reach_m)
        return look_at(eye_W, pos_W - 0.4 * reach_m * back)

    return view


def _standing(craft: Craft, span_s: tuple[float, float]) -> View:
    middle_W = _middle(craft.pos_W[_within(craft, span_s)])
    pose = look_at(middle_W + STANDS_BACK * craft.shape.reach_m * _direction(-90.0, STANDS_ELEVATION_DEG), middle_W)
    return lambda t_s: pose


def _overview(crafts: Sequence[Craft], span_s: tuple[float, float], around: Surroundings, aspect: float) -> View:
    """All of the flight in view, and of the other aircraft those near it."""
    reach_m = crafts[0].shape.reach_m
    flown = crafts[0].pos_W[_within(crafts[0], span_s)]
    near_m = max(NEAR_M, BESIDE * float(np.linalg.norm(flown - _middle(flown), axis=1).max()))
    points = [flown]
    for craft in crafts[1:]:
        beside = craft.pos_W[_within(craft, span_s)]
        if np.linalg.norm(beside - _middle(flown), axis=1).max() < near_m:
            points.append(beside)
    direction = _direction(FREE_AZIMUTH_DEG, FREE_ELEVATION_DEG)
    if around.room is not None:
        (length_m, width_m, _), (x, y) = around.room.size_m, around.room.centre_m
        points = [np.array([[x + i * length_m / 2, y + j * width_m / 2, 0.0] for i in (-1, 1) for j in (-1, 1)])]
        direction = _direction(FREE_AZIMUTH_DEG, ROOM_ELEVATION_DEG)
    every = len(flown) // MOST_POINTS + 1
    all_W = np.concatenate([each[::every] for each in points])
    middle_W = _middle(all_W)
    away_m = reach_m + _fitting_m(all_W, middle_W, direction, aspect, least_m=3.0 * reach_m)
    pose = look_at(_above(middle_W + away_m * direction, around.ground, CLEAR * reach_m), middle_W)
    return lambda t_s: pose


def _fitting_m(points_W: Vec, middle_W: Vec, direction: Vec, aspect: float, least_m: float) -> float:
    """Least distance from the middle at which every point is in the image, with a margin:
    |x| <= t aspect (z + d) and |y| <= t (z + d), with x, y, z in the axes of the image and t = tan(fovy / 2)."""
    x, y, z = ((points_W - middle_W) @ look_at(middle_W + direction, middle_W).R_WC).T
    half = MARGIN * math.tan(math.radians(FOVY_DEG) / 2.0)
    return max(least_m, float(np.max(np.maximum(np.abs(x) / (half * aspect), np.abs(y) / half) - z)))


def _observer(craft: Craft, eye_W: Vec3) -> View:
    """Stands, and turns to the aircraft."""
    eye = np.array(eye_W)

    def view(t_s: float) -> Pose:
        pos_W = np.array(craft.pose(t_s).pos_W)
        return look_at(eye, pos_W if np.linalg.norm(pos_W - eye) > 1e-6 else eye + np.array([1.0, 0.0, 0.0]))

    return view


def _onboard(craft: Craft) -> View:
    reach_m = craft.shape.reach_m
    if craft.page.stands:
        above = np.array([0.0, -0.2 * reach_m, 2.0 * reach_m])

        def down(t_s: float) -> Pose:
            pos_W = np.array(craft.pose(t_s).pos_W)
            return look_at(pos_W + above, pos_W)

        return down
    model = _mounted(craft) or CameraModel(
        name="onboard",
        vehicle=craft.vehicle,
        size_px=(2, 2),
        rate_hz=1.0,
        focal_px=1.0,
        pos_B=(max(craft.shape.nose_m, 0.0), 0.0, 0.1 * reach_m),
        quat_BM=quat_from_euler(0.0, math.radians(12.0), 0.0),
        latency_s=0.0,
        depth=None,
    )
    return lambda t_s: camera_pose(craft.pose(t_s), model)


def _mounted(craft: Craft) -> CameraModel | None:
    """The scenario's first camera on this aircraft."""
    models = (fitted(camera) for camera in craft.scenario.cameras)
    return next((model for model in models if model.vehicle == craft.vehicle), None)


def _direction(azimuth_deg: float, elevation_deg: float) -> Vec:
    azimuth, elevation = math.radians(azimuth_deg), math.radians(elevation_deg)
    level = math.cos(elevation)
    return np.array([level * math.cos(azimuth), level * math.sin(azimuth), math.sin(elevation)])


def _above(eye_W: Vec, ground: Surface, clear_m: float) -> Vec:
    x, y, z = eye_W.tolist()
    return np.array([x, y, max(z, ground.height_m(x, y) + clear_m)])


def _reachable(pos_W: Vec, eye_W: Vec, room: Layout | None) -> Vec:
    """As far from the aircraft as nothing of a room is between them."""
    if room is None:
        return eye_W
    way = pos_W + np.linspace(0.0, 1.0, STEPS)[:, None] * (eye_W - pos_W)
    blocked = np.flatnonzero(room.obstacle_m(way) < FREE_WAY_M)
    last = STEPS - 1 if not len(blocked) else max(int(blocked[0]) - 1, STEPS // 5)
    reached: Vec = way[last]
    return reached


def _within(craft: Craft, span_s: tuple[float, float]) -> slice:
    """Rows of that time; at least one."""
    first, end = np.searchsorted(craft.t_s, span_s)
    first = min(int(first), len(craft.t_s) - 1)
    return slice(first, max(int(end), first + 1))


def _middle(points_W: Vec) -> Vec:
    middle: Vec = (points_W.min(axis=0) + points_W.max(axis=0)) / 2.0
    return middle
