"""Images of the pad without a renderer: its drawing, projected by a homography, with anti-aliasing and noise."""

from __future__ import annotations

import math
from typing import NamedTuple

import cv2
import numpy as np

from aeroloop.perception import pad
from aeroloop.perception.pad_detector import Lens

DOWN = Lens(460.0, 460.0, 319.5, 239.5)
SIZE = 640, 480
FINER = 4
GROUND = 110


class View(NamedTuple):
    """The pad in the camera's frame."""

    rot_CP: np.ndarray
    pos_C: np.ndarray


def view(height_m: float, right_m: float = 0.0, down_m: float = 0.0, *, tilt=(0.0, 0.0), yaw: float = 0.0) -> View:
    """A camera that looks down from this height; `tilt` about its x and y, pad turned by `yaw`."""
    level = np.diag([1.0, -1.0, -1.0])
    turn = _about(2, yaw)
    lean = _about(0, tilt[0]) @ _about(1, tilt[1])
    return View(lean @ level @ turn, np.array([right_m, down_m, height_m]))


def projected(seen: View, points_P: np.ndarray, lens: Lens = DOWN) -> np.ndarray:
    points_C = points_P @ seen.rot_CP.T + seen.pos_C
    return points_C[:, :2] / points_C[:, 2:] * [lens.fx, lens.fy] + [lens.cx, lens.cy]


def drawn(seen: View, rng: np.random.Generator, *, scale: float = 1.0, board: np.ndarray | None = None) -> np.ndarray:
    """`board`: another picture on the board, of pad.image's size."""
    picture = pad.image() if board is None else board
    density = FINER * DOWN.fx / float(seen.pos_C[2]) * scale  # px per metre of the pad of scale 1
    size = min(picture.shape[0], max(64, math.ceil(1.5 * pad.BOARD_M * density)))
    picture = cv2.resize(picture, (size, size), interpolation=cv2.INTER_AREA)
    per_m = size / pad.BOARD_M / scale
    half = pad.BOARD_M * scale / 2
    from_px = np.array([(1 / per_m, 0, -half + 0.5 / per_m), (0, -1 / per_m, half - 0.5 / per_m), (0, 0, 1)])
    camera = DOWN.matrix @ np.column_stack([seen.rot_CP[:, 0], seen.rot_CP[:, 1], seen.pos_C])
    shift = (FINER - 1) / 2
    finer = np.array([(FINER, 0, shift), (0, FINER, shift), (0, 0, 1.0)])
    width, height = SIZE
    fine = cv2.warpPerspective(
        picture,
        finer @ camera @ from_px,
        (FINER * width, FINER * height),
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_CONSTANT,
        borderValue=GROUND,
    )
    image = cv2.resize(fine, SIZE, interpolation=cv2.INTER_AREA).astype(float)
    noise = np.sqrt(4.0 + 0.08 * image) * rng.standard_normal(image.shape)
    return np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)


def _about(axis: int, angle: float) -> np.ndarray:
    cos, sin = math.cos(angle), math.sin(angle)
    matrix = np.eye(3)
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix[first, first] = matrix[second, second] = cos
    matrix[first, second], matrix[second, first] = -sin, sin
    return matrix
