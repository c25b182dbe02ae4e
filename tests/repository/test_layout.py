"""The floor plan that ARCHITECTURE.md describes: small modules, few constructor parameters, aircraft behind the tables.

`.importlinter` has the layers of the packages; here is what it cannot say.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE, FIRMWARE, TESTS = ROOT / "src", ROOT / "firmware", ROOT / "tests"
PACKAGE = SOURCE / "aeroloop"
SUFFIXES = (".py", ".c", ".h", ".cpp", ".hpp")
MOST_LINES = 500
MOST_PARAMETERS = 8
CONSTRUCTOR = re.compile(r"def __(?:init|new)__\(")
AIRCRAFT = ("aeroloop.families", "aeroloop.controllers")
BEHIND_TABLES = ("families", "controllers")
COMMANDS_OF_ONE = {
    "cli/board_commands.py": "aeroloop.controllers.law",  # serves and flashes the board with our law
    "cli/ground_commands.py": "aeroloop.controllers.law",  # references for that board
    "cli/px4_module_command.py": "aeroloop.controllers.px4",  # writes a law as a module of PX4
    "cli/replay_commands.py": "aeroloop.families.multirotor",  # `replay --vehicle`, see reflight
    # Fits and flies again what a multirotor's log tells, with its step as a function and the Pixhawk's loops.
    "reflight/": "aeroloop",
}
"""What is about one aircraft or controller by its purpose, and which: all others go through `core/tables.py`."""


def modules(folder: Path) -> list[Path]:
    """Sources, without what is built of them."""
    return sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES and "build" not in p.relative_to(folder).parts)


def too_long(folder: Path) -> list[str]:
    lines = {path: path.read_bytes().count(b"\n") for path in modules(folder)}
    return [f"{path.relative_to(folder)}: {count} lines" for path, count in lines.items() if count > MOST_LINES]


def too_many_parameters(folder: Path) -> list[str]:
    """Constructors that somebody wrote; structs and dataclasses have fields instead."""
    found = []
    for path in modules(folder):
        text = path.read_text("utf-8")
        if path.suffix != ".py":
            continue
        for start in CONSTRUCTOR.finditer(text):
            own = ast.parse(f"def f({signature(text, start.end())}): ...").body[0]
            assert isinstance(own, ast.FunctionDef)
            count = len([*own.args.posonlyargs, *own.args.args, *own.args.kwonlyargs]) - 1
            if count > MOST_PARAMETERS:
                line = text.count("\n", 0, start.start()) + 1
                found.append(f"{path.relative_to(folder)}:{line}: {count} parameters")
    return found


def signature(text: str, start: int) -> str:
    """What is between the parentheses of a function; to parse whole modules would take seconds."""
    end, depth = start, 1
    while depth:
        depth += (text[end] in "([{") - (text[end] in ")]}")
        end += 1
    return text[start : end - 1]


def of_aircraft(text: str) -> Iterator[str]:
    """The modules of families and controllers that a module imports, or names to import them."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            yield node.value


def past_the_tables(package: Path) -> list[str]:
    found = []
    for path in package.rglob("*.py"):
        name, text = path.relative_to(package).as_posix(), path.read_text("utf-8")
        if name.partition("/")[0] in BEHIND_TABLES or name == "core/tables.py":
            continue
        if not any(each in text for each in AIRCRAFT):
            continue
        own = next((module for start, module in COMMANDS_OF_ONE.items() if name.startswith(start)), None)
        for module in of_aircraft(text):
            if module.startswith(tuple(f"{each}." for each in AIRCRAFT)) and not (own and module.startswith(own)):
                found.append(f"{name}: {module}")
    return found


@pytest.mark.parametrize(
    "folder", [SOURCE, FIRMWARE, TESTS, ROOT / "benchmarks", ROOT / "tools"], ids=lambda folder: folder.name
)
def test_no_module_is_past_500_lines(folder: Path) -> None:
    assert len(modules(folder)) > 10
    assert too_long(folder) == []


def test_no_constructor_has_more_than_8_parameters() -> None:
    assert too_many_parameters(SOURCE) == []


def test_the_package_has_no_loose_modules() -> None:
    assert sorted(path.name for path in PACKAGE.iterdir() if path.is_file()) == ["__init__.py", "py.typed"]


def test_aircraft_and_controllers_are_reached_by_the_tables() -> None:
    assert past_the_tables(PACKAGE) == []
    assert all((PACKAGE / name).exists() for name in COMMANDS_OF_ONE), "an exception that nobody needs"


def test_what_breaks_these_rules_is_found(tmp_path: Path) -> None:
    parameters = ", ".join(f"p{n}" for n in range(9))
    (tmp_path / "many.py").write_text(f"class Many:\n    def __init__(self, {parameters}): ...\n")
    (tmp_path / "few.py").write_text("class Few:\n    def __init__(self, a, b, c, d, *, e, f, g, h): ...\n")
    (tmp_path / "long.c").write_text("\n" * 501)
    (tmp_path / "late.py").write_text("def f():\n    from aeroloop.families import tiltrotor\n    return tiltrotor\n")
    (tmp_path / "named.py").write_text('ROW = part("aeroloop.controllers.px4.row:ROW")\n')
    assert too_many_parameters(tmp_path) == ["many.py:2: 9 parameters"]
    assert too_long(tmp_path) == ["long.c: 501 lines"]
    assert sorted(past_the_tables(tmp_path)) == [
        "late.py: aeroloop.families.tiltrotor",
        "named.py: aeroloop.controllers.px4.row:ROW",
    ]
