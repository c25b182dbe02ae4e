"""docs/papers.md: every figure and table of the papers has a row, every row a command that exists, commands without a
flight run, and the numbers of the rows marked as checked come out."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from aeroloop.analysis.family import metrics_of
from aeroloop.api import flying, scenarios
from aeroloop.campaign import sync_table
from aeroloop.campaign.plants import PLANTS, selected
from aeroloop.cli.app import app
from aeroloop.core.fleet import Plan
from aeroloop.core.scenario import Scenario
from aeroloop.flight.inline import fly_inline
from benchmarks.__main__ import BENCHMARKS
from tools import paper_numbers

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "papers.md"
COLUMNS = 6
CODE = re.compile(r"`([^`]+)`")
NUMBER = re.compile(r"(\w+) = (-?\d+(?:\.(\d+))?)")
TOOLS = "python -m tools.paper_numbers "
SOON = ("list", "doctor", "trajectory", "import", "export")
BUILDS = ("board build", "board build fixedwing-loiter")
"""Commands of aeroloop that take a second or two and end by themselves; that of `quad-law-path` compiles for 13 s."""
YES, SOAK = "yes", "soak"
"""Last cell of a row whose numbers `make test`, or because its flight is long `make soak`, compares."""
PARTS = re.compile(r"(Fig\.|Tables?) ((?:\d[\d.]*[ab]?(?:, | and | to )?)+)")


def numbered(chapter: str, last: int) -> set[str]:
    return {f"{chapter}{number}" for number in range(1, last + 1)}


WHOLE = {
    "The tilt-rotor": (numbered("", 14), {"1"}),
    "The quadrotor": (
        numbered("2.", 13) | numbered("3.", 18) | numbered("4.", 11) | numbered("5.", 10) | numbered("6.", 13),
        {"2.1", *numbered("3.", 5), "4.1", "4.2", "6.1"},
    ),
    "The fixed wing": (numbered("", 11), {"1"}),
    "The Pixhawk": (numbered("", 15), {"1", "2", "3"}),
}
"""Figures and tables of each work, by the beginning of its heading."""


@dataclass(frozen=True)
class Row:
    paper: str
    what: str
    command: str
    cells: tuple[str, ...]
    checked: str

    @property
    def numbers(self) -> list[re.Match[str]]:
        return [found for cell in self.cells for code in CODE.findall(cell) if (found := NUMBER.fullmatch(code))]


def rows() -> list[Row]:
    found: list[Row] = []
    for section in re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        title = section.partition(":")[0].partition("\n")[0]
        lines = [line for line in section.splitlines() if line.startswith("|")]
        if title in WHOLE:
            found += [_row(title, line) for line in lines[2:]]  # after heading and rule
    return found


def _row(paper: str, line: str) -> Row:
    cells = tuple(cell.strip() for cell in line.strip("|").split("|"))
    assert len(cells) == COLUMNS, f"expected {COLUMNS} cells: {line}"
    commands = CODE.findall(cells[1])
    assert len(commands) == 1 and cells[1] == f"`{commands[0]}`", f"expected one command: {line}"
    assert cells[5] in ("", YES, SOAK), line
    return Row(paper, cells[0], commands[0], cells[2:5], cells[5])


def _all_commands() -> list[str]:
    """Those of the rows, and whatever else the page says to run."""
    said = [code for code in CODE.findall(PAGE.read_text("utf-8")) if code.startswith("aeroloop ")]
    return sorted({*said, *(row.command for row in rows())})


@pytest.mark.parametrize("paper", WHOLE)
def test_every_figure_and_table_has_a_row(paper: str) -> None:
    told: dict[str, set[str]] = {"Fig.": set(), "Table": set()}
    for row in rows():
        if row.paper == paper:
            for kind, numbers in PARTS.findall(row.what):
                told[kind.removesuffix("s")] |= _expanded(numbers)
    assert (told["Fig."], told["Table"]) == WHOLE[paper]


def _expanded(numbers: str) -> set[str]:
    """`4.1 to 4.4, 4.6 and 4.7` as a set."""
    found: set[str] = set()
    for part in re.split(r", | and ", numbers.rstrip(", ")):
        first, _, last = (word.rstrip(".ab") for word in part.partition(" to "))
        chapter, _, low = first.rpartition(".")
        high = last.rpartition(".")[2] or low
        found |= {f"{chapter}.{number}".lstrip(".") for number in range(int(low), int(high) + 1)}
    return found


@pytest.mark.parametrize("command", _all_commands())
def test_a_command_is_one_that_there_is(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    match shlex.split(command):
        case ["aeroloop", *words]:
            _parse(words)
        case ["python", "-m", "tools.paper_numbers", *names]:
            assert not names or names[0] in paper_numbers.NUMBERS
        case ["python" | "pytest", path]:
            assert (ROOT / path).is_file()
        case ["make", target, *arguments]:
            assert f"\n{target}:" in (ROOT / "Makefile").read_text("utf-8")
            assert {word.removeprefix("ARGS=") for word in arguments} <= set(BENCHMARKS)
        case ["arm-none-eabi-nm", "-S", "--size-sort", image]:
            assert Path(image).parent == Path("build/firmware")
            assert Path(image).stem in (ROOT / "firmware" / "Makefile").read_text("utf-8")
        case _:
            pytest.fail(f"unknown program: {command}")


def _parsed(words: list[str]) -> tuple[str, dict[str, Any]]:
    """The command's name and what it is given, by the command line's own parser; nothing runs."""
    command: Any = get_command(app)
    context = typer.Context(command)
    name = ""
    while hasattr(command, "get_command"):
        name, *words = words
        command = command.get_command(context, name)
        assert command is not None, f"no command {name}"
    given, rest, _ = command.make_parser(typer.Context(command)).parse_args(list(words))
    assert not rest
    missing = [each.name for each in command.params if each.required and not given.get(each.name)]
    assert not missing, f"required: {missing}"
    return name, given


def _parse(words: list[str]) -> None:
    name, given = _parsed(words)
    if name == "fly":
        _choose(given)
    elif name == "sync-table":
        names = [tuple(filter(None, given.get(key, "").split(","))) for key in ("laws", "disturbances")]
        assert selected((given["plant"],) if given.get("plant") else tuple(PLANTS), *names)
    elif name in ("build", "landings") and given.get("name"):
        scenarios.named(given["name"])
    elif name in ("import", "run"):
        assert (ROOT / given["file"]).is_file()


def _choose(given: dict[str, Any]) -> Plan:
    """The scenario with its keys and the rung; nothing is built."""
    options = {key: given.get(key) for key in ("loop", "link", "pace", "law", "view", "companion")}
    seed = int(given["seed"]) if given.get("seed") else None
    asked = scenarios.named(given["name"]).changed(tuple(given.get("overrides") or ()))
    return flying.verified(flying.choose(asked, **options, seed=seed, watched=bool(given.get("dash"))))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("fyl", "no command fyl"),
        ("fly", "required"),
        ("fly no-such-flight", "no-such-flight"),
        ("fly quad-hover --loops pil", "--loops"),
        ("fly quad-hover --set no.key=1", "no"),
        ("fly rrr-circle --loop lip", "lip"),
        ("sync-table --laws dip", "dip"),
    ],
)
def test_a_wrong_word_would_be_noticed(words: str, reason: str) -> None:
    with pytest.raises(Exception, match=reason):
        _parse(words.split())


def test_a_row_is_checked_if_and_only_if_it_has_numbers() -> None:
    assert [row.what for row in rows() if bool(row.checked) != bool(row.numbers)] == []


def test_the_same_command_is_checked_in_one_place() -> None:
    """Else a long flight would be flown in `make test` for another row."""
    places = {(row.command, row.checked) for row in rows() if row.checked}
    assert len(places) == len({command for command, _ in places})


def _soon() -> list[str]:
    said = (shlex.split(command) for command in _all_commands())
    ours = (words[1:] for words in said if words[0] == "aeroloop")
    return [shlex.join(words) for words in ours if words[0] in SOON or shlex.join(words) in BUILDS]


@pytest.mark.parametrize("command", _soon())
def test_a_command_without_a_flight_runs(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a checkout's root, whose files it reads and where it writes nothing here."""
    if command in BUILDS and shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("no arm-none-eabi-gcc, which builds firmware")
    monkeypatch.chdir(tmp_path)
    for folder in ("scenarios", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    done = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
    assert done.exit_code == 0 and done.output


@cache
def came_out(command: str) -> dict[str, float]:
    """The numbers of a command; flights of `aeroloop` without processes."""
    if command.startswith(TOOLS):
        return paper_numbers.NUMBERS[command.removeprefix(TOOLS)]()
    program, *words = shlex.split(command)
    if program == "python":
        return _correlations(words)
    name, given = _parsed(words)
    if name == "sync-table":
        return _synchronisation(given)
    assert (program, name) == ("aeroloop", "fly"), f"a checked row flies a scenario: {command}"
    plan = _choose(given)
    assert isinstance(plan, Scenario), f"a checked row flies one aircraft: {command}"
    (log,) = fly_inline(plan).logs
    return metrics_of(plan, log)


def _correlations(words: list[str]) -> dict[str, float]:
    """Of each signal as the paper's experiment prints them: with exact sensors, and by the printed formulas."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(ROOT / words[0]), *words[1:]]
        said = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    for name, exact, printed in re.findall(r"^(\w+) +[\d.]+ +(-?[\d.]+) +(-?[\d.]+)", said, flags=re.MULTILINE):
        found |= {name: float(exact), f"printed_{name}": float(printed)}
    return found


def _synchronisation(given: dict[str, Any]) -> dict[str, float]:
    """`DISTURBANCE_LAW_KEY`, as in the summary of a table of one plant."""
    laws, disturbances = (tuple(filter(None, (given.get(key) or "").split(","))) for key in ("laws", "disturbances"))
    judged = sync_table.fly(selected((given["plant"],), laws, disturbances))
    return {
        f"{cell.disturbance}_{cell.law.replace('-', '_')}_{key}": value
        for cell, numbers in judged.results.numbers.items()
        for key, value in numbers.items()
    }


def _checked(where: str) -> list[str]:
    return sorted({row.command for row in rows() if row.checked == where})


@pytest.mark.parametrize(
    "command", [*_checked(YES), *(pytest.param(command, marks=pytest.mark.soak) for command in _checked(SOAK))]
)
def test_the_numbers_of_a_checked_row_come_out(command: str) -> None:
    numbers = came_out(command)
    for row in rows():
        for printed in row.numbers if row.command == command else ():
            name, value, decimals = printed.groups()
            within = 0.5001 * 10.0 ** -len(decimals or "")
            assert numbers[name] == pytest.approx(float(value), rel=0, abs=within), f"{row.what}: {name}"


def test_the_tool_prints_its_numbers_and_refuses_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert paper_numbers.main(["tasks"]) == 0
    assert capsys.readouterr().out == "tasks = 13\nfirst = 11\nlast = 23\n"
    assert paper_numbers.main(["nothing"]) == 2


def test_pages_that_it_links_to_exist() -> None:
    links = re.findall(r"\]\(([^)#]+)", PAGE.read_text("utf-8"))
    assert len(links) > 10
    assert [link for link in links if not (PAGE.parent / link).exists()] == []
