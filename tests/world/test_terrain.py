"""Ground: flat, a slope, a grid with triangles in between; and the same as MuJoCo's geometry."""

from __future__ import annotations

import math
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.errors import ConfigError
from aeroloop.families.multirotor import airframe
from aeroloop.world.terrain import MOST_POINTS, Flat, Grid, HeightMap, Incline, Level, Slope, read_heights, terrain

HILLS = Grid(np.arange(12.0).reshape(3, 4) ** 2, spacing_m=10.0, corner_m=(-15.0, -5.0))  # 30 m east, 20 m north


def test_flat_ground_is_flat() -> None:
    assert Flat(3.0).height_m(100.0, -5.0) == 3.0
    assert Flat().normal_W(1.0, 1.0) == (0.0, 0.0, 1.0)


@given(st.floats(-15.0, 15.0), st.floats(-5.0, 15.0))
def test_a_plane_is_reproduced_exactly(x: float, y: float) -> None:
    heights = [[2.0 + 0.3 * (-15.0 + 10.0 * i) - 0.4 * (-5.0 + 10.0 * j) for i in range(4)] for j in range(3)]
    plane = Grid(heights, spacing_m=10.0, corner_m=(-15.0, -5.0))
    assert plane.height_m(x, y) == pytest.approx(2.0 + 0.3 * x - 0.4 * y, abs=1e-9)
    assert plane.normal_W(x, y) == pytest.approx((-0.3 / math.sqrt(1.25), 0.4 / math.sqrt(1.25), 1 / math.sqrt(1.25)))


@pytest.mark.parametrize(
    ("x", "y", "height"),
    [(-15, -5, 0), (15, -5, 9), (-15, 15, 64), (15, 15, 121), (-10, 0, 12.5), (-8, 0, 12.7), (-10, 2, 15.7)],
)
def test_grid_points_and_both_triangles_of_a_cell(x: float, y: float, height: float) -> None:
    assert HILLS.height_m(x, y) == pytest.approx(height)


@given(st.floats(-14.9, 14.9), st.floats(-4.9, 14.9))
def test_normal_stands_on_the_slope(x: float, y: float) -> None:
    d = 1e-6
    cell = ((x + 15.0) % 10.0, (y + 5.0) % 10.0)
    if min(*cell, 10.0 - cell[0], 10.0 - cell[1], abs(cell[0] - cell[1])) < 1e-3:
        return  # on a crease there are two slopes
    nx, ny, nz = HILLS.normal_W(x, y)
    assert nx * nx + ny * ny + nz * nz == pytest.approx(1.0)
    assert -nx / nz == pytest.approx((HILLS.height_m(x + d, y) - HILLS.height_m(x - d, y)) / (2 * d), abs=1e-5)
    assert -ny / nz == pytest.approx((HILLS.height_m(x, y + d) - HILLS.height_m(x, y - d)) / (2 * d), abs=1e-5)


@given(st.floats(-15.0, 15.0))
def test_beyond_the_edge_the_edge_goes_on_level(x: float) -> None:
    assert HILLS.height_m(x, 1000.0) == HILLS.height_m(x, 15.0)
    assert HILLS.height_m(x, -1000.0) == HILLS.height_m(x, -5.0)
    assert HILLS.normal_W(x, 1000.0)[1] == 0.0
    assert HILLS.normal_W(1000.0, 1000.0) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("heights", [[1.0, 2.0], [[1.0, 2.0]], [[1.0, math.nan], [1.0, 1.0]]])
def test_a_bad_grid_is_refused(heights: object) -> None:
    with pytest.raises(ConfigError, match="at least two points in each"):
        Grid(heights, spacing_m=1.0, corner_m=(0.0, 0.0))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="expected a positive number"):
        Grid(np.zeros((2, 2)), spacing_m=0.0, corner_m=(0.0, 0.0))


def test_a_slope_rises_as_it_says() -> None:
    ground = terrain(Slope(east=0.3, north=-0.4))
    assert ground.height_m(10.0, 5.0) == pytest.approx(1.0)
    assert ground.normal_W(7.0, 7.0) == pytest.approx(
        (-0.3 / math.sqrt(1.25), 0.4 / math.sqrt(1.25), 1 / math.sqrt(1.25))
    )
    assert isinstance(terrain(Level()), Flat)


