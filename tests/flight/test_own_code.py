"""Whatever is wrong in the code of a family outside the package is one sentence that names its file and line, or part.

Each case breaks one thing in a copy of the sled. Copies have names of their own, since modules are imported once.
"""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

import pytest

from aeroloop.analysis.checks import verify
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.flight.inline import fly_inline

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "aircraft" / "sled"
NUMBERS = count()


def broken_sled(parent: Path, file: str, old: str, new: str) -> Path:
    """The scenario file of a copy in which one piece of text is another."""
    name = f"sled_{next(NUMBERS)}"
    folder = parent / name
    folder.mkdir()
    for path in EXAMPLE.glob("*.py"):
        text = path.read_text()
        if path.name == file:
            assert old in text, f"{file} has no {old}"
            text = text.replace(old, new, 1)
        (folder / path.name).write_text(re.sub(r'(?<=from )sled(?=\.)|(?<=")sled(?=\.)', name, text))
    flight = parent / f"{name}.toml"
    flight.write_text(f'name = "sled"\nduration_s = 1.0\n[vehicle]\nkind = "./{name}"\n')
    return flight


def fly(flight: Path) -> None:
    """As `aeroloop fly` does, in one process."""
    plan = scenario_files.load(flight)
    verify(plan)
    fly_inline(plan)


def test_a_copy_that_is_whole_flies(tmp_path: Path) -> None:
    fly(broken_sled(tmp_path, "family.py", "ROW", "ROW"))


CASES = {
    "family file that raises": (
        "family.py",
        "ROW = Family(",
        "1 / 0\nROW = Family(",
        r"family\.py, line 8: ZeroDivisionError",
    ),
    "family file that is no Python": (
        "family.py",
        "ROW = Family(",
        "ROW = = Family(",
        r"family\.py, line 8: SyntaxError: invalid",
    ),
    "module that is no Python": (
        "law.py",
        "PERIOD_S = 0.02",
        "PERIOD_S = = 1",
        r"law\.py, line 8: SyntaxError: invalid",
    ),
    "module that is missing": (
        "family.py",
        '"sled.law:law"',
        '"sled.laws:law"',
        r"sled_\d+\.laws:law: ModuleNotFoundError",
    ),
    "name that is missing": ("family.py", '"sled.law:law"', '"sled.law:lawn"', r"sled_\d+\.law:lawn: AttributeError"),
    "law that raises": ("law.py", "STIFFNESS_N_m * error_m", "1 / 0 * error_m", r"law\.py, line 16: ZeroDivisionError"),
    "law that is none": (
        "law.py",
        "    return BoardLaw(",
        "    return 3\n    BoardLaw(",
        r"law:law: expected a control\.board_law\.BoardLaw, not int",
    ),
    "law of too many values": (
        "law.py",
        'ca.SX.sym("measured", 2)',
        'ca.SX.sym("measured", 3)',
        r"law:law: the law has 3 inputs and 1 commands; expected 2 and 1, those of this aircraft",
    ),
    "law of too many commands": (
        "law.py",
        "[push_N, integral]",
        "[ca.vertcat(push_N, 0), integral]",
        r"the law has 2 inputs and 2 commands; expected 2 and 1",
    ),
    "law of other shapes": (
        "law.py",
        "[push_N, integral]",
        "[push_N]",
        r"law sled_law: expected \(measured, memory\) -> \(command, memory\), not sled_law:",
    ),
    "law without a period": (
        "law.py",
        "integral]), PERIOD_S)",
        "integral]), 0.0)",
        r"law sled_law: expected a period of 0\.0001 s or more, not 0",
    ),
    "law with a symbol too many": (
        "law.py",
        "[push_N, integral])",
        '[push_N + ca.SX.sym("wind"), integral], {"allow_free": True})',
        r"law sled_law: uses wind, which is none of its inputs",
    ),
    "law that cannot become C": (
        "law.py",
        "    return BoardLaw(",
        "    held = ca.rootfinder('held', 'newton', {'x': memory, 'p': measured, 'g': memory - measured[0]})\n"
        "    m, k = ca.MX.sym('m', 2), ca.MX.sym('k', 1)\n"
        "    return BoardLaw(ca.Function('sled_law', [m, k], [held(k, m), k]), PERIOD_S)\n"
        "    BoardLaw(",
        r"law sled_law: calls 'held' \(\w+\), which cannot become C",
    ),
    "measurement that raises": (
        "build.py",
        "(state.pos_W[0], state.vel_W[0])",
        "(state.pos_W[0], state.vel_W[3])",
        r"build\.py, line \d+: IndexError",
    ),
    "law that CasADi refuses": ("law.py", "measured[1] +", "measured[5] +", r"law\.py, line 16: \w+Error: "),
    "tables that are no struct": (
        "family.py",
        "scenario:SledTables",
        "scenario:Annotated",
        "expected a struct derived from core.scenario.FamilyTables",
    ),
    "vehicle that raises": (
        "build.py",
        "    stages = Stages(",
        "    raise OSError('no rail')\n    stages = Stages(",
        r"build\.py, line \d+: OSError: no rail",
    ),
    "vehicle that is none": (
        "build.py",
        "    return Vehicle(",
        "    return str(",
        r"sled_\d+\.build:vehicle: .*TypeError",
    ),
    "vehicle of another type": (
        "build.py",
        "    stages = Stages(",
        "    return 3\n    stages = Stages(",
        r"build:vehicle: expected a sim\.vehicle\.Vehicle, not int",
    ),
    "streams that are none": (
        "streams.py",
        "STREAMS = (",
        "STREAMS = 3\nOTHERS = (",
        r"streams:STREAMS: expected a tuple of core\.stream\.Stream, not 3",
    ),
    "stream that is there twice": (
        "streams.py",
        'common("event"),',
        'common("event"), common("event"),',
        "expected each stream once, but event is listed 2 times",
    ),
    "stream that is missing": ("streams.py", 'common("pace"),', "", "expected the common streams pace too"),
    "stream of no such name": (
        "streams.py",
        'common("event")',
        'common("evnt")',
        r"streams\.py, line \d+: KeyError: 'evnt'",
    ),
    "rows of a stream it does not have": (
        "build.py",
        '_publish["effort"]',
        '_publish["push"]',
        r"build\.py, line \d+: KeyError: 'push'",
    ),
    "row of too few values": (
        "build.py",
        "*state.vel_W, *LEVEL",
        "*LEVEL",
        r"build\.py, line \d+: error: pack expected 14",
    ),
    "step that raises in flight": (
        "build.py",
        "        dt_s = dt_ns / NS",
        "        dt_s = [][self._x_m > 0.5]",
        r"build\.py, line \d+: IndexError: list index",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_wrong_is_one_sentence(case: str, tmp_path: Path) -> None:
    file, old, new, says = CASES[case]
    flight = broken_sled(tmp_path, file, old, new)
    with pytest.raises(ConfigError, match=says) as told:
        fly(flight)
    assert "\n" not in str(told.value)


def test_our_own_errors_are_not_blamed_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from aeroloop.sim.pace import Pace

    flight = broken_sled(tmp_path, "family.py", "ROW", "ROW")

    def late(*_: object) -> int:
        raise RuntimeError("ours")

    monkeypatch.setattr(Pace, "until", late)
    with pytest.raises(RuntimeError, match="ours"):
        fly(flight)
