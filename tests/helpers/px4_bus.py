"""An exported PX4 module on a stand-in of PX4's bus: compiled with PX4's warnings as errors, driven from Python.

The stand-in's headers are in `tests/peers/px4_bus`; those of the topics are generated from the module's own table, with
no field more than it lists.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from aeroloop.codegen.embedded import FLAGS
from aeroloop.controllers.px4 import module_export
from aeroloop.controllers.px4.module_topics import TOPICS, Topic
from aeroloop.core import scenario_files

HEADERS = Path(__file__).resolve().parents[1] / "peers" / "px4_bus"
MODULE = Path("src/modules/aeroloop_law")
INDEX = {topic.name: index for index, topic in enumerate(TOPICS)}
C_TYPES = {"float32": "float", "bool": "bool", "char": "char"}
KINDS: dict[str, Any] = {
    "uint64": ctypes.c_uint64,
    "uint16": ctypes.c_uint16,
    "uint8": ctypes.c_uint8,
    "float32": ctypes.c_float,
    "bool": ctypes.c_bool,
    "char": ctypes.c_char,
}
COMMON = (
    *("-O2", "-g", "-fdata-sections", "-ffunction-sections", "-fomit-frame-pointer", "-fno-strict-aliasing"),
    *("-fno-math-errno", "-freciprocal-math", "-fno-signed-zeros", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Werror", "-Warray-bounds", "-Wcast-align", "-Wdisabled-optimization"),
    *("-Wdouble-promotion", "-Wfatal-errors", "-Wfloat-equal", "-Wformat-security", "-Winit-self", "-Wlogical-op"),
    *("-Wpointer-arith", "-Wshadow", "-Wuninitialized", "-Wunknown-pragmas", "-Wunused-variable"),
    *("-Wno-missing-field-initializers", "-Wno-unused-parameter", "-Wunused-but-set-variable"),
)
C_ONLY = ("-std=gnu11", "-fno-common", "-Wbad-function-cast", "-Wnested-externs", "-Wstrict-prototypes")
CPP_ONLY = ("-std=gnu++14", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-Wreorder", "-fcheck-new")
SITL = ("-fPIC", "-D__PX4_POSIX")
BOARD = ("-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16", "-mfloat-abi=hard", "-Wframe-larger-than=2048")
"""PX4's flags: of everything, of C, of C++, of SITL, and of a board, where a frame larger than the module's stack is an
error."""


def exported(folder: Path, law: Path | None = None, rate_hz: float = 250.0, *changes: str) -> Path:
    """A folder as `aeroloop export px4-module` writes it."""
    scenario = scenario_files.load(scenario_files.find("quad-px4"), changes)
    module_export.write(folder, module_export.files(module_export.described(scenario, law, rate_hz)))
    return folder


def topic_headers(folder: Path) -> None:
    """`uORB/topics/NAME.h` of each topic, and `topics.h` for the bus."""
    (folder / "uORB" / "topics").mkdir(parents=True, exist_ok=True)
    for topic in TOPICS:
        lines = ["#pragma once", "#include <uORB/uORB.h>", f"extern const orb_metadata __orb_{topic.name};"]
        lines += [f"struct {topic.name}_s {{", *(f"    {_declared(*field)};" for field in topic.fields)]
        lines += [f"    static constexpr int {name} = {value};" for name, value in topic.constants]
        lines += [f"    static orb_id_t topic() {{ return &__orb_{topic.name}; }}", "};", ""]
        (folder / "uORB" / "topics" / f"{topic.name}.h").write_text("\n".join(lines))
    lines = [f"#include <uORB/topics/{topic.name}.h>" for topic in TOPICS]
    for index, topic in enumerate(TOPICS):
        named = f'{{"{topic.name}", sizeof({topic.name}_s), {index}}}'
        lines.append(f"const orb_metadata __orb_{topic.name} = {named};")
    lines += [f"#define BUS_TOPICS {{ {', '.join(f'ORB_ID({topic.name})' for topic in TOPICS)} }}", ""]
    (folder / "topics.h").write_text("\n".join(lines))


def _declared(name: str, kind: str) -> str:
    base, _, count = kind.partition("[")
    return f"{C_TYPES.get(base, f'{base}_t')} {name}{f'[{count}' if count else ''}"


def _message_type(topic: Topic) -> Any:
    def kind(text: str) -> Any:
        base, _, count = text.partition("[")
        return KINDS[base] * int(count[:-1]) if count else KINDS[base]

    return type(topic.name, (ctypes.Structure,), {"_fields_": [(name, kind(text)) for name, text in topic.fields]})


MESSAGES = {topic.name: _message_type(topic) for topic in TOPICS}


def law_options(module: Path) -> list[str]:
    """The options that the exported CMakeLists.txt gives to law.c."""
    found = re.search(r'law\.c PROPERTIES COMPILE_OPTIONS\s+"([^"]+)"', (module / "CMakeLists.txt").read_text())
    assert found, "law.c has no options of its own"
    return found[1].split(";")


def sources(module: Path) -> list[str]:
    listed = re.findall(r"^\s+(\S+\.(?:cpp|c))$", (module / "CMakeLists.txt").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in module.glob("*.c*")), "every source is built"
    return listed


def compiled(module: Path, name: str, folder: Path, target: Sequence[str] = SITL, options: Sequence[str] = ()) -> Path:
    """A source of the module as PX4 compiles it; AssertionError with the compiler's words."""
    prefix = "arm-none-eabi-" if target == BOARD else ""
    compiler, flags = ("gcc", C_ONLY) if name.endswith(".c") else ("g++", CPP_ONLY)
    paths = ("-include", f"{HEADERS}/visibility.h", f"-I{folder}", f"-I{HEADERS}", f"-I{module}")
    made = folder / f"{name}.o"
    named = ('-DMODULE_NAME="aeroloop_law"', "-c", str(module / name))
    run([prefix + compiler, *COMMON, *target, *flags, *options, *paths, *named, "-o", str(made)])
    return made


