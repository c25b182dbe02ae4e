"""ARCHITECTURE.md and docs/internals/ are true: what they name exists, and the layers are those that are checked."""

from __future__ import annotations

import configparser
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "aeroloop"
GUIDE = ROOT / "ARCHITECTURE.md"
PAGES = (GUIDE, *sorted((ROOT / "docs" / "internals").glob("*.md")))
LARGEST_B = 28_000
FOLDERS = (ROOT, PACKAGE, ROOT / "tests")
ENDINGS = ("c", "cpp", "csv", "db", "h", "json", "lock", "md", "mk", "py", "sh", "toml", "txt", "xml", "yml")
WRITTEN = {
    "campaign.db",
    "config.h",
    "image.h",
    "interface.h",
    "law.c",
    "scenario.toml",
    "summary.json",
    "streams.json",
}
"""Files that are generated, or written by a flight."""
CODE = re.compile(r"`([^`\n]+)`")
FILE = re.compile(rf"(?:[\w.*-]+/)*[\w.*-]+\.(?:{'|'.join(ENDINGS)})")
FOLDER = re.compile(r"(?:[\w-]+/)+")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
EXAMPLES = {"path/to/folder", "./folder", "FOLDER.module"}


@cache
def sources() -> dict[Path, str]:
    return {path: path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}


@cache
def file_names() -> frozenset[str]:
    found = (path.name for each in ("src", "firmware", "tools", "tests") for path in (ROOT / each).rglob("*.*"))
    return frozenset((*found, *(path.name for path in ROOT.iterdir())))


@cache
def keys() -> frozenset[str]:
    """Keys of scenario files; a table is a key of the table that holds it."""
    text = (ROOT / "docs" / "scenario.md").read_text("utf-8")
    return frozenset(re.findall(r"^\| `([a-z_0-9]+)` \|", text, re.M))


def file_exists(name: str) -> bool:
    if "/" not in name and "*" not in name:
        return name in WRITTEN or name in file_names()
    return any(next(folder.glob(name), None) for folder in FOLDERS)


def defines(text: str, name: str) -> bool:
    return (
        re.search(rf"^\s*(?:def|class|async def) {name}\b|^\s*(?:self\.)?{name}(?:: | = |, )", text, re.M) is not None
    )


def dotted_exists(name: str) -> bool:
    """A module, something that a module defines, an attribute of a class, or a key of a scenario."""
    *parents, last = name.removeprefix("aeroloop.").split(".")
    place = PACKAGE.joinpath(*parents)
    if (place / last).is_dir() or (place / f"{last}.py").is_file() or (parents and {*parents, last} <= keys()):
        return True
    if not parents:
        return f'"{last}"' in sources()[PACKAGE / "__init__.py"]
    for path, text in sources().items():
        module = path.with_suffix("").relative_to(PACKAGE).parts
        of_module = module[-len(parents) :] == tuple(parents)
        of_class = parents[-1][:1].isupper() and re.search(rf"^class {parents[-1]}\b", text, re.M)
        if (of_module or of_class) and defines(text, last):
            return True
    return False


def missing(text: str) -> list[str]:
    """What a page names in code font that does not exist."""
    found = []
    for code in dict.fromkeys(CODE.findall(text)):
        name = code.removesuffix("()")
        if name in EXAMPLES:
            continue
        if FILE.fullmatch(name):
            exists = file_exists(name)
        elif FOLDER.fullmatch(name):
            exists = any((folder / name).is_dir() for folder in FOLDERS)
        elif DOTTED.fullmatch(name):
            exists = dotted_exists(name)
        else:
            continue
        if not exists:
            found.append(code)
    return found


def targets(text: str) -> set[str]:
    return set(re.findall(r"(?:`|^    )make ([a-z-]+)", text, re.M))


def layers(text: str) -> list[str]:
    return [re.sub(r" {2,}.*", "", line.strip()) for line in text.splitlines() if line.strip()]


def test_its_size_is_bounded() -> None:
    assert len(GUIDE.read_bytes()) <= LARGEST_B


def test_its_layers_are_those_that_are_checked() -> None:
    checked = configparser.ConfigParser()
    checked.read(ROOT / ".importlinter")
    own = re.search(r"^    cli  .*?^    core  .*?$", GUIDE.read_text("utf-8"), re.M | re.S)
    assert own is not None
    assert layers(own[0]) == layers(checked["importlinter:contract:layers"]["layers"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_it_names_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    assert missing(text) == []
    made = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert targets(text) <= set(made)


def test_a_wrong_name_is_found() -> None:
    there = "`sim/loop.py`, `loop.py`, `families/*/build.py`, `sim.loop.run`, `Pace.until`, `vehicle.kind`, `sensors/`"
    text = """`sim/loops.py`, `loops.py`, `families/*/builds.py`, `sim.loop.fly`, `Pace.fly`, `vehicle.kinds`,
    `sensor/`, `aeroloop.flies`"""
    assert missing(there) == []
    assert missing(text) == [
        "sim/loops.py",
        "loops.py",
        "families/*/builds.py",
        "sim.loop.fly",
        "Pace.fly",
        "vehicle.kinds",
        "sensor/",
        "aeroloop.flies",
    ]
    assert targets("`make fly`, not to make sense\n    make test   x") == {"fly", "test"}
