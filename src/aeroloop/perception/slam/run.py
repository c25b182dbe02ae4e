"""SLAM over a recorded sequence: its result, its numbers, its files."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from aeroloop.core.errors import ConfigError, not_written
from aeroloop.perception.slam import se3
from aeroloop.perception.slam import trajectory_errors as errors
from aeroloop.perception.slam.keyframes import PARTS, SlamState
from aeroloop.perception.slam.opencv import cv
from aeroloop.perception.slam.pose_graph import Edge
from aeroloop.perception.slam.se3 import Array
from aeroloop.perception.slam.settings import Settings
from aeroloop.perception.slam.tracker import Slam
from aeroloop.perception.slam.trajectory_errors import RelativeError
from aeroloop.perception.slam.tum import Sequence, trajectory_text
from aeroloop.perception.slam.voxels import VoxelMap

ODOMETRY, TRAJECTORY, MAP, SUMMARY = "trajectory_odometry.txt", "trajectory.txt", "map.ply", "summary.json"
FALSE_M, FALSE_RAD = 0.3, math.radians(15.0)
FEWEST_TRUE = 3  # poses: fewer leave the alignment open


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
    settings: Settings
    sequence: Sequence
    state: SlamState
    t_s: Array
    odometry: Array  # (n, 4, 4)
    trajectory: Array  # (n, 4, 4)
    truth: Compared | None

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
        if a not in true or b not in true:
            return False
        wrong = se3.inverse(se3.inverse(true[a]) @ true[b]) @ edge.Z_ij
        return se3.distance_m(wrong) > FALSE_M or se3.angle_rad(wrong) > FALSE_RAD

    def aligned(self, T: Array) -> Array:
        """The motion from this trajectory's frame to the truth's; none without truth."""
        if self.truth is None:
            return np.eye(4)
        return errors.alignment(T[self.truth.frames, :3, 3], self.truth.T_true[:, :3, 3])

    def map(self, *, optimised: bool = True) -> VoxelMap:
        return self.state.map(self.settings, optimised=optimised)


def run(sequence: Sequence, settings: Settings, told: Callable[[int], None] = lambda done: None) -> SlamResult:
    """All frames in order; `told` hears how many are done."""
    slam = Slam(sequence.calibration.colour, settings)
    for done, frame in enumerate(sequence.frames(settings.every), 1):
        slam.add(frame)
        told(done)
    state = slam.finish()
    t_s = state.times_s()
    return SlamResult(settings, sequence, state, t_s, state.odometry(), state.trajectory(), _compared(sequence, t_s))


def frame_count(sequence: Sequence, settings: Settings) -> int:
    return -(-len(sequence) // settings.every)


def _compared(sequence: Sequence, t_s: Array) -> Compared | None:
    if sequence.truth is None:
        return None
    own, true = errors.nearest(t_s, sequence.truth.t_s)
    return Compared(own, sequence.truth.T_WC[true]) if len(own) >= FEWEST_TRUE else None


def summary(result: SlamResult) -> dict[str, Any]:
    state, frame_ms = result.state, result.frame_ms
    numbers: dict[str, Any] = {
        "sequence": str(result.sequence.folder),
        "front_end": result.settings.front_end,
        "frames": len(state.frames),
        "frames_unpaired": result.sequence.unpaired,
        "frames_lost": sum(frame.lost for frame in state.frames),
        "duration_s": float(result.t_s[-1] - result.t_s[0]),
        "keyframes": len(state.keyframes),
        "keyframes_mapped": len(state.anchored()),
        "loops": len(state.loops),
        "false_loops": result.false_loops(),
        "optimisations": state.optimisations,
        "map_points": len(result.map().points_W),
        "frame_ms": float(frame_ms.mean()),
        "frame_ms_p95": float(np.percentile(frame_ms, 95)),
        "frame_ms_max": float(frame_ms.max()),
        "part_ms": result.mean_ms,
        "rate_hz": float(1000.0 / max(frame_ms.mean(), 1e-6)),
        "calibrated": result.sequence.calibrated,
        "opencv": cv().__version__,
        "settings": msgspec.to_builtins(result.settings),
    }
    for name, T in (("odometry", result.odometry), ("optimised", result.trajectory)):
        accuracy = result.accuracy(T)
        numbers[f"ate_{name}_m"] = None if accuracy is None else accuracy.ate_m
        relative = None if accuracy is None else accuracy.rpe
        numbers[f"rpe_{name}_m"] = None if relative is None else relative.translation_m
        numbers[f"rpe_{name}_deg"] = None if relative is None else relative.rotation_deg
    odometry, optimised = numbers["ate_odometry_m"], numbers["ate_optimised_m"]
    numbers["ate_ratio"] = optimised / odometry if odometry else None
    return numbers


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ConfigError(f"{folder}: exists already; --out expects a new folder") from None
    except OSError as error:
        raise not_written(folder, error) from None


def write(folder: Path, result: SlamResult, numbers: dict[str, Any]) -> None:
    """Trajectories, map and summary into a folder."""
    texts = {
        ODOMETRY: trajectory_text(result.t_s, result.odometry),
        TRAJECTORY: trajectory_text(result.t_s, result.trajectory),
        SUMMARY: json.dumps(numbers, indent=2, allow_nan=False) + "\n",
    }
    files = {name: text.encode() for name, text in texts.items()} | {MAP: ply(result.map())}
    for name, content in files.items():
        try:
            (folder / name).write_bytes(content)
        except OSError as error:
            raise not_written(folder / name, error) from None


def ply(voxels: VoxelMap) -> bytes:
    """Binary PLY: float positions and 8-bit colours."""
    layout = [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("red", "u1"), ("green", "u1"), ("blue", "u1")]
    table = np.zeros(len(voxels.points_W), dtype=layout)
    for axis, name in enumerate("xyz"):
        table[name] = voxels.points_W[:, axis]
    for channel, name in enumerate(("red", "green", "blue")):
        table[name] = voxels.colours[:, channel]
    properties = [f"property {'float' if kind == '<f4' else 'uchar'} {name}" for name, kind in layout]
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(table)}", *properties, "end_header", ""]
    return "\n".join(header).encode() + table.tobytes()
