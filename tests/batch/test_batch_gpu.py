"""The launcher of a batch on a GPU with a stand-in for cupy: what it hands over, and what it says when it cannot."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from aeroloop.batch import gpu
from aeroloop.codegen import batch_build
from aeroloop.core.errors import ConfigError

SOURCE = '#include "batch_runtime.h"\nextern "C" __global__ void al_kernel() {}\n'
FLIGHTS, ROWS = 600, 7


class CudaError(Exception):
    pass


class CompileError(Exception):
    pass


class MemoryFullError(Exception):
    pass


class Event:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def record(self) -> None:
        self.calls.append("record")

    def synchronize(self) -> None:
        self.calls.append("synchronize")


class OnDevice:
    """An array that must be fetched."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values)

    def __len__(self) -> int:
        return len(self.values)

    def get(self) -> Any:
        return self.values


class Cupy(ModuleType):
    """As much of cupy as the launcher uses; its kernel doubles the first parameter and adds the seed."""

    def __init__(self) -> None:
        super().__init__("cupy")
        self.__spec__ = ModuleSpec("cupy", None)
        self.launched: list[tuple[Any, Any, Any]] = []
        self.compiled: dict[str, Any] = {}
        self.refuses: dict[str, Exception] = {}
        self.cuda = SimpleNamespace(
            runtime=SimpleNamespace(getDevice=lambda: self.check("device"), CUDARuntimeError=CudaError),
            compiler=SimpleNamespace(CompileException=CompileError),
            memory=SimpleNamespace(OutOfMemoryError=MemoryFullError),
            Event=Event,
            get_elapsed_time=self.elapsed_ms,
        )

    def check(self, what: str) -> int:
        if what in self.refuses:
            raise self.refuses[what]
        return 0

    def elapsed_ms(self, began: Event, ended: Event) -> float:
        assert began.calls == ["record"] and ended.calls == ["record", "synchronize"]
        return 1500.0

    def RawModule(self, **options: Any) -> Any:
        self.check("compile")
        self.compiled = options
        return SimpleNamespace(get_function=lambda name: {"al_kernel": self.kernel}[name])

    def asarray(self, array: Any) -> OnDevice:
        self.check("memory")
        return OnDevice(array)

    def empty(self, shape: tuple[int, ...], kind: Any) -> OnDevice:
        return OnDevice(np.full(shape, np.nan, kind))

    def kernel(self, grid: Any, block: Any, arguments: Any) -> None:
        self.launched.append((grid, block, arguments))
        own, _, seeds, _, _, _, metrics = arguments
        metrics.values[0] = 2 * own.values[0] + seeds.values


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Cupy:
    stand_in = Cupy()
    monkeypatch.setitem(sys.modules, "cupy", stand_in)
    return stand_in


def arrays() -> gpu.Arrays:
    own = np.arange(2 * FLIGHTS, dtype=np.float32).reshape(2, FLIGHTS)
    numbers = np.arange(FLIGHTS, dtype=np.uint32)
    return own, numbers, numbers + 5, np.zeros((ROWS, 3), np.float32)


def test_every_flight_has_a_thread_and_its_metrics_come_back(cupy: Cupy, tmp_path: Path) -> None:
    launch, given, made = gpu.launcher(SOURCE, tmp_path), arrays(), np.zeros((1, FLIGHTS), np.float32)
    assert launch(given, made) == 1.5
    assert made.tolist() == [(2 * given[0][0] + given[2]).tolist()]
    (grid, block, arguments) = cupy.launched[0]
    assert (grid, block) == ((3,), (gpu.BLOCK,))
    assert [type(value) for value in arguments[4:6]] == [np.int32] * 2
    assert (int(arguments[4]), int(arguments[5])) == (ROWS, FLIGHTS)
    assert [part.values.dtype for part in arguments[:4]] == [np.float32, np.uint32, np.uint32, np.float32]


def test_the_kernel_is_compiled_from_one_text_with_exact_arithmetic(cupy: Cupy, tmp_path: Path) -> None:
    gpu.launcher(SOURCE, tmp_path)
    code = cupy.compiled["code"]
    assert "#define AL_PHILOX_ROUND" in code
    assert not [line for line in code.splitlines() if line.startswith("#include") and '"' in line]
    assert {"-ftz=false", "-fmad=false"} <= set(cupy.compiled["options"])
    assert cupy.compiled["backend"] == "nvrtc"
    assert f"#define AL_BLOCK {gpu.BLOCK}\n" in batch_build.header()


@pytest.mark.parametrize(
    ("what", "error", "words"),
    [
        ("device", CudaError("no CUDA-capable device"), "needs a device, and CUDA found none: no CUDA-capable device"),
        (
            "compile",
            CompileError("line 3: expected a ;\nmore"),
            "NVRTC did not compile the batch: line 3: expected a ;$",
        ),
    ],
)
def test_what_keeps_it_from_compiling_is_told(
    cupy: Cupy, tmp_path: Path, what: str, error: Exception, words: str
) -> None:
    cupy.refuses[what] = error
    with pytest.raises(ConfigError, match=words):
        gpu.launcher(SOURCE, tmp_path)


@pytest.mark.parametrize("error", [MemoryFullError("out of memory"), CudaError("launch failed")])
def test_a_launch_that_fails_is_told(cupy: Cupy, tmp_path: Path, error: Exception) -> None:
    launch = gpu.launcher(SOURCE, tmp_path)
    cupy.refuses["memory"] = error
    with pytest.raises(ConfigError, match=f"the batch failed on the GPU: {error}"):
        launch(arrays(), np.zeros((1, FLIGHTS), np.float32))


def without_cupy(monkeypatch: pytest.MonkeyPatch, compiler: str | None) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)  # as if it were not installed
    monkeypatch.setattr(gpu.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(batch_build, "cuda_compiler", lambda: compiler)


def test_without_cupy_and_nvcc_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    without_cupy(monkeypatch, None)
    assert gpu.missing() == gpu.INSTALL
    with pytest.raises(ConfigError, match=r"pip install 'aeroloop\[gpu\]'"):
        gpu.launcher(SOURCE, tmp_path)


def driver(code: int, devices: int) -> Any:
    def counted(count: Any) -> int:
        count._obj.value = devices
        return code

    return SimpleNamespace(cuInit=lambda flags: code, cuDeviceGetCount=counted)


def no_driver(name: str) -> Any:
    raise OSError(name)


@pytest.mark.parametrize(
    ("library", "words"),
    [
        (no_driver, "there is no NVIDIA driver"),
        (lambda name: driver(100, 0), "CUDA found no device"),
        (lambda name: driver(0, 0), "CUDA found no device"),
    ],
)
def test_without_a_device_nothing_is_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, library: Any, words: str
) -> None:
    without_cupy(monkeypatch, "nvcc")
    monkeypatch.setattr(gpu.ctypes, "CDLL", library)
    with pytest.raises(ConfigError, match=f"a batch on a GPU needs a device: {words}"):
        gpu.launcher(SOURCE, tmp_path)
    assert not list(tmp_path.iterdir())


def test_with_a_device_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    without_cupy(monkeypatch, "nvcc")
    monkeypatch.setattr(gpu.ctypes, "CDLL", lambda name: driver(0, 1))
    assert gpu.missing() is None