def test_heights_of_a_file_count_from_the_ground_at_home(tmp_path: Path) -> None:
    (tmp_path / "map.csv").write_text("500, 501, 502\n\n510, 511, 512\n")
    ground = terrain(HeightMap(file=str(tmp_path / "map.csv"), spacing_m=10.0, corner_m=(-10.0, 0.0)))
    assert ground.height_m(0.0, 0.0) == 0.0
    assert ground.height_m(10.0, 0.0) == 1.0, "east is along a row"
    assert ground.height_m(0.0, 10.0) == 10.0, "the second row is farther north"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "cannot be read: No such file"),
        (b"\xff\xfe\x00", "not binary data"),
        (b"1,2\n3\n", "line 2 has 1 heights, the first has 2"),
        (b"1,2\n3,high\n", "line 2: expected numbers"),
        (b"1,2\n3,nan\n", "line 2: expected heights from -10000 to 10000 m"),
        (b"", "expected 2 to 1024 rows"),
        (b"1,2\n", "expected 2 to 1024 rows"),
        (b"1\n2\n", "expected 2 to 1024 rows"),
        (b"1,2\n" * (MOST_POINTS + 1), "expected 2 to 1024 rows"),
        (b"1," * MOST_POINTS + b"1\n", "expected 2 to 1024 rows"),
    ],
)
def test_a_bad_file_is_refused_with_a_sentence(tmp_path: Path, text: bytes | None, sentence: str) -> None:
    path = tmp_path / "map.csv"
    if text is not None:
        path.write_bytes(text)
    with pytest.raises(ConfigError, match=sentence):
        read_heights(path)


IRIS = airframe.load("iris")
ROUGH = Grid(0.3 * np.random.default_rng(1).normal(size=(20, 30)), spacing_m=3.0, corner_m=(-20.0, -15.0))  # 87 by 57 m


@pytest.mark.parametrize(
    "ground", [Flat(2.0), Incline(0.2, -0.1), ROUGH, HILLS], ids=["flat", "slope", "rough", "hills"]
)
def test_mujoco_has_the_same_surface(ground: Flat | Incline | Grid) -> None:
    model = airframe.build(IRIS, 0.004, ground)
    data = mujoco.MjData(model)
    data.qpos[2] = 900.0
    mujoco.mj_forward(model, data)
    down, hit = np.array([0.0, 0.0, -1.0]), np.zeros(1, np.int32)
    for x, y in np.random.default_rng(2).uniform(-100.0, 100.0, (500, 2)):  # most are beyond the grids
        met_m = mujoco.mj_ray(model, data, np.array([x, y, 500.0]), down, None, 1, 1, hit)
        assert 500.0 - met_m == pytest.approx(ground.height_m(x, y), abs=1e-5)


@pytest.mark.parametrize("ground", [Incline(0.2, -0.1), ROUGH], ids=["slope", "rough"])
def test_an_aircraft_stands_on_it_wherever_it_starts(ground: Incline | Grid) -> None:
    reach_m = 0.3  # of the feet
    for x, y in [(0.0, 0.0), (7.3, 4.1), (15.0, -40.0), (2.5, 300.0), (-3000.0, 10.0), (3000.0, 8000.0)]:
        state = airframe.world(IRIS, 0.004, (x, y), ground).state(0)
        assert math.dist(state.pos_W[:2], (x, y)) < 0.02
        assert math.hypot(*state.vel_W) < 1e-3
        around = [ground.height_m(x + dx, y + dy) for dx in (-reach_m, reach_m) for dy in (-reach_m, reach_m)]
        over_m = state.pos_W[2] - sum(around) / 4
        assert over_m == pytest.approx(IRIS.rest_height_m, abs=0.05)


def test_where_nobody_can_stand_no_flight_starts() -> None:
    with pytest.raises(ConfigError, match="cannot stand 3 m east and 0 m north of home"):
        airframe.world(IRIS, 0.004, (3.0, 0.0), Incline(1.0, 0.0))


def test_contacts_are_found_up_to_the_highest_point_of_a_grid() -> None:
    """High above the ground they are not looked for."""
    ridge = Grid([[0.0, 0.0], [30.0, 30.0]], spacing_m=100.0, corner_m=(0.0, 0.0))
    assert airframe.world(IRIS, 0.004, (50.0, 90.0), ridge).touching
