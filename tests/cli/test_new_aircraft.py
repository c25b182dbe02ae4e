"""`aeroloop new`: what it writes loads and flies at once, and nothing that exists is touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from aeroloop.cli.app import app
from aeroloop.cli.new_aircraft import TEMPLATES
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.paths import EXAMPLES
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.process_table import launch_settings

FLIGHTS = {
    "multirotor": "mine/hover.toml",
    "fixedwing": "mine/loiter.toml",
    "family": "mine.toml",
    "examples": "mine/aircraft/octo-hover.toml",
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def new(*words: str) -> Result:
    return CliRunner().invoke(app, ["new", *words])


@pytest.mark.parametrize("kind", TEMPLATES)
def test_what_it_writes_can_be_flown(kind: str, tmp_path: Path) -> None:
    done = new(kind, "mine")
    assert done.exit_code == 0, done.output
    assert f"fly it: aeroloop fly {FLIGHTS[kind]}" in done.output
    plan = scenario_files.load(Path(FLIGHTS[kind]), ("duration_s=0.5",))
    launch_settings(plan, tmp_path)
    assert fly_inline(plan).ended == "completed"


def test_a_family_imports_its_own_modules_and_keeps_its_words() -> None:
    new("family", "my_rocket")
    for path in Path("my_rocket").glob("*.py"):
        assert "from sled" not in path.read_text() and '"sled.' not in path.read_text(), path
    assert "fly my_rocket.toml" in Path("my_rocket/family.py").read_text()
    assert scenario_files.load(Path("my_rocket.toml")).name == "my-rocket"


def test_examples_are_all_there() -> None:
    new("examples", "mine")
    for path in (path for path in EXAMPLES.rglob("*.*") if path.is_file() and path.suffix != ".pyc"):
        assert (Path("mine") / path.relative_to(EXAMPLES)).read_text() == path.read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("boat", "mine"), "new: unknown kind 'boat', expected one of: multirotor, fixedwing, family, examples"),
        (("multirotor", "My Quad"), "new My Quad: expected a name of small letters"),
        (
            ("family", "my-rocket"),
            "new my-rocket: a folder of Python modules, expected letters, digits and underscores",
        ),
        (("multirotor", "there"), "there: exists already, and is never overwritten"),
        (("family", "beside"), "beside.toml: exists already"),
        (("multirotor", "beside.toml/mine"), "beside.toml/mine/hover.toml: cannot be written"),
    ],
)
def test_what_it_cannot_write_is_one_sentence_and_nothing_is_touched(words: tuple[str, ...], says: str) -> None:
    Path("there").mkdir()
    Path("beside.toml").write_text("precious")
    before = sorted(Path().rglob("*"))
    done = new(*words)
    assert isinstance(done.exception, ConfigError) and str(done.exception).startswith(says)
    assert sorted(Path().rglob("*")) == before and Path("beside.toml").read_text() == "precious"
