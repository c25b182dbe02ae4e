"""The pilot's instruments: what the picture shows for which numbers."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.dashboard import instruments
from aeroloop.dashboard.instruments import HORIZON_Y, PER_DEG, Readings

number = st.floats(allow_nan=True, allow_infinity=True)
SVG = "{http://www.w3.org/2000/svg}"


def group(picture: str, testid: str) -> ElementTree.Element:
    found = [each for each in ElementTree.fromstring(picture).iter() if each.get("data-testid") == testid]
    assert len(found) == 1
    return found[0]


def turned_and_shifted(picture: str) -> tuple[float, float]:
    turn = re.search(r"rotate\((-?[\d.]+)\)\"><g transform=\"translate\(0 (-?[\d.]+)\)", picture)
    assert turn is not None
    return float(turn[1]), float(turn[2])


@pytest.mark.parametrize(("roll_deg", "nose_up_deg"), [(0.0, 0.0), (30.0, 0.0), (-12.5, 8.0), (5.0, -20.0)])
def test_the_world_turns_against_the_roll_and_sinks_as_the_nose_rises(roll_deg: float, nose_up_deg: float) -> None:
    picture = instruments.horizon(math.radians(roll_deg), math.radians(nose_up_deg))
    turn, drop = turned_and_shifted(picture)  # of SVG: clockwise, and down
    assert turn == pytest.approx(-roll_deg, abs=0.05)
    assert drop == pytest.approx(nose_up_deg * PER_DEG, abs=0.05)


def test_the_ladder_shows_what_is_near_the_nose() -> None:
    level = instruments.horizon(0.0, 0.0)
    assert ">10<" in level and ">40<" not in level
    steep = instruments.horizon(0.0, math.radians(45.0))
    assert ">40<" in steep and ">50<" in steep and ">10<" not in steep


def test_a_tape_is_centred_on_its_value() -> None:
    picture = instruments.tape("altitude", 10.0, "m", x=0.0, step=2.0, places=1)
    places = {
        float(text): float(y) - 4 for y, text in re.findall(r'y="(-?[\d.]+)" text-anchor="end">(-?[\d.]+)<', picture)
    }
    assert places[10.0] == pytest.approx(HORIZON_Y)
    assert places[12.0] == pytest.approx(HORIZON_Y - instruments.TAPE_PER_STEP)  # more is higher
    assert 'data-value="10.0"' in picture


def test_the_setpoint_height_is_marked_beside_the_tape_and_never_leaves_it() -> None:
    assert instruments.SETPOINT not in instruments.tape("a", 10.0, "m", x=0.0, step=2.0, places=1)
    near, far = (
        instruments.tape("a", 10.0, "m", x=0.0, step=2.0, places=1, setpoint=setpoint) for setpoint in (12.0, 1000.0)
    )
    top = instruments.HORIZON_Y - instruments.HORIZON_HALF_H
    for picture, expected in ((near, HORIZON_Y - instruments.TAPE_PER_STEP), (far, top + 6)):
        mark = re.search(rf'd="M0 (-?[\d.]+)h8l-6 7l6 7h-8z" fill="{instruments.SETPOINT}"', picture)
        assert mark is not None
        assert float(mark[1]) + 7 == pytest.approx(expected, abs=0.06)


def test_speed_has_no_numbers_below_zero() -> None:
    assert ">-2<" not in instruments.tape("speed", 0.0, "m/s", x=0.0, step=2.0, places=1, floor=0.0)
    assert 'data-value="0.0"' in instruments.tape("speed", -0.01, "m/s", x=0.0, step=2.0, places=1)


@pytest.mark.parametrize(("heading_deg", "words"), [(0.0, "000°"), (359.7, "000°"), (92.4, "092°")])
def test_the_compass_reads_where_the_nose_points(heading_deg: float, words: str) -> None:
    assert f'data-value="{words}"' in instruments.heading(heading_deg)


def test_the_compass_wraps_around_north() -> None:
    picture = instruments.heading(350.0)
    assert ">N<" in picture and ">330<" in picture and ">30<" in picture


def test_climb_is_up_from_the_middle_and_sink_is_down() -> None:
    up, down = (
        re.search(r'y="([\d.]+)" width="7" height="([\d.]+)" rx="2" fill="#ffd23f"', instruments.climb(rate))
        for rate in (2.5, -2.5)
    )
    assert up is not None and down is not None
    assert float(up[1]) + float(up[2]) == pytest.approx(HORIZON_Y)
    assert float(down[1]) == pytest.approx(HORIZON_Y)


def test_what_is_not_known_is_not_shown() -> None:
    picture = instruments.panel(Readings())
    assert "no attitude" in picture
    for testid in ("speed", "altitude", "heading"):
        assert group(picture, testid).get("data-value") == "–"
    assert "nan" not in picture


@given(st.builds(Readings, number, number, number, number, number, number, number))
def test_any_numbers_give_a_small_picture_that_parses(now: Readings) -> None:
    picture = instruments.panel(now)
    assert len(picture) < 20_000
    assert ElementTree.fromstring(picture).tag == f"{SVG}svg"
    assert "nan" not in picture and "inf" not in picture
    assert instruments.panel(now) == picture
