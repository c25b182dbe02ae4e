"""Routes: the curve through points, its speeds within limits, and what is beyond them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.core.angles import wrap_pi
from aeroloop.core.errors import ConfigError
from aeroloop.planning.route import RoutePoint, Space, checked, sections
from aeroloop.planning.route_check import quantities, violations
from aeroloop.planning.route_limits import Limits
from aeroloop.planning.speed_profile import TimedRoute, timed

LIMITS = Limits()
coordinate = st.floats(-30.0, 30.0).map(lambda value: round(value, 2))
route_points = st.lists(
    st.builds(RoutePoint, st.tuples(coordinate, coordinate, coordinate), st.sampled_from([0.0, 0.5, 1.5, 2.0])),
    min_size=2,
    max_size=9,
)


def through(*places: tuple[float, float, float], speed_m_s: float = 0.0) -> list[RoutePoint]:
    return [RoutePoint(place, speed_m_s) for place in places]


def circle(radius_m: float, count: int = 25) -> list[RoutePoint]:
    angles = 2 * math.pi * np.arange(count) / (count - 1)
    places = [(radius_m * math.cos(a), radius_m * math.sin(a), 3.0) for a in angles]
    return through(*places[:-1], places[0])


def test_on_a_straight_line_the_speed_is_a_trapezoid() -> None:
    v, a, length_m = LIMITS.speed_m_s, LIMITS.accel_m_s2, 10.0
    route = timed(through((0, 0, 2), (4, 0, 2), (length_m, 0, 2)), LIMITS)
    assert route.length_m == pytest.approx(length_m, abs=1e-9)
    assert route.duration_s == pytest.approx(length_m / v + v / a, abs=1e-9)
    for t_s, x_m in ((1.0, a / 2), (v / a, v * v / a / 2), (3.0, v * v / a / 2 + v), (99.0, length_m)):
        assert route.at(t_s).pos_W == pytest.approx((x_m, 0.0, 2.0), abs=1e-9)


def test_a_short_line_is_a_triangle() -> None:
    route = timed(through((0, 0, 2), (0, 1, 2)), LIMITS)
    assert route.duration_s == pytest.approx(2 * math.sqrt(1.0 / LIMITS.accel_m_s2), abs=1e-6)
    assert route.speed_m_s.max() == pytest.approx(1.0, abs=0.02)


def test_vertical_lines_have_the_vertical_limits() -> None:
    limits = Limits(climb_m_s=1.0, sink_m_s=0.5, vertical_accel_m_s2=2.0)
    route = timed(through((0, 0, 1), (0, 0, 6), (0, 0, 1)), limits)
    assert route.parts == 2, "it turns back: it stops there"
    assert route.duration_s == pytest.approx(5 / 1.0 + 1.0 / 2.0 + 5 / 0.5 + 0.5 / 2.0, abs=5e-3)


def test_on_a_circle_the_speed_is_the_root_of_radius_times_acceleration() -> None:
    radius_m, limits = 5.0, Limits(speed_m_s=50.0, accel_m_s2=1.5)
    route = timed(circle(radius_m), limits)
    middle = (route.s_m > 0.4 * route.length_m) & (route.s_m < 0.6 * route.length_m)
    assert route.length_m == pytest.approx(2 * math.pi * radius_m, rel=1e-4)
    assert route.speed_m_s[middle] == pytest.approx(math.sqrt(radius_m * limits.accel_m_s2), rel=5e-3)
    assert not violations(route, limits)


def test_a_circle_flown_as_given_has_the_acceleration_of_its_speed() -> None:
    radius_m, speed_m_s = 4.0, 3.0
    points = [point._replace(speed_m_s=speed_m_s) for point in circle(radius_m)]
    route = timed(points, Limits(speed_m_s=5.0, accel_m_s2=2.0), fit=False)
    middle = route.speed_m_s == speed_m_s
    acceleration = next(q for q in quantities(route, LIMITS) if q.name == "acceleration")
    assert middle.sum() > 100
    assert np.median(acceleration.values[middle]) == pytest.approx(speed_m_s**2 / radius_m, rel=2e-3)
    (found, *_) = violations(route, Limits(speed_m_s=5.0, accel_m_s2=2.0))
    assert (found.name, found.limit) == ("acceleration", 2.0)
    assert found.worst == pytest.approx(math.hypot(2.0, speed_m_s**2 / radius_m), rel=0.01), "still speeding up"
    assert "acceleration: 3.0" in str(found) and "the limit is 2 m/s2" in str(found)


def test_speeds_of_the_points_hold_from_each_on() -> None:
    points = [
        RoutePoint((0, 0, 2), 1.0),
        RoutePoint((10, 0, 2), 2.0),
        RoutePoint((20, 0, 2), 0.5),
        RoutePoint((30, 0, 2)),
    ]
    route = timed(points, LIMITS)
    for at_m, speed_m_s in ((5.0, 1.0), (10.0, 1.0), (14.0, 2.0), (20.0, 0.5), (25.0, 0.5)):
        node = int(np.argmin(abs(route.s_m - at_m)))
        assert route.speed_m_s[node] == pytest.approx(speed_m_s, abs=0.03), at_m


def test_the_heading_follows_the_path_and_turns_at_a_stop() -> None:
    route = timed(through((0, 0, 2), (0, 5, 2), (0, 0, 2)), LIMITS, heading="along")
    assert route.at(1.0).yaw_rad == pytest.approx(math.pi / 2)
    assert abs(route.at(route.duration_s - 1.0).yaw_rad) == pytest.approx(math.pi / 2)
    assert route.at(route.duration_s).yaw_rad == pytest.approx(-math.pi / 2)
    turning = route.at(route.duration_s / 2)
    assert turning.vel_W == (0.0, 0.0, 0.0)
    assert abs(turning.yaw_rate_rad_s) == pytest.approx(1.5 * 0.5)
    bend = timed(circle(5.0), LIMITS, heading="along")
    assert np.ptp(bend.yaw_rad) == pytest.approx(2 * math.pi, rel=1e-3)


@settings(max_examples=40, deadline=None)
@given(route_points)
def test_any_route_passes_its_points_within_limits_with_exact_derivatives(points: list[RoutePoint]) -> None:
    try:
        checked(points)
        route = timed(points, LIMITS, heading="along")
    except ConfigError:
        return
    for point in points:
        assert np.linalg.norm(route.pos_W - point.pos_W, axis=1).min() < 0.6 * np.diff(route.s_m).max() + 1e-6
    for quantity in quantities(route, LIMITS):
        assert quantity.worst <= 1.02 * quantity.limit, quantity.name
    assert (np.diff(route.t_s) >= 0).all() and np.isfinite(route.t_s).all()
    assert route.at(-1.0).pos_W == pytest.approx(points[0].pos_W)
    assert route.at(route.duration_s + 1.0).pos_W == pytest.approx(points[-1].pos_W, abs=1e-6)
    exact_derivatives(route)


def exact_derivatives(route: TimedRoute, h_s: float = 1e-5) -> None:
    for t_s in np.linspace(0.013, route.duration_s - 0.017, 12):
        before, now, after = (route.at(t_s + by) for by in (-h_s, 0.0, h_s))
        vel_W = (np.subtract(after.pos_W, before.pos_W)) / (2 * h_s)
        assert vel_W == pytest.approx(now.vel_W, abs=2e-4)
        accel_W = np.subtract(after.vel_W, before.vel_W) / (2 * h_s)
        assert np.median(abs(accel_W - now.accel_W)) < 0.02  # at a node it steps
        assert wrap_pi(after.yaw_rad - before.yaw_rad) / (2 * h_s) == pytest.approx(
            now.yaw_rate_rad_s, abs=5e-3, rel=1e-2
        )


def test_the_curve_is_smooth_through_its_points() -> None:
    (section,) = sections(through((0, 0, 2), (5, 0, 3), (6, 4, 3), (2, 8, 4)))
    assert np.linalg.norm(section.tangent_W, axis=1) == pytest.approx(1.0)
    assert abs((section.tangent_W * section.curvature_W).sum(axis=1)).max() < 1e-9
    steps = np.linalg.norm(np.diff(section.curvature_W, axis=0), axis=1)
    assert steps.max() < 0.05, "no step of curvature at a point"


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (through((0, 0, 1)), "expected 2 to 200 points, not 1"),
        (through(*((i, 0, 1) for i in range(201))), "expected 2 to 200 points, not 201"),
        (through((0, 0, 1), (math.nan, 0, 1)), "point 2: expected coordinates within +-100000 m, not nan"),
        (through((0, 0, 1), (0, math.inf, 1)), "point 2: expected coordinates"),
        (through((0, 0, 1), (1, 0, 1), (1.01, 0, 1)), "point 3: expected at least 0.05 m from point 2, not 0.01 m"),
        (through((0, 0, 1), (1, 0, 1), speed_m_s=-1.0), "point 1: speed_m_s: expected 0 to 100 m/s, not -1"),
        (through((0, 0, 1), (1, 0, 0.2)), "point 2: its height is 0.2 m; expected at least 0.5 m there"),
        (through((0, 0, 1), (300, 0, 1)), "point 2: it is 300.0 m from the origin; expected less than 200 m"),
    ],
)
def test_bad_points_are_refused_in_one_sentence(points: list[RoutePoint], words: str) -> None:
    with pytest.raises(ConfigError, match=r"^FILE: ") as refused:
        checked(points, "FILE", Space(clearance_m=0.5, bound_m=200.0))
    assert words in str(refused.value)


def test_a_curve_that_dips_below_the_ground_between_its_points_is_named() -> None:
    """The points are above the ground; the curve between two of them is not."""
    points = checked(through((0, 0, 10), (10, 0, 0.3), (30, 0, 0.3), (40, 0, 10)), "r", Space())
    found = violations(timed(points, LIMITS), LIMITS, Space())
    assert [each.name for each in found] == ["height above ground"]
    assert found[0].worst < 0.0 and found[0].point == 2
