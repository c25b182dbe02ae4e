"""The companion that makes a map: RGB-D frames in; rows for the log out. The flight does not use the result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from aeroloop.cameras.frame_client import calibration, decoded
from aeroloop.core.companion import Slam
from aeroloop.core.signals import NS
from aeroloop.perception.slam import se3
from aeroloop.perception.slam.live import LiveSlam, ShownMap, SlamRow
from aeroloop.perception.slam.result import SlamResult
from aeroloop.perception.slam.settings import settings_of
from aeroloop.protocols.frames import Frame

Row = tuple[float, ...]


class Final(NamedTuple):
    """Rows of the streams that are written at the end; each begins with its time."""

    path: list[Row]
    loops: list[Row]
    map: list[Row]


class SlamCompanion:
    def __init__(self, slam: Slam, seed: int) -> None:
        self._settings = settings_of(front_end=slam.features, loops=slam.loops)
        self._seed = seed
        self._live: LiveSlam | None = None  # made with the calibration of the first frame

    def frame(self, frame: Frame) -> Row:
        """Its row of the stream `slam`, without the aircraft."""
        if self._live is None:
            self._live = LiveSlam(calibration(frame), self._settings, self._seed)
        images = decoded(frame)
        assert images is not None, f"frame {frame.number}: expected raw images of its size"
        return slam_row(self._live.frame(images.number, images.t_ns, images.rgb, images.depth))

    def shown(self, most_points: int, *, optimised: bool) -> ShownMap | None:
        return None if self._live is None else self._live.shown(most_points, optimised=optimised)

    def result(self) -> SlamResult | None:
        """None without any frame."""
        return None if self._live is None else self._live.result("flight")


def slam_row(row: SlamRow) -> Row:
    return (
        row.t_ns / NS,
        row.number,
        row.lost,
        row.keyframe,
        row.keyframes,
        row.inliers,
        row.loops,
        *pose_values(row.T_WC),
        *(float(value) for value in row.T_WC_odometry[:3, 3]),
        row.total_ms / 1000.0,
    )


def final(result: SlamResult) -> Final:
    return Final(list(_path(result)), list(_loops(result)), list(_map(result)))


def _path(result: SlamResult) -> Iterator[Row]:
    for t_s, T_WC, T_odometry in zip(result.t_s, result.trajectory, result.odometry, strict=True):
        yield float(t_s), *pose_values(T_WC), *pose_values(T_odometry)


def _loops(result: SlamResult) -> Iterator[Row]:
    keyframes = result.state.keyframes
    for edge in result.state.loops:
        yield keyframes[edge.j].t_s, keyframes[edge.i].t_s, *pose_values(edge.Z_ij)


def _map(result: SlamResult) -> Iterator[Row]:
    t_s = float(result.t_s[-1]) if len(result.t_s) else 0.0
    for optimised in (True, False):
        voxels = result.map(optimised=optimised)
        for point_W, colour in zip(voxels.points_W.tolist(), voxels.colours.tolist(), strict=True):
            yield t_s, not optimised, *point_W, *colour


def pose_values(T: se3.Array) -> Row:
    """Position, and quaternion w x y z."""
    x, y, z, w = (float(value) for value in se3.to_quaternion(T[None])[0])
    return *(float(value) for value in T[:3, 3]), w, x, y, z
