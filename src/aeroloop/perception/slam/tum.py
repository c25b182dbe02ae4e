"""RGB-D sequences on disk as TUM publishes them: rgb.txt, depth.txt, groundtruth.txt (optional), images beside them.

Everything is bounded, and every fault of a file is one sentence that names it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.errors import ConfigError
from aeroloop.perception.slam import camera as cameras
from aeroloop.perception.slam import se3
from aeroloop.perception.slam.camera import Calibration, Frame
from aeroloop.perception.slam.opencv import cv
from aeroloop.perception.slam.result import Truth
from aeroloop.perception.slam.se3 import Array
from aeroloop.perception.slam.trajectory_errors import nearest

RGB, DEPTH, TRUTH = "rgb.txt", "depth.txt", "groundtruth.txt"
MAX_LIST_BYTES, MAX_LINES, MAX_IMAGE_BYTES = 64 * 2**20, 500_000, 64 * 2**20


@dataclass(frozen=True)
class Sequence:
    folder: Path
    calibration: Calibration
    calibrated: bool  # False: TUM's default values
    t_s: Array  # of the colour images
    colour: list[Path]
    depth: list[Path]
    unpaired: int  # colour images without a depth image near in time
    truth: Truth | None

    def __len__(self) -> int:
        return len(self.t_s)

    def frames(self, every: int = 1) -> Iterator[Frame]:
        for number in range(0, len(self), every):
            yield self.frame(number)

    def frame(self, number: int) -> Frame:
        cv2, camera = cv(), self.calibration.colour
        bgr = _image(self.colour[number], cv2.IMREAD_COLOR)
        _check_size(self.colour[number], bgr, camera)
        counts = _image(self.depth[number], cv2.IMREAD_UNCHANGED)
        if counts.dtype != np.uint16 or counts.ndim != 2:
            raise ConfigError(f"{self.depth[number]}: expected a 16-bit image with one channel")
        _check_size(self.depth[number], counts, self.calibration.depth or camera)
        rgb = np.ascontiguousarray(bgr[..., ::-1])
        return cameras.prepared(number, float(self.t_s[number]), rgb, counts.astype(np.uint16), self.calibration)


def open_sequence(folder: Path) -> Sequence:
    if not folder.is_dir():
        raise ConfigError(f"{folder}: expected a folder with {RGB} and {DEPTH}")
    calibration, calibrated = cameras.load(folder)
    t_rgb, rgb = _list(folder / RGB)
    t_depth, depth = _list(folder / DEPTH)
    with_rgb, with_depth = nearest(t_rgb, t_depth)
    if not len(with_rgb):
        raise ConfigError(f"{folder}: no image of {RGB} is within 20 ms of one of {DEPTH}")
    truth = read_trajectory(folder / TRUTH) if (folder / TRUTH).exists() else None
    return Sequence(
        folder=folder,
        calibration=calibration,
        calibrated=calibrated,
        t_s=t_rgb[with_rgb],
        colour=[rgb[index] for index in with_rgb],
        depth=[depth[index] for index in with_depth],
        unpaired=len(t_rgb) - len(with_rgb),
        truth=truth,
    )


def read_trajectory(path: Path) -> Truth:
    """Lines of `t x y z qx qy qz qw`."""
    table = read_table(path, 8, "8 finite numbers, t x y z qx qy qz qw")
    lengths = np.linalg.norm(table[:, 4:], axis=1)
    if not len(table) or np.any(np.abs(lengths - 1.0) > 0.05) or np.any(np.abs(table[:, 1:4]) > 1e6):
        raise ConfigError(f"{path}: expected poses with unit quaternions, and positions below 1e6 m")
    table = table[np.argsort(table[:, 0], kind="stable")]
    return Truth(table[:, 0], se3.from_quaternion(table[:, 1:4], table[:, 4:]))


def read_table(path: Path, columns: int, expected: str) -> Array:
    """Numbers of every line that is no comment, (n, columns)."""
    rows = []
    for number, words in _lines(path):
        values = [_number(word) for word in words]
        if len(values) != columns or None in values:
            raise ConfigError(f"{path}: line {number}: expected {expected}")
        rows.append(values)
    return np.array(rows, dtype=float).reshape(-1, columns)


def trajectory_text(t_s: Array, T_WC: Array) -> str:
    """The same as a file's text; evo reads it."""
    quaternions = se3.to_quaternion(T_WC) if len(T_WC) else np.zeros((0, 4))
    lines = ["# t x y z qx qy qz qw"]
    for t, pos, q in zip(t_s, T_WC[:, :3, 3], quaternions, strict=True):
        lines.append(f"{t:.6f} " + " ".join(f"{value:.7f}" for value in (*pos, *q)))
    return "\n".join(lines) + "\n"


def _list(path: Path) -> tuple[Array, list[Path]]:
    """Lines of `t file`, by time."""
    folder, entries = path.parent.resolve(), []
    for number, words in _lines(path):
        t_s = _number(words[0])
        if len(words) != 2 or t_s is None or "\0" in words[1]:
            raise ConfigError(f"{path}: line {number}: expected a time in s and a file name")
        image = (folder / words[1]).resolve()
        if not image.is_relative_to(folder):
            raise ConfigError(f"{path}: line {number}: expected a file below {path.parent}")
        entries.append((t_s, image))
    if not entries:
        raise ConfigError(f"{path}: expected at least one line of a time in s and a file name")
    entries.sort(key=lambda entry: entry[0])
    return np.array([t_s for t_s, _ in entries]), [image for _, image in entries]


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Words of every line that is no comment, with its number."""
    try:
        if path.stat().st_size > MAX_LIST_BYTES:
            raise ConfigError(f"{path}: expected at most {MAX_LIST_BYTES // 2**20} MiB")
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: expected UTF-8 text") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        raise ConfigError(f"{path}: expected at most {MAX_LINES} lines")
    for number, line in enumerate(lines, 1):
        words = line.split()
        if words and not words[0].startswith("#"):
            yield number, words


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _image(path: Path, how: int) -> NDArray[np.uint8]:
    try:
        if path.stat().st_size > MAX_IMAGE_BYTES:
            raise ConfigError(f"{path}: expected at most {MAX_IMAGE_BYTES // 2**20} MiB")
        data = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a file name"
        raise ConfigError(f"{path}: cannot be read: {reason}") from None
    cv2 = cv()
    try:
        decoded = cv2.imdecode(data, how) if len(data) else None
    except cv2.error:
        decoded = None
    if decoded is None:
        raise ConfigError(f"{path}: expected a PNG or JPEG image")
    image: NDArray[np.uint8] = decoded
    return image


def _check_size(path: Path, image: NDArray[np.uint8], camera: cameras.Intrinsics) -> None:
    height, width = image.shape[:2]
    if (width, height) != (camera.width, camera.height):
        raise ConfigError(
            f"{path}: {width}x{height} pixels, but {cameras.FILE} says {camera.width}x{camera.height}; "
            f"write width, height, fx, fy, cx, cy of [colour] (and [depth]) there"
        )
