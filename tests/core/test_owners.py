"""Whose a key is: the scenario's, the family's or the controller's; and which pairs of the last two there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aeroloop.controllers.law.request_tables import RequestTables
from aeroloop.controllers.pixhawk.tables import AutopilotTables
from aeroloop.core import scenario_files, tables
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import parts_of
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario import Common, ControllerTables, FamilyTables, narrowed, value_at, with_value
from aeroloop.core.tables import FAMILIES, MEMORY, Controller, Family, family, flown_by, part
from aeroloop.families.multirotor.scenario import MultirotorTables
from aeroloop.families.tiltrotor.scenario import TiltrotorTables

SPIRAL, HOVER = scenario_files.find("tiltrotor-spiral"), scenario_files.find("quad-hover")
PAIRS = [(kind, name) for kind in FAMILIES for name in family(kind).controllers]


class BoardTables(ControllerTables, frozen=True):
    world: int = 3
    mine: int = 4


BOARD = Controller(
    name="clash", tables=f"{__name__}:BoardTables", rungs={"mil": "loopback://"}, roles="", launch="", exchange=""
)


@pytest.mark.parametrize(("kind", "name"), PAIRS)
def test_each_key_of_a_pair_has_one_owner(kind: str, name: str) -> None:
    row = family(kind)
    aircraft, controller = part(row.tables), part(part(row.controllers[name]).tables)
    assert issubclass(aircraft, FamilyTables) and issubclass(controller, ControllerTables)
    keys = [key for owner in (Common, aircraft, controller) for key in owner.__struct_encode_fields__]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(("kind", "name"), PAIRS)
def test_a_controller_that_is_inline_in_lockstep_has_a_link_at_a_wall_pace(kind: str, name: str) -> None:
    row = part(family(kind).controllers[name])
    assert all(row.link(rung, lockstep=False) != MEMORY for rung in row.rungs)
    assert row.inline or all(row.link(rung, lockstep=True) != MEMORY for rung in row.rungs)


def test_a_key_with_two_owners_is_refused_when_the_pair_is_composed(monkeypatch: pytest.MonkeyPatch) -> None:
    row = family("tiltrotor")
    clash = Family(
        name="tiltrotor",
        tables=row.tables,
        streams=row.streams,
        vehicle=row.vehicle,
        controllers={"clash": f"{__name__}:BOARD"},
    )
    monkeypatch.setattr(scenario_files, "family", lambda kind: clash)
    with pytest.raises(ConfigError, match=r"^x: world: both tiltrotor and clash have a table of this name"):
        scenario_files.of_table({"name": "x"}, "x")


@pytest.mark.parametrize(
    ("path", "overrides", "words"),
    [
        (
            SPIRAL,
            ("controller.kind=nobody",),
            "controller.kind: no 'nobody' flies tiltrotor; expected one of: law (law: ",
        ),
        (
            SPIRAL,
            ("controller.kind=px4",),
            "controller.kind: no 'px4' flies tiltrotor; expected one of: law (law: mil, ",
        ),
        (
            HOVER,
            ("controller.kind=nobody",),
            "expected one of: pixhawk, px4, ardupilot, law, pose (pixhawk: mil, sil; px4: hil; ardupilot: hil; ",
        ),
        (
            HOVER,
            ("controller.kind=law",),
            "pilot: a table of controller pixhawk or px4 or ardupilot, and law flies here, expected",
        ),
        (
            HOVER,
            ("controller.kind=px4",),
            "loop: no px4 on mil flies this aircraft yet; expected hil (quadrotor has pix",
        ),
        (
            HOVER,
            ("controller.kind=pixhawk", "loop=hil"),
            "loop: no pixhawk on hil flies this aircraft yet; expected mil ",
        ),
        (
            HOVER,
            ("loop=pil",),
            "pilot: a table of controller pixhawk or px4 or ardupilot, and law flies here, expected",
        ),
        (HOVER, ("loop=zil",), "loop: invalid enum value 'zil', expected one of: "),
        (HOVER, ("controller.name=px4",), "controller.name: unknown key, expected one of: kind"),
        (HOVER, ("controller=px4",), "controller: expected `object`, got `str`"),
        (
            HOVER,
            ("control.law=dlqr",),
            "control: a table of controller law or pose, and pixhawk flies here, expected one of: ",
        ),
        (SPIRAL, ("pilot.source=external",), "pilot: unknown key, expected one of: name, summary, "),
    ],
)
def test_a_cell_or_key_that_does_not_exist_is_refused_in_one_sentence(
    path: Path, overrides: tuple[str, ...], words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        scenario_files.load(path, overrides)
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_an_unknown_key_names_those_of_all_owners() -> None:
    with pytest.raises(ConfigError) as caught:
        scenario_files.load(HOVER, ("colour=3",))
    known = str(caught.value).partition("expected one of: ")[2].split(", ")
    assert known == [
        *Common.__struct_encode_fields__,
        *MultirotorTables.__struct_fields__,
        *AutopilotTables.__struct_fields__,
    ]


@pytest.mark.parametrize(
    ("kind", "rung", "name"),
    [
        ("tiltrotor", "hil", "law"),
        ("quadrotor", "mil", "pixhawk"),
        ("quadrotor", "sil", "pixhawk"),
        ("quadrotor", "hil", "px4"),
        ("fixedwing", "pil", "law"),
    ],
)
def test_a_rung_has_a_controller_of_its_own(kind: str, rung: str, name: str) -> None:
    assert flown_by(family(kind), "", rung).name == name
    assert flown_by(family(kind), name, rung).name == name


def test_naming_the_usual_controller_changes_nothing_else() -> None:
    usual, named = scenario_files.load(HOVER), scenario_files.load(HOVER, ("controller.kind=pixhawk",))
    assert named.chosen.kind == "pixhawk"
    assert with_value(named, "controller.kind", "") == usual


@pytest.mark.parametrize("path", scenario_files.available(), ids=lambda path: path.stem)
def test_a_scenario_is_flat_in_its_file_and_loads_to_the_same(path: Path) -> None:
    for plan in parts_of(load_plan(path, ("seed=5",))):
        flat = plan.flat()
        assert {"aircraft", "controller_tables"}.isdisjoint(flat)
        assert flat["world"]["step_s"] == plan.aircraft.step_s
        assert scenario_files.of_table(flat, "again") == plan


def test_a_key_is_found_and_changed_wherever_its_owner_keeps_it() -> None:
    plan = scenario_files.load(SPIRAL)
    changes: dict[str, Any] = {"seed": 9, "link.url": "pty://", "world.bound_m": 50.0, "control.weights": "printed"}
    for key, value in changes.items():
        assert value_at(plan, key) != value
        assert value_at(with_value(plan, key, value), key) == value
    assert value_at(plan, "mission.height_m") is None


TWO_BOARDS = {
    "family.py": """
