"""Summary and JUnit XML: what scripts and CI get of a flight."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from tiltrotor_logs import FLOWN, Page, a_busy_board, a_log, a_scenario

from aeroloop.analysis.report import render_report
from aeroloop.analysis.summary import EVENTS_SHOWN, junit_xml, summarise
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_INTERRUPTED, EXIT_LINK, EXIT_OK
from aeroloop.core.scenario import Check
from aeroloop.core.signals import TASKS, Event
from aeroloop.families.tiltrotor.streams import STREAMS
from aeroloop.protocols.board_fields import COUNTER_NAMES
from aeroloop.recording.log import Log, log_sha256

IMPLIED = ("flown_s", "diverged", "overruns", "board_restarts")


def test_summary_holds_the_contract() -> None:
    scenario, log = a_scenario(seed=4, loop="sil"), a_log()
    summary = summarise(scenario, log, outcome=FLOWN)
    assert (summary["scenario"], summary["loop"], summary["pace"], summary["seed"]) == (
        "spiral",
        "sil",
        "lockstep",
        4,
    )
    assert summary["duration_s"] == 20.0
    assert summary["real_time_factor"] == pytest.approx(10.0)
    assert summary["ok"] is True and summary["exit_code"] == EXIT_OK
    assert summary["ended"] == FLOWN["ended"]
    names = [check["name"] for check in summary["checks"]]
    assert names == ["pos_x_rms_m", "saturated_steps", *IMPLIED]
    assert summary["checks"][0]["value"] == pytest.approx(0.1, rel=1e-3)
    assert summary["checks"][0]["limit"] == "< 0.2"
    assert summary["links"]["link"] == {name: 10 * (i + 1) for i, name in enumerate(COUNTER_NAMES)}
    assert summary["links"]["reference_link"] is None
    assert summary["events"] == [
        {"t_s": 0.012, "source": "board", "vehicle": 0, "event": "STARTED", "value": 0.0},
        {"t_s": 5.0, "source": "board", "vehicle": 0, "event": "SENSORS_LOST", "value": 416.0},
    ]
    assert summary["events_total"] == 2
    assert summary["log_sha256"] == log_sha256(log)
    assert summary["log_truncated"] is False
    assert {"aeroloop", "python", "mujoco", "casadi", "iceoryx2", "foxglove-sdk"} == set(summary["versions"])


def test_summary_of_the_board_keeps_the_invariants_of_its_statistics() -> None:
    scenario = a_scenario(loop="pil")
    board = summarise(scenario, a_busy_board(a_log()), outcome=FLOWN)["board"]
    tasks = board["tasks"]
    assert list(tasks) == [task.name for task in TASKS]
    per_period_s = sum(task["exec_mean_s"] for task in tasks.values())
    assert sum(task["share_mean_pct"] for task in tasks.values()) == pytest.approx(100)
    assert per_period_s <= scenario.controller.control.period_s
    assert board["cpu_use_mean_pct"] == pytest.approx(100 * per_period_s / scenario.controller.control.period_s)
    assert board["cpu_use_mean_pct"] < board["cpu_use_max_pct"]
    assert {task["runs"] for task in tasks.values()} == {20 * 83}
    assert {task["worst_s"] for task in tasks.values()} == {0.002}
    assert (board["switches_per_s_mean"], board["switches_per_s_max"]) == (140, 140)
    assert (board["stack_used_B"], board["stack_size_B"], board["overruns"]) == (900, 4096, 0)
    assert board["worst_cycle_s"] == 0.003
    assert summarise(scenario, a_log(), outcome=FLOWN)["board"] is None


def test_statistics_of_a_board_that_restarts_or_says_nonsense_are_still_json() -> None:
    log = a_busy_board(a_log())
    log.rows["cpu"][:, 6] = [3.0] * 10 + [1.0] * 10
    log.rows["cpu"][10:, 8] -= 10
    log.rows["task"][:6, 4] = math.nan  # nothing ran, so there is nothing to have a share of
    log.rows["task"][6, 2] = 17.0
    board = summarise(a_scenario(loop="pil"), log, outcome=FLOWN)["board"]
    json.dumps(board, allow_nan=False)
    assert board["overruns"] == 4
    assert [*board["tasks"]] == [*(task.name for task in TASKS), "task 17"]
    assert board["tasks"]["control"]["share_mean_pct"] > 0
    assert (
        "task 17" in Page(render_report(a_scenario(loop="pil"), log, summarise(a_scenario(), log, outcome=FLOWN))).text
    )


def test_summary_of_nothing_is_still_json() -> None:
    summary = summarise(a_scenario(), Log.empty(STREAMS), outcome={**FLOWN, "wall_s": 0.0})
    text = json.dumps(summary, allow_nan=False)
    assert json.loads(text) == summary
    assert summary["metrics"]["pos_x_rms_m"] is None
    assert summary["real_time_factor"] is None
    assert summary["exit_code"] == EXIT_CHECK_FAILED and not summary["ok"]


@pytest.mark.parametrize(
    ("outcome_code", "diverged", "exit_code"),
    [
        (EXIT_OK, False, EXIT_OK),
        (EXIT_OK, True, EXIT_CHECK_FAILED),
        (EXIT_LINK, False, EXIT_LINK),
        (EXIT_LINK, True, EXIT_LINK),
        (EXIT_INTERRUPTED, False, EXIT_INTERRUPTED),
    ],
)
def test_a_failed_check_never_hides_what_broke_the_flight(outcome_code: int, diverged: bool, exit_code: int) -> None:
    summary = summarise(a_scenario(), a_log(diverged=diverged), outcome={**FLOWN, "exit_code": outcome_code})
    assert summary["exit_code"] == exit_code
    assert summary["ok"] is (exit_code == EXIT_OK)


def test_many_events_are_cut_but_counted_in_order_of_time() -> None:
    log = a_log()
    log.rows["board_event"] = np.array([[float(i), 0, Event.SENSORS_LOST, 0.0] for i in range(300)])
    log.rows["event"] = np.array([[0.5, 0.0, 99.0, math.nan]])
    summary = summarise(a_scenario(), log, outcome=FLOWN)
    assert len(summary["events"]) == EVENTS_SHOWN
    assert summary["events_total"] == 301
    assert summary["events"][1] == {"t_s": 0.5, "source": "plant", "vehicle": 0, "event": "EVENT_99", "value": None}


def test_junit_has_a_case_per_check_and_says_what_failed() -> None:
    strict = a_scenario(checks=(Check(metric="pos_x_rms_m", below=0.05), Check(metric="pos_max_m", below=1.0)))
    suite = ET.fromstring(junit_xml(summarise(strict, a_log(), outcome=FLOWN)))
    cases = {case.get("name"): case for case in suite}
    assert list(cases) == ["pos_x_rms_m", "pos_max_m", *IMPLIED]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("6", "1", "0")
    failure = cases["pos_x_rms_m"].find("failure")
    assert failure is not None
    assert re.fullmatch(r"pos_x_rms_m is 0\.1\d*, expected < 0\.05", failure.get("message") or "")
    assert cases["pos_max_m"].find("failure") is None


def test_junit_survives_a_broken_flight_with_a_strange_message() -> None:
    outcome = {**FLOWN, "exit_code": EXIT_LINK, "error": 'pty: <gone> & "lost"\x00\x1b[31m'}
    suite = ET.fromstring(junit_xml(summarise(a_scenario(), Log.empty(STREAMS), outcome=outcome)))
    assert suite.get("errors") == "1"
    error = suite.find("testcase[@name='flight']/error")
    assert error is not None
    assert error.get("message") == 'pty: <gone> & "lost"??[31m'
    unmeasured = suite.find("testcase[@name='pos_x_rms_m']/failure")
    assert unmeasured is not None
    assert unmeasured.get("message") == "pos_x_rms_m is not measured, expected < 0.2"
