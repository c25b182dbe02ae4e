"""Scenarios of the fixed wing: what they refuse, in which words, and the places that they draw."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aeroloop.analysis.checks import verify
from aeroloop.analysis.family import metric_names
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import offers
from aeroloop.core.fleet import Fleet
from aeroloop.core.fleet_files import load_plan
from aeroloop.core.scenario_files import available, find, load, of_table
from aeroloop.core.wing_signals import PlanStatus
from aeroloop.families.fixedwing import airframe, first_path
from aeroloop.families.fixedwing import images as wing_images
from aeroloop.families.fixedwing.first_path import check_first_path
from aeroloop.families.fixedwing.mission import check
from aeroloop.families.fixedwing.planning_map import ground_of, highest_in_cells, planner_of
from aeroloop.families.fixedwing.scenario import NEEDED, FixedWingScenario, FixedWingTables
from aeroloop.families.fixedwing.start_and_goal import StartAndGoal, blocked_cells, places, roomy_cells
from aeroloop.flight import process_table, results
from aeroloop.planning.cells import Cell
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.plan import Plan
from aeroloop.planning.planner import Planner
from aeroloop.world.elevation_map import ElevationMap

OURS = [path for path in available() if path.stem.startswith("fixedwing")]


def plan(table: dict[str, Any] | None = None) -> FixedWingScenario:
    whole = {"name": "test", **(table or {})}
    whole["vehicle"] = {"kind": "fixedwing", **whole.get("vehicle", {})}
    scenario = of_table(whole, "test.toml")
    assert isinstance(scenario.aircraft, FixedWingTables)
    return scenario


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_the_scenarios_that_ship_are_valid_and_check_what_there_is(path: Path) -> None:
    scenario = load(path)
    assert isinstance(scenario.aircraft, FixedWingTables)
    verify(scenario)
    assert places(scenario)
    if not scenario.flown_by.external:
        check(scenario)


def test_the_hierarchical_flight_promises_what_it_is_to_show() -> None:
    (path,) = (path for path in OURS if path.stem == "fixedwing-hierarchical")
    promised = {check.metric for check in load(path).checks}
    assert promised >= {
        "arrived",
        "over_blocked_cells",
        "outside_channel",
        "roll_max_deg",
        "cross_track_rms_m",
        "altitude_error_max_m",
    }


def test_every_shipped_flight_of_a_fixed_wing_checks_its_clearance() -> None:
    """By whichever controller, alone or in a fleet."""
    flown: dict[str, set[str]] = {}
    for path in available():
        plan = load_plan(path)
        for part in plan.parts if isinstance(plan, Fleet) else (plan,):
            if part.kind == "fixedwing":
                flown[f"{path.stem}/{part.name}"] = {check.metric for check in part.checks}
    assert len(flown) >= 7
    assert [name for name, checked in flown.items() if "clearance_min_m" not in checked] == []


def test_it_has_the_five_sensors_that_its_board_needs() -> None:
    aboard = plan().aircraft.aboard
    assert all(getattr(aboard, name) is not None for name in NEEDED)
    assert aboard.rangefinder is None


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"loop": "hil"}, "pace: a physical board has its own clock; fly hil with --pace real"),
        ({"sensors": {"fitted": ["imu", "gnss"]}}, "sensors.fitted: the board needs .*; magnetometer is missing"),
        ({"sensors": {"preset": "none"}}, "sensors.preset: unknown 'none'"),
        ({"world": {"home": {"alt_m": 100.0}}}, "world.home.alt_m: heights are above mean sea level"),
        ({"world": {"step_s": 0.003}}, "world.step_s: expected a part of the IMU's period"),
        ({"board": {"period_s": 0.0505}}, "board.period_s: expected whole milliseconds"),
        ({"board": {"slice_s": 0.0495}}, "board.slice_s: expected a slice that fits"),
        ({"mission": {"loiter_radius_m": 60.0}}, "mission.loiter_radius_m: at 20 m/s .* of at least 71 m"),
        ({"mission": {"height_m": 600.0}}, r"mission.height_m: .*planner.blocked_above_m \(600 m\)"),
        ({"mission": {"goal_m": [4750.0, 0.0]}}, "mission.goal_m: expected a position on the map with room"),
        ({"mission": {"start_m": [0.0, -5e6]}}, "mission.start_m: expected a position on the map"),
        ({"planner": {"resolution": {"radii_units": [8, 4]}}}, "radii_units: expected 3 radii, one for each level"),
        ({"planner": {"resolution": {"radii_units": [8, -4, 2]}}}, "radii_units"),
        ({"planner": {"safe_m": 700}}, "highest_m, 600, must be greater than safe_m, 700"),
        ({"mission": {"speed": 3}}, "mission.speed: unknown key, expected one of: start_m"),
        ({"world": {"terrain": {"kind": "moon"}}}, "world.terrain"),
    ],
)
def test_what_cannot_be_flown_is_refused_in_a_sentence(table: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        plan(table)


def test_places_are_those_of_the_scenario_where_it_has_them() -> None:
    start, goal = (-3375.0, 2175.0), (3975.0, -3975.0)
    assert places(plan({"mission": {"start_m": start, "goal_m": goal}})) == StartAndGoal(start, goal)
    drawn = places(plan({"mission": {"start_m": start}}))
    assert drawn.start_m == start
    assert math.dist(drawn.goal_m, start) >= 4500.0


@pytest.mark.parametrize("goal_m", [(-225.0, -675.0), (-225.0, -525.0)])
def test_a_goal_whose_circle_meets_a_hillside_is_refused(goal_m: tuple[float, float]) -> None:
    words = (
        f"mission.goal_m: the circle of 150 m around {goal_m[0]:g}, {goal_m[1]:g} leads over blocked cells, with ground"
    )
    for given in ({"goal_m": goal_m}, {"goal_m": goal_m, "start_m": (-3375.0, 2175.0)}):
        with pytest.raises(ConfigError, match=words):
            places(plan({"mission": given}))


def test_a_goal_that_no_path_leads_to_is_refused(tmp_path: Path) -> None:
    beyond = {"start_m": [-3000.0, 0.0], "goal_m": [3000.0, 0.0]}
    with pytest.raises(
        ConfigError, match=r"mission\.goal_m: no path leads from the start to 3000, 0 over ground below 630"
    ):
        places(plan({"world": walled(tmp_path, 900.0), "mission": beyond}))
    assert places(plan({"world": walled(tmp_path, 610.0), "mission": {**beyond, "height_m": 700.0}, "planner": HIGHER}))


@pytest.mark.parametrize(
    "seeds",
    [(2, 14, 31, 41), pytest.param(range(1, 51), marks=pytest.mark.soak)],  # short: the four
    ids=["four", "all"],
)
def test_a_path_leads_from_the_first_circle_of_every_pair_flown_in_severe_turbulence(seeds: Iterable[int]) -> None:
    """31 and 41 begin with a right turn followed by a left one: only a far point of the channel can be joined."""
    for seed in seeds:
        check_first_path(load(find("fixedwing-hierarchical"), (f"seed={seed}",)))


def test_a_start_whose_circle_no_path_leaves_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mission = {"start_m": (2911.0, 4057.0), "goal_m": (2061.0, -3758.0)}
    words = (
        "mission: no path leads from the circle of 150 m around 2911, 4057 to 2061, -3758: the planner finds cells, "
        "but none of the exits tried, every 5 m around the circle, leads onto the path through them; expected a "
        "mission.start_m with more free ground around it, or another mission.goal_m or mission.loiter_radius_m"
    )
    assert places(plan({"mission": mission})), "its cells are connected"
    with pytest.raises(ConfigError) as told:
        check(plan({"mission": mission}))
    assert str(told.value) == words
    check(plan({"mission": {**mission, "start_m": (3075.0, 4100.0)}}))
    check(plan({"mission": {**mission, "command_at_s": 60.0}, "duration_s": 50.0}))  # the goal is never sent
    with monkeypatch.context() as patched, pytest.raises(ConfigError, match="the planner finds no cells with this"):
        patched.setattr(Planner, "plan", lambda *_: Plan(PlanStatus.UNREACHABLE))
        patched.setattr(first_path, "places", lambda _: StartAndGoal((0.0, 0.0), (1.0, 0.0)))
        check_first_path(plan({"mission": {"start_m": (0.0, 0.0)}}))


HIGHER = {"highest_m": 650, "blocked_above_m": 650}


def test_random_places_are_refused_or_lead_over_ground_below_the_clearance() -> None:
    """Not by the planner's own word: the ground is asked for heights along both circles and in every cell passed."""
    rng, flown = np.random.default_rng(5), 0
    for _ in range(40):
        start_m, goal_m = ((float(x), float(y)) for x, y in rng.uniform(-4500.0, 4500.0, (2, 2)))
        scenario = plan({"mission": {"start_m": start_m, "goal_m": goal_m}})
        try:
            places(scenario)
        except ConfigError as error:
            assert "mission." in str(error)
            continue
        flown += 1
        ground = ground_of(scenario.aircraft.world.terrain).grid()
        planner = planner_of(scenario)
        found = planner.plan(start_m, goal_m)
        inner = [cell for cell in found.fine if not planner.blocked(cell)]
        assert found.found and len(inner) >= len(found.fine) - 1  # where it starts is never blocked
        heights = [ground.height_m(*at) for cell in inner for at in points_of(planner, cell)]
        angles = np.linspace(0.0, 2 * math.pi, 90)
        for x_m, y_m in (start_m, goal_m):
            heights += [ground.height_m(x_m + 150.0 * math.cos(a), y_m + 150.0 * math.sin(a)) for a in angles]
        assert max(heights) <= 630.0
    assert flown >= 5


