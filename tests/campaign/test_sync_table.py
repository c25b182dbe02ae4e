"""`aeroloop sync-table` on the bench: a short selection, and behind `make soak` both whole tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from aeroloop.campaign import flying, plants, sync_table
from aeroloop.campaign.ideal import IDEAL, moved
from aeroloop.campaign.plant import FULL, Cell
from aeroloop.campaign.plants import PLANTS, QUAD, RRR, cells, selected
from aeroloop.cli import app as cli
from aeroloop.cli.progress import LINE_PERIOD_S, CountedLines
from aeroloop.core.errors import ConfigError

EARLY = {"disturbance.start_s": 0.5, "synchronisation.evaluate_from_s": 0.3, "duration_s": 2.2}
SHORT = replace(RRR, every=EARLY, start_s=0.5, evaluate_from_s=0.3)
SELECTED = ("--plant", "rrr", "--laws", f"pid,{FULL}", "--disturbances", "load", "--workers", "1")


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, ["sync-table", *map(str, arguments)])


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Result, Path]]:
    """Four flights of 2.2 s."""
    folder = tmp_path_factory.mktemp("sync") / "table"
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(PLANTS, "rrr", SHORT)
        yield run(*SELECTED, "--seed", "3", "--out", folder), folder


def test_the_command_flies_and_judges_the_robot(flown: tuple[Result, Path]) -> None:
    """Acceptance of the robot's load in short: four times less difference between the joints."""
    result, folder = flown
    assert result.exit_code == 0, result.output
    summary = json.loads((folder / "summary.json").read_text())
    checks = {check["name"]: check for check in summary["checks"]}
    assert checks[f"rrr load: sync, pid / {FULL}"]["value"] > 4.0
    assert checks["rrr load: angle, full / pid"]["ok"] and summary["ok"] and summary["seed"] == 3
    assert {cell["ended"] for cell in summary["cells"]} == {"completed"} and len(summary["cells"]) == 4
    assert "4 flights, 4 checks: passed" in result.output


def test_its_folder_holds_tables_and_report(flown: tuple[Result, Path]) -> None:
    _, folder = flown
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "rrr.csv", "summary.json", "tables.md"]
    assert len((folder / "rrr.csv").read_text().splitlines()) == 5
    assert "## Where it is not better" in (folder / "tables.md").read_text()
    assert 'id="not-better"' in (folder / "report.html").read_text()


def test_the_tables_are_written_again_from_the_summary(flown: tuple[Result, Path]) -> None:
    _, folder = flown
    before = (folder / "tables.md").read_text()
    (folder / "tables.md").unlink()
    again = run("--again", folder, "--json")
    assert again.exit_code == 0 and json.loads(again.stdout)["ok"]
    assert (folder / "tables.md").read_text() == before


def test_a_failed_check_is_exit_code_1(flown: tuple[Result, Path], tmp_path: Path) -> None:
    _, folder = flown
    summary = json.loads((folder / "summary.json").read_text())
    for cell in summary["cells"]:
        cell["numbers"]["sync"] = 1.0
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    result = run("--again", tmp_path)
    assert result.exit_code == 1 and "FAIL" in result.output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--plant", "hexa"), "--plant hexa: expected one of: rrr, quad, both"),
        (("--laws", "pdi"), "--laws pdi: unknown"),
        (("--plant", "quad", "--disturbances", "friction"), "--disturbances friction: unknown"),
        (("--out", "."), "exists already"),
        (("--again", "nowhere"), "expected a folder of sync-table"),
    ],
)
def test_bad_usage_is_one_sentence(arguments: tuple[str, ...], expected: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, ConfigError)
    assert expected in str(result.exception) and "\n" not in str(result.exception)


def test_progress_is_told_in_lines() -> None:
    told: list[str] = []
    times_s = iter((0.0, 1.0, LINE_PERIOD_S, LINE_PERIOD_S + 1.0))
    lines = CountedLines("sync-table", 9, "flights", told.append, lambda: next(times_s))
    for done in (1, 2, 3):
        lines(done, "rrr pid load")
    assert told == ["sync-table: 2 of 9 flights, last rrr pid load"]


@pytest.mark.parametrize("plant", [RRR, QUAD])
def test_every_cell_is_a_scenario(plant: plants.Plant) -> None:
    """Each disturbance with one law, each law with one disturbance: what a scenario refuses, it refuses here."""
    chosen = {cell.disturbance: cell for cell in cells(plant)} | {cell.law: cell for cell in cells(plant)}
    for cell in chosen.values():
        plan = flying.plan_of(cell, 7)
        assert plan.seed == 7 and plan.checks == ()


def test_all_of_the_quadrotor_is_the_sum_of_its_parts() -> None:
    tables = flying.plan_of(Cell("quad", FULL, "all"), 1).aircraft
    assert tables.payload.mass_kg == 0.15 and tables.world.wind.gusts[0].amplitude_W == (4.0, 1.5, 0.0)
    assert [load.rotor for load in tables.motors.loads] == [4] and tables.sensors.tachometer.errors.white_std == 5.0


@pytest.mark.soak  # in short: `flown` above, and tests/families/test_rotor_drive.py for the kick of a weak motor
def test_both_tables_meet_the_acceptance_and_all_seven_statements_hold() -> None:
    judged = sync_table.fly(selected(("rrr", "quad")))
    assert [(check.name, check.value) for check in judged.every if not check.ok] == []
    assert [one.number for one in judged.statements] == [1, 2, 3, 4, 5, 6, 7]
    apart = moved(judged.results)
    # Of the robot only the chatter moves, and what noise draws; of the aircraft see docs/synchronisation.md.
    assert {(one.cell.disturbance, one.key) for one in apart if one.cell.plant == "rrr" and one.key != "chatter"} <= {
        ("noise", "max")
    }
    disturbed = [
        one for one in apart if one.cell.plant == "quad" and one.cell.disturbance in ("weak", "load", "payload")
    ]
    assert {one.key for one in disturbed} <= {"chatter", "kick"}
    assert len(IDEAL) > len({one.cell for one in apart})


@pytest.mark.soak  # in short: every flight above is in one process
def test_two_processes_give_the_numbers_of_one() -> None:
    chosen = cells(RRR, ("pid",), ("noise",))
    alone, shared = (flying.with_kicks(flying.fly_all(chosen, 5, workers=count)) for count in (1, 2))
    assert alone == shared
