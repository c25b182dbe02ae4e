"""Transients: matched at both ends, evenly sampled, flyable where one is found, and a reason where none is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.interpolate import BSpline

from aeroloop.core.wing_signals import Turn
from aeroloop.planning.loiter import Circle, JoinSettings, enter, leave, stitch
from aeroloop.planning.path import Path, PathPoint, path_of_channel
from aeroloop.planning.transient import MOST_POINTS, Bends, Quintic, Scan, Transient, transient
from peers.channels import SIDE_M, channel_of, turns

LEAST_M = 75.0
RATE = 4e-4
BENDS = Bends(1.0 / LEAST_M, RATE)
angles = st.floats(-math.pi, math.pi)
points = st.builds(PathPoint, st.floats(-4e3, 4e3), st.floats(-4e3, 4e3), angles, st.floats(-0.012, 0.012))


def anywhere(x_m: float, y_m: float) -> bool:
    return True


def turned_by(a_rad: float, b_rad: float) -> float:
    return math.remainder(a_rad - b_rad, 2.0 * math.pi)


def path_east(length: int = 6) -> Path:
    return path_of_channel(channel_of([Turn.STRAIGHT] * length), side_m=SIDE_M)


@given(points, st.floats(60.0, 500.0), angles, angles, st.floats(-0.012, 0.012), st.sampled_from([1.0, 1.25, 1.5]))
def test_a_quintic_has_the_state_of_both_ends(
    begin: PathPoint, chord_m: float, ahead: float, psi: float, kappa: float, stretch: float
) -> None:
    end = PathPoint(begin.x_m + chord_m * math.cos(ahead), begin.y_m + chord_m * math.sin(ahead), psi, kappa)
    path = Quintic(begin, end, stretch).table()
    for index, point in ((0, begin), (-1, end)):
        assert math.hypot(path.x_m[index] - point.x_m, path.y_m[index] - point.y_m) < 1e-9
        assert turned_by(path.psi_rad[index], point.psi_rad) == pytest.approx(0.0, abs=1e-9)
        assert path.kappa_1_m[index] == pytest.approx(point.kappa_1_m, abs=1e-9)


@given(points, st.floats(60.0, 500.0), angles, angles, st.floats(-0.012, 0.012))
def test_a_quintic_is_a_clamped_b_spline_with_three_control_points_fixed_at_each_end(
    begin: PathPoint, chord_m: float, ahead: float, psi: float, kappa: float
) -> None:
    end = PathPoint(begin.x_m + chord_m * math.cos(ahead), begin.y_m + chord_m * math.sin(ahead), psi, kappa)
    controls = []
    for point, onward in ((begin, 1.0), (end, -1.0)):
        tangent = np.array([math.cos(point.psi_rad), math.sin(point.psi_rad)])
        first, second = chord_m * tangent, chord_m**2 * point.kappa_1_m * np.array([-tangent[1], tangent[0]])
        place = np.array([point.x_m - begin.x_m, point.y_m - begin.y_m])
        controls.append([place, place + onward * first / 5, place + onward * 2 * first / 5 + second / 20])
    spline = BSpline(np.repeat([0.0, 1.0], 6), np.array([*controls[0], *reversed(controls[1])]), 5)
    u = np.linspace(0.0, 1.0, 21)
    assert np.abs(Quintic(begin, end, 1.0).derivative(u, 0) - spline(u)).max() < 1e-8


@settings(max_examples=15)
@given(turns, turns, st.data())
def test_a_path_is_left_for_the_next_one_in_its_channel(
    old: tuple[Turn, ...], new: tuple[Turn, ...], data: st.DataObject
) -> None:
    path, onto = (
        path_of_channel(channel_of((Turn.STRAIGHT, *way, Turn.STRAIGHT)), side_m=SIDE_M) for way in (old, new)
    )
    onto = onto.part(50.0, onto.length_m)  # both begin alike: the next one goes on from 50 m
    begin_m = data.draw(st.floats(0.0, 20.0))
    found = stitch(path, begin_m, onto, 150.0, anywhere, JoinSettings(least_radius_m=LEAST_M, bend_rate_1_m2=RATE))
    check(found, path, onto)
    assert found.begin_m == begin_m and found.join_m >= 150.0
    nowhere = stitch(path, begin_m, onto, 150.0, lambda x_m, y_m: False, JoinSettings())
    assert nowhere.path is None and "leave the allowed cells" in nowhere.reason


@settings(max_examples=15)
@given(turns, st.floats(80.0, 150.0), st.booleans(), st.floats(0.0, 1.0))
def test_ways_out_of_and_into_a_circle_are_smooth(
    way: tuple[Turn, ...], radius_m: float, left: bool, where: float
) -> None:
    path = path_of_channel(channel_of((Turn.STRAIGHT, *way, Turn.STRAIGHT)), side_m=SIDE_M)
    joining = JoinSettings(least_radius_m=LEAST_M, bend_rate_1_m2=RATE)
    circle = Circle(float(path.x_m[0]), float(path.y_m[0]), radius_m, left)
    out = leave(circle, where * circle.length_m, path, anywhere, joining)
    check(out, circle, path)
    assert 0.0 <= out.begin_m - where * circle.length_m <= circle.length_m
    goal = Circle(float(path.x_m[-1]), float(path.y_m[-1]), radius_m, left)
    into = enter(path, max(0.0, path.length_m - 500.0), goal, anywhere, joining)
    check(into, path, goal)


def check(found: Transient, source: Path | Circle, target: Path | Circle) -> None:
    path = found.path
    assert path is not None, found.reason
    for s_m, other, other_m in ((0.0, source, found.begin_m), (path.length_m, target, found.join_m)):
        here, there = path.at(s_m), other.at(other_m)
        assert (here.x_m, here.y_m) == pytest.approx((there.x_m, there.y_m), abs=1e-9)
        assert turned_by(here.psi_rad, there.psi_rad) == pytest.approx(0.0, abs=1e-9)
        assert here.kappa_1_m == pytest.approx(there.kappa_1_m, abs=1e-9)
    assert np.abs(path.kappa_1_m).max() <= 1.0 / LEAST_M
    assert np.abs(np.diff(path.kappa_1_m)).max() <= RATE * path.step_m * 1.0001
    chords = np.hypot(np.diff(path.x_m), np.diff(path.y_m))
    assert path.step_m <= 2.002
    assert np.abs(chords / path.step_m - 1.0).max() < 2e-4
    middle = (path.kappa_1_m[1:] + path.kappa_1_m[:-1]) / 2
    assert np.abs(np.diff(path.psi_rad) - middle * path.step_m).max() < RATE * path.step_m**2 / 4


@settings(max_examples=25)
@given(points.filter(lambda point: abs(point.kappa_1_m) < 0.008), st.floats(-60.0, 60.0), st.floats(-0.5, 0.5))
def test_from_beside_a_path_onto_it(point: PathPoint, aside_m: float, off_rad: float) -> None:
    target = path_east(8)
    begin = target.at(100.0)
    assume(aside_m or off_rad)
    start = PathPoint(begin.x_m, begin.y_m + aside_m, off_rad, point.kappa_1_m)
    source = Quintic(start, PathPoint(start.x_m + 50.0, start.y_m, 0.0, 0.0), 1.0).table()
    found = transient(source, Scan(0.0, 0.0, 10.0), target, Scan(120.0, 1000.0, 10.0), bends=BENDS, allowed=anywhere)
    check(found, source, target)
    assert found.begin_m == 0.0


def test_the_joining_point_moves_downstream_until_the_curve_can_be_flown() -> None:
    target = path_east(8)
    begin = target.at(100.0)
    start = Quintic(begin._replace(y_m=begin.y_m + 60.0), begin._replace(x_m=begin.x_m + 60.0), 1.0).table()
    joins = []
    for least_m in (60.0, 120.0, 240.0):
        found = transient(
            start, Scan(0, 0, 1), target, Scan(120.0, 1000.0, 10.0), bends=Bends(1 / least_m, 1.0), allowed=anywhere
        )
        assert found.path is not None
        assert np.abs(found.path.kappa_1_m).max() <= 1 / least_m
        joins.append(found.join_m)
    assert joins == sorted(set(joins))


def test_a_circle_is_left_so_that_the_path_is_joined_as_early_as_can_be() -> None:
    path, joining = path_east(), JoinSettings()
    circle = Circle(float(path.x_m[0]), float(path.y_m[0]), 120.0)
    found = leave(circle, 0.0, path, anywhere, joining)
    starts, joins = Scan(0.0, circle.length_m, joining.leave_every_m), Scan(0.0, joining.reach_m, joining.join_every_m)
    at_once = transient(circle, starts, path, joins, bends=joining.bends, allowed=anywhere)
    assert at_once.begin_m < found.begin_m
    assert found.join_m < at_once.join_m
    sooner = joins._replace(last_m=found.join_m - joining.join_every_m)
    assert transient(circle, starts, path, sooner, bends=joining.bends, allowed=anywhere).path is None


@pytest.mark.parametrize(
    ("kappa_1_m", "step_1_m", "flyable"), [(0.01, 7e-4, True), (0.01, 9e-4, False), (0.014, 7e-4, False)]
)
def test_what_bends_too_much_or_too_abruptly_is_not_flyable(kappa_1_m: float, step_1_m: float, flyable: bool) -> None:
    for side in (1.0, -1.0):
        kappa = side * np.append(np.arange(0.0, kappa_1_m, step_1_m), kappa_1_m)
        nowhere = np.zeros(len(kappa))
        path = Path(2.0 * (len(kappa) - 1), nowhere, nowhere, nowhere, kappa)
        assert BENDS.flyable(path) is flyable


def test_a_transient_stays_where_it_may() -> None:
    path = path_east()
    circle = Circle(float(path.x_m[0]), float(path.y_m[0]), 120.0)
    free = leave(circle, 0.0, path, anywhere, JoinSettings())
    assert free.path is not None
    avoided = free.path.at(free.path.length_m / 2)

    def elsewhere(x_m: float, y_m: float) -> bool:
        return math.hypot(x_m - avoided.x_m, y_m - avoided.y_m) > 20.0

    kept = leave(circle, 0.0, path, elsewhere, JoinSettings())
    assert kept.path is not None
    assert all(map(elsewhere, kept.path.x_m, kept.path.y_m))


@pytest.mark.parametrize(("join_m", "found"), [(500.0, True), (575.0, False)])
def test_a_transient_is_no_longer_than_the_board_has_room_for(join_m: float, found: bool) -> None:
    beside = [cell._replace(row=cell.row + 1) for cell in channel_of([Turn.STRAIGHT] * 6)]
    source = path_of_channel(beside, side_m=SIDE_M)
    got = transient(source, Scan(0.0, 0.0, 1.0), path_east(), Scan(join_m, join_m, 1.0), bends=BENDS, allowed=anywhere)
    assert (got.path is not None) is found
    if got.path is None:
        assert "in 3 tries: 0 have a radius below" in got.reason
        assert got.reason.endswith("3 leave the allowed cells or are too long")
    else:
        assert len(got.path.x_m) <= MOST_POINTS


def test_why_there_is_none() -> None:
    path = path_east()
    circle = Circle(float(path.x_m[0]), float(path.y_m[0]), 120.0)
    nowhere = leave(circle, 0.0, path, lambda x_m, y_m: False, JoinSettings())
    assert nowhere.path is None
    assert "leave the allowed cells" in nowhere.reason
    assert f"in {nowhere.tried} tries" in nowhere.reason
    tight = leave(circle, 0.0, path, anywhere, JoinSettings(least_radius_m=119.0, reach_m=50.0))
    assert tight.path is None
    assert f"{tight.tried} have a radius below 119 m or too high a rate of curvature, 0 leave" in tight.reason
    behind = transient(path, Scan(400.0, 400.0, 1.0), path, Scan(0.0, 300.0, 10.0), bends=BENDS, allowed=anywhere)
    assert behind.reason == "no transient: none of the joining points lies ahead and near enough"
    there = [cell._replace(col=cell.col + 6) for cell in channel_of([Turn.STRAIGHT] * 6, 2)]
    oncoming = path_of_channel(there, side_m=SIDE_M)
    against = transient(path, Scan(0.0, 0.0, 1.0), oncoming, Scan(400.0, 800.0, 10.0), bends=BENDS, allowed=anywhere)
    assert against.reason == behind.reason


@given(st.floats(70.0, 200.0), st.booleans(), st.floats(0.0, 2000.0))
def test_a_circle_goes_round(radius_m: float, left: bool, s_m: float) -> None:
    circle = Circle(10.0, -20.0, radius_m, left)
    point, ahead = circle.at(s_m), circle.at(s_m + 0.01)
    assert math.hypot(point.x_m - 10.0, point.y_m + 20.0) == pytest.approx(radius_m)
    assert (
        math.atan2(ahead.y_m - point.y_m, ahead.x_m - point.x_m) == pytest.approx(point.psi_rad, abs=1e-3)
        or abs(point.psi_rad) > 3.1
    )
    assert turned_by(ahead.psi_rad, point.psi_rad) == pytest.approx(0.01 * point.kappa_1_m, abs=1e-9)
    assert (point.kappa_1_m > 0.0) == left
    again = circle.at(s_m + circle.length_m)
    assert (again.x_m, again.y_m) == pytest.approx((point.x_m, point.y_m))
    between = math.remainder(circle.nearest_s(point.x_m, point.y_m) - s_m, circle.length_m)
    assert between == pytest.approx(0.0, abs=1e-6)