def points_of(planner: Planner, cell: Cell) -> list[tuple[float, float]]:
    west_m, south_m, east_m, north_m = planner.elevation.bounds_m(cell)
    return [(x, y) for x in np.linspace(west_m, east_m, 13) for y in np.linspace(south_m, north_m, 13)]


def test_the_highest_ground_of_cells_is_that_of_the_surface_between_the_points() -> None:
    """Brute force: many points of each cell, asked of the ground itself."""
    values = np.random.default_rng(3).integers(0, 900, (16, 16)).astype(np.int16)
    ground = ElevationMap(values, 75.0)
    grid, heights = ground.grid(), Elevation(values, 75.0)
    top = highest_in_cells(values, 4)
    for row in range(4):
        for col in range(4):
            west_m, south_m, east_m, north_m = heights.bounds_m(Cell(2, col, row))
            xs, ys = np.linspace(west_m, east_m, 33), np.linspace(south_m, north_m, 33)
            reached = max(grid.height_m(float(x), float(y)) for x in xs for y in ys)
            assert reached <= top[row, col] < reached + 1.0 + 1e-9


def test_a_narrow_peak_blocks_its_cell_and_others_keep_their_heights(tmp_path: Path) -> None:
    heights = np.full((128, 128), 400.0)
    heights[70, 70] = 640.0  # the mean of its cell is 460
    np.savez(tmp_path / "peak.npz", elevation=heights, dx=75.0, dy=75.0)
    terrain = {"kind": "file", "file": str(tmp_path / "peak.npz"), "spacing_m": 75.0}
    planner = planner_of(plan({"world": {"terrain": terrain}}))
    assert [tuple(map(int, at)) for at in np.argwhere(blocked_cells(planner))] == [(35, 35)]
    assert not blocked_cells(planner_of(plan({"world": {"terrain": terrain}, "mission": {"clearance_m": 10.0}}))).any()
    assert np.count_nonzero(planner.elevation.values != heights) == 3  # of the cell's four units


