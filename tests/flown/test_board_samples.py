"""Runs of a pose board as flight records: the driver in use decides which samples the record has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aeroloop.controllers.pose.driver_table import LOG_USES_SOFT, PARTS
from aeroloop.controllers.pose.streams import STREAMS
from aeroloop.core.common_streams import common
from aeroloop.flown import board_samples, own_run
from aeroloop.flown.record import Array
from aeroloop.recording.log import Log
from aeroloop.sensors.reconstruction import CLASSES

STREAM = next(stream for stream in STREAMS if stream.name == board_samples.STREAM)
SOFT, HARD = np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])


def rows(used_soft: bool) -> Array:
    """Two samples of each part; the soft ones are as old as 1 ms, the hard ones 2 ms."""
    flags = 3 + LOG_USES_SOFT * used_soft
    return np.array(
        [
            [t_s, vehicle, part, flags, 0.001, 0.002, *(SOFT + t_s), *(HARD + t_s)]
            for t_s in (5.0, 6.0)
            for vehicle in (0, 1)
            for part in range(len(PARTS))
        ]
    )


def logged(used_soft: bool) -> Log:
    empty = Log.empty((*STREAMS, common("truth", rate_hz=250.0)))
    return replace(empty, rows={**empty.rows, STREAM.name: rows(used_soft)})


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    file = tmp_path / own_run.SCENARIO
    file.write_text("[vehicle]\nkind = 'quadrotor'\n[world.home]\nlat_deg = 40.0\nlon_deg = 116.0\nalt_m = 50.0\n")
    return file


def test_parts_are_numbered_as_the_boards() -> None:
    assert PARTS[: len(CLASSES)] == CLASSES
    assert board_samples.USES_SOFT == LOG_USES_SOFT


@pytest.mark.parametrize(("used_soft", "value", "age_s"), [(True, SOFT, 0.001), (False, HARD, 0.002)])
def test_the_record_has_what_flew(scenario: Path, used_soft: bool, value: Array, age_s: float) -> None:
    record = own_run.from_log(logged(used_soft), scenario.with_name("flight.mcap"))
    x, y, z = value
    for name in ("gyro", "accel", "mag"):
        found = [record[f"{name}_{axis}"] for axis in "xyz"]
        assert [signal.values[0] for signal in found] == [x + 5, -y - 5, -z - 5], "forward, right, down"
        assert found[0].t_s.tolist() == pytest.approx([5 - age_s, 6 - age_s]), "when it was measured; one aircraft"
    assert np.diff(record["height"].values).tolist() == pytest.approx([1.0])
    assert record["pressure"].values[0] == pytest.approx(101_325 - 12.01 * (x + 5), rel=1e-4)
    assert record["lat"].values[0] == pytest.approx(40 + (y + 5) / 111_035, abs=1e-6)
    assert record["lon"].values[0] == pytest.approx(116 + (x + 5) / 85_394, abs=1e-6)
    assert record["alt"].values[0] == pytest.approx(50 + z + 5, abs=0.01)


def test_soft_samples_that_did_not_fly_can_be_had(scenario: Path) -> None:
    found = board_samples.used(logged(False), 1, scenario, always_soft=True)
    assert found[board_samples.MESSAGES["gyro"]].columns["x"].tolist() == [6.0, 7.0]


def test_another_boards_log_has_none(scenario: Path) -> None:
    assert board_samples.used(Log.empty(()), 0, scenario) == {}


def test_without_a_scenario_there_are_no_places(tmp_path: Path) -> None:
    found = board_samples.used(logged(True), 0, tmp_path / own_run.SCENARIO)
    assert board_samples.MESSAGES["gnss"] not in found
