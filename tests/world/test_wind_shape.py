"""The mean wind over height and terrain against its closed forms."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, RigidState
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.earth import Earth, Home
from aeroloop.world.surroundings import Surroundings
from aeroloop.world.terrain import Grid, Incline
from aeroloop.world.wind import TableRow, Wind, WindConfig, shaped_at
from aeroloop.world.wind_shape import GroundHeight, HeightRow, HeightTable, LogLaw, PowerLaw, TerrainFlow

STEADY_W = (8.0, -6.0, 0.5)
STILL = (0.0, 0.0, 0.0)


def at(config: WindConfig, pos_W: Vec3, ground_m: GroundHeight | None = None, *, t_s: float = 0.0) -> Vec3:
    """The wind of a flight's surroundings at that position."""
    wind = Wind(config, np.random.default_rng(0), Evaluator)
    start = RigidState(0, STILL, (1.0, 0.0, 0.0, 0.0), STILL, STILL, STILL)
    around = Surroundings(Earth(Home()), Atmosphere(Day()), wind, start, ground_m)
    around.move(round(t_s * NS), 0, pos_W, STILL)
    return around.air.wind_W


def scaled(factor: float) -> Vec3:
    x, y, z = STEADY_W
    return factor * x, factor * y, factor * z


@given(st.floats(0.0, 600.0))
def test_power_law(height_m: float) -> None:
    config = WindConfig(steady_W=STEADY_W, profile=PowerLaw(exponent=0.2, reference_m=20.0, top_m=400.0))
    expected = scaled((min(height_m, 400.0) / 20.0) ** 0.2)
    assert at(config, (0.0, 0.0, height_m)) == pytest.approx(expected, rel=1e-12)


@given(st.floats(0.0, 600.0))
def test_logarithmic_law(height_m: float) -> None:
    config = WindConfig(steady_W=STEADY_W, profile=LogLaw(roughness_m=0.1, reference_m=10.0, top_m=300.0))
    factor = math.log(min(height_m, 300.0) / 0.1) / math.log(100.0) if height_m > 0.1 else 0.0
    assert at(config, (0.0, 0.0, height_m)) == pytest.approx(scaled(factor), rel=1e-12, abs=1e-15)


def test_at_the_reference_height_the_wind_is_the_given_one_and_the_table_over_time_is_a_part_of_it() -> None:
    rows = (TableRow(t_s=0.0, wind_W=STILL), TableRow(t_s=10.0, wind_W=(4.0, 0.0, 0.0)))
    for profile in (PowerLaw(), LogLaw()):
        config = WindConfig(steady_W=STEADY_W, profile=profile, table=rows)
        assert at(config, (0.0, 0.0, 10.0), t_s=5.0) == pytest.approx((10.0, -6.0, 0.5))
        assert at(config, (0.0, 0.0, 0.0), t_s=5.0) == STILL


TABLE = (
    HeightRow(height_m=50.0, wind_W=(1.0, 2.0, 0.0)),
    HeightRow(height_m=150.0, wind_W=(5.0, 0.0, -1.0)),
)


@pytest.mark.parametrize(
    ("above", "up_m", "wind_W"),
    [
        ("ground", 30.0, (1.0, 2.0, 0.0)),
        ("ground", 120.0, (3.0, 1.0, -0.5)),
        ("ground", 900.0, (5.0, 0.0, -1.0)),
        ("home", 100.0, (3.0, 1.0, -0.5)),
        ("home", 30.0, (1.0, 2.0, 0.0)),
    ],
)
def test_a_table_over_height_is_added(above: str, up_m: float, wind_W: Vec3) -> None:
    """Over ground 20 m higher than home."""
    profile = msgspec.convert({"kind": "table", "rows": TABLE, "above": above}, HeightTable)
    config = WindConfig(steady_W=(10.0, 10.0, 10.0), profile=profile)
    expected = [10.0 + added for added in wind_W]
    assert at(config, (3.0, 4.0, up_m), lambda x, y: 20.0) == pytest.approx(expected)


def test_heights_are_those_above_the_ground() -> None:
    config = WindConfig(steady_W=STEADY_W, profile=PowerLaw())
    assert at(config, (0.0, 0.0, 130.0), lambda x, y: 100.0) == at(config, (0.0, 0.0, 30.0))


@given(st.floats(-0.5, 0.5), st.floats(-0.5, 0.5))
def test_on_the_ground_the_wind_is_tangent_to_it(east: float, north: float) -> None:
    ground = Incline(east, north)
    config = WindConfig(steady_W=(8.0, -6.0, 0.0), terrain=TerrainFlow())
    x, y = 30.0, -70.0
    wind_W = at(config, (x, y, ground.height_m(x, y)), ground.height_m)
    assert np.dot(wind_W, ground.normal_W(x, y)) == pytest.approx(0.0, abs=1e-9)
    assert wind_W[:2] == (8.0, -6.0)


