"""The map of SLAM in a log: Foxglove's PointCloud on `/aircraft/NAME/map`, written at the end of the flight."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import foxglove
from foxglove.channels import PointCloudChannel
from foxglove.messages import PackedElementField, PackedElementFieldNumericType, PointCloud, Pose, Quaternion, Vector3

from aeroloop.core.companion_streams import SLAM_MAP
from aeroloop.core.signals import NS
from aeroloop.recording.well_known import timestamp, topic

FRAME = "map"
POINT = struct.Struct("<3f4B")
FIELDS = (
    *((name, offset, PackedElementFieldNumericType.Float32) for name, offset in (("x", 0), ("y", 4), ("z", 8))),
    *((name, 12 + n, PackedElementFieldNumericType.Uint8) for n, name in enumerate(("red", "green", "blue", "alpha"))),
)
MOST_POINTS = 1_000_000


class MapCloud:
    """Of one part of a flight."""

    def __init__(self, context: foxglove.Context, names: Sequence[str]) -> None:
        """`names`: of the part's aircraft."""
        self._context, self._names = context, names
        self._points: dict[int, bytearray] = {}
        self._t_ns = self._epoch_ns = 0

    def begin(self, epoch_ns: int) -> None:
        self._epoch_ns = epoch_ns

    def taker(self, stream: str) -> Callable[[Sequence[float]], None] | None:
        return self._take if stream == SLAM_MAP.name else None

    def _take(self, row: Sequence[float]) -> None:
        t_s, vehicle, odometry, x, y, z, red, green, blue = row
        if odometry:
            return
        points = self._points.setdefault(int(vehicle), bytearray())
        if len(points) < MOST_POINTS * POINT.size:
            points += POINT.pack(x, y, z, int(red), int(green), int(blue), 255)
            self._t_ns = round(t_s * NS)

    def finish(self) -> None:
        at_ns = self._epoch_ns + self._t_ns
        for vehicle, points in self._points.items():
            cloud = PointCloud(
                timestamp=timestamp(at_ns),
                frame_id=FRAME,
                pose=Pose(position=Vector3(x=0, y=0, z=0), orientation=Quaternion(x=0, y=0, z=0, w=1)),
                point_stride=POINT.size,
                fields=[PackedElementField(name=name, offset=offset, type=kind) for name, offset, kind in FIELDS],
                data=bytes(points),
            )
            channel = PointCloudChannel(topic(self._names[vehicle], FRAME), context=self._context)
            channel.log(cloud, log_time=at_ns)
