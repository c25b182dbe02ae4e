"""Calls a CasADi function, interpreted or compiled, without copying or allocating: a control law runs every cycle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from aeroloop.core.frames import Vec


class Evaluator:
    """Fill `inputs`, call, read `outputs`; the arrays never change. `run` is the call without Python.

    A matrix is one flat array, column by column."""

    def __init__(self, function: ca.Function) -> None:
        self.inputs: list[Vec] = [np.zeros(function.numel_in(i)) for i in range(function.n_in())]
        self.outputs: list[Vec] = [np.zeros(function.numel_out(i)) for i in range(function.n_out())]
        buffer: Any
        self.run: Callable[[], None]
        buffer, self.run = function.buffer()
        self._buffer = buffer  # `run` does not keep it alive
        for i, array in enumerate(self.inputs):
            buffer.set_arg(i, array.data)
        for i, array in enumerate(self.outputs):
            buffer.set_res(i, array.data)

    def share(self, index: int, array: Vec) -> None:
        """Use this array, which another function also reads or writes, as input `index`: no copy."""
        self.inputs[index] = array
        self._buffer.set_arg(index, array.data)

    def __call__(self) -> None:
        self.run()
