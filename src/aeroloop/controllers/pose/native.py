"""The drivers of a pose board as C, compiled for this host: rung sil, and what the twin in Python is compared with."""

from __future__ import annotations

import ctypes
import hashlib
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from aeroloop.codegen.run import host_compiler, run_tool
from aeroloop.controllers.pose.board_settings import BoardSettings
from aeroloop.controllers.pose.drivers import LineCounts, Sample
from aeroloop.controllers.pose.image import driver_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import FIRMWARE, cache_dir

SOURCES = ("pose/drivers.c", "pose/pose_line.c", "host/pose.c")
HEADERS = ("pose/drivers.h", "pose/pose_line.h", "app/bytes.h")
FLAGS = ("-std=c11", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-Wall")
COMPILE_TIMEOUT_S = 120
SAMPLE_BYTES = 40


class NativeDrivers:
    """As `drivers.Drivers`."""

    def __init__(self, compiled: Path) -> None:
        """`compiled`: what `library` gives."""
        self._library = _declared(ctypes.CDLL(str(compiled)))
        self._memory = ctypes.create_string_buffer(self._library.host_size())
        self._library.drivers_init(self._memory)

    @property
    def counts(self) -> LineCounts:
        found = (ctypes.c_uint32 * len(LineCounts._fields))()
        self._library.host_counts(self._memory, found)
        return LineCounts(*found)

    @property
    def refused(self) -> int:
        return int(self._library.host_refused(self._memory))

    @property
    def stale(self) -> bool:
        return bool(self._library.host_stale(self._memory))

    @property
    def failed(self) -> bool:
        return bool(self._library.host_failed(self._memory))

    def parameter(self, number: int) -> float:
        return float(self._library.host_parameter(self._memory, number))

    def time(self, now_us: int) -> None:
        self._library.drivers_time(self._memory, now_us)

    def line(self, chunk: bytes) -> None:
        self._library.drivers_line(self._memory, chunk, len(chunk))

    def values(self, measured: Sequence[float], groups: int) -> None:
        self._library.drivers_values(self._memory, (ctypes.c_float * len(measured))(*measured), groups)

    def step(self, armed: bool) -> int:
        return int(self._library.drivers_step(self._memory, armed))

    def begin(self) -> bool:
        return bool(self._library.drivers_begin(self._memory))

    def rebuild(self, number: int) -> None:
        self._library.drivers_rebuild(self._memory, number)

    def read(self, number: int, source: int) -> Sample | None:
        sample = ctypes.create_string_buffer(SAMPLE_BYTES)
        return Sample.unpack(sample.raw) if self._library.drivers_read(self._memory, number, source, sample) else None

    def latest(self, number: int, source: int) -> Sample | None:
        sample = ctypes.create_string_buffer(SAMPLE_BYTES)
        return Sample.unpack(sample.raw) if self._library.host_latest(self._memory, number, source, sample) else None

    def source(self, number: int) -> int:
        return int(self._library.drivers_source(self._memory, number))

    def age_s(self) -> float:
        return float(self._library.drivers_age_s(self._memory))

    def stop(self) -> bool:
        return bool(self._library.drivers_stop(self._memory))

    def set(self, parameter: int, value: float, armed: bool) -> int:
        return int(self._library.drivers_set(self._memory, parameter, value, armed))

    def motors(self, command: Sequence[float]) -> bytes:
        frame = ctypes.create_string_buffer(14)
        size = self._library.drivers_motors((ctypes.c_float * len(command))(*command), frame)
        return frame.raw[:size]


def library(settings: BoardSettings) -> Path:
    """The shared object of these drivers, compiled once and kept."""
    compiler, files = host_compiler(), driver_files(settings)
    digest = hashlib.sha256("\0".join((compiler, *FLAGS)).encode())
    for name in (*SOURCES, *HEADERS):
        digest.update((FIRMWARE / name).read_bytes())
    for name, text in files.items():
        digest.update(f"{name}\0{text}".encode())
    found = cache_dir() / f"pose-drivers-{digest.hexdigest()[:24]}.so"
    if not found.exists():
        try:
            _compile(compiler, files, found)
        except OSError as error:
            raise ConfigError(f"{found}: the compiled drivers cannot be kept there: {error.strerror}") from None
    return found


def _compile(compiler: str, files: dict[str, str], found: Path) -> None:
    # Built in a temporary folder and renamed, so that two flights at once never load half a file.
    with tempfile.TemporaryDirectory(dir=found.parent) as folder:
        place = Path(folder)
        for name, text in files.items():
            (place / name).write_text(text, encoding="utf-8")
        sources = [str(FIRMWARE / name) for name in SOURCES] + [
            str(place / name) for name in files if name.endswith(".c")
        ]
        includes = [f"-I{path}" for path in (place, FIRMWARE / "pose", FIRMWARE / "app")]
        command = [*shlex.split(compiler), *FLAGS, *includes, *sources, "-lm", "-o", str(place / "drivers.so")]
        try:
            done = run_tool(command, COMPILE_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ConfigError(f"the C compiler {compiler} could not be run: {error}") from None
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or [str(done.returncode)]
            raise ConfigError(f"the C compiler {compiler} failed: {lines[0]}")
        (place / "drivers.so").replace(found)


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    """With the types of its functions; the state is a block of memory."""
    at, u32, u64, number, single = (
        ctypes.c_void_p,
        ctypes.c_uint32,
        ctypes.c_uint64,
        ctypes.c_uint,
        ctypes.c_float,
    )
    table = {
        "host_size": (ctypes.c_size_t, ()),
        "host_counts": (None, (at, at)),
        "host_refused": (u32, (at,)),
        "host_stale": (ctypes.c_bool, (at,)),
        "host_failed": (ctypes.c_bool, (at,)),
        "host_parameter": (single, (at, number)),
        "host_latest": (ctypes.c_bool, (at, number, number, at)),
        "drivers_init": (None, (at,)),
        "drivers_time": (None, (at, u64)),
        "drivers_line": (None, (at, ctypes.c_char_p, ctypes.c_size_t)),
        "drivers_values": (None, (at, at, ctypes.c_uint8)),
        "drivers_step": (number, (at, ctypes.c_bool)),
        "drivers_begin": (ctypes.c_bool, (at,)),
        "drivers_rebuild": (None, (at, number)),
        "drivers_read": (ctypes.c_bool, (at, number, number, at)),
        "drivers_source": (number, (at, number)),
        "drivers_age_s": (single, (at,)),
        "drivers_stop": (ctypes.c_bool, (at,)),
        "drivers_set": (number, (at, number, single, ctypes.c_bool)),
        "drivers_motors": (ctypes.c_size_t, (at, at)),
    }
    for name, (gives, takes) in table.items():
        function = getattr(library, name)
        function.restype, function.argtypes = gives, takes
    return library
