"""The firmware images: they build without a warning, fit, repeat to the byte and hold nothing that they should not."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from images import FILES, IMAGES, images, make, make_all

from aeroloop.codegen.image_symbols import share
from aeroloop.codegen.images import Generated, build_image, image_sizes, kept_image
from aeroloop.core.errors import AeroloopError

FLASH_B, RAM_B = 1 << 20, 128 << 10
FLASH_AT, RAM_AT = 0x0800_0000, 0x2000_0000


def tool(name: str, *arguments: str) -> str:
    command = [f"arm-none-eabi-{name}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def sections(elf: Path) -> list[tuple[str, int, int]]:
    """Name, size and address of what lies in memory."""
    rows = (line.split() for line in tool("size", "-A", str(elf)).splitlines())
    found = [(row[0], int(row[1]), int(row[2])) for row in rows if len(row) == 3 and row[1].isdigit()]
    return [row for row in found if row[2] > 0]


def test_they_build_without_a_word_of_complaint() -> None:
    said = (images() / "make.txt").read_text()
    assert "warning" not in said.lower()
    assert [name for name in FILES if not (images() / name).stat().st_size] == []
    assert [image for image in IMAGES if not re.search(rf"^{image} +\d+ +[\d.]+ +\d+ +[\d.]+$", said, re.M)] == []


@pytest.mark.parametrize("image", IMAGES)
def test_half_of_the_part_is_left_for_a_law(image: str) -> None:
    parts = sections(images() / f"{image}.elf")
    flash = sum(size for name, size, at in parts if at < RAM_AT or name == ".data")
    ram = sum(size for _, size, at in parts if at >= RAM_AT)
    assert 0 < flash <= FLASH_B / 2
    assert 0 < ram <= RAM_B / 2
    assert all(FLASH_AT <= at < FLASH_AT + FLASH_B or RAM_AT <= at < RAM_AT + RAM_B for _, _, at in parts)


@pytest.mark.parametrize("limit", ["MOST_FLASH=4000", "MOST_RAM=4000"])
def test_an_image_that_is_too_large_fails_the_build(tmp_path: Path, limit: str) -> None:
    done = make(f"BUILD={tmp_path}", f"GENERATED={images() / 'generated'}", limit, "preemption-qemu")
    assert done.returncode != 0
    assert "preemption-qemu is too large" in done.stderr


def test_a_law_that_would_overflow_the_stack_fails_the_build(tmp_path: Path) -> None:
    generated = f"GENERATED={images() / 'generated'}"
    done = make(f"BUILD={tmp_path}", generated, "MOST_FRAME=8", "tiltrotor-lockstep-qemu")
    assert done.returncode != 0
    assert "law.c" in done.stderr and "frame size" in done.stderr


def test_another_folder_gives_the_same_bytes(tmp_path: Path) -> None:
    again = tmp_path / "somewhere" / "else"
    make_all(again)
    assert [name for name in FILES if (again / name).read_bytes() != (images() / name).read_bytes()] == []


@pytest.mark.parametrize("image", IMAGES)
def test_no_double_precision_and_no_heap(image: str) -> None:
    names = {line.split()[-1] for line in tool("nm", str(images() / f"{image}.elf")).splitlines()}
    assert {"kernel_dispatch", "start_reset"} <= names
    assert [name for name in names if re.search(r"__aeabi_(d\w+|\w+2d)$", name)] == []
    assert [name for name in names if re.search(r"malloc|calloc|realloc|^_?free|_sbrk", name)] == []


def test_without_the_compiler_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    done = make(f"BUILD={tmp_path}", f"GENERATED={tmp_path}", "CROSS=nowhere-")
    assert done.returncode != 0
    assert "apt install gcc-arm-none-eabi libnewlib-arm-none-eabi" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_the_set_up_it_says_how_to_get_it(tmp_path: Path) -> None:
    done = make(f"BUILD={tmp_path}", "PYTHON=/no/such/python")
    assert done.returncode != 0
    assert "run `make firmware` in the folder above" in done.stderr


@pytest.mark.parametrize("image", ["tiltrotor-lockstep-qemu", "preemption-qemu"])
def test_the_kernels_share_is_what_the_compilers_own_tools_say(image: str) -> None:
    elf = images() / f"{image}.elf"
    lines = (line.split() for line in tool("readelf", "-sW", str(elf)).splitlines())
    sizes = [int(line[2]) for line in lines if line[3:4] == ["FUNC"] and re.match("kernel_|account$", line[7])]
    found = share(elf, "kernel.c", "kernel_")
    assert (found.part_B, found.flash_B) == (sum(sizes), image_sizes(elf)[0])
    assert len(sizes) > 5 and 0.1 < found.pct < 30.0


def test_what_is_no_image_has_no_symbols(tmp_path: Path) -> None:
    for data in (b"", b"words", (images() / "preemption-qemu.elf").read_bytes()[:2000]):
        (tmp_path / "bad.elf").write_bytes(data)
        with pytest.raises(AeroloopError, match=r"bad\.elf: not an image with symbols"):
            share(tmp_path / "bad.elf", "kernel.c", "kernel_")


def test_an_image_is_at_hand_once_it_was_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    generated = images() / "generated"
    files = {path.name: path.read_text("utf-8") for path in generated.iterdir()}
    of_law = Generated(files, 1)
    assert kept_image(of_law, "preemption-qemu") is None and not list(tmp_path.rglob("*.elf"))
    built = build_image(of_law, "preemption-qemu")
    assert kept_image(of_law, "preemption-qemu") == built
    assert kept_image(Generated({**files, "more.h": ""}, 1), "preemption-qemu") is None
