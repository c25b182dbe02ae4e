"""Compiled rollouts of sampling-based predictive control, on this processor's lanes or on a GPU: one call a cycle.

Needs no CasADi: a package for another machine has this module and the generated sources.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.core.errors import ConfigError

Singles = NDArray[np.float32]
HEAD = 7
"""Numbers of a cycle before the sums of the weighted knots (`sampling_source.SUMS`)."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """The outcome of one cycle's rollouts."""

    cost_least: float
    cost_spread: float  # geometric mean of the finite ones, above the least
    finite: float  # share of the rollouts whose cost is finite
    effective: float  # effective number of samples, (sum w)^2 / sum w^2
    cost_plan: float  # of the plan without noise
    cost_feedback: float  # of the feedback without a plan
    knots: NDArray[Any]  # (knots * inputs,) weighted mean
    seconds: float


class Rollouts:
    """Buffers of a number of rollouts in a compiled library; device memory stays from cycle to cycle."""

    def __init__(self, library: ctypes.CDLL, count: int, columns: int, knot_values: int, threads: int = 1) -> None:
        self.count, self._columns, self._knot_values, self._threads = count, columns, knot_values, threads
        self._library = library
        library.aeroloop_sampling_open.restype = ctypes.c_void_p
        self._pool = ctypes.c_void_p(library.aeroloop_sampling_open(count))
        if not self._pool:
            raise ConfigError(f"control.mppi.rollouts: no memory, or no GPU, for {count} rollouts")
        self._sums = np.zeros(HEAD + knot_values, np.float32)
        self._seconds = ctypes.c_double()

    def cycle(self, table: Singles, seed: int, temperature: float) -> Sampled:
        """`table` (steps, columns): a row for each step of the horizon."""
        if table.dtype != np.float32 or table.shape[1] != self._columns or not table.flags.c_contiguous:
            raise ValueError(f"expected rows of {self._columns} numbers in single precision")
        failed = self._library.aeroloop_sampling_cycle(
            self._pool,
            _at(table),
            len(table),
            ctypes.c_uint32(seed & 0xFFFFFFFF),
            ctypes.c_float(temperature),
            self._threads,
            _at(self._sums),
            ctypes.byref(self._seconds),
        )
        if failed:
            raise ConfigError(f"the rollouts failed on the GPU: CUDA error {failed}")
        least, log_excess, finite, weight, squares, plan, feedback = self._sums[:HEAD].tolist()
        divisor = weight if weight > 0 else float("nan")
        return Sampled(
            least,
            math.exp(log_excess / max(finite - 1.0, 1.0)),
            finite / self.count,
            weight * weight / squares if squares > 0 else 0.0,
            plan,
            feedback,
            self._sums[HEAD:].astype(float) / divisor,
            self._seconds.value,
        )

    def read(self) -> tuple[Singles, Singles]:
        """Costs and knots of the last cycle (1 + knot values, rollouts), and weights (rollouts,)."""
        made = np.zeros((1 + self._knot_values, self.count), np.float32)
        weights = np.zeros(self.count, np.float32)
        failed = self._library.aeroloop_sampling_read(self._pool, _at(made), _at(weights))
        if failed:
            raise ConfigError(f"the rollouts failed on the GPU: CUDA error {failed}")
        return made, weights

    def close(self) -> None:
        if self._pool:
            self._library.aeroloop_sampling_close(self._pool)
            self._pool = ctypes.c_void_p()


def _at(array: NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
