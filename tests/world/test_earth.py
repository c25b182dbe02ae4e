"""The earth against published values: NIMA TR8350.2 (WGS-84), NOAA's test values of the magnetic model, and pymap3d."""

from __future__ import annotations

import datetime
import math

import msgspec
import numpy as np
import pymap3d
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.core.errors import AeroloopError
from aeroloop.core.frames import Vec3
from aeroloop.core.geodesy import A_M
from aeroloop.world.earth import CELL_M, Earth, Home, normal_gravity_m_s2
from aeroloop.world.magnetic import MagneticModel

NT = 1e-9
FIELD_ERROR_T = 1.0 * NT
GEODESY_ERROR_M = 5e-6

latitudes = st.floats(-90.0, 90.0)
longitudes = st.floats(-180.0, 180.0)
positions = st.tuples(st.floats(-2e5, 2e5), st.floats(-2e5, 2e5), st.floats(-1e3, 2e4))


def gravity_from_potential(lat_deg: float, height_m: float) -> float:
    """Size of the gradient of the WGS-84 normal potential, from GM, the zonal harmonics and the earth's rotation."""
    gm, omega = 3.986004418e14, 7.292115e-5
    zonals = ((2, 1.08262982131e-3), (4, -2.37091120e-6), (6, 6.08347e-9))

    def potential(p: float, z: float) -> float:
        r = math.hypot(p, z)
        series = 1.0 - sum(j * (A_M / r) ** n * np.polynomial.legendre.Legendre.basis(n)(z / r) for n, j in zonals)
        return gm / r * series + 0.5 * (omega * p) ** 2

    x, y, z = pymap3d.geodetic2ecef(lat_deg, 0.0, height_m)
    p, d = math.hypot(x, y), 100.0
    along_p = (potential(p + d, z) - potential(p - d, z)) / (2 * d)
    along_z = (potential(p, z + d) - potential(p, z - d)) / (2 * d)
    return math.hypot(along_p, along_z)


@pytest.mark.parametrize(("sin_lat", "expected"), [(0.0, 9.7803253359), (1.0, 9.8321849378), (-1.0, 9.8321849378)])
def test_normal_gravity_has_the_published_values_at_equator_and_poles(sin_lat: float, expected: float) -> None:
    assert normal_gravity_m_s2(sin_lat, 0.0) == pytest.approx(expected, abs=2e-10)


@pytest.mark.parametrize("lat_deg", [0.0, 20.0, 47.4, -60.0, 90.0])
@pytest.mark.parametrize("height_m", [-400.0, 0.0, 1000.0, 10_000.0, 20_000.0])
def test_gravity_falls_with_height_as_the_potential_says(lat_deg: float, height_m: float) -> None:
    expected = gravity_from_potential(lat_deg, height_m)
    assert normal_gravity_m_s2(math.sin(math.radians(lat_deg)), height_m) == pytest.approx(expected, abs=2e-6)


def test_gravity_at_a_home_at_20_km_is_that_of_the_potential() -> None:
    home = Home(alt_m=20_000.0, geoid_height_m=47.0)
    found = Earth(home).place((0.0, 0.0, 0.0)).gravity_m_s2
    assert found == pytest.approx(gravity_from_potential(home.lat_deg, 20_047.0), abs=2e-6)


@given(latitudes, longitudes, positions)
def test_geodesy_agrees_with_pymap3d_and_goes_both_ways(lat_deg: float, lon_deg: float, pos_W: Vec3) -> None:
    earth = Earth(Home(lat_deg=lat_deg, lon_deg=lon_deg, alt_m=350.0, geoid_height_m=47.0))
    lat, lon, alt = earth.geodetic(pos_W)
    assert -180.0 <= lon <= 180.0
    assert np.allclose(earth.pos_W(lat, lon, alt), pos_W, rtol=0, atol=GEODESY_ERROR_M)
    theirs = pymap3d.enu2geodetic(*pos_W, lat_deg, lon_deg, 397.0)
    ours_ecef = pymap3d.geodetic2ecef(lat, lon, alt + 47.0)
    assert np.allclose(ours_ecef, pymap3d.geodetic2ecef(*theirs), rtol=0, atol=GEODESY_ERROR_M)


def test_place_says_where_it_is() -> None:
    earth = Earth(Home(lat_deg=10.0, lon_deg=20.0, alt_m=100.0, geoid_height_m=-30.0))
    home = earth.place((0.0, 0.0, 0.0))
    assert (home.lat_deg, home.lon_deg, home.alt_m) == pytest.approx((10.0, 20.0, 100.0), abs=1e-8)
    there = earth.place((1200.0, -700.0, 60.0))
    assert (there.lat_deg, there.lon_deg, there.alt_m) == earth.geodetic((1200.0, -700.0, 60.0))
    assert there.lat_deg < 10.0 < 20.0 < there.lon_deg


