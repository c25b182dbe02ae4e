"""Over hills: the shipped flight; its range finder sees what its feet stand on."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import numpy as np
import pytest
from quad_runs import FLIGHT_GUARD_S, collect, command

from aeroloop.world.terrain import Grid, read_heights

FILE = Path(__file__).parents[2] / "scenarios" / "terrain" / "hill.csv"
STANDS_M = 0.055  # an Iris' centre of mass over level ground
NOISE_STD_M = 0.01  # of the range finder


def along_the_beam_m(ground: Grid, pos_W: np.ndarray, quat_WB: np.ndarray) -> float:
    """By bisection: the way along body -z at which a point is on the ground."""
    w, x, y, z = quat_WB
    down_W = -np.array([2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z])
    near, far = 0.0, 50.0
    while far - near > 1e-6:
        middle = (near + far) / 2
        point = pos_W + middle * down_W
        near, far = (middle, far) if point[2] > ground.height_m(point[0], point[1]) else (near, middle)
    return near


@pytest.mark.soak  # short: the recorded flight
def test_from_a_slope_over_a_hill_to_higher_ground(tmp_path: Path) -> None:
    done = subprocess.run(
        command("quad-terrain", out=tmp_path / "run"),
        capture_output=True,
        text=True,
        timeout=FLIGHT_GUARD_S,
        check=False,
    )
    run = collect(tmp_path / "run", done.returncode, done.stdout + done.stderr)
    assert run.exit_code == 0, run.said
    heights = read_heights(FILE)
    ground = Grid(heights - 120.0, spacing_m=2.0, corner_m=(-8.0, -10.0))
    assert ground.height_m(0.0, 0.0) == 0.0
    pos_W = run.positions()
    t_s = run.log.column("truth", "t_s")
    quat_WB = np.stack([run.log.column("truth", name) for name in ("qw", "qx", "qy", "qz")], axis=1)

    waiting = pos_W[t_s < 6.0]
    assert np.ptp(waiting, axis=0).max() < 2e-3, "it stands on the slope, and does not slide down"
    pitch_rad = -math.asin(2 * (quat_WB[0, 0] * quat_WB[0, 2] - quat_WB[0, 3] * quat_WB[0, 1]))
    assert math.tan(pitch_rad) == pytest.approx(0.15, abs=0.002), "nose uphill"

    told_s, told_m = (run.log.column("rangefinder", name) for name in ("t_s", "distance_m"))
    aloft = np.flatnonzero((told_s > 10.0) & (told_s < 24.0))[::5]
    index = np.searchsorted(t_s, told_s[aloft] - 1e-9)
    true_m = np.array([along_the_beam_m(ground, pos_W[i], quat_WB[i]) for i in index])
    errors_m = told_m[aloft] - true_m
    assert np.abs(errors_m).max() < 5 * NOISE_STD_M
    assert true_m.min() < 4.0 < 6.5 < true_m.max(), "it crossed the hill"
    level_m = pos_W[index, 2] - [ground.height_m(x, y) for x, y in pos_W[index, :2]]
    assert np.abs(level_m - true_m).max() > 0.2, "where it tilts over a slope the beam meets other ground"

    x, y, z = pos_W[-1]
    assert x == pytest.approx(30.0, abs=1.5)
    assert z - ground.height_m(x, y) == pytest.approx(STANDS_M, abs=0.003)
    assert np.ptp(pos_W[t_s > 33.0], axis=0).max() < 1e-3, "and there it stands"
