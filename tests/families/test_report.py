"""Summary, JUnit XML and the report: what scripts, CI and people get to see of a flight."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stream_tables import TILTROTOR
from tiltrotor_scenarios import tiltrotor

from aeroloop.analysis.delay_margin import DelayMargin
from aeroloop.analysis.drawing import POINTS_PER_LINE, envelope
from aeroloop.analysis.report import render_report
from aeroloop.analysis.summary import EVENTS_SHOWN, junit_xml, summarise
from aeroloop.boards.config import Control
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_INTERRUPTED, EXIT_LINK, EXIT_OK, AeroloopError
from aeroloop.core.impairment import Impairment
from aeroloop.core.scenario import Check, Link
from aeroloop.core.signals import TASKS, Event, ResetCause
from aeroloop.families.tiltrotor.analysis import link_budget, report
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.families.tiltrotor.streams import STREAMS
from aeroloop.flight import results
from aeroloop.ground.config import Ground, Hover
from aeroloop.protocols.board_fields import COUNTER_NAMES
from aeroloop.recording.log import Log, log_sha256
from aeroloop.sensors.state import TiltrotorSensors

FLOWN = {"ended": "the whole flight was flown", "wall_s": 2.0, "exit_code": EXIT_OK, "error": None}
IMPLIED = ("flown_s", "diverged", "overruns", "board_restarts")
MARGIN: DelayMargin = {
    "delays_s": [0.0, 0.006, 0.012],
    "radius": [0.98, 0.99, 1.02],
    "margin_s": 0.009,
    "flight_delay_s": 0.012,
}


def a_scenario(**changes: Any) -> TiltrotorScenario:
    checks = (Check(metric="pos_x_rms_m", below=0.2), Check(metric="saturated_steps", equals=0.0))
    return tiltrotor(**{"name": "spiral", "duration_s": 20.0, "checks": checks, **changes})


def a_log(*, diverged: bool = False, truncated: bool = False) -> Log:
    """Twenty seconds that look like a flight, 0.1 m off in x, with one late period."""
    t_s, cycle_s = np.arange(0, 20.002, 0.004), np.arange(0, 20.002, 0.012)
    log = Log.empty(STREAMS)
    rows = log.rows
    for name, times_s in {
        "truth": t_s,
        "effort": t_s,
        "pace": t_s,
        "setpoint": cycle_s,
        "cycle": cycle_s,
    }.items():
        rows[name] = np.zeros((len(times_s), len(TILTROTOR[name].fields)))
        rows[name][:, 0] = times_s
    rows["truth"][:, 2] = np.sin(t_s) + 0.1
    rows["setpoint"][:, 2] = np.sin(cycle_s)
    rows["effort"][:, 2:4] = 10.3
    rows["pace"][2500, 2] = 0.007
    rows["cycle"][:, 2] = 0.012
    rows["cycle"][50, 2] = 0.0131
    rows["link"] = np.array([[t_s, 0.0, *np.arange(1.0, 11.0) * t_s] for t_s in (0.0, 10.0)])
    rows["board_event"] = np.array([[0.012, 0, Event.STARTED, 0.0], [5.0, 0, Event.SENSORS_LOST, 416.0]])
    if diverged:
        rows["event"] = np.array([[3.0, 0, Event.DIVERGED, 201.0]])
    return replace(log, truncated=truncated)


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


def a_busy_board(log: Log, *, period_s: float = 0.012, seed: int = 1) -> Log:
    """Statistics as a board makes them: every task's time since the sample before, once a second of 20."""
    rng = np.random.default_rng(seed)
    spent_s = rng.uniform(0.001, 0.05, (20, len(TASKS)))
    use_pct = 100 * spent_s.sum(axis=1)
    ones, times_s = np.ones(20), np.arange(1.0, 21.0)
    log.rows["cpu"] = np.stack(
        [times_s, 0 * ones, use_pct, 140 * ones, 900 * ones, 4096 * ones, 0 * ones, 0.003 * ones, times_s], axis=1
    )
    log.rows["task"] = np.array(
        [
            [t_s, 0, task, of_sample[task] * period_s, 100 * of_sample[task] / of_sample.sum(), 0.002, 83.0]
            for t_s, of_sample in zip(times_s, spent_s, strict=True)
            for task in range(len(TASKS))
        ]
    )
    return log


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


