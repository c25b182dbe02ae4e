"""Impairments of a camera's link: whole frames are lost, late, doubled or out of order, in simulated time.

Random numbers depend on seed, camera and frame number alone: a frame that the camera left out changes no other.
"""

from __future__ import annotations

import math

from aeroloop.cameras.effects import LINK, generator
from aeroloop.core.camera import Camera, fitted
from aeroloop.core.signals import NS
from aeroloop.links.impair import ImpairedDirection, LinkCounts

SPARE_FRAMES = 16
"""In transit besides those that the delay explains; a link that is too slow drops the oldest."""
FAR_NS = 1 << 62


class FrameImpairment:
    def __init__(self, camera: Camera, seed: int) -> None:
        impairment, rate_hz = camera.impairment, fitted(camera).rate_hz
        self._seed, self._camera = seed, camera.name
        self._direction = ImpairedDirection(
            impairment,
            generator(seed, camera.name, LINK),
            queue_limit=SPARE_FRAMES + math.ceil((impairment.delay_s + impairment.jitter_s) * rate_hz),
            overtaking_timeout_ns=round(2.0 * NS / rate_hz),
        )

    def push(self, number: int, frame: bytes, now_ns: int) -> None:
        self._direction.draw_from(generator(self._seed, self._camera, LINK, number))
        self._direction.push(frame, now_ns)

    def due(self, now_ns: int) -> list[bytes]:
        return self._direction.pop_due(now_ns)

    def rest(self) -> list[bytes]:
        """All that is still in transit."""
        return self._direction.pop_due(FAR_NS)

    @property
    def counts(self) -> LinkCounts:
        return self._direction.counts


def of_camera(camera: Camera, seed: int) -> FrameImpairment | None:
    return FrameImpairment(camera, seed) if camera.impairment.active else None
