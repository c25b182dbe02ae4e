"""The table of families: rows by name and by folder, and what loading a scenario costs and keeps."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.tables import FAMILIES, family, part

GLIDER = """
from typing import Annotated, ClassVar
from aeroloop.core.config import Config, note
from aeroloop.core.scenario import Scenario

class Vehicle(Config, frozen=True):
    kind: Annotated[str, note("family of aircraft")]

class GliderScenario(Scenario, frozen=True, kw_only=True):
    FAMILY = "NAME"
    FILES: ClassVar[dict[str, str]] = {}
    vehicle: Vehicle

    @property
    def flown_at_least_s(self) -> float:
        return 0.0

    @property
    def link_url(self) -> str:
        return "loopback://"
"""
ROW = """
from aeroloop.core.tables import Family
ROW = Family(name="NAME", scenario="NAME.scenario:GliderScenario", streams="NAME.streams:STREAMS")
"""


def folder_of_a_family(parent: Path, name: str) -> Path:
    """A family of a test's own; modules are imported by the folder's name, so each test takes another."""
    folder = parent / name
    folder.mkdir()
    (folder / "scenario.py").write_text(GLIDER.replace("NAME", name))
    (folder / "family.py").write_text(ROW.replace("NAME", name))
    return folder


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_row_is_called_as_its_scenario_says(kind: str) -> None:
    row = family(kind)
    assert row.name == kind == part(row.scenario).FAMILY


def test_a_folder_is_found_from_the_scenario_file_and_stays_absolute(tmp_path: Path) -> None:
    folder = folder_of_a_family(tmp_path, "glider_in_a_file")
    (tmp_path / "x.toml").write_text('name = "x"\n[vehicle]\nkind = "./glider_in_a_file"\n')
    plan = scenario_files.load(tmp_path / "x.toml")
    assert plan.FAMILY == "glider_in_a_file"
    assert plan.kind == str(folder.resolve())
    assert family(plan.kind).name == plan.FAMILY


def test_a_folder_after_set_is_found_from_where_it_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    folder = folder_of_a_family(here, "glider_typed")
    (there / "x.toml").write_text('name = "x"\n')
    monkeypatch.chdir(here)
    assert scenario_files.load(there / "x.toml", ("vehicle.kind=./glider_typed",)).kind == str(folder.resolve())


def test_a_folder_without_a_row_is_refused_with_the_files_name(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('name = "x"\n[vehicle]\nkind = "./nothing"\n')
    with pytest.raises(ConfigError, match=r"x\.toml: vehicle\.kind: .*nothing: expected a folder with family\.py"):
        scenario_files.load(tmp_path / "x.toml")


def test_an_unknown_family_names_those_that_exist(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('name = "x"\n[vehicle]\nkind = "zeppelin"\n')
    with pytest.raises(ConfigError, match="unknown 'zeppelin', expected one of: tiltrotor, quadrotor, fixedwing; or a"):
        scenario_files.load(tmp_path / "x.toml")


def test_a_name_of_the_table_is_taken(tmp_path: Path) -> None:
    folder = folder_of_a_family(tmp_path, "quadrotor")
    with pytest.raises(ConfigError, match="the name quadrotor is taken"):
        family(str(folder))


def test_summaries_of_scenarios_are_read_without_their_families() -> None:
    """What `aeroloop list` says of each must not cost the import of what flies it."""
    code = (
        "import sys\n"
        "from aeroloop.core import scenario_files\n"
        "assert all(scenario_files.summary(path) for path in scenario_files.available())\n"
        "print(*(name for name in sys.modules if name.startswith('aeroloop.families')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.split()


def test_a_scenario_whose_folder_is_gone_says_so(tmp_path: Path) -> None:
    folder = folder_of_a_family(tmp_path, "glider_that_went")
    (tmp_path / "x.toml").write_text('name = "x"\n[vehicle]\nkind = "./glider_that_went"\n')
    shutil.rmtree(folder)
    with pytest.raises(ConfigError, match="glider_that_went: expected a folder with"):
        scenario_files.load(tmp_path / "x.toml")
