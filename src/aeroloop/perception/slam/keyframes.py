"""What SLAM keeps: keyframes, edges, and where each frame was relative to its keyframe."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.perception.slam import se3
from aeroloop.perception.slam.front_end import View
from aeroloop.perception.slam.pose_graph import Edge
from aeroloop.perception.slam.se3 import Array
from aeroloop.perception.slam.settings import Settings
from aeroloop.perception.slam.voxels import VoxelMap, voxel_map

PARTS = ("features", "matching", "pose", "loops", "graph")


@dataclass(frozen=True)
class Keyframe:
    frame: int  # index of its frame among those tracked
    t_s: float
    view: View
    points_C: NDArray[np.float32]  # (n, 3) for the map
    colours: NDArray[np.uint8]
    T_WC_odometry: Array
    segment: int  # a new one begins after the camera was lost


@dataclass(frozen=True)
class Tracked:
    """Result for one frame."""

    t_s: float
    keyframe: int  # the keyframe that it was measured against; its own if it became one
    T_KC: Array  # pose in that keyframe's frame
    inliers: int
    lost: bool
    loops: int  # accepted at this frame
    ms: dict[str, float]  # by part


@dataclass
class SlamState:
    """Grows while frames arrive."""

    keyframes: list[Keyframe] = field(default_factory=list)
    T_WC: list[Array] = field(default_factory=list)  # of keyframes, optimised
    edges: list[Edge] = field(default_factory=list)
    frames: list[Tracked] = field(default_factory=list)
    optimisations: int = 0

    @property
    def loops(self) -> list[Edge]:
        return [edge for edge in self.edges if edge.loop]

    def times_s(self) -> Array:
        return np.array([frame.t_s for frame in self.frames])

    def trajectory(self) -> Array:
        """Optimised pose of every frame: its keyframe's pose times its stored relative pose."""
        return np.array([self.T_WC[frame.keyframe] @ frame.T_KC for frame in self.frames]).reshape(-1, 4, 4)

    def odometry(self) -> Array:
        """The same without loops."""
        poses = [self.keyframes[frame.keyframe].T_WC_odometry @ frame.T_KC for frame in self.frames]
        return np.array(poses).reshape(-1, 4, 4)

    def anchored(self) -> list[int]:
        """Keyframes that measurements join to the first one: those after a loss only once a loop joins them."""
        joined, count = {0}, 0
        while count != len(joined):
            count = len(joined)
            for edge in self.loops:
                ends = {self.keyframes[edge.i].segment, self.keyframes[edge.j].segment}
                if ends & joined:
                    joined |= ends
        return [index for index, keyframe in enumerate(self.keyframes) if keyframe.segment in joined]

    def map(self, settings: Settings, *, optimised: bool = True) -> VoxelMap:
        clouds: list[Any] = [np.zeros((0, 3))]
        colours = [np.zeros((0, 3), dtype=np.uint8)]
        for index in self.anchored():
            keyframe = self.keyframes[index]
            pose = self.T_WC[index] if optimised else keyframe.T_WC_odometry
            clouds.append(se3.transformed(pose, keyframe.points_C.astype(float)))
            colours.append(keyframe.colours)
        return voxel_map(
            np.concatenate(clouds), np.concatenate(colours), voxel_m=settings.voxel_m, at_least=settings.voxel_points
        )


def edge_sigma(T: Array, inliers: int, settings: Settings) -> float:
    """Standard deviation of all six components of a measured motion."""
    growth = 1.0 + se3.distance_m(T) / settings.edge_per_m + se3.angle_rad(T) / settings.edge_per_rad
    return float(settings.edge_sigma * growth * np.sqrt(100.0 / max(inliers, 1)))