@pytest.mark.parametrize(
    ("loop", "pace", "clock", "words"),
    [
        ("pil", "lockstep", "instruction-count", "31.25 million instructions per second"),
        ("pil", "real", "emulator", "never silicon time"),
        ("hil", "real", "board", "the board's own clock"),
    ],
)
@pytest.mark.usefixtures("words_only")
def test_the_boards_times_are_called_what_they_are(loop: str, pace: str, clock: str, words: str) -> None:
    link = Link(url="serial:///dev/ttyACM0?baud=921600") if loop == "hil" else Link()
    scenario, log = a_scenario(loop=loop, pace=pace, link=link), a_busy_board(a_log())
    assert summarise(scenario, log, outcome=FLOWN)["board"]["clock"] == clock
    _, page = page_of(scenario, log)
    assert words in page.text
    assert ("silicon time" in page.text) == (loop == "pil")


def test_report_shows_the_boards_processor_when_there_is_one() -> None:
    html, page = page_of(a_scenario(loop="pil"), a_busy_board(a_log()))
    pictures = {"cpu-use", "context-switches", "task-times", "task-shares"}
    assert {"board", *pictures} <= set(page.ids)
    assert html.count("<svg") == 8 + len(pictures)
    for task in TASKS:
        assert task.trigger in page.text
    words = " ".join(re.sub(r"<[^>]+>", " ", html).split())
    assert "stack used (B) 900 stack size (B) 4096 control period (ms) 12" in words
    _, without = page_of(a_scenario(), a_log())
    assert not {"board", *pictures} & set(without.ids)


@pytest.mark.usefixtures("words_only")
def test_overruns_and_restarts_stand_beside_the_verdict() -> None:
    log = a_log()
    log.rows["board_event"] = np.array([[2.0, 0, Event.OVERRUN, 0.014], [3.0, 0, Event.OVERRUN, 0.015]])
    log.rows["event"] = np.array(
        [[4.0, 0, Event.BOARD_RESTARTED, ResetCause.WATCHDOG], [5.0, 0, Event.MESSAGES_LOST, 3.0]]
    )
    html, _ = page_of(a_scenario(loop="pil"), log)
    beside = Page(html[html.index('<section class="verdict') : html.index("</section>")] + "</section>").text
    words = " ".join(beside.split())
    assert "Failed" in words and "4 of 6 checks passed" in words
    assert "in 2 cycles the board's work took longer than its control period" in words
    assert "restarted in flight 1 time: 4 s (watchdog)" in words
    assert "3 messages of the board were lost" in words
    log.rows["event"] = np.array([[float(i), 0, Event.BOARD_RESTARTED, 9.0] for i in range(80)])
    restless = " ".join(page_of(a_scenario(loop="pil"), log)[1].text.split())
    assert "80 times: 0 s (cause 9)," in restless and "4 s (cause 9) and others." in restless
    clean, _ = page_of(a_scenario(loop="pil"), a_log())
    assert "Overruns:" not in clean and "Restarts:" not in clean and "were lost" not in clean


@pytest.mark.usefixtures("words_only")
def test_a_summary_of_an_older_version_gets_its_report() -> None:
    summary = summarise(a_scenario(), a_log(), outcome=FLOWN)
    del summary["board"]
    for name in ("overruns", "board_restarts", "board_messages_lost"):
        del summary["metrics"][name]
    assert "Passed" in render_report(a_scenario(), a_log(), summary)


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


@pytest.fixture(autouse=True)
def known_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Designing a gain takes its time."""
    monkeypatch.setattr(report, "delay_margin", lambda _scenario: MARGIN)


@pytest.fixture
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing the pictures takes most of a report's time; tests of its words go without."""
    monkeypatch.setattr(report, "flight_pictures", lambda _log, _scenario: [])


