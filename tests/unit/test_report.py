"""Summary, JUnit XML and the report: what scripts, CI and people get to see of a flight."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aeroloop.analysis import report
from aeroloop.analysis.plots import POINTS_PER_LINE, DelayMargin, _envelope
from aeroloop.analysis.report import render, write_report
from aeroloop.analysis.summary import EVENTS_SHOWN, junit_xml, summarise
from aeroloop.errors import EXIT_CHECK_FAILED, EXIT_INTERRUPTED, EXIT_LINK, EXIT_OK, AeroloopError
from aeroloop.recording.log import Log, log_sha256
from aeroloop.scenario import Check, Ground, Hover, Impairment, Link, Scenario, Sensors
from aeroloop.signals import Event
from aeroloop.streams import BY_NAME, COUNTER_NAMES

FLOWN = {"ended": "the whole flight was flown", "wall_s": 2.0, "exit_code": EXIT_OK, "error": None}
MARGIN: DelayMargin = {
    "delays_s": [0.0, 0.006, 0.012],
    "radius": [0.98, 0.99, 1.02],
    "margin_s": 0.009,
    "flight_delay_s": 0.012,
}


def a_scenario(**changes: Any) -> Scenario:
    checks = (Check(metric="pos_x_rms_m", below=0.2), Check(metric="saturated_steps", equals=0.0))
    return Scenario(**{"name": "spiral", "duration_s": 20.0, "checks": checks, **changes})


def a_log(*, diverged: bool = False, truncated: bool = False) -> Log:
    """Twenty seconds that look like a flight, 0.1 m off in x, with one late period."""
    t_s, cycle_s = np.arange(0, 20.002, 0.004), np.arange(0, 20.002, 0.012)
    rows = Log.empty().rows
    for name, times_s in {
        "truth": t_s,
        "effort": t_s,
        "pace": t_s,
        "reference": cycle_s,
        "cycle": cycle_s,
    }.items():
        rows[name] = np.zeros((len(times_s), len(BY_NAME[name].fields)))
        rows[name][:, 0] = times_s
    rows["truth"][:, 1] = np.sin(t_s) + 0.1
    rows["reference"][:, 1] = np.sin(cycle_s)
    rows["effort"][:, 1:3] = 10.3
    rows["pace"][2500, 1] = 0.007
    rows["cycle"][:, 1] = 0.012
    rows["cycle"][50, 1] = 0.0131
    rows["plant_link"] = np.array([np.arange(11.0), np.arange(11.0) * 10])
    rows["board_event"] = np.array([[0.012, Event.STARTED, 0.0], [5.0, Event.SENSORS_LOST, 416.0]])
    if diverged:
        rows["plant_event"] = np.array([[3.0, Event.DIVERGED, 201.0]])
    return Log(rows, {}, truncated)


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
    assert names == ["pos_x_rms_m", "saturated_steps", "flown_s", "diverged"]
    assert summary["checks"][0]["value"] == pytest.approx(0.1, rel=1e-3)
    assert summary["checks"][0]["limit"] == "< 0.2"
    assert summary["links"]["board_link_at_plant"] == {name: 10 * (i + 1) for i, name in enumerate(COUNTER_NAMES)}
    assert summary["links"]["reference_link"] is None
    assert summary["events"] == [
        {"t_s": 0.012, "source": "board", "event": "STARTED", "value": 0.0},
        {"t_s": 5.0, "source": "board", "event": "SENSORS_LOST", "value": 416.0},
    ]
    assert summary["events_total"] == 2
    assert summary["log_sha256"] == log_sha256(log)
    assert summary["log_truncated"] is False
    assert {"aeroloop", "python", "mujoco", "casadi", "iceoryx2", "foxglove-sdk"} == set(summary["versions"])


def test_summary_of_nothing_is_still_json() -> None:
    summary = summarise(a_scenario(), Log.empty(), outcome={**FLOWN, "wall_s": 0.0})
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
    log.rows["board_event"] = np.array([[float(i), Event.SENSORS_LOST, 0.0] for i in range(300)])
    log.rows["plant_event"] = np.array([[0.5, 99.0, math.nan]])
    summary = summarise(a_scenario(), log, outcome=FLOWN)
    assert len(summary["events"]) == EVENTS_SHOWN
    assert summary["events_total"] == 301
    assert summary["events"][1] == {"t_s": 0.5, "source": "plant", "event": "EVENT_99", "value": None}


def test_junit_has_a_case_per_check_and_says_what_failed() -> None:
    strict = a_scenario(checks=(Check(metric="pos_x_rms_m", below=0.05), Check(metric="pos_max_m", below=1.0)))
    suite = ET.fromstring(junit_xml(summarise(strict, a_log(), outcome=FLOWN)))
    cases = {case.get("name"): case for case in suite}
    assert list(cases) == ["pos_x_rms_m", "pos_max_m", "flown_s", "diverged"]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "0")
    failure = cases["pos_x_rms_m"].find("failure")
    assert failure is not None
    assert re.fullmatch(r"pos_x_rms_m is 0\.1\d*, expected < 0\.05", failure.get("message") or "")
    assert cases["pos_max_m"].find("failure") is None


def test_junit_survives_a_broken_flight_with_a_strange_message() -> None:
    outcome = {**FLOWN, "exit_code": EXIT_LINK, "error": 'pty: <gone> & "lost"\x00\x1b[31m'}
    suite = ET.fromstring(junit_xml(summarise(a_scenario(), Log.empty(), outcome=outcome)))
    assert suite.get("errors") == "1"
    error = suite.find("testcase[@name='flight']/error")
    assert error is not None
    assert error.get("message") == 'pty: <gone> & "lost"??[31m'
    unmeasured = suite.find("testcase[@name='pos_x_rms_m']/failure")
    assert unmeasured is not None
    assert unmeasured.get("message") == "pos_x_rms_m is not measured, expected < 0.2"


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


def page_of(scenario: Scenario, log: Log, outcome: dict[str, Any] | None = None, **options: Any) -> tuple[str, Page]:
    html = render(scenario, log, summarise(scenario, log, outcome=outcome or FLOWN), **options)
    return html, Page(html)


def test_report_has_every_picture_and_fetches_nothing() -> None:
    html, page = page_of(a_scenario(pace="real"), a_log(), delay_margin=MARGIN)
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
    assert not page.tags & {"script", "link", "iframe", "img", "object"} and "@import" not in html
    assert len(html) < 1_500_000
    assert "prefers-color-scheme: dark" in html


@pytest.mark.usefixtures("words_only")
def test_report_says_the_verdict_in_words() -> None:
    def verdict(log: Log, **outcome: Any) -> str:
        _, page = page_of(a_scenario(), log, {**FLOWN, **outcome})
        return page.text

    assert "Passed" in verdict(a_log())
    failed = verdict(a_log(diverged=True))
    assert "Failed" in failed and "Passed" not in failed and "3 of 4 checks passed" in failed
    assert "Interrupted" in verdict(a_log(), exit_code=EXIT_INTERRUPTED, ended="Ctrl-C")
    broken = verdict(a_log(truncated=True), exit_code=EXIT_LINK, error="pty:///x: the board went away")
    assert "Did not finish" in broken
    assert "pty:///x: the board went away" in broken
    assert "no proper end" in broken


@pytest.mark.usefixtures("words_only")
def test_report_puts_numbers_beside_the_papers_claims() -> None:
    _, page = page_of(a_scenario(pace="real"), a_log())
    text = " ".join(page.text.split())
    assert "remained close to the origin" in text
    assert "without saturation" in text
    assert "99.9 % within 0.5 ms of 12 ms, 0.1 % around 1 ms later" in text
    _, hover = page_of(a_scenario(ground=Ground(trajectory=Hover())), a_log())
    assert "another reference" in hover.text
    assert "design model's own prediction" not in hover.text


@pytest.mark.usefixtures("words_only")
def test_predictions_stand_only_beside_flights_they_describe() -> None:
    def page(scenario: Scenario, flown_s: float) -> str:
        summary = summarise(scenario, a_log(), outcome=FLOWN)
        return render(scenario, a_log(), {**summary, "metrics": {**summary["metrics"], "flown_s": flown_s}})

    whole = page(a_scenario(), 60.0)
    assert "The paper gives no tracking numbers. The next table is the design model's own prediction" in whole
    assert '<code>pos_y_rms_m</code></th><td class="n">0.109</td>' in whole
    delayed = a_scenario(link=Link(to_plant=Impairment(delay_s=0.006)))
    for other in (
        page(a_scenario(), 20.0),
        page(delayed, 60.0),
        page(a_scenario(sensors=Sensors(pos_std_m=0.1)), 60.0),
    ):
        assert "design model's own prediction" not in other


def test_lockstep_is_not_shown_as_pacing() -> None:
    _, page = page_of(a_scenario(), a_log())
    assert "how fast the host computes, not how well" in page.text
    assert "lockstep: the host's speed, not comparable" in page.text
    assert "timing-over-time" not in page.ids and "delay-margin" not in page.ids
    assert "--loop mil --pace lockstep --seed 1" in page.text


@pytest.mark.usefixtures("words_only")
@pytest.mark.parametrize(
    ("diverged", "words"), [(True, "unstable: it diverged"), (False, "unstable: it did not diverge")]
)
def test_delay_margin_compares_prediction_and_flight(diverged: bool, words: str) -> None:
    _, page = page_of(a_scenario(), a_log(diverged=diverged), delay_margin=MARGIN)
    assert "margin of 9.0 ms" in page.text
    assert words in page.text


@pytest.mark.usefixtures("words_only")
def test_report_names_the_impairments() -> None:
    impaired = Link(to_plant=Impairment(delay_s=0.006, loss=0.002))
    _, page = page_of(a_scenario(link=impaired), a_log())
    assert "board to plant: delay_s = 0.006, loss = 0.002" in page.text
    _, clean = page_of(a_scenario(), a_log())
    assert "No link was impaired on purpose" in clean.text


@pytest.mark.usefixtures("words_only")
def test_nothing_from_a_file_can_become_markup() -> None:
    hostile = '<script>alert("x")</script><img src=x onerror=y>'
    outcome = {**FLOWN, "ended": hostile, "error": hostile, "exit_code": EXIT_LINK}
    html, page = page_of(a_scenario(summary=hostile), a_log(), outcome)
    assert page.text.count(hostile) == 3
    assert "<script" not in html and "<img" not in html


def test_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    for name in ("a.html", "b.html"):
        scenario, log = a_scenario(pace="real"), a_log()
        write_report(tmp_path / name, scenario, log, summarise(scenario, log, outcome=FLOWN), delay_margin=MARGIN)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


@pytest.mark.parametrize("pace", ["lockstep", "4x"])
def test_a_flight_that_recorded_nothing_gets_a_report(pace: str) -> None:
    _, page = page_of(a_scenario(pace=pace), Log.empty(), {**FLOWN, "exit_code": EXIT_LINK, "error": "no board"})
    assert "not measured" in page.text


def test_thinned_lines_keep_their_peaks() -> None:
    t_s = np.linspace(0.0, 200.0, 50_000)
    values = np.zeros(50_000)
    values[12_345], values[30_001] = 7.0, -3.0
    kept_s, kept = _envelope(t_s, values)
    assert len(kept) <= POINTS_PER_LINE
    assert (kept.max(), kept.min()) == (7.0, -3.0)
    assert kept_s[np.argmax(kept)] == t_s[12_345]
    assert np.all(np.diff(kept_s) > 0)


@pytest.mark.usefixtures("words_only")
def test_a_report_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    scenario, log = a_scenario(), a_log()
    with pytest.raises(AeroloopError, match=r"absent/report\.html: the report cannot be written: No such file"):
        write_report(tmp_path / "absent" / "report.html", scenario, log, summarise(scenario, log, outcome=FLOWN))
