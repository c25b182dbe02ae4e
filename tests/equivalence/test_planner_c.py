"""The board's planner and the Python one: the same leaves, the same work, the same way, cell for cell."""

from __future__ import annotations

import ctypes as ct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from aeroloop.core.wing_signals import Direction, PlanStatus, Turn
from aeroloop.families.fixedwing import images as wing_images
from aeroloop.planning.cells import Cell, Leaves, Resolution
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.planner import Entry, Planner, PlannerSettings
from aeroloop.world.terrain_generator import generate
from peers.c_planner import FLAGS, SOURCES, CPlanner, build

UNIT_M = 75.0
MAPS = 70
PLANS = 4
OUTCOMES = (PlanStatus.FOUND, PlanStatus.UNREACHABLE, PlanStatus.START_OUTSIDE, PlanStatus.GOAL_OUTSIDE)
"""Of a planner; the others are the mission's."""
INDEX_BITS = {"board": False, "wide": True}


@pytest.fixture(scope="module", params=INDEX_BITS)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ct.CDLL:
    return build(tmp_path_factory.mktemp("planner"), wide=INDEX_BITS[request.param])


def random_settings(rng: np.random.Generator, order: int) -> PlannerSettings:
    coarsest = int(rng.integers(0, order + 1))
    finest = int(rng.integers(coarsest, order + 1))
    safe_m = int(rng.integers(-200, 300))
    return PlannerSettings(
        safe_m=safe_m,
        highest_m=safe_m + int(rng.integers(1, 500)),
        blocked_above_m=int(rng.integers(100, 900)),
        obstacle_m=int(rng.integers(0, 3000)),
        risk_weight=float(rng.uniform(0, 8)),
        resolution=Resolution(
            coarsest=coarsest,
            finest=finest,
            radii_units=tuple(int(radius) for radius in rng.integers(0, 1 << (order - 1), finest - coarsest)),
        ),
        turn_rule=bool(rng.integers(2)),
    )


def random_map(rng: np.random.Generator, order: int) -> Elevation:
    side = 1 << order
    if rng.random() < 0.5:
        return Elevation(rng.integers(-300, 900, (side, side)), UNIT_M)
    return Elevation(generate(side, int(rng.integers(1000))), UNIT_M)


def test_every_plan_is_the_same(library: ct.CDLL) -> None:
    rng = np.random.default_rng(6)
    seen = dict.fromkeys(OUTCOMES, 0)
    for index in range(MAPS):
        order = int(rng.integers(1, 8))
        elevation, chosen = random_map(rng, order), random_settings(rng, order)
        planner = Planner(elevation, chosen)
        try:
            board = CPlanner(library, elevation, chosen)
        except ValueError:
            assert library.host_index_bytes() == 2  # more states than 16 bits count
            continue
        for _ in range(PLANS):
            start_m, goal_m = (tuple(map(float, rng.uniform(-0.51, 0.51, 2) * elevation.side_m)) for _ in range(2))
            entry = Entry(Direction(int(rng.integers(4))), Turn(int(rng.integers(3)))) if rng.random() < 0.5 else None
            expected = planner.plan(start_m, goal_m, entry)
            assert board.plan(start_m, goal_m, entry) == expected, (index, chosen)
            seen[expected.status] += 1
            for cell in expected.fine:
                planner.flown(cell)
                board.flown(cell)
        board.forget()
        planner.forget()
        assert board.plan(start_m, goal_m, entry) == planner.plan(start_m, goal_m, entry)
    assert all(count > MAPS / 10 for count in seen.values()), seen


def test_every_approximation_is_the_same(library: ct.CDLL) -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        elevation, chosen = random_map(rng, 5), random_settings(rng, 5)
        planner, board = Planner(elevation, chosen), CPlanner(library, elevation, chosen)
        board.lift()
        for level in range(chosen.resolution.coarsest, chosen.resolution.finest + 1):
            values = [[planner.value(Cell(level, col, row)) for col in range(1 << level)] for row in range(1 << level)]
            assert board.values(level).tolist() == values


