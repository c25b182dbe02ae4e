"""Camera images in a log: Foxglove's CompressedImage on `/aircraft/NAME/camera/CAMERA`, and a few for the report.

The few are spread over the flight, whatever its length: when there are too many, every second one is removed.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

import foxglove
from foxglove.channels import CompressedImageChannel
from foxglove.messages import CompressedImage

from aeroloop.core.camera import Camera
from aeroloop.core.camera_streams import FRAMES_METADATA
from aeroloop.core.signals import NS
from aeroloop.recording.well_known import timestamp, topic

MOST_KEPT = 8


class CameraImages:
    """The images of one part of a flight."""

    def __init__(self, context: foxglove.Context, cameras: Sequence[Camera], names: Sequence[str]) -> None:
        """`names`: of the part's aircraft."""
        self._cameras, self._owners = cameras, [names[camera.vehicle] for camera in cameras]
        self._channels = [
            CompressedImageChannel(topic(owner, f"camera/{camera.name}"), context=context)
            for owner, camera in zip(self._owners, cameras, strict=True)
        ]
        self._kept: list[_Kept] = [_Kept() for _ in cameras]
        self._epoch_ns = 0

    def begin(self, epoch_ns: int) -> None:
        self._epoch_ns = epoch_ns

    def take(self, camera: int, t_ns: int, jpeg: bytes) -> None:
        at_ns = self._epoch_ns + t_ns
        frame_id = f"aircraft/{self._owners[camera]}/camera/{self._cameras[camera].name}"
        image = CompressedImage(timestamp=timestamp(at_ns), frame_id=frame_id, data=jpeg, format="jpeg")
        self._channels[camera].log(image, log_time=at_ns)
        self._kept[camera].offer(t_ns, jpeg)

    def kept(self) -> tuple[str, Mapping[str, str]]:
        """Name and content of the log's metadata: `AIRCRAFT/CAMERA TIME` -> JPEG in base 64."""
        return f"{FRAMES_METADATA}/{self._owners[0]}", {
            f"{owner}/{camera.name} {t_ns / NS:.3f}": base64.b64encode(jpeg).decode()
            for owner, camera, kept in zip(self._owners, self._cameras, self._kept, strict=True)
            for t_ns, jpeg in kept.images
        }


class _Kept:
    def __init__(self) -> None:
        self.images: list[tuple[int, bytes]] = []
        self._every, self._count = 1, 0

    def offer(self, t_ns: int, jpeg: bytes) -> None:
        if self._count % self._every == 0 and len(self.images) == MOST_KEPT:
            self.images = self.images[::2]
            self._every *= 2
        if self._count % self._every == 0:
            self.images.append((t_ns, jpeg))
        self._count += 1
