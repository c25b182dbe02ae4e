"""Compiles generated batch sources to shared objects, for this processor or with nvcc, cached by content."""

from __future__ import annotations

import ctypes
import hashlib
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from aeroloop.codegen.run import host_compiler, run_tool
from aeroloop.core.errors import ConfigError

HEADER = "batch_runtime.h"
EXACT = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math")
"""Nothing is fused but what is written so; errors and traps of the C library would forbid vectors."""
LANE_FLAGS = ("-std=gnu11", "-O3", "-march=native", "-mprefer-vector-width=512", "-fopenmp", *EXACT, "-fPIC", "-shared")
DOUBLE_FLAGS = ("-std=gnu11", "-O2", "-ffp-contract=off", "-DAL_DOUBLE", "-DAL_LANES=1", "-fopenmp", "-fPIC", "-shared")
"""Scalar double precision as the rung sil compiles its laws: the reference."""
CUDA_FLAGS = ("-O3", "-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true", "-Xcompiler", "-fPIC", "-shared")
CUDA_ARCHITECTURE = "sm_90"
COMPILE_TIMEOUT_S = 600


def header() -> str:
    return resources.files("aeroloop.codegen").joinpath(HEADER).read_text(encoding="utf-8")


def cuda_compiler() -> str | None:
    return shutil.which("nvcc")


def library(source: str, flags: tuple[str, ...], folder: Path) -> Path:
    """The compiled shared object of a C source that includes the runtime header."""
    compiler = host_compiler()
    identity = (source, header(), compiler, *flags, _processor(compiler) if "-march=native" in flags else "")
    return _cached(identity, folder, "c", source, [*shlex.split(compiler), *flags], ["-lm"])


def cuda_library(source: str, folder: Path, extra: tuple[str, ...] = ()) -> Path:
    """The same of a CUDA source; ConfigError without nvcc."""
    compiler = cuda_compiler()
    if compiler is None:
        raise ConfigError("a batch on a GPU needs nvcc of the CUDA toolkit, and none was found")
    flags = (*CUDA_FLAGS, f"-arch={CUDA_ARCHITECTURE}", *extra)
    return _cached((source, header(), compiler, *flags), folder, "cu", source, [compiler, *flags], [])


def loaded(built: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(built))


def entry(built: Path, threads: int) -> Callable[[tuple[NDArray[Any], ...], NDArray[Any]], float]:
    """The function of a compiled batch: (parameters, flights, seeds, table), metrics to fill in -> seconds."""
    function = loaded(built).aeroloop_batch_run

    def launch(arrays: tuple[NDArray[Any], ...], made: NDArray[Any]) -> float:
        seconds = ctypes.c_double()
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, made)]
        failed = function(*pointers[:4], len(arrays[3]), made.shape[1], threads, pointers[4], ctypes.byref(seconds))
        if failed:
            raise ConfigError(f"the batch failed on the GPU: CUDA error {failed}")
        return seconds.value

    return launch


@cache
def _processor(compiler: str) -> str:
    """What the compiler takes this processor for: a cache shared by machines must not mix their code."""
    command = [*shlex.split(compiler), "-march=native", "-Q", "--help=target"]
    try:
        return run_tool(command, COMPILE_TIMEOUT_S).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"the C compiler {compiler} could not be run: {error}") from None


def _cached(
    identity: tuple[str, ...], folder: Path, suffix: str, source: str, command: list[str], after: list[str]
) -> Path:
    key = hashlib.sha256("\0".join(identity).encode()).hexdigest()[:24]
    built = folder / f"batch-{key}.so"
    if built.exists():
        return built
    try:
        _compile(built, suffix, source, command, after)
    except OSError as error:
        raise ConfigError(f"{built}: the compiled batch cannot be stored there: {error.strerror}") from None
    return built


def _compile(built: Path, suffix: str, source: str, command: list[str], after: list[str]) -> None:
    # Built in a temporary folder and renamed, so that two runs at once never load half a file.
    with tempfile.TemporaryDirectory(dir=built.parent) as folder:
        code, made = Path(folder) / f"batch.{suffix}", Path(folder) / "batch.so"
        code.write_text(source, encoding="utf-8")
        (Path(folder) / HEADER).write_text(header(), encoding="utf-8")
        try:
            done = run_tool([*command, "-o", str(made), str(code), *after], COMPILE_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise ConfigError(f"the compiler {command[0]} took longer than {COMPILE_TIMEOUT_S} s") from None
        except OSError as error:
            raise ConfigError(f"the compiler {command[0]} could not be run: {error}") from None
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            raise ConfigError(f"the compiler {command[0]} failed: {lines[0] if lines else done.returncode}")
        made.replace(built)