def test_every_state_costs_the_same(library: ct.CDLL) -> None:
    """Where there is no way the search takes up all there is: so it has the same edges everywhere."""
    values = np.random.default_rng(8).integers(0, 500, (128, 128))
    values[-4:, -4:] = 1000
    values[-2:, -2:] = 0
    elevation = Elevation(values, UNIT_M)
    chosen = PlannerSettings(safe_m=0, highest_m=500, blocked_above_m=700)
    goal_m = elevation.centre_m(Cell(6, 63, 63))
    for seed in range(5):
        start_m = tuple(map(float, np.random.default_rng(seed).uniform(3800, 4300, 2)))
        expected = Planner(elevation, chosen).plan(start_m, goal_m)
        assert expected.status == PlanStatus.UNREACHABLE
        assert CPlanner(library, elevation, chosen).plan(start_m, goal_m) == expected
        assert expected.expanded > expected.leaves == len(Leaves(7, Resolution(), *elevation.subunits_at(*start_m)))


def test_a_way_that_costs_more_than_can_be_counted_is_none(library: ct.CDLL) -> None:
    """Up and down between walls, over ground that was flown over and over: 34 steps of 71 million each."""
    cells = np.zeros((8, 8), int)
    cells[1::4, :7] = cells[3::4, 1:] = cells[5::4, :7] = 1000
    elevation = Elevation(np.kron(cells, np.ones((16, 16), int)), UNIT_M)
    everywhere = Resolution(coarsest=3, finest=3, radii_units=())
    chosen = PlannerSettings(
        safe_m=0, highest_m=1, blocked_above_m=1, risk_weight=64.0, resolution=everywhere, turn_rule=False
    )
    planner, board = Planner(elevation, chosen), CPlanner(library, elevation, chosen)
    start_m, near_m, far_m = (elevation.centre_m(Cell(3, *place)) for place in ((0, 0), (0, 4), (0, 6)))
    for _ in range(260):
        for col, row in np.ndindex(8, 8):
            planner.flown(Cell(3, col, row))
            board.flown(Cell(3, col, row))
    for goal_m, status in ((near_m, PlanStatus.FOUND), (far_m, PlanStatus.UNREACHABLE)):
        expected = planner.plan(start_m, goal_m)
        assert expected.status == status
        assert board.plan(start_m, goal_m) == expected
    planner.forget()
    assert planner.plan(start_m, far_m).found


def test_what_the_board_needs_is_what_its_image_has_and_enough_everywhere(library: ct.CDLL) -> None:
    elevation = Elevation(np.zeros((128, 128), int), UNIT_M)
    chosen = PlannerSettings(safe_m=0, highest_m=500, blocked_above_m=700)
    sizes = CPlanner(library, elevation, chosen).sizes
    config = wing_images.generate(wing_images.scenario_of()).files["config.h"]
    for name in ("approximations", "leaves", "states", "times"):
        assert f"#define PLANNER_{name.upper()} {getattr(sizes, name)}u" in config
    most = max(Leaves(7, Resolution(), x, y).slots for x in range(0, 2048, 37) for y in range(0, 2048, 37))
    assert most == sizes.leaves


def test_settings_that_cannot_be_are_refused(library: ct.CDLL) -> None:
    elevation = Elevation(np.zeros((8, 8), int), UNIT_M)
    good = PlannerSettings(
        safe_m=0, highest_m=1, blocked_above_m=1, resolution=Resolution(coarsest=1, finest=3, radii_units=(2, 1))
    )
    board = CPlanner(library, elevation, good)
    for change in ({"order": 13}, {"finest": 4}, {"coarsest": 4}, {"safe": 1}, {"weight": 64 * 256 + 1}):
        assert not board.accepts(**change), change
    assert board.accepts()


@pytest.mark.parametrize("width", INDEX_BITS)
def test_the_sanitizers_find_nothing(width: str, tmp_path: Path) -> None:
    program = tmp_path / "fuzz"
    sanitizers = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    wide = ["-DPLANNER_WIDE"] if INDEX_BITS[width] else []
    sources = [str(Path(__file__).with_name("planner_fuzz.c")), str(SOURCES / "planner.c")]
    subprocess.run(["gcc", *FLAGS, *sanitizers, *wide, f"-I{SOURCES}", "-o", str(program), *sources], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100
