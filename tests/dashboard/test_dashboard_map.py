"""The map of the fly page: what a finger points at is where the aircraft will be sent."""

from __future__ import annotations

import base64
import math
import re
import struct
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.dashboard.map import (
    FARTHEST_M_PER_PX,
    GRID_PX,
    REACH_M,
    Pose,
    View,
    grid_step_m,
    ground,
    live,
    scene,
    thinned,
)
from aeroloop.world.earth import Earth, Home
from aeroloop.world.terrain import Flat, Grid, Incline

PX = st.floats(0.0, 1500.0)
VIEWS = st.builds(
    View,
    east_m=st.floats(-5e3, 5e3),
    north_m=st.floats(-5e3, 5e3),
    m_per_px=st.floats(0.01, 10.0),
    width_px=st.floats(200.0, 1500.0),
    height_px=st.floats(200.0, 1500.0),
)


@settings(max_examples=30)
@given(VIEWS, PX, PX)
def test_pixels_and_metres_are_each_others_inverse(view: View, x_px: float, y_px: float) -> None:
    again = view.pixel(*view.metres(x_px, y_px))

    assert again == pytest.approx((x_px, y_px), abs=1e-6)


@settings(max_examples=30)
@given(VIEWS, PX, PX)
def test_a_tapped_pixel_comes_back_from_latitude_and_longitude(view: View, x_px: float, y_px: float) -> None:
    earth = Earth(Home())
    east_m, north_m = view.metres(x_px, y_px)

    there = earth.pos_W(*earth.geodetic((east_m, north_m, 5.0)))

    # A latitude in double precision is good for nanometres; a pixel is a centimetre at least.
    assert view.pixel(*there[:2]) == pytest.approx((x_px, y_px), abs=0.01)


def test_north_is_up_and_east_is_right() -> None:
    view = View(m_per_px=0.5, width_px=400, height_px=300)

    assert view.pixel(0.0, 0.0) == (200.0, 150.0)
    assert view.pixel(10.0, 0.0) == (220.0, 150.0)
    assert view.pixel(0.0, 10.0) == (200.0, 130.0)


@settings(max_examples=30)
@given(VIEWS, PX, PX, st.floats(0.2, 5.0))
def test_zooming_keeps_the_point_under_the_finger(view: View, x_px: float, y_px: float, factor: float) -> None:
    before = view.metres(x_px, y_px)

    assert view.zoomed(factor, x_px, y_px).metres(x_px, y_px) == pytest.approx(before, abs=1e-6)


@settings(max_examples=30)
@given(VIEWS, PX, PX, st.floats(-500.0, 500.0), st.floats(-500.0, 500.0))
def test_a_dragged_point_follows_the_hand(view: View, x_px: float, y_px: float, right: float, down: float) -> None:
    place = view.metres(x_px, y_px)

    assert view.dragged(right, down).pixel(*place) == pytest.approx((x_px + right, y_px + down), abs=1e-6)


def test_a_view_stays_inside_its_bounds_whatever_is_asked_for() -> None:
    view = View().zoomed(1e-300).zoomed(1e-3).dragged(1e9, 1e9).sized(1e9, 0.0)

    assert view.m_per_px == FARTHEST_M_PER_PX
    assert abs(view.east_m) <= REACH_M and abs(view.north_m) <= REACH_M
    assert len(scene(view)) < 200_000


def test_all_points_of_a_fitted_view_are_seen() -> None:
    points = [(-120.0, 40.0), (300.0, -80.0), (0.0, 0.0)]
    view = View(width_px=390, height_px=400).fitted(points)

    for x, y in (view.pixel(*point) for point in points):
        assert 0 < x < 390 and 0 < y < 400


@settings(max_examples=30)
@given(st.floats(0.001, 100.0))
def test_grid_lines_are_round_numbers_far_enough_apart(m_per_px: float) -> None:
    step_m = grid_step_m(m_per_px)

    assert GRID_PX * (1 - 1e-6) <= step_m / m_per_px <= 2.5 * GRID_PX * (1 + 1e-6)
    assert round(step_m / 10.0 ** math.floor(math.log10(step_m) + 1e-9), 6) in (1.0, 2.0, 5.0)


def _parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<svg>{svg}</svg>")


def test_waypoints_are_numbered_and_stand_where_they_were_put() -> None:
    view = View()
    root = _parsed(scene(view, waypoints=[(10.0, 5.0), (-3.0, 8.0)], target=(1.0, 2.0)))
    found = {group.get("data-waypoint"): group for group in root.iter("g") if group.get("data-waypoint")}

    assert [group.find("text").text for group in found.values()] == ["1", "2"]  # type: ignore[union-attr]
    x, y = map(float, re.findall(r"[-\d.]+", found["1"].get("transform", "")))
    assert view.metres(x, y) == pytest.approx((-3.0, 8.0), abs=0.06 * view.m_per_px)
    assert [group for group in root.iter("g") if group.get("class") == "map-target"]


def test_the_aircraft_points_where_it_looks() -> None:
    north = _parsed(live(View(), aircraft=Pose(0.0, 0.0, math.pi / 2))).find("g")

    assert north is not None
    # The arrow is drawn to the right; screens turn clockwise, so north is a quarter turn back.
    assert north.get("transform", "").endswith("rotate(-90.0)")


def test_what_is_no_number_is_not_drawn() -> None:
    nan = math.nan
    svg = live(
        View(),
        trail=[(nan, 0.0), (1.0, 1.0)],
        aircraft=Pose(nan, 0.0),
        estimate=(nan, nan),
        setpoint=(0.0, nan),
    )

    assert svg == ""


def test_a_long_trail_keeps_its_newest_point() -> None:
    trail = np.column_stack((np.arange(1001.0), -np.arange(1001.0)))
    kept = thinned(trail, 100)

    assert len(kept) <= 100
    assert kept[-1] == (1000.0, -1000.0)
    assert thinned(trail[:0], 100) == []


def test_flat_ground_has_no_picture() -> None:
    assert ground(Flat()) is None


def test_the_picture_of_the_ground_lies_where_the_ground_is_and_is_lit_from_the_north_west() -> None:
    hill = Grid([[0, 0, 0], [0, 30, 0], [0, 0, 0]], spacing_m=50.0, corner_m=(-50.0, -20.0))
    picture = ground(hill)

    assert picture is not None
    assert (picture.west_m, picture.south_m, picture.east_m, picture.north_m) == (-50.0, -20.0, 50.0, 80.0)
    view = View()
    left, top, width, height = picture.box(view)
    assert view.metres(left, top) == pytest.approx((-50.0, 80.0))
    assert view.metres(left + width, top + height) == pytest.approx((50.0, -20.0))
    pixels = _pixels(picture.href)
    third = len(pixels) // 3
    north_west, south_east = pixels[third, third], pixels[-third, -third]
    assert north_west[:3].astype(int).sum() > south_east[:3].astype(int).sum()


def test_a_slope_has_a_picture_too() -> None:
    assert ground(Incline(0.1, 0.0)) is not None


def _pixels(href: str) -> np.ndarray:
    data = base64.b64decode(href.removeprefix("data:image/png;base64,"))
    width, height = struct.unpack(">II", data[16:24])
    start = data.index(b"IDAT")
    (length,) = struct.unpack(">I", data[start - 4 : start])
    rows = np.frombuffer(zlib.decompress(data[start + 4 : start + 4 + length]), dtype=np.uint8)
    return rows.reshape(height, 1 + 4 * width)[:, 1:].reshape(height, width, 4)
