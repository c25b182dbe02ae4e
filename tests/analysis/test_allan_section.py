"""Allan deviations in a report, on request: simulated from the run's tables, against the closed form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import aeroloop
from aeroloop.analysis.allan_section import section
from aeroloop.analysis.section import Figures, Table
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError
from aeroloop.flight import results
from aeroloop.sensors import allan
from aeroloop.sensors.noise import Channel, Errors, Streams


def test_the_simulated_deviation_is_the_closed_form() -> None:
    """All processes at once, for an hour: within four standard deviations of an
    Allan deviation at each averaging time up to 1/20 of the record."""
    errors = Errors(white_density=7e-5, drift_std=1e-3, drift_time_s=30.0, walk=2e-5, quantum=1e-3)
    values = allan.at_rest(errors, 0.02, 3600.0, Streams(3))
    counts = [count for count in allan.counts(len(values)) if count <= len(values) / 20]
    tau_s = 0.02 * np.array(counts)
    theory = allan.of_errors(errors, 0.02, 0, tau_s)
    assert set(theory) == {"white", "drift", "walk", "total"}
    for count, tau, expected in zip(counts, tau_s, theory["total"], strict=True):
        found = [allan.overlapping(values[:, axis], count) for axis in range(3)]
        assert found == pytest.approx(np.full(3, expected), rel=max(0.02, 4.0 / np.sqrt(2.0 * 3600.0 / tau)))
    assert np.array_equal(np.sqrt(sum(theory[part] ** 2 for part in ("white", "drift", "walk"))), theory["total"])


def test_samples_at_rest_are_those_of_a_flight() -> None:
    errors = Errors(white_std=0.1, drift_std=0.2, drift_time_s=3.0, quantum=0.01)
    channel = Channel(errors, 0.004, 3, Streams(4))
    flown = np.array([channel.measure3(0.0, 0.0, 0.0, 1) for _ in range(500)])
    assert allan.at_rest(errors, 0.004, 2.0, Streams(4)) == pytest.approx(flown, abs=1e-12)


def test_the_drift_of_short_times_keeps_its_digits() -> None:
    """std sqrt(2 x / 3) for short times, without a step where the series takes over."""
    x = np.array([1e-7, 1e-5, 0.999e-3, 1.001e-3])
    expected = np.sqrt(2.0 / x**2 * (x**3 / 3.0 - x**4 / 4.0 + 7.0 * x**5 / 60.0))
    assert allan.of_drift(1.0, 1.0, x) == pytest.approx(expected, rel=1e-5)


def test_the_section_has_every_axis_and_two_figures() -> None:
    scenario = scenario_files.load(scenario_files.find("quad-hover"))
    made = section(scenario, 0.05)
    table = next(block for block in made.blocks if isinstance(block, Table))
    assert [row[0] for row in table.rows] == [
        f"{name} {axis}" for name in ("Gyroscope", "Accelerometer") for axis in "xyz"
    ]
    for row in table.rows:
        found, expected = (float(cell.split()[0]) for cell in row[4:])
        assert found == pytest.approx(expected, rel=0.3)
    figures = next(block for block in made.blocks if isinstance(block, Figures))
    assert [picture.name for picture in figures.pictures] == ["allan-gyro", "allan-accel"]
    assert section(scenario, 0.05) == made


@pytest.mark.parametrize(
    ("name", "hours", "words"),
    [
        ("tiltrotor-spiral", 1.0, "has no IMU"),
        ("quad-hover", 0.0, "more than 0"),
        ("quad-hover", 1e3, "at most 100 hours"),
    ],
)
def test_what_has_no_allan_deviation_is_refused(name: str, hours: float, words: str) -> None:
    with pytest.raises(ConfigError, match=f"--allan: .*{words}"):
        section(scenario_files.load(scenario_files.find(name)), hours)


def test_a_report_has_it_on_request_and_counts_clipped_samples(tmp_path: Path) -> None:
    """A short flight whose accelerometer ends at 9 m/s2: at rest every sample is clipped in z, and no other."""
    changes = {
        "duration_s": 1.0,
        "sensors.imu.count_clipped": True,
        "sensors.imu.accel.errors.range": [-9.0, 9.0],
        "sensors.imu.gyro.errors.range": [-9.0, 9.0],
    }
    run = aeroloop.fly("quad-hover", set=changes, out=tmp_path / "run")
    assert run.metrics["imu_clipped_accel_z"] >= 250.0
    assert run.metrics["imu_clipped_samples"] == run.metrics["imu_clipped_accel_z"]
    assert "Allan deviation of the IMU" in results.report_again(run.folder, allan_h=0.01).read_text(encoding="utf-8")
