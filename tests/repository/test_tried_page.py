"""docs/tried.md: every board and program that the documentation names is there, with what stood in for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tried.md"
HARDWARE = ("Discovery", "Pixhawk", "Raspberry Pi", "Kinect", "RealSense", "H200", "gamepad", "joystick")
PROGRAMS = (
    *("QGroundControl", "Mission Planner", "MAVSDK", "MAVProxy", "pymavlink", "pyulog"),
    *("PX4", "ArduPilot", "arducopter", "arduplane", "arducopter-heli"),
    *("FlightGear", "Foxglove", "PlotJuggler", "octovis", "ROS"),
    *("openocd", "st-flash", "QEMU", "FreeRTOS", "ray", "JSBSim", "GTSAM"),
)
NAMES = HARDWARE + PROGRAMS
ALIKE = {"joystick": "gamepad"}
"""Names under which the page has another."""
NOT_TRIED = re.compile(r"\b(?:never|not) +(?:yet +)?(?:been +)?tried\b", re.IGNORECASE)
BLOCKS = re.compile(r"\n\s*\n|\n(?=\|)")  # paragraphs, and rows of tables
UNTRIED = re.compile(r"## Never tried\n(.*?)\n## Tried\n(.*)", re.DOTALL)


def pages() -> dict[str, str]:
    files = [*(ROOT / "docs").glob("*.md"), *(ROOT / name / "README.md" for name in (".", "firmware", "benchmarks"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in files if path != PAGE}


def named(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def table(number: int) -> list[list[str]]:
    found = UNTRIED.search(PAGE.read_text("utf-8"))
    assert found, "the two tables"
    lines = [line for line in found[number].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]  # after heading and rule


@pytest.mark.parametrize("name", NAMES)
def test_what_the_documentation_names_is_on_the_page(name: str) -> None:
    where = [path for path, text in pages().items() if named(name, text)]
    assert where, f"no page names {name} any more"
    rows = [row[0] for number in (1, 2) for row in table(number)]
    assert any(named(ALIKE.get(name, name), row) for row in rows), f"{name} is named in {', '.join(where)}"


def test_every_row_says_what_stood_in_and_what_may_differ() -> None:
    assert [row for row in table(1) if len(row) != 3 or not all(row)] == []
    assert [row for row in table(2) if len(row) != 2 or not all(row)] == []
    assert len(table(1)) > 15


def test_what_a_page_says_was_not_tried_is_among_the_rows() -> None:
    """So a new sentence of that kind brings its program's name into this test, and with it a row."""
    for path, text in pages().items():
        for said in filter(NOT_TRIED.search, (" ".join(block.split()) for block in BLOCKS.split(text))):
            assert any(named(name, said) for name in NAMES), f"{path}: {said}"
