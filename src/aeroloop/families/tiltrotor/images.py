"""Firmware images: a scenario's law and board settings -> generated C -> an image, built once and cached by content.

python -m aeroloop.families.tiltrotor.images FOLDER [SCENARIO]   writes the generated files for `make -C firmware`
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aeroloop.codegen.embedded import EmbeddedC, content_hash, embedded
from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.core.paths import cache_dir
from aeroloop.core.scenario_files import find
from aeroloop.core.signals import NS, WATCHDOG_PERIODS
from aeroloop.families.tiltrotor.design import Design, design, flight_law, parameter_file
from aeroloop.families.tiltrotor.scenario import Control, TiltrotorScenario, load_tiltrotor
from aeroloop.links.url import DEFAULT_BAUD
from aeroloop.protocols import interface
from aeroloop.protocols.plausible import Bounds
from aeroloop.protocols.reference import LATEST_MS, ReferenceBounds

FIRMWARE = Path(__file__).resolve().parents[4] / "firmware"
SOURCES = ("**/*.c", "**/*.h", "**/*.ld", "**/*.S", "Makefile")
COMPILER, SIZE = "arm-none-eabi-gcc", "arm-none-eabi-size"
PACKAGES = "gcc-arm-none-eabi libnewlib-arm-none-eabi"
BUILD_TIMEOUT_S = 120
MESSENGERS = ("make", "collect2")
"""Programs that only say that another one failed."""
LONGEST_PERIOD_S = 0.065
"""The tick counts 16 bits of microseconds on the board, and 24 bits of the core's clock in the emulator."""

LOCKSTEP, UART, DISCOVERY = "tiltrotor-lockstep-qemu", "tiltrotor-uart-qemu", "tiltrotor-uart-discovery"


@dataclass(frozen=True)
class Generated:
    """The files that make the firmware fly one law, and the number that stands for them."""

    files: dict[str, str]
    image_id: int

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")


def generate(scenario: TiltrotorScenario) -> Generated:
    if scenario.control.period_s > LONGEST_PERIOD_S:
        raise ConfigError(
            f"control.period_s: expected at most {LONGEST_PERIOD_S} s, which is what the board's timer counts, "
            f"not {scenario.control.period_s}"
        )
    plan = design(scenario.vehicle.parameters, scenario.control.weights, scenario.control.period_s)
    law = _law(scenario.control, plan)
    hover = tuple(plan.u_eq.tolist())
    config = config_header(scenario, hover, plan.safe_command(scenario.board.safe_thrust_ratio))
    image_id = content_hash(law.c, law.h, config)
    files = {
        "law.c": law.c,
        "law.h": law.h,
        "config.h": config,
        "interface.h": interface.c_header(),
        "image.h": f"#define IMAGE_ID 0x{image_id:08x}u\n",
    }
    return Generated(files, image_id)


def _law(control: Control, plan: Design) -> EmbeddedC:
    try:
        return embedded(flight_law(control, plan))
    except ConfigError as error:
        own = control.law_file  # a law that the host can fly may not fit single precision: say whose it is
        raise ConfigError(f"{own}: {error}" if own and own not in str(error) else str(error)) from None


def build(generated: Generated, image: str) -> Path:
    """The image's ELF file; its name says all that went into it, so that what is there is never stale."""
    if not FIRMWARE.is_dir():
        raise ConfigError(f"{FIRMWARE}: no firmware sources there; the board's image is built from a checkout")
    compiler = shutil.which(COMPILER)
    if compiler is None:
        raise ConfigError(f"the board's image needs {COMPILER}, and there is none; install it: apt install {PACKAGES}")
    key = _key(compiler, generated)
    kept = cache_dir() / "images" / key
    elf = kept / f"{image}.elf"
    if not elf.exists():
        try:
            kept.mkdir(parents=True, exist_ok=True)
            _make(generated, image, kept)
        except OSError as error:
            raise ConfigError(f"{kept}: the firmware image cannot be kept there: {error.strerror}") from None
    return elf


