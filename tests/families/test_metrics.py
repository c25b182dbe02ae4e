"""Metrics, timing and checks against values worked out by hand on small synthetic logs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from stream_tables import TILTROTOR
from tiltrotor_scenarios import tiltrotor

from aeroloop.actuators.lagged import Actuators
from aeroloop.analysis.checks import evaluate, required, verify
from aeroloop.core.errors import ConfigError
from aeroloop.core.scenario import Check
from aeroloop.core.signals import Event, ResetCause
from aeroloop.families.tiltrotor.analysis.metrics import metrics, position_error
from aeroloop.families.tiltrotor.analysis.timing import MEASURED, timing
from aeroloop.families.tiltrotor.streams import STREAMS
from aeroloop.recording.log import Log

SCENARIO = tiltrotor(name="test", duration_s=1.0, pace="real", actuators=Actuators(thrust_max_N=12.0))
NAMES = tuple(metrics(Log.empty(STREAMS), SCENARIO))


def make_log(metadata: dict[str, dict[str, str]] | None = None, **streams: dict[str, list[float]]) -> Log:
    """A log from columns; fields that are not given are zero."""
    log = Log.empty(STREAMS)
    rows = log.rows
    for name, columns in streams.items():
        table = np.zeros((len(columns["t_s"]), len(TILTROTOR[name].names)))
        for field, values in columns.items():
            table[:, TILTROTOR[name].names.index(field)] = values
        rows[name] = table
    return replace(log, metadata=metadata or {})


def test_position_error_interpolates_the_reference_and_stops_where_it_does() -> None:
    log = make_log(
        truth={
            "t_s": [0, 1, 2, 3, 4],
            "x_m": [9, 1.5, 3, 2.5, 9],
            "y_m": [9, 0, 2, 0, 9],
            "z_m": [9, 0, 1, 0, 9],
        },
        setpoint={"t_s": [1, 3], "x_m": [1, 3]},
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
        event={"t_s": [1, 2, 3], "code": [contact, Event.DIVERGED, Event.DIVERGED]},
        pace={"t_s": [0, 1], "missed": [1, 4]},
    )
    numbers = metrics(log, SCENARIO)
    assert numbers["sensor_losses"] == 2
    assert numbers["safe_commands"] == 1
    assert numbers["ground_contacts"] == 1
    assert numbers["diverged"] == 1
    assert numbers["deadlines_missed"] == 4
    assert numbers["log_lost_rows"] == 7


def test_what_the_board_did_to_stay_safe_is_counted() -> None:
    absurd, law, silent = Event.IMPLAUSIBLE_SENSORS, Event.LAW_NOT_FINITE, Event.REFERENCE_LOST
    late, restarted, gone = Event.LATE_CYCLE, Event.BOARD_RESTARTED, Event.MESSAGES_LOST
    log = make_log(
        board_event={"t_s": [0, 1, 2, 3, 4, 5], "code": [absurd, law, silent, absurd, silent, absurd]},
        event={
            "t_s": [1, 2, 3, 4, 5, 6, 7],
            "code": [late, restarted, gone, late, Event.IMPLAUSIBLE_COMMAND, gone, late],
            "value": [0.02, ResetCause.WATCHDOG, 3, 0.019, 0, 4, 0.02],
        },
    )
    numbers = metrics(log, SCENARIO)
    assert (numbers["implausible_sensors"], numbers["implausible_commands"]) == (3, 1)
    assert (numbers["law_not_finite"], numbers["references_lost"]) == (1, 2)
    assert (numbers["late_cycles"], numbers["board_restarts"], numbers["board_messages_lost"]) == (3, 1, 7)


@pytest.mark.parametrize(
    ("events", "counts", "uptimes_s", "overruns"),
    [
        (3, [], [], 3),
        (0, [0, 2, 5], [1, 2, 3], 5),
        (7, [0, 2, 5], [1, 2, 3], 7),
        (0, [2, 5, 1, 4], [1, 2, 0.5, 1.5], 9),  # restarted with a smaller count
        (0, [2, 5, 5, 6], [1, 2, 0.5, 1.5], 11),  # with the same count: only its uptime tells
        (0, [2, 3, 1], [1, 1, 1], 6),
    ],
)
def test_overruns_are_the_larger_of_events_and_counts_over_all_starts(
    events: int, counts: list[float], uptimes_s: list[float], overruns: float
) -> None:
    log = make_log(
        board_event={"t_s": [float(i) for i in range(events)], "code": [Event.OVERRUN] * events},
        cpu={"t_s": [float(i) for i in range(len(counts))], "overruns": counts, "uptime_s": uptimes_s},
    )
    assert metrics(log, SCENARIO)["overruns"] == overruns


def test_the_boards_processor_in_numbers() -> None:
    log = make_log(
        cpu={
            "t_s": [1, 2, 3],
            "use_pct": [10, 30, 20],
            "stack_used_B": [400, 900, 500],
            "worst_cycle_s": [0.001, 0.004, 0.002],
        }
    )
    numbers = metrics(log, SCENARIO)
    assert (numbers["cpu_use_mean_pct"], numbers["cpu_use_max_pct"]) == (20, 30)
    assert (numbers["stack_used_max_B"], numbers["worst_cycle_max_s"]) == (900, 0.004)


def test_fallbacks_are_the_changes_away_from_the_solution() -> None:
    code = Event.LAW_FALLBACK
    events = {"t_s": [1, 2, 3, 4], "code": [code, code, code, Event.REFERENCE_LOST], "value": [1, 2, 0, 1]}
    assert metrics(make_log(board_event=events), SCENARIO)["law_fallbacks"] == 2


def test_what_an_empty_log_cannot_tell_is_nan_and_fails_its_check() -> None:
    numbers = metrics(Log.empty(STREAMS), SCENARIO)
    counted = {"diverged", "ground_contacts", "sensor_losses", "safe_commands", "implausible_sensors"}
    counted |= {"implausible_commands", "law_not_finite", "references_lost", "overruns", "late_cycles"}
    counted |= {"board_restarts", "board_messages_lost", "law_fallbacks"}
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


def test_a_check_by_the_former_name_of_a_metric_is_still_evaluated() -> None:
    for name in ("orders_refused", "v1_orders_refused", "quad/orders_refused"):
        check, present = Check(metric=name, equals=0.0), name.replace("orders", "commands")
        [good], [bad] = (evaluate((check,), {present: value}) for value in (0.0, 1.0))
        assert good.ok and not bad.ok and good.name == name


def test_an_unknown_metric_is_refused_before_the_flight() -> None:
    wrong = tiltrotor(name="test", checks=(Check(metric="pos_x_rms", below=1.0),))
    with pytest.raises(
        ConfigError,
        match=r"unknown metric 'pos_x_rms' \(did you mean 'pos_x_rms_m'\?\), expected one of: pos_x_rms_m, .*flown_s",
    ):
        verify(wrong)
    verify(tiltrotor(name="test", checks=tuple(Check(metric=name, below=1.0) for name in NAMES)))


@pytest.mark.parametrize(("flown_s", "ok"), [(1.0, True), (0.988, True), (0.984, False), (0.5, False)])
def test_every_flight_must_reach_its_end_within_a_control_period(flown_s: float, ok: bool) -> None:
    results = evaluate(required(SCENARIO), {**dict.fromkeys(NAMES, 0.0), "flown_s": flown_s})
    others = [(name, True) for name in ("diverged", "overruns", "board_restarts")]
    assert [(result.name, result.ok) for result in results] == [("flown_s", ok), *others]


def test_a_scenario_may_expect_divergence() -> None:
    expects = (Check(metric="diverged", equals=1.0), Check(metric="flown_s", above=0.1))
    assert required(tiltrotor(name="test", checks=expects))[:2] == expects
    [result] = evaluate(required(SCENARIO)[1:2], {"diverged": 1.0})
    assert not result.ok


@pytest.mark.parametrize("metric", ["overruns", "board_restarts"])
def test_an_overrun_or_a_restart_fails_a_flight_that_does_not_expect_it(metric: str) -> None:
    numbers = {**dict.fromkeys(NAMES, 0.0), "flown_s": 1.0, metric: 1.0}
    assert [result.name for result in evaluate(required(SCENARIO), numbers) if not result.ok] == [metric]
    expects = tiltrotor(name="test", duration_s=1.0, checks=(Check(metric=metric, below=2.0),))
    assert [check.metric for check in required(expects)].count(metric) == 1
    assert all(result.ok for result in evaluate(required(expects), numbers))


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
    result = timing(Log.empty(STREAMS))
    for name in MEASURED:
        assert result[name]["count"] == 0
        assert math.isnan(result[name]["p99_9"])
    assert result["missed_deadlines"] is None
    assert sum(result["period_histogram"]["counts"]) == 0