def test_places_are_drawn_from_the_seed_apart_free_and_reachable() -> None:
    found = set()
    for seed in range(1, 5):
        scenario = plan({"seed": seed})
        drawn = places(scenario)
        assert drawn == places(scenario)
        found.add((drawn.start_m, drawn.goal_m))
        planner = planner_of(scenario)
        assert math.dist(drawn.start_m, drawn.goal_m) >= 4500.0
        for x_m, y_m in (drawn.start_m, drawn.goal_m):
            for angle in np.linspace(0.0, 2 * math.pi, 24):
                at = x_m + 140.0 * math.cos(angle), y_m + 140.0 * math.sin(angle)
                assert not planner.blocked(planner.elevation.cell_at(6, *at)), (seed, at)
    assert len(found) == 4


def test_a_room_needs_free_cells_all_around() -> None:
    planner = planner_of(plan())
    few, many = roomy_cells(planner, 400.0), roomy_cells(planner, 70.0)
    assert set(few) < set(many)
    assert len(many) == sum(not planner.blocked(cell) for cell in many)
    assert len(many) == np.count_nonzero(~blocked_cells(planner))


def test_no_goal_is_drawn_beyond_a_wall(tmp_path: Path) -> None:
    world = walled(tmp_path, 900.0)
    for seed in range(4):
        mission = {"start_m": [-3000.0, 0.0], "apart_m": 1500.0}
        drawn = places(plan({"seed": seed, "world": world, "mission": mission}))
        assert drawn.goal_m[0] < -300.0


