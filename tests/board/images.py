"""The firmware images of `make -C firmware`, built once for all tests and processes."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from host_build import FIRMWARE, kept

from aeroloop.core.scenario_files import find
from aeroloop.families.tiltrotor.images import generate
from aeroloop.families.tiltrotor.scenario import load_tiltrotor

IMAGES = ("tiltrotor-lockstep-qemu", "tiltrotor-uart-qemu", "tiltrotor-uart-discovery", "preemption-qemu")
FILES = (*(f"{image}.elf" for image in IMAGES), "tiltrotor-uart-discovery.bin", "tiltrotor-uart-discovery.hex")
BUILD_S = 120


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "-C", str(FIRMWARE), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=BUILD_S, check=False)


def make_all(folder: Path) -> None:
    """Every image into `folder`, and into make.txt what was said."""
    generate(load_tiltrotor(find("tiltrotor-spiral"))).write(folder / "generated")
    done = make(f"BUILD={folder}", f"GENERATED={folder / 'generated'}")
    (folder / "make.txt").write_text(done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr


@cache
def images() -> Path:
    """The folder that holds them."""
    sources = sorted(
        path for path in FIRMWARE.rglob("*") if path.suffix in (".c", ".h", ".ld") or path.name == "Makefile"
    )
    generated = generate(load_tiltrotor(find("tiltrotor-spiral"))).files.values()
    return kept("images", [*(path.read_bytes() for path in sources), *(text.encode() for text in generated)], make_all)