def objects(exported: Path, folder: Path, target: Sequence[str] = SITL) -> list[Path]:
    module = exported / MODULE
    folder.mkdir(parents=True, exist_ok=True)
    topic_headers(folder)
    options = {"law.c": law_options(module)}
    return [compiled(module, name, folder, target, options.get(name, ())) for name in sources(module)]


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def built(exported: Path, folder: Path) -> Path:
    """The module with bus and all, as a library."""
    made, library = objects(exported, folder), folder / "px4.so"
    flags = ("-std=gnu++14", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wl,-z,defs")
    paths = ("-include", f"{HEADERS}/visibility.h", f"-I{folder}", f"-I{HEADERS}")
    run(["g++", *flags, *paths, f"{HEADERS}/bus.cpp", *map(str, made), "-lm", "-o", str(library)])
    return library


def parameters(exported: Path) -> dict[str, tuple[bool, float]]:
    """Name -> (whether it is a float, default), of module.yaml."""
    (group,) = yaml.safe_load((exported / MODULE / "module.yaml").read_text())["parameters"]
    return {name: (row["type"] == "float", float(row["default"])) for name, row in group["definitions"].items()}


class Bus:
    """PX4 with the module in it, and with the parameters of its module.yaml."""

    def __init__(self, library: Path, exported: Path) -> None:
        with tempfile.NamedTemporaryFile(suffix=".so") as own:  # its variables are this bus's alone
            shutil.copyfile(library, own.name)
            self._c = ctypes.CDLL(own.name)
        for text in ("bench_said", "bench_told", "bench_started"):
            getattr(self._c, text).restype = ctypes.c_char_p
        self._c.bench_parameter.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_double]
        self._c.bench_time.argtypes = [ctypes.c_uint64]
        for topic in TOPICS:
            assert self._c.bench_size(INDEX[topic.name]) == ctypes.sizeof(MESSAGES[topic.name]), topic.name
        self.parameters = parameters(exported)
        for name, (_, default) in self.parameters.items():
            self.set(name, default)
        self._time_us = 0

    @property
    def time_us(self) -> int:
        return self._time_us

    @time_us.setter
    def time_us(self, value: int) -> None:
        self._time_us = value
        self._c.bench_time(value)

    def set(self, name: str, value: float) -> None:
        self._c.bench_parameter(name.encode(), int(self.parameters[name][0]), value)

    def put(self, topic: str, **fields: Any) -> None:
        """Publish; fields that are not named are zero."""
        message = MESSAGES[topic]()
        message.timestamp = self._time_us
        for name, value in fields.items():
            if isinstance(value, (tuple, list)):
                getattr(message, name)[:] = value
            else:
                setattr(message, name, value)
        self._c.bench_put(INDEX[topic], ctypes.byref(message))

    def get(self, topic: str) -> Any:
        """The newest message."""
        message = MESSAGES[topic]()
        self._c.bench_get(INDEX[topic], ctypes.byref(message))
        return message

    def count(self, topic: str) -> int:
        """How often it was published."""
        return int(self._c.bench_get(INDEX[topic], ctypes.byref(MESSAGES[topic]())))

    def advertise(self, topic: str, *, advertised: bool) -> None:
        self._c.bench_advertise(INDEX[topic], int(advertised))

    def advertised(self, topic: str) -> bool:
        return bool(self._c.bench_advertised(INDEX[topic]))

    def command(self, word: str) -> int:
        """`aeroloop_law WORD` in PX4's console."""
        return int(self._c.bench_command(word.encode()))

    @property
    def said(self) -> str:
        return str(self._c.bench_said().decode())

    @property
    def told(self) -> str:
        """To the ground station."""
        return str(self._c.bench_told().decode())

    @property
    def started(self) -> list[str]:
        """Commands to PX4's own modules."""
        return list(self._c.bench_started().decode().splitlines())


class SilLaw:
    """The law's C as it is generated for our own boards: single precision, compiled with our own flags."""

    def __init__(self, exported: Path, folder: Path) -> None:
        library = folder / "sil.so"
        run(["gcc", *FLAGS, "-fPIC", "-shared", str(exported / MODULE / "law.c"), "-lm", "-o", str(library)])
        self._run = ctypes.CDLL(str(library)).law_run
        header = (exported / MODULE / "law.h").read_text()
        sizes = {name: int(size) for name, size in re.findall(r"#define LAW_(\w+) (\d+)\n", header)}
        floats = [default for is_float, default in parameters(exported).values() if is_float]
        self.gains = (ctypes.c_float * sizes["GAINS"])(*floats)
        self.memory = (ctypes.c_float * sizes["MEMORY"])()
        self._motors, self._attitude = (ctypes.c_float * sizes["MOTORS"])(), (ctypes.c_float * 4)()
        self._unclipped = (ctypes.c_float * 1)()

    def __call__(self, nav: Sequence[float], setpoint: Sequence[float]) -> list[float]:
        rows = (ctypes.c_float * len(nav))(*nav), (ctypes.c_float * len(setpoint))(*setpoint)
        self._run(*rows, self.memory, self.gains, self._motors, self._attitude, self.memory, self._unclipped)
        return [min(max(value, 0.0), 1.0) for value in self._motors]

    def restart(self) -> None:
        ctypes.memset(self.memory, 0, ctypes.sizeof(self.memory))