def sizes(elf: Path) -> tuple[int, int]:
    """Flash and RAM that an image needs, in bytes."""
    done = subprocess.run([SIZE, str(elf)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AeroloopError(f"{elf}: its size cannot be told: {done.stderr.strip()}")
    text, data, bss = map(int, done.stdout.splitlines()[1].split()[:3])
    return text + data, data + bss


def _make(generated: Generated, image: str, kept: Path) -> None:
    # Built aside, since make takes a space for the end of a path and the user's folders may have some; then copied and
    # renamed, so that two flights at once never load half a file.
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir=kept) as whole:
        made, built = Path(folder) / "generated", Path(folder) / "build"
        generated.write(made)
        command = ["make", "-C", str(FIRMWARE), f"GENERATED={made}", f"BUILD={built}", image]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise AeroloopError(f"the firmware could not be built: {error}") from None
        if done.returncode != 0:
            raise AeroloopError(f"the firmware could not be built: {_first_error(done.stderr)}")
        for path in sorted(built.glob(f"{image}.*"), key=lambda path: path.suffix == ".elf"):
            copied = Path(shutil.copy(path, whole))
            copied.replace(kept / path.name)  # the ELF file last: who finds it finds the others


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    reasons = [line for line in lines if not line.startswith(MESSENGERS)] or lines
    return next((line for line in reasons if "error" in line.lower()), reasons[0] if reasons else "no reason")


def _key(compiler: str, generated: Generated) -> str:
    digest = hashlib.sha256(compiler.encode())
    version = subprocess.run([compiler, "--version"], capture_output=True, check=False).stdout
    digest.update(version)
    for pattern in SOURCES:
        for path in sorted(FIRMWARE.glob(pattern)):
            if "build" not in path.relative_to(FIRMWARE).parts:
                digest.update(str(path.relative_to(FIRMWARE)).encode() + b"\0" + path.read_bytes())
    for name, text in generated.files.items():
        digest.update(f"{name}\0{text}".encode())
    return digest.hexdigest()[:24]


def config_header(scenario: TiltrotorScenario, hover: tuple[float, ...], safe: tuple[float, ...]) -> str:
    board = scenario.board
    lines = [
        "/* Generated from a scenario: what the firmware knows of aircraft and duties. SI units. */",
        "#ifndef CONFIG_H",
        "#define CONFIG_H",
        "",
        f"#define CONTROL_PERIOD_US {round(scenario.control.period_s * 1e6)}u",
        f"#define WATCHDOG_PERIODS {WATCHDOG_PERIODS}u",
        f"#define SENSOR_HOLD_NS {round(board.sensor_hold_s * NS)}ull",
        f"#define REFERENCE_TIMEOUT_NS {round(board.reference_timeout_s * NS)}ull",
        f"#define REFERENCE_LATEST_MS {LATEST_MS}u",
        f"#define LINE_BAUD {DEFAULT_BAUD}u",
        f"#define HOVER_COMMAND {floats(hover)}",
        f"#define SAFE_COMMAND {floats(safe)}",
        *_bounds("SENSOR", parameter_file().plausible.sensors),
        *_bounds("REFERENCE", ReferenceBounds()),
        "",
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def _bounds(name: str, bounds: Bounds) -> list[str]:
    rows = {"LOW": bounds.low, "HIGH": bounds.high, "STEP": bounds.step}
    wraps = sum(1 << index for index in bounds.wraps)
    return [
        *(f"#define {name}_{row} {floats(values)}" for row, values in rows.items()),
        f"#define {name}_WRAPS {wraps}u",
    ]


def floats(values: Iterable[float]) -> str:
    """Rounded to what the board keeps, so that another machine's last bits do not make another image."""
    return "{ " + ", ".join(f"{np.float32(value):#.9g}f" for value in values) + " }"


if __name__ == "__main__":
    generate(load_tiltrotor(find(sys.argv[2] if len(sys.argv) > 2 else "tiltrotor-spiral"))).write(Path(sys.argv[1]))