def walled(tmp_path: Path, height_m: float) -> dict[str, Any]:
    """A wall from north to south through the middle of a plain."""
    heights = np.full((128, 128), 400.0)
    heights[:, 60:64] = height_m
    path = tmp_path / f"wall-{height_m:g}.npz"
    np.savez(path, elevation=heights, dx=75.0, dy=75.0)
    return {"terrain": {"kind": "file", "file": str(path), "spacing_m": 75.0}}


def test_a_goal_in_a_mountain_is_refused_without_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heights = np.full((128, 128), 400.0)
    heights[40:88, 40:88] = 700.0
    np.savez(tmp_path / "hill.npz", elevation=heights, dx=75.0, dy=75.0)
    terrain = {"kind": "file", "file": str(tmp_path / "hill.npz"), "spacing_m": 75.0}
    monkeypatch.setattr(Planner, "plan", lambda *_: pytest.fail("nothing needs to be searched"))
    with pytest.raises(ConfigError, match=r"mission\.goal_m: the circle of 150 m around 0, 0 leads over blocked cells"):
        places(plan({"world": {"terrain": terrain}, "mission": {"goal_m": [0.0, 0.0], "apart_m": 1000.0}}))


def test_a_first_circle_through_the_ground_is_refused(tmp_path: Path) -> None:
    places_m = {"start_m": [-400.0, 0.0], "goal_m": [-3000.0, 0.0]}
    low, high = (plan({"world": walled(tmp_path, height_m), "mission": places_m}) for height_m in (620.0, 640.0))
    high_words = (
        "mission.start_m: the circle of 150 m around -400, 0 leads over ground of 640 m; expected ground below 600"
    )
    with pytest.raises(ConfigError, match=high_words):
        places(high)
    places(low)


def test_a_map_without_room_is_said_before_anything_starts(tmp_path: Path) -> None:
    low = plan({"planner": {"safe_m": 0, "highest_m": 100, "blocked_above_m": 100}})
    with pytest.raises(ConfigError, match="mission: no start and goal were found with a free circle of 150 m"):
        process_table.launch_settings(low, tmp_path)


def test_the_processes_are_plant_and_board() -> None:
    roles = {role.name: role for role in process_table.roles(plan())}
    assert list(roles) == ["recorder", "plant", "board"]
    assert roles["board"].main == "aeroloop.controllers.law.period_process"
    assert roles["board"].peers == ("plant",), "for a baton, where the link is impaired"


def test_every_sensor_and_actuator_can_fail_in_flight() -> None:
    actuators = {"rotor", "servo", "battery"}
    assert {offer.target for offer in offers(plan())} == {*NEEDED, *actuators}
    in_wall_time = {offer.target for offer in offers(plan({"pace": "real"}))}
    assert in_wall_time == {*NEEDED, *actuators, "to_plant", "to_board"}


def test_a_check_of_an_unknown_metric_is_refused() -> None:
    with pytest.raises(ConfigError, match="no_such"):
        verify(plan({"checks": [{"metric": "no_such", "equals": 0}]}))
    assert {"arrived", "flown_s", "diverged", "missed_cycles", "planning_max_s"} <= set(metric_names(plan()))


