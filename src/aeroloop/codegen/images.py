"""Builds firmware images from generated C, once, cached by content. A family defines what is generated."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aeroloop.codegen.run import host_compiler, run_tool
from aeroloop.core.errors import AeroloopError, ConfigError
from aeroloop.core.paths import FIRMWARE, cache_dir

SOURCES = ("**/*.c", "**/*.h", "**/*.ld", "**/*.S", "**/*.mk", "Makefile")
COMPILER, SIZE = "arm-none-eabi-gcc", "arm-none-eabi-size"
PACKAGES = "gcc-arm-none-eabi libnewlib-arm-none-eabi"
BUILD_TIMEOUT_S = 120
MESSENGERS = ("make", "collect2")
"""Programs that only report that another one failed."""
LONGEST_PERIOD_S = 0.065
"""The tick counts 16 bits of microseconds on the board, and 24 bits of the core's clock in the emulator."""


@dataclass(frozen=True)
class Generated:
    """The files that make the firmware fly one law, and their hash."""

    files: dict[str, str]
    image_id: int

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")


def variants(image: str) -> tuple[str, str, str]:
    """Image variants of an application: for lockstep, for a serial link in the emulator, and on the Discovery board."""
    application = _application(image)
    return f"{application}-lockstep-qemu", f"{application}-uart-qemu", f"{application}-uart-discovery"


def _application(image: str) -> str:
    """An image is named APPLICATION-PORT-TARGET."""
    return image.rsplit("-", 2)[0]


def check_period(key: str, period_s: float) -> None:
    if period_s > LONGEST_PERIOD_S:
        raise ConfigError(
            f"{key}: expected at most {LONGEST_PERIOD_S} s, which is what the board's timer counts, not {period_s}"
        )


def floats(values: Iterable[float]) -> str:
    """Rounded to the board's precision, so that another machine's last bits do not change the image."""
    return "{ " + ", ".join(f"{np.float32(value):#.9g}f" for value in values) + " }"


def build_image(generated: Generated, image: str) -> Path:
    """The image's ELF file."""
    compiler = shutil.which(COMPILER)
    if compiler is None:
        raise ConfigError(
            f"the board's image needs {COMPILER}, which is not installed; install it: apt install {PACKAGES}"
        )
    return _built(generated, f"{image}.elf", compiler, [image])


def kept_image(generated: Generated, image: str) -> Path | None:
    """The image's ELF file if it was built before on this machine, by these sources; nothing is built."""
    compiler = shutil.which(COMPILER)
    if compiler is None or not FIRMWARE.is_dir():
        return None
    found = cache_dir() / "images" / _key(compiler, generated) / f"{image}.elf"
    return found if found.is_file() else None


def build_program(generated: Generated, image: str) -> Path:
    """The application of an image as a program of this host; each kind has a makefile in `firmware/host`."""
    application, compiler = _application(image), host_compiler()
    name, makefile = f"{application}.host", f"host/{application.partition('-')[0]}.mk"
    return _built(generated, name, compiler, ["-f", makefile, f"HOST_CC={compiler}", name])


def _built(generated: Generated, file: str, compiler: str, make: list[str]) -> Path:
    """The file that make builds; the folder's name is a hash of all inputs, so that it is never stale."""
    if not FIRMWARE.is_dir():
        raise ConfigError(f"{FIRMWARE}: no firmware sources there; install Aeroloop again")
    kept = cache_dir() / "images" / _key(compiler, generated)
    found = kept / file
    if not found.exists():
        try:
            kept.mkdir(parents=True, exist_ok=True)
            _make(generated, file, make, kept)
        except OSError as error:
            raise ConfigError(f"{kept}: the firmware image cannot be stored there: {error.strerror}") from None
    return found


def image_sizes(elf: Path) -> tuple[int, int]:
    """Flash and RAM of an image, in bytes."""
    done = subprocess.run([SIZE, str(elf)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AeroloopError(f"{elf}: its size cannot be read: {done.stderr.strip()}")
    text, data, bss = map(int, done.stdout.splitlines()[1].split()[:3])
    return text + data, data + bss


def _make(generated: Generated, file: str, make: list[str], kept: Path) -> None:
    # Built in a temporary folder, since make cannot handle a space in a path, the user's folders may have some, and an
    # installed package may be read-only; then copied and renamed, so that two flights at once never load half a file.
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir=kept) as whole:
        sources, made, built = (Path(folder) / name for name in ("firmware", "generated", "build"))
        shutil.copytree(FIRMWARE, sources, ignore=shutil.ignore_patterns("build"), copy_function=shutil.copyfile)
        generated.write(made)
        command = ["make", "-C", str(sources), f"GENERATED={made}", f"BUILD={built}", *make]
        try:
            done = run_tool(command, BUILD_TIMEOUT_S)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise AeroloopError(f"the firmware could not be built: {error}") from None
        if done.returncode != 0:
            raise AeroloopError(f"the firmware could not be built: {_first_error(done.stderr)}")
        for path in sorted(built.glob(f"{Path(file).stem}.*"), key=lambda path: path.name == file):
            copied = Path(shutil.copy(path, whole))
            copied.replace(kept / path.name)  # the file itself last: once it exists the others do too


def _first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    reasons = [line for line in lines if not line.startswith(MESSENGERS)] or lines
    return next((line for line in reasons if "error" in line.lower()), reasons[0] if reasons else "no reason")


def _key(compiler: str, generated: Generated) -> str:
    digest = hashlib.sha256(compiler.encode())
    try:
        version = subprocess.run([*shlex.split(compiler), "--version"], capture_output=True, check=False)
    except OSError as error:
        raise ConfigError(f"the C compiler {compiler} could not be run: {error}") from None
    digest.update(version.stdout)
    for pattern in SOURCES:
        for path in sorted(FIRMWARE.glob(pattern)):
            if "build" not in path.relative_to(FIRMWARE).parts:
                digest.update(str(path.relative_to(FIRMWARE)).encode() + b"\0" + path.read_bytes())
    for name, text in generated.files.items():
        digest.update(f"{name}\0{text}".encode())
    return digest.hexdigest()[:24]
