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
    segment: int  # a new one begins after the camera was lost, 0 the first


@dataclass(frozen=True)
class Tracked:
    """Result for one frame."""

    t_s: float
    keyframe: int  # the keyframe that it was measured against; its own if it became one
    T_KC: Array  # pose in that keyframe's frame
    inliers: int
    lost: bool  # not measured, or in a segment that no loop has joined to the first
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

    def is_placed(self, index: int) -> bool:
        """Whether measurements join a keyframe to the first one: those after a loss only once a loop does."""
        segment = self.keyframes[index].segment
        return segment == 0 or segment in self._component(0)

    def anchored(self) -> list[int]:
        """All keyframes that are placed."""
        joined = self._component(0)
        return [index for index, keyframe in enumerate(self.keyframes) if keyframe.segment in joined]

    def close_loop(self, edge: Edge) -> None:
        """If it joins two components, the one without the first keyframe moves to where the loop sees it: its place was
        a guess, too far away for the optimiser, whose loops lose their influence with distance."""
        a, b = (self._component(self.keyframes[node].segment) for node in (edge.i, edge.j))
        if a != b:
            seen_j, seen_i = self.T_WC[edge.i] @ edge.Z_ij, self.T_WC[edge.j] @ se3.inverse(edge.Z_ij)
            if 0 in b:
                self._move(a, seen_i @ se3.inverse(self.T_WC[edge.i]))
            else:
                self._move(b, seen_j @ se3.inverse(self.T_WC[edge.j]))
            self.edges = [kept for kept in self.edges if kept.loop or not self._is_guess(kept, a | b)]
        self.edges.append(edge)

    def _component(self, segment: int) -> set[int]:
        """Segments that loops join to this one."""
        joined, count = {segment}, 0
        while count != len(joined):
            count = len(joined)
            for edge in self.loops:
                ends = {self.keyframes[edge.i].segment, self.keyframes[edge.j].segment}
                if ends & joined:
                    joined |= ends
        return joined

    def _move(self, component: set[int], T: Array) -> None:
        for index, keyframe in enumerate(self.keyframes):
            if keyframe.segment in component:
                self.T_WC[index] = T @ self.T_WC[index]

    def _is_guess(self, edge: Edge, component: set[int]) -> bool:
        """The edge across a loss, once both its ends are joined by measurements."""
        ends = {self.keyframes[edge.i].segment, self.keyframes[edge.j].segment}
        return len(ends) == 2 and ends <= component

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
