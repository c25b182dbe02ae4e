"""A batch on a GPU: compiled at run time by cupy (NVRTC), or by nvcc where cupy is not installed."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeroloop.codegen import batch_build
from aeroloop.core.errors import ConfigError

BLOCK = 256
"""Threads of a block, as AL_BLOCK of the runtime."""
EXACT = ("-ftz=false", "-fmad=false", "-prec-div=true", "-prec-sqrt=true")
"""Nothing is fused or flushed to zero, so that the bits are those of the processor."""
INSTALL = "a batch on a GPU needs cupy: pip install 'aeroloop[gpu]'; or nvcc of the CUDA toolkit"
Arrays = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]
"""Parameters (parameters, flights), numbers of the flights, their seeds, and the table of the cycles."""
Launch = Callable[[Arrays, NDArray[Any]], float]
"""Fills in the metrics (metrics, flights); seconds of the kernel."""


def missing() -> str | None:
    """What keeps a batch from flying on a GPU here, in words; None: nothing does."""
    if importlib.util.find_spec("cupy") is None and batch_build.cuda_compiler() is None:
        return INSTALL
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "there is no NVIDIA driver"
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or not count.value:
        return "CUDA found no device"
    return None


def launcher(source: str, folder: Path) -> Launch:
    """ConfigError says what to install, or that there is no device."""
    if importlib.util.find_spec("cupy") is not None:
        return _with_cupy(source)
    if words := missing():  # before a minute of compiling
        raise ConfigError(words if words == INSTALL else f"a batch on a GPU needs a device: {words}")
    return batch_build.entry(batch_build.cuda_library(source, folder), threads=0)


def run_time_source(source: str) -> str:
    """The source with its header in it: NVRTC reads no files."""
    return source.replace(f'#include "{batch_build.HEADER}"', batch_build.header())


def _with_cupy(source: str) -> Launch:
    cupy = importlib.import_module("cupy")
    try:
        cupy.cuda.runtime.getDevice()
        kernel = cupy.RawModule(code=run_time_source(source), options=EXACT, backend="nvrtc").get_function("al_kernel")
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise ConfigError(f"a batch on a GPU needs a device, and CUDA found none: {error}") from None
    except cupy.cuda.compiler.CompileException as error:
        raise ConfigError(f"NVRTC did not compile the batch: {str(error).splitlines()[0]}") from None

    def launch(arrays: Arrays, made: NDArray[Any]) -> float:
        flights = made.shape[1]
        try:
            own, numbers, keys, rows = (cupy.asarray(array) for array in arrays)
            metrics = cupy.empty(made.shape, np.float32)
            began, ended = cupy.cuda.Event(), cupy.cuda.Event()
            began.record()
            grid = ((flights + BLOCK - 1) // BLOCK,)
            kernel(grid, (BLOCK,), (own, numbers, keys, rows, np.int32(len(rows)), np.int32(flights), metrics))
            ended.record()
            ended.synchronize()
            made[:] = metrics.get()
        except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.memory.OutOfMemoryError) as error:
            raise ConfigError(f"the batch failed on the GPU: {error}") from None
        return float(cupy.cuda.get_elapsed_time(began, ended)) / 1000.0

    return launch
