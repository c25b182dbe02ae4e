"""The atmosphere against the ICAO standard atmosphere's table (Doc 7488, ISO 2533), and against ambiance."""

from __future__ import annotations

import math

import ambiance
import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.core.errors import AeroloopError
from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.world import expressions
from aeroloop.world.atmosphere import (
    EARTH_RADIUS_M,
    HIGHEST_M,
    LOWEST_M,
    WARMING_EXPONENT,
    WARMING_K_M,
    WARMING_M,
    Atmosphere,
    Day,
)

DAY, ALT_M = ca.SX.sym("day", len(expressions.DaySymbols._fields)), ca.SX.sym("alt_m")
SYMBOLS = expressions.DaySymbols(*ca.vertsplit(DAY))
ON_SYMBOLS = ca.Function("air", [DAY, ALT_M], [ca.vertcat(*expressions.air(SYMBOLS, ALT_M))])
days = st.builds(Day, sea_level_pressure_Pa=st.floats(95e3, 105e3), sea_level_temperature_K=st.floats(250.0, 315.0))


def geometric_m(geopotential_m: float) -> float:
    return EARTH_RADIUS_M * geopotential_m / (EARTH_RADIUS_M - geopotential_m)


@pytest.mark.parametrize(
    ("geopotential_m", "temperature_K", "pressure_Pa", "density_kg_m3"),
    [
        (0.0, 288.15, 101325.0, 1.225),
        (1000.0, 281.65, 89874.6, 1.11164),
        (5000.0, 255.65, 54019.9, 0.736116),
        (11000.0, 216.65, 22632.0, 0.363918),
    ],
)
def test_standard_day_is_the_published_table(
    geopotential_m: float, temperature_K: float, pressure_Pa: float, density_kg_m3: float
) -> None:
    """To the six digits that are printed."""
    pressure, temperature, density = Atmosphere(Day()).at(geometric_m(geopotential_m))
    assert temperature == pytest.approx(temperature_K, abs=1e-6)
    assert float(f"{pressure:.6g}") == pressure_Pa
    assert float(f"{density:.6g}") == density_kg_m3


@pytest.mark.parametrize(
    ("geopotential_m", "temperature_K", "pressure_Pa"), [(20_000.0, 216.65, 5474.87), (32_000.0, 228.65, 868.014)]
)
def test_the_layer_above_20_km_lies_between_the_published_pressures(
    geopotential_m: float, temperature_K: float, pressure_Pa: float
) -> None:
    """The table computes each layer from the rounded pressure of the one below: 2.1e-6."""
    p0_Pa, t0_K, _, t11_K, _, p20_Pa = Atmosphere(Day()).day
    warmer_K = t11_K + WARMING_K_M * (geopotential_m - WARMING_M)
    assert (t0_K, p0_Pa, warmer_K) == pytest.approx((288.15, 101325.0, temperature_K))
    assert p20_Pa * (warmer_K / t11_K) ** WARMING_EXPONENT == pytest.approx(pressure_Pa, rel=2.5e-6)


def test_standard_day_agrees_with_ambiance_over_the_whole_range() -> None:
    """Not closer than 2e-6: ambiance starts each layer from the table's printed pressure."""
    heights = np.linspace(LOWEST_M, HIGHEST_M, 341)
    theirs = ambiance.Atmosphere(heights)
    ours = np.array([Atmosphere(Day()).at(height) for height in heights.tolist()])
    assert np.allclose(ours, np.transpose([theirs.pressure, theirs.temperature, theirs.density]), rtol=2e-6, atol=0)


@given(days, st.floats(LOWEST_M + 10, HIGHEST_M - 10))
def test_any_day_is_in_hydrostatic_balance(day: Day, alt_m: float) -> None:
    """dp/dH = -rho g0 with the geopotential altitude H."""
    air = Atmosphere(day)
    above, below = alt_m + 5.0, alt_m - 5.0
    step_m = EARTH_RADIUS_M * (above / (EARTH_RADIUS_M + above) - below / (EARTH_RADIUS_M + below))
    slope = (air.at(above)[0] - air.at(below)[0]) / step_m
    assert slope == pytest.approx(-air.at(alt_m)[2] * GRAVITY_M_S2, rel=1e-5)


@given(days)
def test_a_day_starts_from_its_sea_level(day: Day) -> None:
    pressure, temperature, density = Atmosphere(day).at(0.0)
    assert (pressure, temperature) == (day.sea_level_pressure_Pa, day.sea_level_temperature_K)
    assert density == pytest.approx(pressure / (287.05287 * temperature))


@given(days, st.sampled_from([11_000.0, 20_000.0]))
def test_a_day_has_no_step_between_its_layers(day: Day, geopotential_m: float) -> None:
    below, above = (Atmosphere(day).at(geometric_m(geopotential_m + d)) for d in (-0.01, 0.01))
    assert below == pytest.approx(above, rel=1e-5)
    assert above[1] == pytest.approx(day.sea_level_temperature_K - 71.5)


@given(days, st.floats(LOWEST_M, HIGHEST_M))
def test_symbols_have_the_same_air(day: Day, alt_m: float) -> None:
    air = Atmosphere(day)
    assert ON_SYMBOLS(air.day, alt_m).full().ravel() == pytest.approx(air.at(alt_m), rel=1e-13)


def test_air_carries_the_wind() -> None:
    air = Atmosphere(Day()).air(0.0, (1.0, 2.0, 3.0))
    assert (air.wind_W, air.pressure_Pa, air.temperature_K) == ((1.0, 2.0, 3.0), 101325.0, 288.15)


@pytest.mark.parametrize("alt_m", [LOWEST_M - 1, HIGHEST_M + 1, math.nan])
def test_outside_its_range_it_is_an_error(alt_m: float) -> None:
    with pytest.raises(AeroloopError, match="expected -2000 to 32000 m above mean sea level"):
        Atmosphere(Day()).at(alt_m)
