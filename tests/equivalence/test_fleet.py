"""A fleet from a scenario file: in processes and inline, each aircraft flies as it flies alone, by hash."""

from __future__ import annotations

from pathlib import Path

import pytest

from aeroloop.analysis.fleet import logs, summarise_fleet
from aeroloop.analysis.fleet_compare import FleetRun, compare_fleets
from aeroloop.analysis.fleet_report import render_fleet
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Fleet
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario import with_value
from aeroloop.core.scenario_files import find
from aeroloop.flight import results
from aeroloop.flight.inline import fly_inline
from aeroloop.flight.processes.common import LAUNCH_FILE, read_launch_settings
from aeroloop.flight.supervisor import Flight
from aeroloop.recording.log import Log, log_sha256

FLOWN = {"ended": "completed", "wall_s": 1.0, "exit_code": 0, "error": None}
SHORT = ("duration_s=2.0", "checks=[]")


def plan(name: str, *overrides: str) -> Fleet:
    fleet = load_plan(find(name), (*SHORT, *overrides))
    assert isinstance(fleet, Fleet)
    return fleet


@pytest.fixture(scope="module")
def mixed() -> Fleet:
    return plan("mixed-fleet")


@pytest.fixture(scope="module")
def log(mixed: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Log:
    """Flown in processes."""
    folder = tmp_path_factory.mktemp("fleet") / "run"
    results.make_folder(folder, mixed)
    with Flight(mixed, folder) as flight:
        outcome = flight.fly(lambda flown_s: None)
    assert (outcome.ended, outcome.error) == ("completed", None)
    return results.read_log(folder, mixed)


def test_each_part_has_orders_of_its_own(mixed: Fleet, tmp_path: Path) -> None:
    with Flight(mixed, tmp_path / "run") as flight:
        orders = [read_launch_settings(Path(folder) / LAUNCH_FILE) for folder in flight.launch[0].parts]
    assert [own.prefix for own in orders] == ["tiltrotor/", "quadrotor/", "hexarotor/", "wing/"]
    assert [own.aircraft_before for own in orders] == [0, 1, 2, 3], "so each has a MAVLink system of its own"
    assert not any(own.folder_path.exists() for own in orders)
    noisy = plan("mixed-fleet", "aircraft[2].link.url='serial:///dev/none'")
    with pytest.raises(ConfigError, match=r"^aircraft\[2\].link.url: serial:///dev/none is a link to an external"):
        Flight(noisy, tmp_path / "run")


def test_each_aircraft_of_a_fleet_in_processes_has_the_rows_that_it_has_alone(mixed: Fleet, log: Log) -> None:
    alone = [log_sha256(fly_inline(part).logs[0]) for part in mixed.parts]
    assert [log_sha256(own) for own in logs(mixed, log)] == alone
    assert len(set(alone)) == len(mixed.parts)
    together = fly_inline(mixed)
    assert together.ended == "completed"
    assert [log_sha256(own) for own in together.logs] == alone


def test_the_log_keeps_the_streams_of_each_family_apart(log: Log) -> None:
    assert "tilt_right_rad" in log.columns["tiltrotor/truth"] and "alpha_rad" in log.columns["wing/truth"]
    assert log.columns["quadrotor/truth"] == log.columns["hexarotor/truth"]
    assert all(set(log.column(f"{part}/truth", "vehicle")) == {0.0} for part in ("tiltrotor", "quadrotor", "wing"))


def test_the_summary_has_each_aircraft_as_it_is_alone(mixed: Fleet, log: Log) -> None:
    summary = summarise_fleet(mixed, log, outcome=FLOWN)
    names = ["tiltrotor", "quadrotor", "hexarotor", "wing"]
    assert [own["name"] for own in summary["aircraft"]] == names
    assert [own["log_sha256"] for own in summary["aircraft"]] == [log_sha256(own) for own in logs(mixed, log)]
    assert summary["ok"] and summary["metrics"]["flown_s"] == summary["metrics"]["wing/flown_s"] == 2.0
    assert {check["name"].partition("/")[0] for check in summary["checks"]} == set(names)
    strict = plan("mixed-fleet", "aircraft[3].checks=[]", "checks=[{metric='flown_s', above=9.0, aircraft='wing'}]")
    failed = summarise_fleet(strict, log, outcome=FLOWN)
    assert (failed["exit_code"], [own["ok"] for own in failed["aircraft"]]) == (1, [True, True, True, False])


def test_the_report_has_a_group_of_sections_for_each_aircraft(mixed: Fleet, log: Log) -> None:
    two = Fleet(mixed.common, mixed.parts[:2])
    summary = summarise_fleet(two, log, outcome=FLOWN)
    html = render_fleet(two, log, summary)
    for own in summary["aircraft"]:
        name = own["name"]
        assert f'<h2 id="{name}-metrics">{name}: All metrics</h2>' in html
        assert html.count(f'id="{name}-trajectory"') == 1
        assert own["log_sha256"][:12] in html


def test_runs_of_fleets_are_compared_aircraft_by_aircraft(mixed: Fleet, log: Log) -> None:
    two = Fleet(mixed.common, mixed.parts[::3])
    run = FleetRun("one", two, log, summarise_fleet(two, log, outcome=FLOWN))
    comparison, html = compare_fleets([run, run])
    assert comparison["log_hashes_equal"]
    assert [own["name"] for own in comparison["aircraft"]] == ["tiltrotor", "wing"]
    assert all(own["differences"][0]["position_max_m"] == 0.0 for own in comparison["aircraft"])
    assert "wing: Differences to" in html


@pytest.mark.parametrize("rung", ["mil", "pil"])
def test_each_of_several_tiltrotors_has_its_board_and_its_random_streams(rung: str) -> None:
    several = plan("tiltrotor-noisy-link", "duration_s=0.5", "vehicle.count=2", f"loop={rung}")
    together = fly_inline(several)
    hashes = [log_sha256(own) for own in together.logs]
    assert hashes == [log_sha256(fly_inline(part).logs[0]) for part in several.parts]
    first, second = together.logs
    apart_m = second.column("truth", "x_m")[0] - first.column("truth", "x_m")[0]
    assert apart_m == pytest.approx(5.0)
    assert not (second.column("sensors", "x_m") - 5.0 == first.column("sensors", "x_m")).any()


def test_on_sil_too_each_aircraft_of_a_fleet_has_the_rows_that_it_has_alone() -> None:
    fleet = plan("mixed-fleet", "duration_s=0.2", 'loop="sil"')
    assert all(part.loop == "sil" for part in fleet.parts)
    hashes = [log_sha256(own) for own in fly_inline(fleet).logs]
    assert hashes == [log_sha256(fly_inline(part).logs[0]) for part in fleet.parts]
    assert len(set(hashes)) == len(fleet.parts)


def test_several_multirotors_have_a_board_each() -> None:
    several = plan("quad-law-hover", "duration_s=0.5", "vehicle.count=2")
    hashes = [log_sha256(own) for own in fly_inline(several).logs]
    assert hashes == [log_sha256(fly_inline(part).logs[0]) for part in several.parts]
    assert len(set(hashes)) == 2


def test_several_wings_fly_in_one_time() -> None:
    several = plan(
        "fixedwing-loiter",
        "duration_s=0.5",
        "vehicle.count=2",
        "mission.start_m=[-1500.0, 750.0]",
        "mission.goal_m=[3675.0, -3975.0]",
    )
    first, second = fly_inline(several).logs
    assert second.column("truth", "x_m")[0] - first.column("truth", "x_m")[0] == pytest.approx(500.0)
    assert log_sha256(first) == log_sha256(fly_inline(several.parts[0]).logs[0])


def test_at_a_wall_pace_a_part_that_is_over_leaves_with_its_board(tmp_path: Path) -> None:
    """Its board would go on asking a plant that does not answer any more, and log that."""
    early = plan("tiltrotor-spiral", "vehicle.count=2", 'pace="real"')
    first = with_value(early.parts[0], "duration_s", 0.5)
    early = Fleet(early.common, (first, early.parts[1]))
    results.make_folder(tmp_path / "run", early)
    with Flight(early, tmp_path / "run") as flight:
        outcome = flight.fly(lambda flown_s: None)
    assert (outcome.ended, outcome.error) == ("completed", None)
    left, other = logs(early, results.read_log(tmp_path / "run", early))
    assert left.column("truth", "t_s")[-1] == pytest.approx(0.5) and other.column("truth", "t_s")[-1] == 2.0
    ended = {name for name, child in flight._children.items() if child.left}
    assert ended == {"tiltrotor-spiral/board", "tiltrotor-spiral/ground"}


def test_who_left_its_bounds_is_said() -> None:
    tight = plan("tiltrotor-spiral", "vehicle.count=2", "vehicle.spacing_m=20.0", "world.bound_m=20.0")
    assert fly_inline(tight).ended == "diverged: tiltrotor-spiral-1"
