"""Flies a loop for a table of parameters: compiled for this processor, or for a GPU."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from aeroloop.batch import gpu
from aeroloop.batch.loop import Loop, source
from aeroloop.codegen import batch, batch_build
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.paths import cache_dir

Target = Literal["lanes", "cuda", "double"]
DIALECTS = {"lanes": batch.LANES, "cuda": batch.CUDA, "double": batch.DOUBLE}


@dataclass(frozen=True)
class Flown:
    """Metrics by name, one number per flight, and the time that the flights took."""

    metrics: dict[str, NDArray[Any]]
    seconds: float
    plant_steps: int

    @property
    def steps_per_s(self) -> float:
        return self.plant_steps / self.seconds


class Engine:
    """A compiled loop. `lanes`, and more `flags` for the C compiler, are for tests and benchmarks: the results do not
    depend on them."""

    def __init__(
        self,
        loop: Loop,
        target: Target = "lanes",
        *,
        lanes: int = 16,
        flags: tuple[str, ...] = (),
        cache: Path | None = None,
    ) -> None:
        self._loop = loop
        self._real: Any = np.float64 if target == "double" else np.float32
        folder = cache or cache_dir()
        text = source(loop, DIALECTS[target])
        if target == "cuda":
            launch = gpu.launcher(text, folder)
            self._launcher: Callable[[int], gpu.Launch] = lambda threads: launch
        else:
            own = batch_build.DOUBLE_FLAGS if target == "double" else (*batch_build.LANE_FLAGS, f"-DAL_LANES={lanes}")
            self._launcher = partial(batch_build.entry, batch_build.library(text, (*own, *flags), folder))

    def fly(
        self, params: Vec, table: Vec, seeds: NDArray[Any], *, flights: NDArray[Any] | None = None, threads: int = 0
    ) -> Flown:
        """`params` (flights, parameters), `table` (cycles, columns), `seeds` and numbers of the flights (flights,)."""
        count = len(params)
        if params.shape != (count, len(self._loop.parameters)) or len(seeds) != count or not count:
            raise ConfigError(
                f"expected {len(self._loop.parameters)} parameters and a seed for each flight, and one flight or more"
            )
        if table.shape[1] != self._loop.table_columns:
            raise ConfigError(f"a batch needs {self._loop.table_columns} columns in its table, not {table.shape[1]}")
        numbers = np.ascontiguousarray(np.arange(count) if flights is None else flights, np.uint32)
        own = np.ascontiguousarray(params.T, self._real)
        rows = np.ascontiguousarray(table, self._real)
        keys = np.ascontiguousarray(seeds, np.uint32)
        made = np.zeros((len(self._loop.metrics), count), self._real)
        seconds = self._launcher(threads or os.cpu_count() or 1)((own, numbers, keys, rows), made)
        steps = len(rows) * self._loop.steps_per_cycle * count
        return Flown(dict(zip(self._loop.metrics, made, strict=True)), seconds, steps)
