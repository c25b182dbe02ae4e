"""Files with [[aircraft]]: each entry is a scenario as it stands alone; what is wrong is told by its key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aeroloop.analysis.fleet import verify
from aeroloop.core import fleet_files, scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.core.fleet import Fleet, Plan, parts_of, seed_of
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.tables import family, made
from aeroloop.flight import results
from aeroloop.flight.process_table import check_links, launch_settings, processes
from aeroloop.world.earth import Earth

TWO = """
name = "two"
duration_s = 3.0
seed = 5
[link]
start_timeout_s = 7.0
[[aircraft]]
[aircraft.vehicle]
kind = "quadrotor"
count = 2
[[aircraft]]
name = "wing"
seed = 9
scenario = "fixedwing-loiter"
[aircraft.mission]
linger_s = 4.0
"""


def fleet(folder: Path, text: str, *overrides: str) -> Fleet:
    path = folder / "fleet.toml"
    path.write_text(text)
    plan = load_plan(path, overrides)
    assert isinstance(plan, Fleet)
    return plan


def refused(folder: Path, text: str, *overrides: str) -> str:
    with pytest.raises(ConfigError) as error:
        fleet(folder, text, *overrides)
    words = str(error.value)
    assert words.startswith(str(folder / "fleet.toml"))
    return words.partition("fleet.toml")[2]


def test_the_later_of_file_top_and_entry_holds(tmp_path: Path) -> None:
    plan = fleet(tmp_path, TWO)
    quads, wing = plan.parts
    assert (plan.name, plan.seed, plan.duration_s, plan.loop) == ("two", 5, 3.0, "mil")
    assert (quads.name, quads.kind, quads.seed, quads.aircraft.count) == ("quadrotor", "quadrotor", 5, 2)
    assert (wing.name, wing.kind, wing.seed, wing.duration_s) == ("wing", "fixedwing", 9, 3.0)
    assert [part.link.start_timeout_s for part in plan.parts] == [7.0, 7.0]
    alone = scenario_files.load(scenario_files.find("fixedwing-loiter"))
    assert value_at(wing, "mission.command_at_s") == value_at(alone, "mission.command_at_s"), (
        "of the file it begins with"
    )
    assert value_at(wing, "mission.linger_s") == 4.0
    assert wing.checks == alone.checks


def test_a_table_of_another_kind_replaces_that_of_the_file_before(tmp_path: Path) -> None:
    text = 'name = "one"\n[[aircraft]]\nscenario = "quad-law-hover"\n[aircraft.ground.trajectory]\n'
    (circle,) = fleet(tmp_path, text + 'kind = "circle"\nradius_m = 4.0\n').parts
    (higher,) = fleet(tmp_path, text + "pos_W = [0.0, 0.0, 5.0]\n").parts
    assert value_at(circle, "ground.trajectory.radius_m") == 4.0
    assert value_at(higher, "ground.trajectory.pos_W") == (0.0, 0.0, 5.0)


def test_what_is_typed_holds_for_every_entry(tmp_path: Path) -> None:
    plan = fleet(tmp_path, TWO, "seed=7", "loop=sil", "checks=[]", "aircraft[1].mission.linger_s=5.5")
    assert [part.seed for part in plan.parts] == [7, 7]
    assert [part.loop for part in plan.parts] == ["sil", "sil"]
    assert [part.checks for part in plan.parts] == [(), ()]
    assert value_at(plan.parts[1], "mission.linger_s") == 5.5


def test_checks_at_the_top_are_for_every_aircraft_or_for_one(tmp_path: Path) -> None:
    text = TWO + '[[checks]]\nmetric = "diverged"\nequals = 0.0\n[[checks]]\nmetric = "flown_s"\nabove = 1.0\n'
    quads, wing = fleet(tmp_path, text + 'aircraft = "wing"\n').parts
    assert [check.metric for check in quads.checks] == ["diverged"]
    assert [check.metric for check in wing.checks][-2:] == ["diverged", "flown_s"]


def test_a_fault_at_the_top_is_planned_for_the_aircraft_that_it_names(tmp_path: Path) -> None:
    text = TWO + '[[faults]]\naircraft = "wing"\ntarget = "airspeed"\nkind = "silent"\nfrom_s = 1.0\n'
    quads, wing = fleet(tmp_path, text).parts
    assert (quads.faults, [fault.target for fault in wing.faults]) == ((), ["airspeed"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TWO + '[aircraft.vehicle]\nkind = "glider"', ": aircraft[1].vehicle.kind: unknown 'glider'"),
        (TWO + "[aircraft.world]\nstep = 1", ": aircraft[1].world.step: unknown key"),
        (TWO.replace("linger_s = 4.0", "linger_s = -1.0"), ": aircraft[1].mission.linger_s: expected `float` >= 0.0"),
        (TWO.replace('"fixedwing-loiter"', '"nowhere"'), ": aircraft[1].scenario: unknown scenario 'nowhere'"),
        (TWO.replace('"fixedwing-loiter"', '"fleet.toml"'), ": aircraft[1].scenario: fleet.toml is a fleet itself"),
        (TWO.replace('"wing"', '"quadrotor"'), ": aircraft[1].name: 'quadrotor' is the name of aircraft[0] too"),
        (TWO.replace("seed = 9", 'pace = "real"'), ": aircraft[1].pace: all aircraft share it"),
        (TWO.replace("seed = 9", 'loop = "xil"\nseed = 9'), ": aircraft[1].loop: "),
        (TWO + '[[checks]]\nmetric = "x"\nbelow = 1\naircraft = "kite"', ": checks[0].aircraft: unknown 'kite'"),
        ('name = "none"\naircraft = []', ": aircraft: expected at least one [[aircraft]] table"),
        (TWO + '[vehicle]\nkind = "quadrotor"', ": vehicle: not allowed beside [[aircraft]]; expected in an entry"),
    ],
)  # fmt: skip
def test_a_bad_entry_is_told_by_its_key(tmp_path: Path, text: str, words: str) -> None:
    said = refused(tmp_path, text)
    assert said.startswith(words), said
    assert "\n" not in said


def test_an_override_of_an_entry_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fleet.toml").write_text(TWO)
    with pytest.raises(ConfigError, match=r"aircraft\[2\]: there are 2; the first is aircraft\[0\]"):
        load_plan(tmp_path / "fleet.toml", ("aircraft[2].seed=1",))


def test_a_fleet_is_no_single_scenario(tmp_path: Path) -> None:
    (tmp_path / "fleet.toml").write_text(TWO)
    with pytest.raises(ConfigError, match=r"aircraft: a fleet of several; expected a file with one \[vehicle\]"):
        scenario_files.load(tmp_path / "fleet.toml")


def test_two_links_of_one_port_are_refused(tmp_path: Path) -> None:
    text = TWO.replace("count = 2", "").replace("start_timeout_s = 7.0", 'url = "tcp://127.0.0.1:5790"')
    plan = fleet(tmp_path, text)
    settings = [launch_settings(part, tmp_path / part.name) for part in plan.parts]
    with pytest.raises(
        ConfigError, match=r"aircraft\[1\].link.url: tcp://127.0.0.1:5790\S* is a link of aircraft\[0\]"
    ):
        check_links(settings)


def test_the_run_folder_holds_the_fleet_and_its_files(tmp_path: Path) -> None:
    (tmp_path / "way.csv").write_text("t_s,x_m,y_m,z_m\n0,0,0,2\n9,0,0,3\n")
    text = TWO + '[[aircraft]]\nname = "tilt"\n[aircraft.ground.trajectory]\nkind = "waypoints"\nfile = "way.csv"\n'
    plan = fleet(tmp_path, text)
    results.make_folder(tmp_path / "run", plan)
    again = load_plan(tmp_path / "run" / results.SCENARIO)
    copied = {key: str(tmp_path / "run" / "tilt-waypoints.csv") for key in plan.parts[2].files()}
    assert isinstance(again, Fleet)
    assert again.parts == (*plan.parts[:2], plan.parts[2].with_files(copied))
    assert again.flat() == Fleet(plan.common, again.parts).flat()
    results.discard(tmp_path / "run", plan)
    assert not (tmp_path / "run").exists()


def several(name: str, *overrides: str) -> Plan:
    return load_plan(scenario_files.find(name), ("vehicle.count=2", "vehicle.spacing_m=30.0", *overrides))


def test_a_count_of_tiltrotors_is_a_fleet_of_them() -> None:
    alone = scenario_files.load(scenario_files.find("tiltrotor-spiral"))
    first, second = parts_of(several("tiltrotor-spiral"))
    assert (first.name, second.name) == ("tiltrotor-spiral", "tiltrotor-spiral-1")
    assert (first.seed, second.seed) == (alone.seed, seed_of(alone.seed, 1)) and second.seed != alone.seed
    assert value_at(first, "ground.trajectory.start_W") == (2.0, 0.0, 0.5)
    assert value_at(second, "ground.trajectory.start_W") == (32.0, 0.0, 0.5)


def test_a_count_of_multirotors_is_one_part_for_autopilots_which_fly_several() -> None:
    swarm = several("quad-hover")
    assert parts_of(swarm) == (swarm,) and parts_of(swarm)[0].aircraft.count == 2


def test_a_multirotor_of_its_own_part_has_its_home_beside_the_first() -> None:
    (swarm,) = parts_of(several("quad-hover"))
    second = made(family(swarm.kind).each, swarm, 1)
    east_m, north_m, _ = Earth(value_at(swarm, "world.home")).pos_W(*home_of(second))
    assert (east_m, north_m) == pytest.approx((30.0, 0.0), abs=1e-3)
    assert second.seed == seed_of(swarm.seed, 1)


def home_of(scenario: Scenario) -> tuple[float, float, float]:
    home = value_at(scenario, "world.home")
    return home.lat_deg, home.lon_deg, home.alt_m


def test_several_are_refused_where_the_controller_flies_one_and_the_family_says_nothing_of_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without = replace(family("tiltrotor"), each="")
    monkeypatch.setattr(fleet_files, "family", lambda kind: without)
    with pytest.raises(ConfigError, match=r"vehicle.count: law flies one aircraft; expected 1, or each="):
        several("tiltrotor-spiral")


def test_faults_go_to_the_aircraft_that_they_are_meant_for() -> None:
    planned = "faults=[{target='rotor', kind='weak', value=0.9, channel='rotor_left', from_s=1.0, vehicle=%d}]"
    first, second = parts_of(several("tiltrotor-spiral", planned % 1))
    assert (first.faults, [fault.vehicle for fault in second.faults]) == ((), [0])
    with pytest.raises(ConfigError, match=r"faults\[0\].vehicle: there are 2 aircraft, the first is 0"):
        several("tiltrotor-spiral", planned % 2)


def test_a_count_of_wings_is_a_fleet_of_them() -> None:
    _, second = parts_of(several("fixedwing-loiter", "mission.start_m=[-1500.0, 750.0]"))
    assert value_at(second, "mission.start_m") == (-1470.0, 750.0)
    assert value_at(second, "mission.goal_m") is None, "drawn anew, from a seed of its own"


def test_each_part_has_processes_of_its_own(tmp_path: Path) -> None:
    plan = several("tiltrotor-spiral")
    names = {process.role.name: process.role.peers for process in processes(plan)}
    board = "tiltrotor-spiral-1/board"
    assert names["plant"] == tuple(f"{part.name}/{role}" for part in parts_of(plan) for role in ("board", "ground"))
    assert names[board] == ("plant", "tiltrotor-spiral-1/ground")


def test_the_example_of_the_documentation_can_be_flown(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "fleets.md").read_text()
    plan = fleet(tmp_path, text.partition("```toml\n")[2].partition("```")[0])
    verify(plan)
    assert [part.name for part in plan.parts] == ["quad-hover", "wing"]
    assert [part.duration_s for part in plan.parts] == [20.0, 30.0] and plan.loop == "mil+pil"