from aeroloop.core.tables import Family
ROW = Family(
    name="two_boards", tables="two_boards.scenario:Tables", streams="", vehicle="",
    controllers={"law": "two_boards.controller:HOST", "gains": "two_boards.controller:ROW"},
)
""",
    "scenario.py": """
from aeroloop.core.config import Config
from aeroloop.core.scenario import FamilyTables

class Vehicle(Config, frozen=True):
    kind: str

class World(Config, frozen=True):
    step_s: float = 0.01

class Tables(FamilyTables, frozen=True, kw_only=True):
    vehicle: Vehicle
    world: World = World()
""",
    "controller.py": """
from dataclasses import replace

from aeroloop.controllers.law.rows import VALUES
from aeroloop.core.config import Config
from aeroloop.core.scenario import ControllerTables
from aeroloop.core.tables import Controller

class Gains(Config, frozen=True):
    period_s: float = 0.02

class Tables(ControllerTables, frozen=True):
    gains: Gains = Gains()

def needs(scenario):
    multiple = scenario.controller.gains.period_s / scenario.aircraft.step_s
    return "" if multiple == round(multiple) else "gains.period_s: expected a multiple of world.step_s"

HOST = replace(VALUES, rungs={"mil": "loopback://"})
ROW = Controller(
    name="gains", tables="two_boards.controller:Tables", rungs={"mil": "pty://", "hil": ""}, roles="", launch="",
    exchange="", needs="two_boards.controller:needs",
)
""",
}


def test_a_family_may_have_two_controllers_on_a_rung_each_with_its_own_tables(tmp_path: Path) -> None:
    folder = tmp_path / "two_boards"
    folder.mkdir()
    for name, text in TWO_BOARDS.items():
        (folder / name).write_text(text)
    file = tmp_path / "x.toml"
    file.write_text('name = "x"\n[vehicle]\nkind = "./two_boards"\n')
    chosen = ("controller.kind=gains", "gains.period_s=0.03")
    usual, other = scenario_files.load(file), scenario_files.load(file, chosen)
    assert (usual.flown_by.name, usual.link_url) == ("law", "loopback://")
    assert (other.flown_by.name, other.link_url) == ("gains", "pty://")
    assert value_at(other, "gains.period_s") == 0.03 and value_at(usual, "gains") is None
    assert scenario_files.load(file, ("loop=hil",)).flown_by.name == "gains", "the first that has the rung"
    assert scenario_files.of_table(other.flat(), "again") == other
    with pytest.raises(
        ConfigError, match="gains: a table of controller gains, and law flies here, expected one of: name"
    ):
        scenario_files.load(file, chosen[1:])
    with pytest.raises(ConfigError, match=r"x\.toml with .*: gains\.period_s: expected a multiple of world\.step_s"):
        scenario_files.load(file, (*chosen, "world.step_s=0.02"))
    with pytest.raises(
        ConfigError, match=r"x\.toml with .*: two_boards\.controller:needs: .*line \d+: ZeroDivisionError"
    ):
        scenario_files.load(file, (*chosen, "world.step_s=0.0"))
    with pytest.raises(ValueError, match=r"gains\.period_s: expected a multiple"):
        with_value(other, "world.step_s", 0.02)


def test_only_those_who_know_both_owners_get_a_scenario_narrowed() -> None:
    plan = scenario_files.load(SPIRAL)
    assert narrowed(plan, TiltrotorTables, RequestTables) is plan
    assert narrowed(plan, MultirotorTables, RequestTables) is None
    assert narrowed(plan, TiltrotorTables, AutopilotTables) is None


def test_what_a_controller_asks_of_a_family_that_has_none_is_one_sentence() -> None:
    with pytest.raises(
        ConfigError, match=r'^tiltrotor: its row names no airframe; expected airframe="module:function"'
    ):
        tables.offered("tiltrotor", "airframe")
