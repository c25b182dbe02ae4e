"""The stream of a flight with cameras, whatever aircraft flies."""

from __future__ import annotations

from aeroloop.core.stream import Stream, fields

FRAMES_METADATA = "camera_frames"
"""Metadata of a log that begin with this name hold a few images for the report."""
DESCENT_METADATA = "descent_frames"
"""Images of the camera that looks for the pad, by the height over it."""
RENDERER_METADATA, RENDERER = "camera_renderer", "renderer"
"""The metadata of a log, and its key, with the name and version of what drew the images."""
BEHIND_PCT = 10.0
"""More frames late or dropped than this are warned about."""
CAMERA_STREAMS = (
    Stream(
        "camera",
        "camera",
        0.0,
        False,  # pixels depend on the machine's renderer
        True,
        "a frame of a camera; its time is that of the image",
        fields(
            ("camera", "-", "index of the camera in the scenario"),
            ("number", "-", "number of the frame"),
            ("delivered_s", "s", "simulated time of delivery"),
            ("late", "-", "1: delivered later than its latency"),
            ("dropped", "-", "frames of this camera left out so far"),
            ("work_s", "s", "wall time for rendering and effects"),
            ("crc32", "-", "checksum of its pixels"),
        ),
    ),
)
