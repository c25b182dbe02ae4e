"""What SLAM found: both trajectories, map, loops; and with a true trajectory, their errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aeroloop.perception.slam import se3
from aeroloop.perception.slam import trajectory_errors as errors
from aeroloop.perception.slam.camera import Intrinsics
from aeroloop.perception.slam.keyframes import PARTS, SlamState
from aeroloop.perception.slam.pose_graph import Edge
from aeroloop.perception.slam.se3 import Array
from aeroloop.perception.slam.settings import Settings
from aeroloop.perception.slam.trajectory_errors import RelativeError
from aeroloop.perception.slam.voxels import VoxelMap

FALSE_M, FALSE_RAD = 0.3, math.radians(15.0)
FEWEST_TRUE = 3  # poses: fewer leave the alignment open


@dataclass(frozen=True)
class Truth:
    t_s: Array  # (n,)
    T_WC: Array  # (n, 4, 4)


@dataclass(frozen=True)
class Compared:
    """Frames that have a true pose."""

    frames: NDArray[np.intp]
    T_true: Array


@dataclass(frozen=True)
class Accuracy:
    ate_m: float
    rpe: RelativeError | None


@dataclass(frozen=True)
class SlamResult:
    name: str  # of the sequence or link
    settings: Settings
    camera: Intrinsics
    state: SlamState
    t_s: Array
    odometry: Array  # (n, 4, 4)
    trajectory: Array  # (n, 4, 4)
    truth: Compared | None
    calibrated: bool = True  # False: TUM's default values
    unpaired: int = 0  # colour images without depth
    missed: int = 0  # frames of a link that did not arrive

    @classmethod
    def of(
        cls, name: str, settings: Settings, camera: Intrinsics, state: SlamState, truth: Truth | None = None
    ) -> SlamResult:
        t_s = state.times_s()
        return cls(name, settings, camera, state, t_s, state.odometry(), state.trajectory(), _compared(t_s, truth))

    @property
    def mean_ms(self) -> dict[str, float]:
        """CPU time of a frame, by part."""
        return {part: float(np.mean([frame.ms[part] for frame in self.state.frames])) for part in PARTS}

    @property
    def frame_ms(self) -> Array:
        return np.array([sum(frame.ms.values()) for frame in self.state.frames])

    def accuracy(self, T: Array) -> Accuracy | None:
        """Of `odometry` or `trajectory`; None without ground truth."""
        if self.truth is None:
            return None
        own, true = T[self.truth.frames], self.truth.T_true
        return Accuracy(errors.ate_m(own, true), errors.rpe(self.t_s[self.truth.frames], own, true))

    def false_loops(self) -> int | None:
        """Loops that are farther from the truth than 0.3 m or 15 deg."""
        if self.truth is None:
            return None
        true = dict(zip(self.truth.frames.tolist(), self.truth.T_true, strict=True))
        return sum(self._is_false(edge, true) for edge in self.state.loops)

    def _is_false(self, edge: Edge, true: dict[int, Array]) -> bool:
        a, b = (self.state.keyframes[node].frame for node in (edge.i, edge.j))
        return a in true and b in true and is_false(edge.Z_ij, true[a], true[b])

    def aligned(self, T: Array) -> Array:
        """The motion from this trajectory's frame to the truth's; none without truth."""
        if self.truth is None:
            return np.eye(4)
        return errors.alignment(T[self.truth.frames, :3, 3], self.truth.T_true[:, :3, 3])

    def map(self, *, optimised: bool = True) -> VoxelMap:
        return self.state.map(self.settings, optimised=optimised)


def is_false(Z_ab: Array, T_Wa_true: Array, T_Wb_true: Array) -> bool:
    """Whether a measured motion is farther from the true one than the limits."""
    wrong = se3.inverse(se3.inverse(T_Wa_true) @ T_Wb_true) @ Z_ab
    return se3.distance_m(wrong) > FALSE_M or se3.angle_rad(wrong) > FALSE_RAD


def _compared(t_s: Array, truth: Truth | None) -> Compared | None:
    if truth is None:
        return None
    own, true = errors.nearest(t_s, truth.t_s)
    return Compared(own, truth.T_WC[true]) if len(own) >= FEWEST_TRUE else None
