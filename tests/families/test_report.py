"""The report: what people get to see of a flight."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiltrotor_logs import FLOWN, Page, a_busy_board, a_log, a_scenario

from aeroloop.analysis.delay_margin import DelayMargin
from aeroloop.analysis.drawing import POINTS_PER_LINE, envelope
from aeroloop.analysis.report import render_report
from aeroloop.analysis.summary import summarise
from aeroloop.boards.config import Control
from aeroloop.core.errors import EXIT_INTERRUPTED, EXIT_LINK, AeroloopError
from aeroloop.core.impairment import Impairment
from aeroloop.core.scenario import Link
from aeroloop.core.signals import TASKS, Event, ResetCause
from aeroloop.families.tiltrotor.analysis import link_budget, report
from aeroloop.families.tiltrotor.scenario import TiltrotorScenario
from aeroloop.families.tiltrotor.streams import STREAMS
from aeroloop.flight import results
from aeroloop.ground.config import GroundStationSettings, Hover
from aeroloop.recording.log import Log
from aeroloop.sensors.state import TiltrotorSensors

MARGIN: DelayMargin = {
    "delays_s": [0.0, 0.006, 0.012],
    "radius": [0.98, 0.99, 1.02],
    "margin_s": 0.009,
    "flight_delay_s": 0.012,
}


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


@pytest.fixture(autouse=True)
def known_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Designing a gain takes its time."""
    monkeypatch.setattr(report, "delay_margin", lambda _scenario: MARGIN)


@pytest.fixture
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing the pictures takes most of a report's time; tests of its words go without."""
    monkeypatch.setattr(report, "flight_pictures", lambda _log, _scenario: [])


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
    _, hover = page_of(a_scenario(ground=GroundStationSettings(trajectory=Hover())), a_log())
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
