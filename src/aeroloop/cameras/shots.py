"""One camera of a flight: which frames are due, and a frame from the aircraft's poses.

Frame k is of t_k = k/rate, the time of its middle row in the middle of the exposure.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from aeroloop.cameras import effects
from aeroloop.cameras.pinhole import BodyPose, Pose, camera_pose
from aeroloop.core.camera import Camera, fitted
from aeroloop.core.frames import Vec
from aeroloop.core.signals import NS

PoseAt = Callable[[float], BodyPose]


class Draws(Protocol):
    """`cameras.render.Renderer`."""

    def draw_bands(
        self, pose_of: Callable[[float], Pose], bands: int, focal_px: float, size_px: tuple[int, int]
    ) -> tuple[NDArray[np.uint8], Vec]: ...


@dataclass(frozen=True)
class Image:
    number: int
    t_ns: int
    rgb: NDArray[np.uint8]
    depth: NDArray[np.uint16] | None

    @property
    def crc32(self) -> int:
        """Of all pixels."""
        found = zlib.crc32(self.rgb.tobytes())
        return found if self.depth is None else zlib.crc32(self.depth.tobytes(), found)


def time_ns(number: int, rate_hz: float) -> int:
    """Each rounded by itself, so that errors do not add up."""
    return round(number * NS / rate_hz)


def drawn_px(camera: Camera) -> tuple[int, int]:
    """Size of the ideal image."""
    model = fitted(camera)
    return effects.wider(camera.lens, model.focal_px, model.size_px) if any(camera.lens) else model.size_px


class Shooter:
    """Makes the frames of one camera; which were made before does not matter."""

    def __init__(self, camera: Camera, seed: int, renderer: Draws) -> None:
        self.camera, self.model, self._seed, self._renderer = camera, fitted(camera), seed, renderer
        self._table = effects.noise_table(seed, camera.name)
        depth = self.model.depth
        self._field = (
            effects.calibration_field(seed, camera.name, self.model.size_px, depth.scale_error, depth.field_error)
            if depth is not None
            else None
        )

    @property
    def after_s(self) -> float:
        """How long after a frame's time its last pose is needed, and before it its first."""
        return (self.camera.exposure_s + self.camera.readout_s) / 2.0

    def shoot(self, number: int, pose_at: PoseAt) -> Image:
        camera, model = self.camera, self.model
        t_ns = time_ns(number, model.rate_hz)
        rgb, depth_m = self._drawn(t_ns / NS, pose_at)
        if any(camera.lens):
            rgb = effects.bent(rgb, camera.lens, model.focal_px, model.size_px, smooth=True)
            depth_m = effects.bent(depth_m, camera.lens, model.focal_px, model.size_px, smooth=False).astype(np.float64)
        if camera.vignette:
            rgb = rgb * effects.vignette_of(model.size_px, camera.vignette)
        if camera.gain != 1.0:
            rgb = rgb * np.float32(camera.gain)
        rng = effects.generator(self._seed, camera.name, effects.FRAME, number)
        rgb = effects.noisy(rgb, rng, self._table, camera.read_noise, camera.shot_noise)
        depth = (
            effects.depth_image(depth_m, model.depth, model.focal_px, self._field, rng)
            if model.depth is not None
            else None
        )
        return Image(number, t_ns, effects.quantised(rgb), depth)

    def black(self, number: int) -> Image:
        """A frame without light, and without a depth reading."""
        width, height = self.model.size_px
        depth = np.zeros((height, width), np.uint16) if self.model.depth is not None else None
        return Image(number, time_ns(number, self.model.rate_hz), np.zeros((height, width, 3), np.uint8), depth)

    def _drawn(self, t_s: float, pose_at: PoseAt) -> tuple[NDArray[np.float32], Vec]:
        """Mean of the renders over the exposure; depth is that of its middle."""
        camera, model = self.camera, self.model
        size_px = drawn_px(camera)
        samples = camera.blur_samples if camera.exposure_s else 1
        bands = camera.bands if camera.readout_s else 1
        total, depth_m = np.zeros((size_px[1], size_px[0], 3), np.float32), None
        for sample in range(samples):
            at_s = t_s + camera.exposure_s * ((sample + 0.5) / samples - 0.5)

            def pose_of(row: float, at_s: float = at_s) -> Pose:
                return camera_pose(pose_at(at_s + camera.readout_s * (row - 0.5)), model)

            rgb, drawn_m = self._renderer.draw_bands(pose_of, bands, model.focal_px, size_px)
            total += rgb
            if sample == samples // 2:
                depth_m = drawn_m
        assert depth_m is not None
        return total / np.float32(samples), depth_m
