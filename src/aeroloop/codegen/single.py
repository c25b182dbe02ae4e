"""Evaluates a CasADi function in single precision, operation by operation, as its generated C does (`embedded.py`).

CasADi's own virtual machine computes in double precision. Sums, products and roots are rounded equally on every
machine; sines and the like are those of this machine's C library, so that the result equals the C compiled here to the
bit, and the C of another library to a rounding.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
F = np.float32

LARGEST, SMALLEST_NORMAL, SMALLEST = 3.4e38, 1.2e-38, 1e-45
"""Magnitudes of single precision. Numbers below the smallest normal one lose digits, and a processor that flushes to
zero computes otherwise: generated C for one processor may have them as constants, programs for any must not."""


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(ctypes.util.find_library("m") or "libm.so.6")


@cache
def _c(name: str, arguments: int) -> Callable[..., Any]:
    function = getattr(_library(), name)
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float] * arguments
    return lambda *values: F(function(*values))


def _one(name: str) -> Callable[[Any], Any]:
    return lambda x: _c(name, 1)(x)


def _two(name: str) -> Callable[[Any, Any], Any]:
    return lambda x, y: _c(name, 2)(x, y)


def _flag(value: Any) -> Any:
    return F(1) if value else F(0)


_OPERATIONS: dict[int, Callable[..., Any]] = {
    ca.OP_ASSIGN: lambda x: x,
    ca.OP_ADD: lambda x, y: x + y,
    ca.OP_SUB: lambda x, y: x - y,
    ca.OP_MUL: lambda x, y: x * y,
    ca.OP_DIV: lambda x, y: x / y,
    ca.OP_NEG: lambda x: -x,
    ca.OP_SQ: lambda x: x * x,
    ca.OP_TWICE: lambda x: F(2) * x,
    ca.OP_INV: lambda x: F(1) / x,
    ca.OP_SQRT: np.sqrt,
    ca.OP_FABS: np.abs,
    ca.OP_FMIN: _two("fminf"),
    ca.OP_FMAX: _two("fmaxf"),
    ca.OP_LT: lambda x, y: _flag(x < y),
    ca.OP_LE: lambda x, y: _flag(x <= y),
    ca.OP_EQ: lambda x, y: _flag(x == y),
    ca.OP_NE: lambda x, y: _flag(x != y),
    ca.OP_NOT: lambda x: _flag(not x),
    ca.OP_AND: lambda x, y: _flag(x and y),
    ca.OP_OR: lambda x, y: _flag(x or y),
    ca.OP_IF_ELSE_ZERO: lambda x, y: y if x else F(0),
    ca.OP_SIN: _one("sinf"),
    ca.OP_COS: _one("cosf"),
    ca.OP_TAN: _one("tanf"),
    ca.OP_ASIN: _one("asinf"),
    ca.OP_ATAN: _one("atanf"),
    ca.OP_ATAN2: _two("atan2f"),
    ca.OP_TANH: _one("tanhf"),
    ca.OP_EXP: _one("expf"),
    ca.OP_LOG: _one("logf"),
    ca.OP_LOG1P: _one("log1pf"),
    ca.OP_POW: _two("powf"),
    ca.OP_CONSTPOW: _two("powf"),
}


class Single:
    """The call of a function of symbols (SX) with dense columns; ValueError for an operation that it does not know."""

    def __init__(self, function: ca.Function) -> None:
        self.sizes_in = [int(function.numel_in(i)) for i in range(function.n_in())]
        self.sizes_out = [int(function.numel_out(i)) for i in range(function.n_out())]
        self._work = int(function.sz_w())
        self._steps: list[tuple[int, Any, Sequence[int], int, int]] = []
        for k in range(function.n_instructions()):
            operation = int(function.instruction_id(k))
            takes, gives = function.instruction_input(k), function.instruction_output(k)
            if operation == ca.OP_CONST:
                self._steps.append((ca.OP_CONST, F(function.instruction_constant(k)), (), int(gives[0]), 0))
            elif operation == ca.OP_INPUT:
                self._steps.append((ca.OP_INPUT, None, (int(takes[0]), int(takes[1])), int(gives[0]), 0))
            elif operation == ca.OP_OUTPUT:
                self._steps.append((ca.OP_OUTPUT, None, (int(takes[0]),), int(gives[0]), int(gives[1])))
            elif operation in _OPERATIONS:
                self._steps.append((operation, _OPERATIONS[operation], [int(i) for i in takes], int(gives[0]), 0))
            else:
                raise ValueError(f"{function.name()}: operation {operation} is not known in single precision")

    def __call__(self, *inputs: Floats) -> list[Floats]:
        work: list[Any] = [F(0)] * self._work
        outputs = [np.zeros(size, F) for size in self.sizes_out]
        with np.errstate(all="ignore"):
            for operation, apply, takes, gives, element in self._steps:
                if operation == ca.OP_CONST:
                    work[gives] = apply
                elif operation == ca.OP_INPUT:
                    work[gives] = inputs[takes[0]][takes[1]]
                elif operation == ca.OP_OUTPUT:
                    outputs[gives][element] = work[takes[0]]
                else:
                    work[gives] = apply(*[work[i] for i in takes])
        return outputs