@pytest.mark.parametrize("height_m", [0.0, 10.0, 80.0])
def test_the_wind_rises_less_higher_up(height_m: float) -> None:
    config = WindConfig(steady_W=(10.0, 5.0, 0.5), terrain=TerrainFlow(decay_m=40.0))
    wind_W = at(config, (7.0, 9.0, 0.1 * 7.0 - 0.2 * 9.0 + height_m), Incline(0.1, -0.2).height_m)
    assert wind_W == pytest.approx((10.0, 5.0, 0.5 + (10.0 * 0.1 - 5.0 * 0.2) * math.exp(-height_m / 40.0)))


def test_over_level_ground_and_in_a_calm_there_is_nothing_to_follow() -> None:
    terrain = TerrainFlow(speed_up=2.0)
    for ground_m in (None, lambda x, y: 12.0):
        assert at(WindConfig(steady_W=STEADY_W, terrain=terrain), (1.0, 2.0, 30.0), ground_m) == STEADY_W
    assert at(WindConfig(terrain=terrain), (1.0, 2.0, 30.0), Incline(0.5, 0.5).height_m) == STILL


HILL_M, HALF_M = 20.0, 100.0


def ridge(x: float, y: float) -> float:
    """From north to south; half as high 100 m from its crest."""
    return HILL_M / (1.0 + (x / HALF_M) ** 2)


@pytest.mark.parametrize("height_m", [0.0, 15.0])
def test_over_the_crest_of_a_ridge_the_wind_is_faster_by_b_h_over_l(height_m: float) -> None:
    """Taylor & Lee: Delta u / u = B h/L, here with the decay exp(-z/H)."""
    flow = TerrainFlow(decay_m=30.0, speed_up=2.0, half_length_m=HALF_M)
    wind_W = at(WindConfig(steady_W=(10.0, 0.0, 0.0), terrain=flow), (0.0, 40.0, HILL_M + height_m), ridge)
    assert wind_W == pytest.approx((10.0 * (1 + 2.0 * HILL_M / HALF_M * math.exp(-height_m / 30.0)), 0.0, 0.0))


def test_at_the_foot_of_a_ridge_the_wind_is_slower_and_along_it_the_same() -> None:
    flow = TerrainFlow(speed_up=2.0, half_length_m=HALF_M)
    foot, along = (
        at(WindConfig(steady_W=steady_W, terrain=flow), (180.0, 0.0, ridge(180.0, 0.0)), ridge)
        for steady_W in ((10.0, 0.0, 0.0), (0.0, 10.0, 0.0))
    )
    assert 8.0 < foot[0] < 10.0 and foot[2] < 0.0  # it descends behind the ridge
    assert along == (0.0, 10.0, 0.0)


def test_profile_comes_before_terrain_and_a_grid_serves_as_ground() -> None:
    grid = Grid([[0.0, 10.0, 20.0]] * 3, spacing_m=100.0, corner_m=(-100.0, -100.0))
    config = WindConfig(steady_W=(10.0, 0.0, 0.0), profile=PowerLaw(exponent=0.5), terrain=TerrainFlow())
    wind_W = at(config, (20.0, 0.0, grid.height_m(20.0, 0.0) + 40.0), grid.height_m)
    assert wind_W == pytest.approx((20.0, 0.0, 20.0 * 0.1 * math.exp(-40.0 / 50.0)))


def test_what_starts_in_the_air_moves_with_the_wind_of_its_place() -> None:
    config = WindConfig(steady_W=(10.0, 0.0, 0.0), profile=PowerLaw(exponent=0.5), terrain=TerrainFlow())
    ground_m = Incline(0.1, 0.0).height_m
    for pos_W in ((50.0, 0.0, 45.0), (50.0, 0.0, 1.0)):
        assert shaped_at(config, pos_W, ground_m) == at(config, pos_W, ground_m)
    assert shaped_at(config, (50.0, 0.0, 45.0), ground_m) == pytest.approx((20.0, 0.0, 2.0 * math.exp(-0.8)))


def test_another_steady_wind_in_flight_is_shaped_too() -> None:
    wind = Wind(WindConfig(profile=PowerLaw(exponent=1.0)), np.random.default_rng(0), Evaluator)
    wind.set_steady((1.0, 2.0, 3.0))
    assert wind.step(0, 0, 20.0, STILL) == (2.0, 4.0, 6.0)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"profile": {"kind": "log", "roughness_m": 10.0}}, "roughness_m: expected less than reference_m = 10"),
        ({"profile": {"kind": "table", "rows": []}}, "rows: expected at least one height"),
        ({"profile": {"kind": "table", "rows": [TABLE[1], TABLE[0]]}}, "expected heights that increase"),
        ({"profile": {"kind": "linear"}}, "Invalid value 'linear'"),
        ({"terrain": {"decay_m": 0.0}}, "> 0"),
    ],
)
def test_bad_configuration_is_refused(table: dict[str, object], told: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=told):
        msgspec.convert(msgspec.to_builtins(table), WindConfig)