class Page(HTMLParser):
    """What the tests ask of the page: its ids, what it fetches, its text, and that tags are balanced."""

    VOID = frozenset({"meta"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href", "srcset", "action", "data"):
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(scenario: TiltrotorScenario, log: Log, outcome: dict[str, Any] | None = None) -> tuple[str, Page]:
    html = render_report(scenario, log, summarise(scenario, log, outcome=outcome or FLOWN))
    return html, Page(html)


def test_report_has_every_picture_and_fetches_nothing() -> None:
    html, page = page_of(a_scenario(pace="real"), a_log())
    pictures = {
        "trajectory",
        "top-and-altitude",
        "position-errors",
        "attitude",
        "tilt-angles",
        "control-inputs",
        "period-histogram",
        "timing-over-time",
        "delay-margin",
    }
    assert pictures <= set(page.ids)
    assert html.count("<svg") == len(pictures)
    assert len(page.ids) == len(set(page.ids))
    assert all(link.startswith("#") for link in page.links)
    assert {link.removeprefix("#") for link in page.links} <= set(page.ids)
    assert all(target.startswith("#") for target in re.findall(r"url\((.*?)\)", html))
    assert not page.tags & {"link", "iframe", "img", "object"} and "@import" not in html
    assert html.count("<script>") == html.count("<script") == 1 and "src=" not in html, "its own, and embedded"
    assert len(html) < 1_500_000
    assert "prefers-color-scheme: dark" in html


@pytest.mark.usefixtures("words_only")
def test_report_says_the_verdict_in_words() -> None:
    def verdict(log: Log, **outcome: Any) -> str:
        _, page = page_of(a_scenario(), log, {**FLOWN, **outcome})
        return page.text

    assert "Passed" in verdict(a_log())
    failed = verdict(a_log(diverged=True))
    assert "Failed" in failed and "Passed" not in failed and "5 of 6 checks passed" in failed
    assert "Interrupted" in verdict(a_log(), exit_code=EXIT_INTERRUPTED, ended="Ctrl-C")
    broken = verdict(a_log(truncated=True), exit_code=EXIT_LINK, error="pty:///x: the board went away")
    assert "Did not finish" in broken
    assert "pty:///x: the board went away" in broken
    assert "The log is truncated" in broken


@pytest.mark.usefixtures("words_only")
def test_report_puts_numbers_beside_the_papers_claims() -> None:
    _, page = page_of(a_scenario(pace="real"), a_log())
    text = " ".join(page.text.split())
    assert "remained close to the origin" in text
    assert "without saturation" in text
    assert "99.9 % within 0.5 ms of 12 ms, 0.1 % around 1 ms later" in text
    _, hover = page_of(a_scenario(ground=Ground(trajectory=Hover())), a_log())
    assert "another trajectory" in hover.text
    assert "design model's own prediction" not in hover.text


@pytest.mark.usefixtures("words_only")
def test_the_papers_claims_stand_only_beside_the_papers_law() -> None:
    for control in (Control(law="dlqr-heading"), Control(law_file="law.py")):
        _, page = page_of(a_scenario(control=control), a_log())
        assert "paper" not in page.ids and "remained close to the origin" not in page.text
    _, page = page_of(a_scenario(), a_log())
    assert "paper" in page.ids


@pytest.mark.usefixtures("words_only")
def test_the_time_that_the_board_link_takes_of_a_period_is_told() -> None:
    _, page = page_of(a_scenario(control=Control(law_file="law.py")), a_log())
    assert "link-budget" in page.ids, "whatever the law"
    sent = {"link": {"frames_out": 20, "bytes_out": 1368}}
    table, note = link_budget.blocks(a_scenario(), sent)
    assert [row[1:] for row in table.rows] == [("132", "1.2", "10"), ("134", "1.45", "12.1"), ("68.4", "0.742", "6.18")]
    assert "921600 baud, of the paper" in note.words
    table, note = link_budget.blocks(a_scenario(link=Link(to_board=Impairment(baud=115_200))), {"link": None})
    assert table.rows[1][1:] == ("134", "11.6", "96.9") and "115200 baud, of link.to_board.baud" in note.words
    serial = a_scenario(link=Link(url="serial:///dev/ttyACM0?baud=460800"))
    assert link_budget.baud_of(serial) == (460_800, "of the serial port")


def test_the_trajectory_stands_before_every_table() -> None:
    html, page = page_of(a_scenario(), a_log())
    order = [page.ids.index(key) for key in ("flown-path", "trajectory", "checks", "figures", "attitude", "metrics")]
    assert order == sorted(order)
    assert html.index("<svg") < html.index("<table")


@pytest.mark.usefixtures("words_only")
def test_predictions_stand_only_beside_flights_they_describe() -> None:
    def page(scenario: TiltrotorScenario, flown_s: float) -> str:
        summary = summarise(scenario, a_log(), outcome=FLOWN)
        flown = {**summary, "metrics": {**summary["metrics"], "flown_s": flown_s}}
        return unescape(render_report(scenario, a_log(), flown))

    whole = page(a_scenario(), 60.0)
    assert "The paper gives no tracking numbers. The next table is the design model's own prediction" in whole
    assert '<code>pos_y_rms_m</code></th><td class="n">0.109</td>' in whole
    delayed = a_scenario(link=Link(to_plant=Impairment(delay_s=0.006)))
    for other in (
        page(a_scenario(), 20.0),
        page(delayed, 60.0),
        page(a_scenario(sensors=TiltrotorSensors(pos_std_m=0.1)), 60.0),
    ):
        assert "design model's own prediction" not in other


def test_lockstep_is_not_shown_as_pacing() -> None:
    _, page = page_of(a_scenario(), a_log())
    assert "the speed of the host, not" in page.text
    assert "lockstep: the host's speed, not comparable" in page.text
    assert "timing-over-time" not in page.ids
    assert "--loop mil --pace lockstep --seed 1" in page.text


@pytest.mark.usefixtures("words_only")
@pytest.mark.parametrize(
    ("diverged", "words"), [(True, "unstable: it diverged"), (False, "unstable: it did not diverge")]
)
def test_delay_margin_compares_prediction_and_flight(diverged: bool, words: str) -> None:
    _, page = page_of(a_scenario(), a_log(diverged=diverged))
    assert "margin of 9.0 ms" in page.text
    assert words in page.text


@pytest.mark.usefixtures("words_only")
def test_of_a_law_without_a_derivative_no_margin_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "delay_margin", lambda _scenario: None)
    _, page = page_of(a_scenario(control=Control(law_file="law.py")), a_log())
    assert "No prediction: the law is not differentiable in hover." in page.text
    assert "delay-margin" not in page.ids


@pytest.mark.usefixtures("words_only")
def test_report_names_the_impairments() -> None:
    impaired = Link(to_plant=Impairment(delay_s=0.006, loss=0.002))
    _, page = page_of(a_scenario(link=impaired), a_log())
    assert "board to plant: delay_s = 0.006, loss = 0.002" in page.text
    _, clean = page_of(a_scenario(), a_log())
    assert "No link impairments were configured" in clean.text


@pytest.mark.usefixtures("words_only")
def test_nothing_from_a_file_can_become_markup() -> None:
    hostile = '<script>alert("x")</script><img src=x onerror=y>'
    outcome = {**FLOWN, "ended": hostile, "error": hostile, "exit_code": EXIT_LINK}
    html, page = page_of(a_scenario(summary=hostile), a_log(), outcome)
    assert page.text.count(hostile) == 3
    assert html.count("<script") == 1 and "<img" not in html


def test_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        scenario, log = a_scenario(pace="real"), a_log()
        folder = tmp_path / name
        folder.mkdir()
        results.write_report(folder, scenario, log, summarise(scenario, log, outcome=FLOWN))
    assert (tmp_path / "a" / results.REPORT).read_bytes() == (tmp_path / "b" / results.REPORT).read_bytes()
    assert [path.name for path in (tmp_path / "a").iterdir()] == [results.REPORT]


@pytest.mark.parametrize("pace", ["lockstep", "4x"])
def test_a_flight_that_recorded_nothing_gets_a_report(pace: str) -> None:
    _, page = page_of(a_scenario(pace=pace), Log.empty(STREAMS), {**FLOWN, "exit_code": EXIT_LINK, "error": "no board"})
    assert "not measured" in page.text


def test_thinned_lines_keep_their_peaks() -> None:
    t_s = np.linspace(0.0, 200.0, 50_000)
    values = np.zeros(50_000)
    values[12_345], values[30_001] = 7.0, -3.0
    kept_s, kept = envelope(t_s, values)
    assert len(kept) <= POINTS_PER_LINE
    assert (kept.max(), kept.min()) == (7.0, -3.0)
    assert kept_s[np.argmax(kept)] == t_s[12_345]
    assert np.all(np.diff(kept_s) > 0)


@pytest.mark.usefixtures("words_only")
def test_a_report_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    scenario, log = a_scenario(), a_log()
    with pytest.raises(AeroloopError, match=r"absent/report\.html: the report cannot be written: No such file"):
        results.write_report(tmp_path / "absent", scenario, log, summarise(scenario, log, outcome=FLOWN))
