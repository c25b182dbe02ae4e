"""Degrees and metres on the ellipsoid, against pymap3d."""

from __future__ import annotations

import math

import pymap3d
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.core import geodesy
from aeroloop.core.signals import Origin

latitudes, longitudes = st.floats(-89.0, 89.0), st.floats(-180.0, 180.0)
heights = st.floats(-100.0, 5000.0)
metres = st.floats(-3000.0, 3000.0)


def longitude_error(one_deg: float, other_deg: float, lat_deg: float) -> float:
    return abs(geodesy.wrap_longitude(one_deg - other_deg)) * math.cos(math.radians(lat_deg))


@given(latitudes, longitudes, heights, metres, metres, metres)
@settings(max_examples=60)
def test_local_coordinates_are_those_of_pymap3d(
    lat_deg: float, lon_deg: float, alt_m: float, east: float, north: float, up: float
) -> None:
    origin, plane = Origin(lat_deg, lon_deg, alt_m), geodesy.TangentPlane(lat_deg, lon_deg, alt_m)
    place = tuple(float(v) for v in pymap3d.enu2geodetic(east, north, up, lat_deg, lon_deg, alt_m))
    for local in (geodesy.local(origin, *place), plane.local(*place)):
        assert local == pytest.approx((east, north, up), abs=1e-3)
    lat_rad, lon_rad, height_m, sin_lat = plane.geodetic(east, north, up)
    assert sin_lat == pytest.approx(math.sin(lat_rad), abs=1e-15)
    for lat, lon, alt in (
        geodesy.geodetic(origin, (east, north, up)),
        (math.degrees(lat_rad), math.degrees(lon_rad), height_m),
    ):
        assert (lat, alt) == pytest.approx((place[0], place[2]), abs=1e-3 / 1e5, rel=1e-9)
        assert longitude_error(lon, place[1], lat) < 1e-8
        assert -180.0 <= lon < 180.0


@given(
    lat_deg=st.floats(-85, 85),
    lon_deg=st.floats(-179.9, 179.9),
    alt_m=st.floats(-100, 9000),
    east_m=st.floats(-30, 30),
    north_m=st.floats(-30, 30),
)
def test_metres_become_degrees(lat_deg: float, lon_deg: float, alt_m: float, east_m: float, north_m: float) -> None:
    """To 2 mm over 30 m."""
    lat, lon = geodesy.moved(lat_deg, lon_deg, alt_m, east_m, north_m)
    east, north, _ = pymap3d.geodetic2enu(lat, lon, alt_m, lat_deg, lon_deg, alt_m)
    assert (east, north) == pytest.approx((east_m, north_m), abs=2e-3)


def test_across_the_date_line_and_at_the_pole() -> None:
    lat, lon = geodesy.moved(10.0, 179.99999, 0.0, 10.0, 0.0)
    assert -180.0 <= lon < -179.9999
    assert lat == 10.0
    assert geodesy.moved(90.0, 12.0, 0.0, 5.0, 0.0) == (90.0, 12.0)


@given(latitudes)
def test_radii_of_curvature_are_those_of_pymap3d(lat_deg: float) -> None:
    prime_m, meridian_m = geodesy.radii_m(math.radians(lat_deg))
    assert prime_m == pytest.approx(pymap3d.rcurve.transverse(lat_deg), rel=1e-12)
    assert meridian_m == pytest.approx(pymap3d.rcurve.meridian(lat_deg), rel=1e-12)