def test_a_run_keeps_its_airframe(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    source = Path(results.__file__).parents[1] / "families/fixedwing/aerosonde.toml"
    own.write_text(source.read_text("utf-8"), "utf-8")
    scenario = plan({"vehicle": {"airframe": str(own)}})
    results.make_folder(tmp_path / "run", scenario)
    kept = load(tmp_path / "run" / "scenario.toml")
    assert isinstance(kept.aircraft, FixedWingTables)
    assert kept.aircraft.vehicle.airframe == str(tmp_path / "run" / "airframe.toml")
    results.discard(tmp_path / "run", kept)
    assert not (tmp_path / "run").exists()


def test_a_run_keeps_its_map_under_its_own_ending(tmp_path: Path) -> None:
    own = tmp_path / "valley.npz"
    np.savez(own, elevation=np.full((128, 128), 400.0), dx=75.0, dy=75.0)
    terrain = {"kind": "file", "file": str(own), "spacing_m": 75.0}
    results.make_folder(tmp_path / "run", plan({"world": {"terrain": terrain}}))
    assert (tmp_path / "run" / "terrain.npz").read_bytes() == own.read_bytes()
    kept = load(tmp_path / "run" / "scenario.toml")
    assert isinstance(kept.aircraft, FixedWingTables)
    assert planner_of(kept).elevation.values.max() == 400
    results.discard(tmp_path / "run", kept)
    assert not (tmp_path / "run").exists()


def test_a_flight_may_use_all_of_a_large_map_unless_it_is_bound() -> None:
    assert plan().aircraft.world.reach_m == 8000.0
    large = {"kind": "generated", "side_units": 512}
    corner_m = 256 * 75.0 * math.sqrt(2.0)
    assert plan({"world": {"terrain": large}}).aircraft.world.reach_m == pytest.approx(corner_m + 1200.0)
    bound = plan({"world": {"terrain": large, "bound_m": 9000.0}, "seed": 5})
    assert bound.aircraft.world.reach_m == 9000.0
    drawn = places(bound)
    assert max(math.hypot(*drawn.start_m), math.hypot(*drawn.goal_m)) < 9000.0


@pytest.mark.parametrize(
    ("mission", "words"),
    [
        (
            {"goal_m": (2900.0, 900.0)},
            "mission.goal_m: expected a position within world.bound_m (3000 m) of the middle",
        ),
        ({"height_m": 3500.0}, "mission.height_m: expected less than world.bound_m (3000 m), not 3500"),
    ],
)
def test_a_flight_that_would_begin_or_end_out_of_bounds_is_refused(mission: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as told:
        plan({"world": {"bound_m": 3000.0}, "mission": mission})
    assert words in str(told.value)


@pytest.mark.parametrize("heavy", [True, False], ids=["in a turn", "in thin air"])
def test_what_the_airframe_cannot_fly_is_said_before_anything_starts(tmp_path: Path, heavy: bool) -> None:
    mine = tmp_path / "mine.toml"
    known = Path(airframe.__file__).with_name("aerosonde.toml").read_text("utf-8")
    mine.write_text(known.replace("mass_kg = 11.0", f"mass_kg = {15.0 if heavy else 11.0}"), "utf-8")
    table = {"vehicle": {"airframe": str(mine)}, "mission": {"height_m": 660.0 if heavy else 7000.0}}
    with pytest.raises(ConfigError, match=r"^mission\.airspeed_m_s: the airframe cannot fly at 20 m/s") as told:
        process_table.launch_settings(plan(table), tmp_path)
    assert ("turn 11.5 deg/s" in str(told.value)) is heavy


def test_generated_files_are_written_or_it_is_said_why_not(tmp_path: Path) -> None:
    assert wing_images.main([str(tmp_path / "made"), "fixedwing-loiter"]) is None
    assert (tmp_path / "made" / "map.c").is_file()
    (tmp_path / "file").touch()
    for arguments, words in (
        ([], "usage: "),
        ([str(tmp_path), "kite"], "aeroloop: unknown scenario 'kite'"),
        ([str(tmp_path), "quad-free"], "aeroloop: quad-free: expected a scenario of the fixed wing"),
        ([str(tmp_path / "file")], "cannot be written: File exists"),
    ):
        assert words in str(wing_images.main(arguments))
