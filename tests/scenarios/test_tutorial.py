"""The tutorial's own blocks, run in order: files are written, commands give the exit codes and the lines it shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorial-law.md"
COMMAND = Path(sys.executable).with_name("aeroloop")
HOME = "/home/ada"
"""Where the tutorial's reader works."""
ON_A_BOARD = ("--loop pil", "runs/mine-pil", "aeroloop board ")
"""Commands with one of these need the firmware."""
FLASHERS = ("openocd", "st-flash")
LONGEST_S = 180


@dataclass
class Step:
    """A command of the tutorial, and the lines it shows after it; `...` stands for anything."""

    command: str
    shown: list[str] = field(default_factory=list)
    code: int = 0

    @property
    def needs_board(self) -> bool:
        return any(mark in self.command for mark in ON_A_BOARD)


def blocks() -> list[tuple[str, str]]:
    """Language and text of every fenced block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def steps_of(text: str) -> list[Step]:
    steps: list[Step] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line.removeprefix("$ ")))
        else:
            steps[-1].shown.append(line)
    for step, following in pairwise(steps):
        if following.command == "echo $?":
            step.code = int(following.shown[0])
    return [step for step in steps if step.command != "echo $?"]


def write_file(folder: Path, text: str) -> None:
    name = re.match(r"# (\w+\.py)\n", text)
    assert name, f"a block of Python begins with its file's name: {text[:40]}"
    (folder / name[1]).write_text(text, "utf-8")


def shows(output: str, lines: list[str]) -> bool:
    """The lines stand in the output in this order, blanks aside."""

    def words(text: str) -> str:
        return " ".join(text.split())

    pattern = [r".*".join(re.escape(words(part)) for part in line.split("...")) for line in lines if line != "..."]
    place = 0
    seen = [words(line) for line in output.splitlines()]
    for wanted in pattern:
        place = next((i + 1 for i in range(place, len(seen)) if re.fullmatch(wanted, seen[i])), -1)
        if place < 0:
            return False
    return True


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """A reader's folder with the examples in it, and an environment where `aeroloop` is on the path."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    runtime = Path(tempfile.mkdtemp(prefix="al-", dir="/tmp"))  # socket paths are short
    path = f"{COMMAND.parent}{os.pathsep}{os.environ['PATH']}"
    yield tmp_path, {**os.environ, "PATH": path, "XDG_RUNTIME_DIR": str(runtime)}
    shutil.rmtree(runtime)


def follow(home: tuple[Path, dict[str, str]], chosen: Callable[[Step], bool]) -> int:
    """Read the tutorial from its top and do what it says; how many commands that were."""
    folder, env = home
    count = 0
    for language, text in blocks():
        if language == "python":
            write_file(folder, text)
            continue
        assert language == "console", language
        for step in filter(chosen, steps_of(text)):
            # A file, not a pipe: a process left behind would hold a pipe open and hang the test.
            with tempfile.TemporaryFile("w+") as output:
                done = subprocess.run(
                    ["bash", "-c", step.command],
                    cwd=folder,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=LONGEST_S,
                    check=False,
                )
                output.seek(0)
                said = output.read().replace(str(folder), HOME)
            assert done.returncode == step.code, f"{step.command}\n{said}"
            assert shows(said, step.shown), f"{step.command}\nshows\n{step.shown}\nbut said\n{said}"
            count += 1
    return count


def of_other_aircraft(step: Step) -> bool:
    return "quad" in step.command or "wing" in step.command


@pytest.mark.soak  # short: tests/features flies these laws
def test_tutorial_of_the_tiltrotor_on_the_host(home: tuple[Path, dict[str, str]]) -> None:
    assert follow(home, lambda step: not step.needs_board and not of_other_aircraft(step)) == 7


@pytest.mark.soak  # short: tests/features flies these laws
def test_tutorial_of_the_others_on_the_host(home: tuple[Path, dict[str, str]]) -> None:
    assert follow(home, lambda step: not step.needs_board and of_other_aircraft(step)) == 2


@pytest.mark.soak  # short: tests/features flies these laws on the emulated board
def test_tutorial_on_the_emulated_board(home: tuple[Path, dict[str, str]]) -> None:
    """The board's part alone, and of the rest what it builds upon."""
    present = [tool for tool in FLASHERS if shutil.which(tool)]

    def chosen(step: Step) -> bool:
        if "board flash" in step.command and present:
            return False  # it would write to whatever board is plugged in
        return step.needs_board or "runs/mine-mil" in step.command.partition("--out")[2]

    assert follow(home, chosen) == (6 if present else 7)


@pytest.mark.parametrize(("shown", "example"), [("my_law.py", "lqr.py"), ("my_quad_law.py", "quad_lqr.py")])
def test_the_tutorials_law_is_the_example(shown: str, example: str) -> None:
    head = f"# {shown}\n"
    laws = [text for language, text in blocks() if language == "python" and text.startswith(head)]
    assert laws[-1].removeprefix(head) == (ROOT / "examples/laws" / example).read_text("utf-8")


def test_a_line_that_is_not_said_is_missed() -> None:
    said = "│ check │ value │\n│ diverged  │ 1  │ FAIL │\nfailed (diverged, 3 times)\n"
    assert shows(said, ["...", "│ diverged ... FAIL │", "failed (diverged, ... times)"])
    assert not shows(said, ["│ diverged ... pass │"])
    assert not shows(said, ["failed (diverged, ... times)", "│ diverged ... FAIL │"])
    assert not shows(said, ["failed (diverged"])
