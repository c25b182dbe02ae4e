"""Trajectories: exact derivatives, the paper's spiral, waypoint files and everything wrong with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeroloop.core.angles import wrap_pi
from aeroloop.core.errors import ConfigError
from aeroloop.ground import waypoints
from aeroloop.ground.config import Circle, Hover, Lemniscate, Spiral, Trajectory, Waypoints
from aeroloop.ground.trajectories import Point, build, joined, reference_at

HEADER = "t_s,x_m,y_m,z_m,yaw_rad\n"
CORNERS = "1,0,0,1,3.0\n4,5,-2,3,-3.0\n4.5,5,-2,3,-1\n9,0,0,2,-3\n"


@pytest.fixture(scope="module")
def corners(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("waypoints") / "corners.csv"
    file.write_text(HEADER + CORNERS)
    return file


KINDS: dict[str, Callable[[Path], Trajectory]] = {
    "spiral": lambda _: Spiral(),
    "part of a spiral": lambda _: Spiral(turns=0.3, radius_m=2.0, height_m=-1.0, period_s=7.0),
    "hover": lambda _: Hover(pos_W=(1.0, 2.0, 3.0), yaw_rad=0.5),
    "circle": lambda _: Circle(),
    "lemniscate": lambda _: Lemniscate(),
    "waypoints": lambda file: Waypoints(file=str(file)),
}
KINKS_S = (7.0, 60.0)
"""Where a spiral stops dead, so that the derivative from one side is not that of the other."""


def row(point: Point) -> tuple[float, ...]:
    return (*point.pos_W, point.yaw_rad)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None)
@given(t_s=st.floats(0.001, 70.0))
def test_velocity_is_the_derivative_of_position(kind: str, t_s: float, corners: Path) -> None:
    path = build(KINDS[kind](corners))
    h = 1e-5
    if any(abs(t_s - kink) <= h for kink in KINKS_S):
        return
    before, after, point = path(t_s - h), path(t_s + h), path(t_s)
    numeric = [(b - a) / (2 * h) for a, b in zip(before.pos_W, after.pos_W, strict=True)]
    numeric.append(wrap_pi(after.yaw_rad - before.yaw_rad) / (2 * h))
    assert (*point.vel_W, point.yaw_rate_rad_s) == pytest.approx(numeric, abs=1e-6, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None)
@given(t_s=st.floats(0.0, 70.0) | st.sampled_from([1.0, 4.0, 4.5, 9.0, *KINKS_S]))
def test_nothing_jumps(kind: str, t_s: float, corners: Path) -> None:
    path = build(KINDS[kind](corners))
    here, soon = path(t_s), path(t_s + 1e-6)
    assert math.dist(here.pos_W, soon.pos_W) < 1e-5
    assert abs(wrap_pi(soon.yaw_rad - here.yaw_rad)) < 1e-5
    assert abs(here.yaw_rad) <= math.pi


def test_spiral_is_the_papers() -> None:
    path = build(Spiral())
    assert path(0.0).pos_W == (2.0, 0.0, 0.5)
    assert path(0.0).vel_W == pytest.approx((0.0, 5.0 * 2 * 3 * math.pi / 60, 10 / 60))
    for t_s in (0.0, 3.3, 17.0, 42.0, 59.9):
        x, y, z = path(t_s).pos_W
        assert math.hypot(x + 3.0, y) == pytest.approx(5.0)
        assert z == pytest.approx(0.5 + t_s / 6)
        assert path(t_s).yaw_rad == 0.0
    assert path(10.0).pos_W == pytest.approx((-8.0, 0.0, 0.5 + 10 / 6))  # half a turn of three in 60 s
    assert path(5.0).pos_W == pytest.approx((-3.0, 5.0, 0.5 + 5 / 6))  # counter-clockwise
    for t_s in (60.0, 61.0, 1e6):
        assert path(t_s).pos_W == pytest.approx((2.0, 0.0, 10.5))
        assert path(t_s).vel_W == (0.0, 0.0, 0.0)
    assert path(math.nextafter(60.0, 0.0)).vel_W[2] == pytest.approx(10 / 60)


def test_circle_and_lemniscate_start_and_turn_as_described() -> None:
    circle = build(Circle(center_W=(1.0, 2.0, 3.0), radius_m=4.0, period_s=8.0))
    assert circle(0.0).pos_W == (5.0, 2.0, 3.0)
    assert circle(2.0).pos_W == pytest.approx((1.0, 6.0, 3.0))
    eight = build(Lemniscate(center_W=(1.0, 2.0, 3.0), size_m=4.0, period_s=8.0))
    assert eight(0.0).pos_W == (1.0, 2.0, 3.0)
    assert eight(1.0).pos_W == pytest.approx((1.0 + 4.0 * math.sqrt(0.5), 4.0, 3.0))
    assert eight(2.0).pos_W == pytest.approx((5.0, 2.0, 3.0))


def test_waypoints_rest_at_every_point_and_turn_the_short_way(corners: Path) -> None:
    path = build(Waypoints(file=str(corners)))
    assert row(path(0.0)) == row(path(1.0)) == (0.0, 0.0, 1.0, 3.0)
    assert row(path(4.0)) == pytest.approx((5.0, -2.0, 3.0, -3.0))
    assert row(path(9.0)) == row(path(100.0)) == (0.0, 0.0, 2.0, -3.0)
    for t_s in (0.0, 1.0, 4.0, 4.5, 9.0, 100.0):
        assert path(t_s).vel_W == (0.0, 0.0, 0.0)
        assert path(t_s).yaw_rate_rad_s == 0.0
    assert path(2.5).pos_W == pytest.approx((2.5, -1.0, 2.0))  # half way at half time
    assert abs(path(2.5).yaw_rad) == pytest.approx(math.pi)  # across the cut, not through zero
    assert path(2.5).vel_W[0] == pytest.approx(1.875 * 5 / 3)  # peak of a minimum-jerk leg


@pytest.mark.parametrize("text", ["t_s,x_m,y_m,z_m\n3,1,2,3\n", "\ufefft_s, x_m, y_m, z_m\r\n\r\n3, 1, 2, 3"])
def test_a_single_waypoint_is_a_hover(tmp_path: Path, text: str) -> None:
    (tmp_path / "one.csv").write_bytes(text.encode())
    path = build(Waypoints(file=str(tmp_path / "one.csv")))
    assert path(0.0) == path(3.0) == path(10.0) == Point((1.0, 2.0, 3.0), 0.0, (0.0, 0.0, 0.0), 0.0)


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("", 1, "expected the header t_s,x_m,y_m,z_m[,yaw_rad]"),
        ("0,1,2,3\n", 1, "expected the header"),
        ("t_s,x_m,z_m,y_m\n0,1,2,3\n", 1, "expected the header"),
        (HEADER, 2, "at least one point"),
        (HEADER + "0,1,2,3\n", 2, "expected 5 values (t_s,x_m,y_m,z_m,yaw_rad), not 4"),
        (HEADER + "0,1,2,3,0,9\n", 2, "expected 5 values"),
        (HEADER + "0,1,2,3,0\n1,1,east,3,0\n", 3, "y_m: expected a number within +-1e+06, not 'east'"),
        (HEADER + "0,1,,3,0\n", 2, "y_m: expected a number"),
        (HEADER + "0,nan,2,3,0\n", 2, "x_m: expected a number"),
        (HEADER + "inf,0,2,3,0\n", 2, "t_s: expected a number"),
        (HEADER + "0,0,2,1e7,0\n", 2, "z_m: expected a number"),
        (HEADER + "1,0,0,0,0\n\n1,1,0,0,0\n", 4, "t_s: expected at least 0.001 s more than 1.0, not 1.0"),
        (HEADER + "1,0,0,0,0\n0.5,1,0,0,0\n", 3, "t_s: expected at least 0.001 s more"),
    ],
)
def test_a_bad_waypoint_file_names_line_and_expectation(tmp_path: Path, text: str, line: int, expected: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(ConfigError) as error:
        build(Waypoints(file=str(file)))
    assert str(error.value).startswith(f"{file}, line {line}: ")
    assert expected in str(error.value)


def test_waypoint_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "long.csv"
    file.write_text(HEADER + "".join(f"{i},0,0,1,0\n" for i in range(4)))
    monkeypatch.setattr(waypoints, "MAX_ROWS", 4)
    build(Waypoints(file=str(file)))
    monkeypatch.setattr(waypoints, "MAX_ROWS", 3)
    with pytest.raises(ConfigError, match="line 5: expected at most 3 points"):
        build(Waypoints(file=str(file)))
    monkeypatch.setattr(waypoints, "MAX_BYTES", 20)
    with pytest.raises(ConfigError, match="expected at most 20 bytes"):
        build(Waypoints(file=str(file)))


def test_a_hundred_thousand_rows_fit(tmp_path: Path) -> None:
    file = tmp_path / "full.csv"
    rows = (f"{i * 0.1:.1f},{i % 7}.125,0,1,0\n" for i in range(waypoints.MAX_ROWS))
    file.write_text(HEADER + "".join(rows))
    assert len(waypoints.read(file)) == waypoints.MAX_ROWS == 100_000


def test_an_unreadable_waypoint_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.csv: cannot be read: No such file"):
        build(Waypoints(file=str(tmp_path / "none.csv")))
    with pytest.raises(ConfigError, match="expected a regular file"):
        build(Waypoints(file=str(tmp_path)))
    (tmp_path / "latin.csv").write_bytes(b"t_s,x_m\xe9")
    with pytest.raises(ConfigError, match=r"latin\.csv: expected UTF-8 text"):
        build(Waypoints(file=str(tmp_path / "latin.csv")))


@pytest.mark.parametrize(
    "trajectory",
    [Hover(pos_W=(math.nan, 0.0, 0.0)), Circle(center_W=(0.0, math.inf, 0.0)), Spiral(period_s=1e-300)],
)
def test_a_path_outside_all_bounds_is_refused(trajectory: Trajectory) -> None:
    with pytest.raises(ConfigError, match=r"ground\.trajectory: expected coordinates"):
        build(trajectory)


def test_a_reference_is_stamped_and_feedforward_can_be_off() -> None:
    path = build(Circle(center_W=(0.0, 0.0, 3.0), radius_m=3.0, period_s=20.0))
    moving = reference_at(path, 5_012_999_999, feedforward=True)
    point = path(5.012999999)
    assert moving.t_ms == 5012
    assert (moving.pos_W, moving.vel_W) == (point.pos_W, point.vel_W)
    assert (moving.yaw_rad, moving.yaw_rate_rad_s) == (point.yaw_rad, point.yaw_rate_rad_s)
    still = reference_at(path, 5_012_999_999, feedforward=False)
    assert still.pos_W == moving.pos_W
    assert (still.vel_W, still.yaw_rate_rad_s) == ((0.0, 0.0, 0.0), 0.0)


def test_feedforward_carries_the_yaw_rate(corners: Path) -> None:
    path = build(Waypoints(file=str(corners)))
    assert reference_at(path, 2_500_000_000, feedforward=True).yaw_rate_rad_s > 0.1
    assert reference_at(path, 2_500_000_000, feedforward=False).yaw_rate_rad_s == 0.0


@pytest.mark.parametrize("trajectory", [Spiral(), Circle(), Lemniscate(), Hover(pos_W=(1.0, -2.0, 4.0), yaw_rad=-3.0)])
def test_a_path_is_joined_smoothly_from_anywhere(trajectory: Trajectory) -> None:
    path, here = build(trajectory), Point((0.5, 7.0, 2.0), 3.0, (0.0, 0.0, 0.0), 0.0)
    along = joined(path, here, 10.0)
    assert along(10.0) == here
    assert along(60.0) == path(50.0)  # it runs from its beginning, and ends up on it
    step_s = 1e-4
    for t_s in np.arange(10.0, 40.0, 0.37):
        before, point, after = along(t_s - step_s), along(t_s), along(t_s + step_s)
        numeric = (np.array(after.pos_W) - np.array(before.pos_W)) / (2 * step_s)
        if t_s > 10.0:
            assert point.vel_W == pytest.approx(numeric, abs=1e-3)
            assert wrap_pi(after.yaw_rad - before.yaw_rad) / (2 * step_s) == pytest.approx(
                point.yaw_rate_rad_s, abs=1e-3
            )
        assert math.hypot(*point.vel_W) < 4.0
