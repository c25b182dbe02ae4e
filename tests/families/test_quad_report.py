"""Summary, report and comparison of multirotor flights: what scripts and people get to see of them."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiltrotor_scenarios
from quad_logs import a_log, a_scenario, add
from stream_tables import MULTIROTOR
from test_report import Page

import aeroloop
from aeroloop.analysis import compare_page
from aeroloop.analysis.compare import Run, compare
from aeroloop.analysis.report import render_report
from aeroloop.analysis.summary import summarise
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_OK, ConfigError
from aeroloop.core.signals import Event
from aeroloop.core.streams import logged
from aeroloop.families.multirotor.analysis import claims, report
from aeroloop.families.multirotor.streams import STREAMS
from aeroloop.families.tiltrotor import streams as tiltrotor
from aeroloop.flight import results, run_summary
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log, LogWriter, log_sha256

FLOWN = {"ended": "completed", "wall_s": 30.0, "exit_code": EXIT_OK, "error": None}
OUTSIDE = ("estimate", "setpoint", "autopilot_state", "board_event", "telemetry_count", "board_link")


def from_outside(log: Log) -> Log:
    return replace(log, rows={name: rows[:0] if name in OUTSIDE else rows for name, rows in log.rows.items()})


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<svg.*?</svg>", "", html, flags=re.DOTALL))).split())


def test_what_is_left_of_the_thesis_stands_beside_a_flight_with_its_sensors() -> None:
    told = {}
    for preset in ("thesis", "px4"):
        scenario, log = a_scenario(sensors={"preset": preset}, world={"step_s": 0.002}), a_log()
        told[preset] = claims.sections(scenario, log, summarise(scenario, log, outcome=FLOWN))
    (section,) = told["thesis"]
    noise = {row[0]: row[2] for row in section.blocks[0].rows if row[0].startswith("Noise")}
    assert list(noise.values()) == ["not measured"] * 3, "this log has no samples"
    rows = section.blocks[0].rows
    assert rows[0][:2] == ("IMU at the plant", "500 Hz") and rows[0][2].startswith("set 500 Hz, measured ")
    assert rows[1][:2] == ("GNSS at the plant", "5 Hz")
    assert told["px4"] == []


def test_the_noise_of_table_3_1_is_measured_in_the_log_of_a_flight_with_its_sensors() -> None:
    """In the air too: 5 s of a climb; GPS has few fixes."""
    climbs = {"pilot.commands": [{"at_s": 0.0, "do": "arm"}, {"at_s": 0.2, "do": "takeoff"}]}
    plan = aeroloop.scenario("quad-mission", set={"duration_s": 5.0, "checks": [], **climbs}).plan
    (log,) = fly_inline(plan).logs
    assert log.column("truth", "z_m").max() > 1.0
    noise = claims.measured_noise(log)
    for sensor, expected in (("gyroscope", (0.67, 0.78, 0.12)), ("accelerometer", (0.04, 0.06, 0.07))):
        assert numbers_of(noise[sensor]) == pytest.approx(expected, rel=0.05)
    assert numbers_of(noise["GPS"]) == pytest.approx((0.3, 0.3, 0.3), rel=0.5)


def numbers_of(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+\.\d+", text)]


def test_an_impact_is_no_noise() -> None:
    rng = np.random.default_rng(4)
    samples = np.sin(0.01 * np.arange(4000)) + rng.normal(0.0, 0.2, 4000)
    samples[2000:2010] += 500.0
    assert claims.white_std(samples) == pytest.approx(0.2, rel=0.05)


def test_summary_holds_the_contract() -> None:
    scenario, log = a_scenario(busy_processes=2, seed=3), a_log()
    summary = summarise(scenario, log, outcome=FLOWN)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert set(run_summary.KEYS) - {"exit_code"} <= summary.keys()
    assert (summary["scenario"], summary["loop"], summary["pace"], summary["seed"]) == ("square", "mil", "real", 3)
    assert (summary["duration_s"], summary["ok"], summary["load"]) == (60.0, True, 2)
    assert summary["real_time_factor"] == pytest.approx(2.0, rel=0.01)
    assert [check["name"] for check in summary["checks"]] == [
        *("flown_s", "diverged", "hard_contacts", "autopilot_restarts", "actuators_refused")
    ]
    assert summary["timing"]["missed_deadlines"] == 1
    assert summary["timing"]["step_lateness_s"]["p99"] == pytest.approx(2e-5)
    assert summary["links"]["link"]["frames_out"] == 400
    of_two = summarise(a_scenario(count=2), a_log(2), outcome=FLOWN)["links"]
    assert list(of_two) == ["link", "link[1]", "board_link", "board_link[1]"]
    assert tuple(summary["links"]["board_link"]) == MULTIROTOR["board_link"].names[2:]
    assert summary["events"][0] == {"t_s": 1.0, "source": "board", "vehicle": 0, "event": "ARMED", "value": 0.0}
    assert [event["t_s"] for event in summary["events"]] == sorted(event["t_s"] for event in summary["events"])
    assert summary["log_sha256"] == log_sha256(log)


def test_report_says_how_an_aircraft_was_lost() -> None:
    scenario, log = a_scenario(), a_log()
    add(log, "event", [31.1], code=[Event.GROUND_CONTACT], value=[-4.99])
    summary = summarise(scenario, log, outcome=FLOWN)
    summary["events"].append({"t_s": 30.0, "source": "plant", "vehicle": 0, "event": "FAULT_SWITCHED", "value": "x on"})
    text = text_of(render_report(scenario, log, summary))
    assert summary["exit_code"] == EXIT_CHECK_FAILED
    assert "Hard contact: at 5.0 m/s at 31.1 s, 1.1 s after 'x on'." in text


def test_summary_has_the_thesis_tables() -> None:
    summary = summarise(a_scenario(), a_log(), outcome=FLOWN)
    imu = next(rate for rate in summary["rates"] if rate["signal"] == "IMU")
    assert imu == {
        "signal": "IMU",
        "at": "plant",
        "vehicle": 0,
        "set_hz": 500.0,
        "measured_hz": pytest.approx(499.0),
        "ratio_error_pct": pytest.approx(0.2),
    }
    assert summary["rates_clock"] == "wall"
    manual, mission = summary["tracking"]
    assert (manual["modes"], mission["modes"]) == ("manual", "mission")
    assert manual["yaw_rms_deg"] == pytest.approx(2 / math.sqrt(2), rel=0.01)
    assert manual["waypoint_rms_m"] is None
    assert mission["waypoint_rms_m"] == summary["metrics"]["waypoint_rms_m"]
    assert summary["load"] == 0


def test_a_failed_check_fails_the_flight() -> None:
    log = a_log()
    add(log, "event", [5.0], code=Event.AUTOPILOT_RESTARTED, value=1)
    summary = summarise(a_scenario(), log, outcome=FLOWN)
    assert (summary["ok"], summary["exit_code"]) == (False, EXIT_CHECK_FAILED)


@pytest.mark.parametrize("count", [1, 2])
def test_report_has_the_tables_and_the_pictures(count: int) -> None:
    scenario, log = a_scenario(count=count, busy_processes=2), a_log(count)
    summary = summarise(scenario, log, outcome=FLOWN)
    html = render_report(scenario, log, summary)
    Page(html)
    text = text_of(html)
    assert "Passed" in text
    assert "Message rates, set and measured (tables 3.3 and 3.4" in text and "RMS tracking error (table 3.5" in text
    assert "with 2 processes that load one core fully each as background load" in text
    assert "Measured over wall time." in text
    assert re.search(r"IMU plant(, vehicle 0)? 500 499 0.2 ", text)
    assert re.search(r"mode changed mission", text)
    drawn = re.findall(r'<figure id="([\w-]+)">', html)
    assert len(drawn) == len(set(drawn))
    if count == 1:
        assert {"trajectory", "top-and-altitude", "height", "attitude", "position-error"} <= set(drawn)
        assert {"estimation", "motors", "wind", "battery", "rates", "lateness"} <= set(drawn)
    else:
        assert {"trajectory", "rates", "height-0", "position-0", "height-1", "position-1"} <= set(drawn)
        assert "board of vehicle 1" in text
        assert "v1_pos_rms_m" not in text  # told in columns


def test_report_of_an_autopilot_from_outside_in_lockstep_says_what_is_not_known() -> None:
    scenario, log = a_scenario(loop="hil", pace="lockstep"), from_outside(a_log())
    summary = summarise(scenario, log, outcome=FLOWN)
    html = render_report(scenario, log, summary)
    assert html == render_report(scenario, log, summary)
    text = text_of(html)
    assert "The autopilot is external" in text
    assert "Flown without background load." in text
    assert "measured over simulated time" in text
    assert 'id="lateness"' not in html
    drawn = re.findall(r'<figure id="([\w-]+)">', html)
    assert not {"estimation", "battery", "position-error"} & set(drawn)
    assert {"trajectory", "attitude", "motors"} <= set(drawn)


def test_report_tells_what_went_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "flight_pictures", lambda *_: [])
    log = a_log()
    add(log, "event", [5.0, 6.0], code=[Event.AUTOPILOT_RESTARTED, Event.ACTUATORS_REFUSED], value=[1, 7])
    events = [Event.FAILSAFE, Event.COMMAND_REFUSED, Event.LANDING_TARGETS_REFUSED]
    add(log, "board_event", [8.0, 9.0, 9.5], code=events, value=[2, 0, 12])
    text = text_of(render_report(a_scenario(), log, summarise(a_scenario(), log, outcome=FLOWN)))
    assert "Failsafes: 8 s (battery low)." in text
    assert "the autopilot restarted in flight 1 time." in text
    assert "7 actuator messages of the autopilot" in text
    assert "1 commands of the pilot were abandoned" in text
    assert "12 landing targets of the companion were refused" in text


@pytest.mark.parametrize("count", [1, 2])
def test_report_of_a_flight_that_never_began(count: int) -> None:
    scenario = a_scenario(count=count)
    broken = {"ended": "no autopilot came", "wall_s": 0.0, "exit_code": 3, "error": "no autopilot"}
    html = render_report(scenario, Log.empty(STREAMS), summarise(scenario, Log.empty(STREAMS), outcome=broken))
    assert "no autopilot" in text_of(html) and "No signal was counted." in text_of(html)


def a_run(name: str, log: Log, **changes: Any) -> Run:
    scenario = a_scenario(**changes)
    return Run(name, scenario, log, summarise(scenario, log, outcome=FLOWN))


def test_runs_with_and_without_load_side_by_side() -> None:
    quiet, busy = a_log(), a_log()
    t_s = busy.column("truth", "t_s")
    busy.rows["truth"][:, 2:5] += np.outer(t_s / t_s[-1], (0.3, 0.4, 1.2))
    rows = busy.rows["signal_count"]
    rows[rows[:, 2] == 0, 5] *= 1.01  # the IMU came 1 % slower
    runs = [a_run("quiet", quiet), a_run("busy", busy, busy_processes=4)]
    comparison = compare(runs)
    [found] = comparison["differences"]
    assert (found["label"], found["to"]) == ("busy", "quiet")
    assert found["position_max_m"] == pytest.approx(1.3)
    assert found["motor_4_max_ratio"] == 0 and "motor_5_max_ratio" not in found
    assert found["yaw_rms_deg"] == 0
    [imu] = [rate for rate in comparison["rates"] if rate["signal"] == "IMU"]
    errors_pct = [result["ratio_error_pct"] for result in imu["results"]]
    assert errors_pct == pytest.approx([0.2, 100 * (1 - 0.998 / 1.01)])
    assert comparison["load"] == [0, 4]
    assert comparison["settings"]["busy_processes"] == [0, 4]
    assert [row["modes"] for row in comparison["tracking"]] == ["manual", "mission"]
    text = text_of(compare_page.render(runs, comparison))
    assert "quiet without, busy with 4 processes that load one core fully each." in text
    assert "manual modes, vehicle 0: altitude (m)" in text
    assert re.search(r"IMU plant, vehicle 0 500 499 0.2 500 494.0\d+ 1.19 ", text)


def test_vehicles_are_compared_one_by_one() -> None:
    first, other = a_log(2), a_log(2)
    of_second = other.rows["truth"][:, 1] == 1
    other.rows["truth"][of_second, 4] += 0.5
    runs = [a_run("a", first, count=2), a_run("b", other, count=2)]
    comparison = compare(runs)
    labels = [(found["label"], found["position_max_m"]) for found in comparison["differences"]]
    assert labels == [("b vehicle 0", 0.0), ("b vehicle 1", pytest.approx(0.5))]
    text = text_of(compare_page.render(runs, comparison))
    assert "Difference b vehicle 0 b vehicle 1 from_s" in text


def test_a_flight_of_fewer_vehicles_is_compared_as_far_as_it_goes() -> None:
    comparison = compare([a_run("a", a_log(2), count=2), a_run("b", a_log(1))])
    assert len(comparison["differences"]) == 1
    assert "b flew 1 vehicle, a 2 vehicles." in comparison["remarks"]


def test_different_kinds_of_aircraft_are_not_compared() -> None:
    log = Log.empty(tiltrotor.STREAMS)
    log.rows["truth"] = np.zeros((2, log.rows["truth"].shape[1]))
    plan = tiltrotor_scenarios.tiltrotor(name="hover")
    other = Run("hover", plan, log, summarise(plan, log, outcome=FLOWN))
    with pytest.raises(ConfigError, match="different kinds of aircraft"):
        compare([a_run("square", a_log()), other])


def test_a_run_folder_holds_everything_and_is_reported_and_compared(tmp_path: Path) -> None:
    scenario, log = a_scenario(), a_log()
    for name, rows in log.rows.items():
        log.rows[name] = rows[::10]
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        results.make_folder(folder, scenario)
        writer = LogWriter(folder / results.LOG, logged(STREAMS))
        for stream in STREAMS:
            for row in log.rows.get(stream.name, ()):
                writer.write(stream, stream.packing.pack(*row))
        writer.close()
        results.write_summary(folder, scenario, results.read_log(folder, scenario), FLOWN)
        assert results.load_run(folder)[0] == scenario
    assert results.report_again(folders[0]).read_text("utf-8").count("<figure") == 11
    comparison = results.compare_runs(folders, tmp_path / "compare.html")
    assert comparison["log_hashes_equal"] is True
    assert (tmp_path / "compare.html").is_file()
