"""SLAM while frames arrive: one call a frame, one row back. No file, link or wall clock; the same frames, calibration,
settings and seed give the same rows, except their times.

    slam = LiveSlam(calibration, settings, seed)
    row = slam.frame(number, t_ns, rgb, depth)      # depth: counts of calibration.depth_unit_m, 0: none
    shown = slam.shown(most_points=20_000)          # map as it is now, to be drawn
    result = slam.result("flight")                  # at the end: trajectories, map, loops
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import thread_time_ns
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from aeroloop.perception.slam import se3
from aeroloop.perception.slam.camera import Calibration, Frame, frame_of
from aeroloop.perception.slam.keyframes import SlamState
from aeroloop.perception.slam.result import SlamResult, Truth
from aeroloop.perception.slam.se3 import Array
from aeroloop.perception.slam.settings import Settings
from aeroloop.perception.slam.tracker import T_WC_FIRST, Slam
from aeroloop.perception.slam.voxels import voxel_map

SHOWN_POINTS = 20_000
SHOWN_VOXEL_M = 0.1  # grows until the map is small enough
SAMPLED_POINTS = 200_000
"""Of all keyframes together, before voxels are made: bounds the time of a drawn map."""


@dataclass(frozen=True)
class SlamRow:
    """One frame, as it was known when it arrived; later loops move it."""

    number: int
    t_ns: int
    T_WC: Array  # (4, 4), with loops
    T_WC_odometry: Array
    lost: bool  # the pose is a guess
    keyframe: bool  # this frame became one
    keyframes: int  # so far
    inliers: int
    loops: int  # accepted at this frame
    ms: dict[str, float]  # CPU time by part

    @property
    def state(self) -> str:
        return "lost" if self.lost else "tracked"

    @property
    def total_ms(self) -> float:
        return sum(self.ms.values())


@dataclass(frozen=True)
class ShownMap:
    """The map as it is drawn while it grows: few points, keyframes, loops as lines."""

    points_W: NDArray[np.float32]  # (n, 3) m
    colours: NDArray[np.uint8]  # (n, 3) RGB
    voxel_m: float
    keyframes_W: NDArray[np.float32]  # (k, 3), all of them
    loops_W: NDArray[np.float32]  # (m, 2, 3), both ends of each


class LiveSlam:
    """`seed` replaces that of the settings. `T_WC_first`: pose of the first frame where something else knows it, as an
    autopilot's estimate; otherwise W is x right, y forward, z up of a level first camera."""

    def __init__(
        self,
        calibration: Calibration,
        settings: Settings,
        seed: int | None = None,
        *,
        T_WC_first: Array = T_WC_FIRST,
        clock_ns: Callable[[], int] = thread_time_ns,
    ) -> None:
        self.calibration = calibration
        self.settings = settings if seed is None else msgspec.structs.replace(settings, seed=seed)
        self._slam = Slam(calibration.colour, self.settings, clock_ns, T_WC_first)

    @property
    def state(self) -> SlamState:
        return self._slam.state

    def frame(self, number: int, t_ns: int, rgb: NDArray[np.uint8], depth: NDArray[np.uint16]) -> SlamRow:
        """`rgb` (h, w, 3) and `depth` (h, w) of one time; ValueError if they have another size than the calibration."""
        return self.add(frame_of(number, t_ns, rgb, depth, self.calibration), t_ns)

    def add(self, frame: Frame, t_ns: int | None = None) -> SlamRow:
        """The same with a frame that is prepared already."""
        before = len(self.state.frames)
        tracked = self._slam.add(frame)
        kept = self.state.keyframes[tracked.keyframe]
        return SlamRow(
            number=frame.number,
            t_ns=round(frame.t_s * 1e9) if t_ns is None else t_ns,
            T_WC=self.state.T_WC[tracked.keyframe] @ tracked.T_KC,
            T_WC_odometry=kept.T_WC_odometry @ tracked.T_KC,
            lost=tracked.lost,
            keyframe=kept.frame == before,
            keyframes=len(self.state.keyframes),
            inliers=tracked.inliers,
            loops=tracked.loops,
            ms=tracked.ms,
        )

    def shown(self, most_points: int = SHOWN_POINTS, *, optimised: bool = True) -> ShownMap:
        """The newest map with at most so many points."""
        state, indices = self.state, self.state.anchored()
        T_WC = state.T_WC if optimised else [keyframe.T_WC_odometry for keyframe in state.keyframes]
        total = sum(len(state.keyframes[index].points_C) for index in indices)
        stride = max(1, -(-total // SAMPLED_POINTS))
        clouds: list[Any] = [np.zeros((0, 3))]
        colours = [np.zeros((0, 3), dtype=np.uint8)]
        for index in indices:
            keyframe = state.keyframes[index]
            clouds.append(se3.transformed(T_WC[index], keyframe.points_C[::stride].astype(float)))
            colours.append(keyframe.colours[::stride])
        points_W, shades, voxel_m = np.concatenate(clouds), np.concatenate(colours), SHOWN_VOXEL_M
        voxels = voxel_map(points_W, shades, voxel_m=voxel_m, at_least=1)
        while len(voxels.points_W) > most_points:
            voxel_m *= 1.5
            voxels = voxel_map(points_W, shades, voxel_m=voxel_m, at_least=1)
        nodes = np.array([T[:3, 3] for T in T_WC], dtype=np.float32).reshape(-1, 3)
        loops = [(edge.i, edge.j) for edge in state.loops]
        return ShownMap(
            voxels.points_W.astype(np.float32),
            voxels.colours,
            voxel_m,
            nodes,
            nodes[np.array(loops, dtype=np.intp).reshape(-1, 2)],
        )

    def result(self, name: str, truth: Truth | None = None) -> SlamResult:
        """What was found so far, after a last optimisation. `truth` is for analysis afterwards, never for a flight."""
        return SlamResult.of(name, self.settings, self.calibration.colour, self._slam.finish(), truth)
