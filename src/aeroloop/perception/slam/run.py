"""SLAM over a recorded sequence, and the numbers of any result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from aeroloop.perception.slam.live import LiveSlam
from aeroloop.perception.slam.opencv import cv
from aeroloop.perception.slam.result import SlamResult
from aeroloop.perception.slam.settings import Settings
from aeroloop.perception.slam.tum import Sequence


def run(sequence: Sequence, settings: Settings, told: Callable[[int], None] = lambda done: None) -> SlamResult:
    """All frames in order; `told` hears how many are done."""
    slam = LiveSlam(sequence.calibration, settings)
    for done, frame in enumerate(sequence.frames(settings.every), 1):
        slam.add(frame)
        told(done)
    found = slam.result(str(sequence.folder), sequence.truth)
    return replace(found, calibrated=sequence.calibrated, unpaired=sequence.unpaired)


def frame_count(sequence: Sequence, settings: Settings) -> int:
    return -(-len(sequence) // settings.every)


def summary(result: SlamResult) -> dict[str, Any]:
    """At least one frame is expected."""
    state, frame_ms = result.state, result.frame_ms
    numbers: dict[str, Any] = {
        "sequence": result.name,
        "front_end": result.settings.front_end,
        "frames": len(state.frames),
        "frames_unpaired": result.unpaired,
        "frames_missed": result.missed,
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
        "calibrated": result.calibrated,
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