def test_mean_sea_level_and_ellipsoid_differ_by_the_geoid() -> None:
    earth = Earth(Home(alt_m=488.0, geoid_height_m=47.0))
    place = earth.place((0.0, 0.0, 0.0))
    assert place.alt_m == pytest.approx(488.0, abs=1e-6)
    assert earth.ellipsoid_height_m(place.alt_m) == pytest.approx(535.0, abs=1e-6)
    sin_lat = math.sin(math.radians(place.lat_deg))
    assert place.gravity_m_s2 == pytest.approx(normal_gravity_m_s2(sin_lat, 535.0), abs=1e-12)


FIELDS_NT = """\
2025.0   0  80   0   6521.6   145.9  54791.5
2025.0   0   0 120  39677.8  -109.6 -10580.2
2025.0   0 -80 240   6117.5 15751.9 -52022.5
2025.0 100  80   0   6216.0    92.4  52598.8
2025.0 100   0 120  37688.6   -96.2 -10152.1
2025.0 100 -80 240   5907.6 14780.3 -49540.7
2027.5   0  80   0   6500.8   294.5  54869.4
2027.5   0   0 120  39701.6  -167.4 -10381.8
2027.5   0 -80 240   6200.7 15730.3 -51783.7
2027.5 100  80   0   6196.7   233.8  52670.5
2027.5 100   0 120  37711.5  -148.7  -9969.8
2027.5 100 -80 240   5984.0 14760.1 -49317.7
2020.0   0  80   0   6570.4  -146.3  54606.0
2020.0   0   0 120  39624.3   109.9 -10932.5
2020.0   0 -80 240   5940.6 15772.1 -52480.8
"""


@pytest.mark.parametrize("row", FIELDS_NT.splitlines())
def test_magnetic_field_has_noaas_test_values(row: str) -> None:
    """NOAA NCEI, WMM2025_TEST_VALUES.txt and WMM2020testvalues.pdf: year, km, lat, lon, then north, east, down in nT.

    They print one decimal. 2 July is 2027.4986: at up to 96 nT a year that is another 0.13 nT.
    """
    year, km, lat, lon, north, east, down = map(float, row.split())
    date = datetime.date(int(year), 7, 2) if year % 1 else datetime.date(int(year), 1, 1)
    field = MagneticModel(date).field_T(lat, lon, 1000.0 * km)
    expected = (east * NT, north * NT, -down * NT)
    assert field == pytest.approx(expected, rel=0, abs=(0.2 if year % 1 else 0.06) * NT)


@given(latitudes, longitudes, positions)
@settings(max_examples=40)
def test_field_is_given_in_the_axes_of_home(lat_deg: float, lon_deg: float, pos_W: Vec3) -> None:
    date = datetime.date(2026, 6, 1)
    earth = Earth(Home(lat_deg=lat_deg, lon_deg=lon_deg, alt_m=0.0, date=date))
    lat, lon, alt = pymap3d.enu2geodetic(*pos_W, lat_deg, lon_deg, 0.0)
    local = MagneticModel(date).field_T(lat, lon, alt)
    in_home_axes = pymap3d.uvw2enu(*pymap3d.enu2uvw(*local, lat, lon), lat_deg, lon_deg)
    assert np.allclose(earth.field_W_T(pos_W), in_home_axes, rtol=0, atol=0.01 * NT)


@given(latitudes, longitudes, positions)
@settings(max_examples=60)
def test_field_of_a_tick_is_close_to_the_model(lat_deg: float, lon_deg: float, pos_W: Vec3) -> None:
    earth = Earth(Home(lat_deg=lat_deg, lon_deg=lon_deg))
    assert math.dist(earth.place(pos_W).field_W_T, earth.field_W_T(pos_W)) < FIELD_ERROR_T


@pytest.mark.parametrize("edge_m", [CELL_M / 2, -CELL_M / 2])
def test_place_depends_on_the_position_alone(edge_m: float) -> None:
    """Also on the edge of the cubes in which the field is linear, from whichever side one comes."""
    edge = (edge_m, 0.0, 0.0)
    fresh = Earth(Home()).place(edge)
    travelled = Earth(Home())
    for x in (2 * CELL_M, -2 * CELL_M, 0.0):
        travelled.place((x, 0.0, 0.0))
        assert travelled.place(edge) == fresh


@pytest.mark.parametrize("date", [datetime.date(2014, 12, 31), datetime.date(2030, 1, 1)])
def test_a_date_without_a_magnetic_model_is_refused(date: datetime.date) -> None:
    with pytest.raises(msgspec.ValidationError, match=f"2015-01-01 to 2029-12-31, not {date}"):
        msgspec.convert({"date": date}, Home)


@pytest.mark.parametrize("pos_W", [(math.nan, 0.0, 0.0), (0.0, math.inf, 0.0), (0.0, 6e5, 0.0)])
def test_a_position_out_of_this_world_is_refused(pos_W: Vec3) -> None:
    with pytest.raises(AeroloopError, match="within 500 km of home"):
        Earth(Home()).place(pos_W)
