"""Compiles rollouts for an engine: lanes of this processor, or a GPU."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Literal

from aeroloop.batch.loop import Loop
from aeroloop.batch.sampling_source import sampling_source
from aeroloop.codegen import batch, batch_build
from aeroloop.core.paths import cache_dir

Engine = Literal["lanes", "gpu"]
LANES = 16


def built(loop: Loop, engine: Engine, *, lanes: int = LANES, cache: Path | None = None) -> Path:
    """The shared object, cached by its content; `lanes` is for tests: the results do not depend on it."""
    folder = cache or cache_dir()
    if engine == "gpu":
        return batch_build.cuda_library(sampling_source(loop, batch.CUDA), folder)
    flags = (*batch_build.LANE_FLAGS, f"-DAL_LANES={lanes}")
    return batch_build.library(sampling_source(loop, batch.LANES), flags, folder)


def library(loop: Loop, engine: Engine, *, lanes: int = LANES) -> ctypes.CDLL:
    return batch_build.loaded(built(loop, engine, lanes=lanes))
