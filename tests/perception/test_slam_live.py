"""SLAM frame by frame, as a companion calls it: rows, the map that is drawn, loss and what follows it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from textured_wall import CALIBRATION, DARK, DEPTH, SETTINGS, WHITE, rgb

from aeroloop.core.errors import ConfigError
from aeroloop.perception.slam import octree, se3
from aeroloop.perception.slam.files import loops_text, read, write
from aeroloop.perception.slam.live import LiveSlam, SlamRow
from aeroloop.perception.slam.result import Truth
from aeroloop.perception.slam.run import summary
from aeroloop.perception.slam.settings import settings_of
from aeroloop.perception.slam.tracker import T_WC_FIRST

pytest.importorskip("cv2")

STEP_M = 0.1
NEAR_M = 0.03  # of a pose; the images are whole pixels of 1.25 cm


class Flight:
    """Feeds images at 10 Hz and keeps the rows."""

    def __init__(self, *overrides: str, seed: int | None = None) -> None:
        self.slam = LiveSlam(CALIBRATION, settings_of((*SETTINGS, *overrides)), seed, clock_ns=lambda: 0)
        self.rows: list[SlamRow] = []

    def see(self, images: Iterable[np.ndarray]) -> list[SlamRow]:
        new = []
        for image in images:
            number = len(self.rows) + len(new)
            new.append(self.slam.frame(number, number * 100_000_000, image, DEPTH))
        self.rows += new
        return new

    def go(self, begin_m: float, end_m: float) -> list[SlamRow]:
        count = round(abs(end_m - begin_m) / STEP_M) + 1
        return self.see([rgb(x) for x in np.linspace(begin_m, end_m, count)])

    @property
    def mapped(self) -> int:
        return len(self.slam.state.anchored())


def x_m(row: SlamRow) -> float:
    return float(row.T_WC[0, 3])


def test_rows_follow_the_camera() -> None:
    flight = Flight(seed=3)
    rows = flight.go(0.0, 3.0)
    assert flight.slam.settings.seed == 3
    assert not any(row.lost for row in rows)
    assert [row.number for row in rows] == list(range(31))
    assert rows[-1].t_ns == 3_000_000_000
    assert x_m(rows[-1]) == pytest.approx(3.0, abs=NEAR_M)
    assert np.allclose(rows[-1].T_WC, rows[-1].T_WC_odometry)  # no loop so far
    assert sum(row.keyframe for row in rows) == rows[-1].keyframes == len(flight.slam.state.keyframes) > 5
    assert rows[0].keyframe and rows[0].state == "tracked"
    assert rows[-1].inliers > 50


def test_the_same_frames_and_seed_give_the_same_rows() -> None:
    poses = []
    for _ in range(2):
        flight = Flight("loop_age=2", seed=5)
        flight.go(0.0, 1.0)
        flight.go(1.0, 0.0)
        assert flight.slam.state.loops
        poses.append(np.array([row.T_WC for row in flight.rows]).tobytes())
    assert poses[0] == poses[1]


def test_the_first_pose_may_come_from_elsewhere() -> None:
    first = se3.exp(np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3]))
    slam = LiveSlam(CALIBRATION, settings_of(SETTINGS), T_WC_first=first)
    assert np.array_equal(slam.frame(0, 0, rgb(0.0), DEPTH).T_WC, first)


def test_images_of_another_size_are_refused() -> None:
    slam = LiveSlam(CALIBRATION, settings_of(SETTINGS))
    with pytest.raises(ValueError, match="depth image: expected 192x144 pixels, not 100x144"):
        slam.frame(0, 0, rgb(0.0), DEPTH[:, :100])


def test_the_drawn_map_is_bounded_and_has_loops_as_lines() -> None:
    flight = Flight("loop_age=4")
    assert len(flight.slam.shown().points_W) == 0
    flight.go(0.0, 2.0)
    early = flight.slam.shown()
    flight.go(2.0, 0.0)
    shown, few = flight.slam.shown(), flight.slam.shown(most_points=100)
    assert len(early.points_W) < len(shown.points_W) or np.ptp(shown.points_W[:, 0]) >= np.ptp(early.points_W[:, 0])
    assert 0 < len(few.points_W) <= 100
    assert np.abs(shown.points_W[:, 1] - 2.0).max() < 0.05  # all on the wall, 2 m ahead
    assert len(shown.keyframes_W) == len(flight.slam.state.keyframes)
    loops = flight.slam.state.loops
    assert len(shown.loops_W) == len(loops) > 0
    assert np.array_equal(shown.loops_W[0], shown.keyframes_W[[loops[0].i, loops[0].j]])
    assert len(loops_text(flight.slam.state).splitlines()) == len(loops) + 1


@pytest.mark.parametrize("blind", [DARK, WHITE], ids=["dark", "white wall"])
def test_without_features_it_is_lost_and_finds_itself_again(blind: np.ndarray) -> None:
    flight = Flight()
    flight.go(0.0, 2.0)
    mapped, points = flight.mapped, len(flight.slam.shown().points_W)
    rows = flight.see([blind] * 30)
    assert all(row.state == "lost" for row in rows)
    assert (flight.mapped, len(flight.slam.shown().points_W)) == (mapped, points)
    assert rows[-1].keyframes <= mapped + 1  # one that waits, however long it is blind
    again = flight.go(2.0, 3.0)
    # The keyframe that waits is replaced, and placed by the ones from just before the loss.
    found = next(index for index, row in enumerate(again) if not row.lost)
    assert found <= flight.slam.settings.lost_frames
    assert not any(row.lost for row in again[found:])
    assert x_m(again[-1]) == pytest.approx(3.0, abs=NEAR_M)
    assert flight.mapped > mapped
    assert summary(flight.slam.result("wall"))["frames_lost"] == 30 + found


def test_it_relocalises_far_from_where_it_was_lost() -> None:
    """The optimiser alone would not move it there: the influence of a loop falls with its distance."""
    flight = Flight()
    flight.go(0.0, 6.0)
    flight.see([DARK] * 8)
    again = flight.go(1.0, 2.5)
    assert again[0].lost
    assert not again[-1].lost
    assert x_m(again[-1]) == pytest.approx(2.5, abs=NEAR_M)
    assert float(flight.slam.result("wall").trajectory[-1][0, 3]) == pytest.approx(2.5, abs=NEAR_M)
    assert x_m(flight.rows[60]) == pytest.approx(6.0, abs=2 * NEAR_M)
    points = flight.slam.shown().points_W
    assert np.abs(points[:, 1] - 2.0).max() < 0.1
    assert points[:, 0].max() < 8.0  # nothing of it where it was lost


def test_a_place_that_was_never_seen_is_not_mapped_until_it_is_joined() -> None:
    flight = Flight()
    flight.go(0.0, 1.0)
    mapped = flight.mapped
    flight.see([DARK] * 8)
    away = flight.go(5.0, 6.0)
    assert all(row.lost for row in away)
    assert len(flight.slam.state.keyframes) > mapped + 1
    assert flight.mapped == mapped
    back = flight.go(6.0, 0.5)
    assert not back[-1].lost
    assert flight.mapped == len(flight.slam.state.keyframes)  # what was seen away from the map is in it now
    assert x_m(back[-1]) == pytest.approx(0.5, abs=NEAR_M)
    last_away = flight.slam.result("wall").trajectory[len(flight.rows) - len(back) - 1]
    assert float(last_away[0, 3]) == pytest.approx(6.0, abs=2 * NEAR_M)


def test_a_dark_beginning_is_not_the_origin() -> None:
    flight = Flight()
    assert all(row.lost for row in flight.see([DARK] * 20)[1:])
    rows = flight.go(0.0, 1.0)
    assert not rows[-1].lost
    first = next(index for index, row in enumerate(rows) if not row.lost)
    assert x_m(rows[-1]) == pytest.approx(1.0 - (first - 1) * STEP_M, abs=NEAR_M)
    assert len(flight.slam.shown().points_W) > 100


def test_errors_of_the_files_are_those_of_the_result(tmp_path: Path) -> None:
    """Analysis has the files of a companion and the truth of the log, at other times than the frames."""
    flight = Flight("loop_age=4")
    flight.go(0.0, 1.5)
    flight.go(1.5, 0.0)
    state = flight.slam.state
    wrong = se3.exp(np.array([0.4, 0.0, 0.0, 0.0, 0.0, 0.0]))
    state.edges.append(replace(state.loops[0], Z_ij=state.loops[0].Z_ij @ wrong))
    true_m = [*np.linspace(0.0, 1.5, 16), *np.linspace(1.5, 0.0, 16)]
    poses = np.array([se3.compose(T_WC_FIRST[:3, :3], np.array([x, 0.0, 0.0])) for x in true_m])
    times_s = np.arange(32) / 10
    result = flight.slam.result("wall", Truth(times_s, poses))
    numbers = summary(result)
    write(tmp_path, result, numbers)
    later = Truth(np.append(times_s + 0.004, 3.14), np.concatenate([poses, poses[-1:]]))
    found = read(tmp_path).errors(later)
    assert found["false_loops"] == numbers["false_loops"] == 1
    for name in ("ate_odometry_m", "ate_optimised_m", "rpe_odometry_m", "rpe_optimised_deg", "ate_ratio"):
        assert found[name] == pytest.approx(numbers[name], rel=1e-3, abs=1e-6)
    (tmp_path / "loops.txt").write_text("1 2 3\n")
    with pytest.raises(ConfigError, match=r"loops.txt: line 1: expected 9 finite numbers"):
        read(tmp_path)


def test_the_octree_knows_free_space_too(tmp_path: Path) -> None:
    library = pytest.importorskip("octomap")
    flight = Flight()
    flight.go(0.0, 2.0)
    numbers = octree.write(tmp_path, flight.slam.state, flight.slam.settings)
    tree = library.OcTree(str(tmp_path / octree.FILE).encode())
    assert numbers["octree_nodes"] == tree.size() > 1000
    assert numbers["octree_free_m3"] > 10 * numbers["octree_occupied_m3"] > 0
    assert not tree.isNodeOccupied(tree.search(np.array([0.5, 1.0, 0.0])))  # before the wall
    assert tree.isNodeOccupied(tree.search(np.array([0.5, 2.0, 0.0])))
    with pytest.raises(library.NullPointerException):
        tree.isNodeOccupied(tree.search(np.array([0.5, 3.0, 0.0])))  # behind it nothing is known


def test_without_octomap_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "octomap", None)
    with pytest.raises(ConfigError, match=r"^an octree needs OctoMap: pip install 'aeroloop\[octree\]'$"):
        octree.octomap()
