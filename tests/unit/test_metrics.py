"""Metrics, timing and checks against values worked out by hand on small synthetic logs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aeroloop.analysis.checks import evaluate, required, verify
from aeroloop.analysis.metrics import NAMES, metrics, position_error
from aeroloop.analysis.timing import MEASURED, timing
from aeroloop.errors import ConfigError
from aeroloop.recording.log import Log
from aeroloop.scenario import Actuators, Check, Scenario
from aeroloop.signals import Event
from aeroloop.streams import BY_NAME

SCENARIO = Scenario(name="test", duration_s=1.0, pace="real", actuators=Actuators(thrust_max_N=12.0))


def make_log(metadata: dict[str, dict[str, str]] | None = None, **streams: dict[str, list[float]]) -> Log:
    """A log from columns; fields that are not given are zero."""
    rows = Log.empty().rows
    for name, columns in streams.items():
        table = np.zeros((len(columns["t_s"]), len(BY_NAME[name].names)))
        for field, values in columns.items():
            table[:, BY_NAME[name].names.index(field)] = values
        rows[name] = table
    return Log(rows, metadata or {}, truncated=False)


def test_position_error_interpolates_the_reference_and_stops_where_it_does() -> None:
    log = make_log(
        truth={
            "t_s": [0, 1, 2, 3, 4],
            "x_m": [9, 1.5, 3, 2.5, 9],
            "y_m": [9, 0, 2, 0, 9],
            "z_m": [9, 0, 1, 0, 9],
        },
        reference={"t_s": [1, 3], "x_m": [1, 3]},
    )
    t_s, error_W = position_error(log)
    assert t_s.tolist() == [1, 2, 3]
    assert error_W.tolist() == [[0.5, 0, 0], [1.0, 2, 1], [-0.5, 0, 0]]
    numbers = metrics(log, SCENARIO)
    assert numbers["pos_x_rms_m"] == pytest.approx(math.sqrt(1.5 / 3))
    assert numbers["pos_y_rms_m"] == pytest.approx(math.sqrt(4 / 3))
    assert numbers["pos_z_rms_m"] == pytest.approx(math.sqrt(1 / 3))
    assert numbers["pos_max_m"] == pytest.approx(math.sqrt(6))
    assert numbers["flown_s"] == 4


def test_angles_thrusts_and_saturation() -> None:
    log = make_log(
        truth={
            "t_s": [0, 1],
            "roll_rad": [0.1, -0.2],
            "pitch_rad": [0.3, 0.1],
            "yaw_rad": [-0.4, 0],
            "tilt_right_rad": [0, 0.5],
            "tilt_left_rad": [-0.6, 0.5],
        },
        effort={
            "t_s": [0, 1, 2],
            "thrust_right_N": [10, 11, 10],
            "thrust_left_N": [10, 9, 11.5],
            "saturated": [0, 1, 1],
        },
    )
    numbers = metrics(log, SCENARIO)
    expected = {
        "roll_max_deg": math.degrees(0.2),
        "pitch_max_deg": math.degrees(0.3),
        "yaw_max_deg": math.degrees(0.4),
        "tilt_right_max_deg": math.degrees(0.5),
        "tilt_left_max_deg": math.degrees(0.6),
        "thrust_min_N": 9,
        "thrust_max_N": 11.5,
        "thrust_reserve_N": 0.5,
        "saturated_steps": 2,
    }
    assert {name: numbers[name] for name in expected} == pytest.approx(expected)


def test_events_deadlines_and_lost_rows_are_counted() -> None:
    lost, safe, contact = Event.SENSORS_LOST, Event.SAFE_COMMAND, Event.GROUND_CONTACT
    log = make_log(
        metadata={"recorder": {"lost_rows": "7"}},
        board_event={"t_s": [0, 1, 2, 3], "code": [Event.STARTED, lost, lost, safe]},
        plant_event={"t_s": [1, 2, 3], "code": [contact, Event.DIVERGED, Event.DIVERGED]},
        pace={"t_s": [0, 1], "missed": [1, 4]},
    )
    numbers = metrics(log, SCENARIO)
    assert numbers["sensor_losses"] == 2
    assert numbers["safe_commands"] == 1
    assert numbers["ground_contacts"] == 1
    assert numbers["diverged"] == 1
    assert numbers["deadlines_missed"] == 4
    assert numbers["log_lost_rows"] == 7


def test_what_an_empty_log_cannot_tell_is_nan_and_fails_its_check() -> None:
    numbers = metrics(Log.empty(), SCENARIO)
    counted = {"diverged", "ground_contacts", "sensor_losses", "safe_commands"}
    assert {name for name, value in numbers.items() if not math.isnan(value)} == counted
    for check in (Check(metric="pos_max_m", below=1e9), Check(metric="flown_s", above=-1e9)):
        [result] = evaluate((check,), numbers)
        assert not result.ok
    [result] = evaluate((Check(metric="saturated_steps", equals=0.0),), numbers)
    assert not result.ok


def test_a_state_that_is_not_a_number_fails_too() -> None:
    log = make_log(truth={"t_s": [0, 1], "roll_rad": [0.1, math.nan]})
    [result] = evaluate((Check(metric="roll_max_deg", below=90.0),), metrics(log, SCENARIO))
    assert not result.ok


@pytest.mark.parametrize(
    ("limit", "text", "passing", "failing"),
    [
        ({"below": 0.03}, "< 0.03", 0.029, 0.03),
        ({"above": 59.986}, "> 59.986", 59.99, 59.986),
        ({"equals": 0.0}, "= 0", 0.0, 1.0),
    ],
)
def test_each_kind_of_limit(limit: dict[str, float], text: str, passing: float, failing: float) -> None:
    check = Check(metric="m", **limit)
    [good], [bad] = (evaluate((check,), {"m": value}) for value in (passing, failing))
    assert (good.name, good.value, good.limit, good.ok) == ("m", passing, text, True)
    assert not bad.ok


def test_an_unknown_metric_is_refused_before_the_flight() -> None:
    wrong = Scenario(name="test", checks=(Check(metric="pos_x_rms", below=1.0),))
    with pytest.raises(ConfigError, match=r"unknown metric 'pos_x_rms', expected one of: pos_x_rms_m, .*flown_s"):
        verify(wrong)
    verify(Scenario(name="test", checks=tuple(Check(metric=name, below=1.0) for name in NAMES)))


@pytest.mark.parametrize(("flown_s", "ok"), [(1.0, True), (0.988, True), (0.984, False), (0.5, False)])
def test_every_flight_must_reach_its_end_within_a_control_period(flown_s: float, ok: bool) -> None:
    results = evaluate(required(SCENARIO), {"flown_s": flown_s, "diverged": 0.0})
    assert [(result.name, result.ok) for result in results] == [("flown_s", ok), ("diverged", True)]


def test_a_scenario_may_expect_divergence() -> None:
    expects = (Check(metric="diverged", equals=1.0), Check(metric="flown_s", above=0.1))
    assert required(Scenario(name="test", checks=expects)) == expects
    [result] = evaluate(required(SCENARIO)[1:], {"diverged": 1.0})
    assert not result.ok


def test_timing_statistics_by_hand() -> None:
    periods_s = [99.0, *[0.012] * 97, 0.013, 0.0205, 0.031]
    log = make_log(
        cycle={
            "t_s": [0.012 * i for i in range(101)],
            "period_s": periods_s,
            "answer_latency_s": [1e-4] * 101,
        },
        pace={"t_s": [0, 1, 2], "lateness_s": [0, 1e-3, math.nan], "missed": [0, 0, 2]},
    )
    result = timing(log)
    period = result["period_s"]
    assert (period["count"], period["min"], period["p50"], period["max"]) == (100, 0.012, 0.012, 0.031)
    assert period["mean"] == pytest.approx((97 * 0.012 + 0.013 + 0.0205 + 0.031) / 100)
    assert period["p99"] == pytest.approx(0.0205 + 0.01 * (0.031 - 0.0205))
    assert result["answer_latency_s"]["count"] == 101
    assert result["step_lateness_s"]["count"] == 2
    assert result["missed_deadlines"] == 2

    histogram = result["period_histogram"]
    edges_s, counts = histogram["bin_edges_s"], histogram["counts"]
    assert (edges_s[0], edges_s[1], edges_s[-1], len(counts)) == (0.0, 0.00025, 0.03, 120)
    assert sum(counts) + histogram["overflow"] == 100
    assert histogram["overflow"] == 1
    assert counts[48] == 97 and counts[52] == 1 and counts[82] == 1


def test_timing_of_nothing() -> None:
    result = timing(Log.empty())
    for name in MEASURED:
        assert result[name]["count"] == 0
        assert math.isnan(result[name]["p99_9"])
    assert result["missed_deadlines"] is None
    assert sum(result["period_histogram"]["counts"]) == 0
