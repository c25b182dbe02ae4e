"""Comparison of runs against offsets put in on purpose, the page, and the command."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stream_tables import TILTROTOR
from tiltrotor_scenarios import tiltrotor
from typer.testing import CliRunner

from aeroloop.analysis import compare_page
from aeroloop.analysis.compare import Run, compare, differences, labels
from aeroloop.analysis.summary import summarise
from aeroloop.cli import app as cli
from aeroloop.core.errors import EXIT_CHECK_FAILED, EXIT_LINK, EXIT_OK, EXIT_USAGE, AeroloopError, ConfigError
from aeroloop.core.scenario import Check
from aeroloop.core.streams import logged
from aeroloop.families.tiltrotor.streams import STREAMS
from aeroloop.flight import results
from aeroloop.recording.log import Log, LogWriter

FLOWN = {"ended": "completed", "wall_s": 2.0, "exit_code": EXIT_OK, "error": None}
PERIOD_S = 0.012
CHECKS = (Check(metric="pos_max_m", below=0.5),)
COMMAND = TILTROTOR["command"].names[2:]


def fill(log: Log, stream: str, t_s: np.ndarray, **columns: Any) -> None:
    """Rows of a stream from columns; fields that are not given are zero."""
    names = TILTROTOR[stream].names
    log.rows[stream] = np.zeros((len(t_s), len(names)))
    for name, values in {"t_s": t_s, **columns}.items():
        log.rows[stream][:, names.index(name)] = values


def a_run(name: str = "a", /, *, until_s: float = 6.0, step_s: float = 0.004, off: float = 0.0, **changes: Any) -> Run:
    """A flight on straight lines, so that linear interpolation is exact; `off` moves all of it by known amounts."""
    scenario = tiltrotor(**{"name": "line", "duration_s": until_s, "checks": CHECKS, **changes})
    log = Log.empty(STREAMS)
    t_s = np.arange(0, until_s + step_s / 2, step_s)
    fill(
        log,
        "truth",
        t_s,
        x_m=t_s + 3 * off,
        y_m=2 * t_s + 4 * off,
        z_m=1 + 12 * off,
        roll_rad=0.01 * t_s + off,
        pitch_rad=-0.02 * t_s - 2 * off,
        yaw_rad=wrapped(t_s + 3 * off),
    )
    cycle_s = np.arange(0, until_s + PERIOD_S / 2, PERIOD_S)
    fill(log, "setpoint", cycle_s, x_m=cycle_s, y_m=2 * cycle_s, z_m=1.0)
    fill(log, "command", cycle_s[1:], **{field: i + off for i, field in enumerate(COMMAND)})
    fill(log, "effort", t_s, thrust_right_N=10, thrust_left_N=10)
    return Run(name, scenario, log, summarise(scenario, log, outcome=FLOWN))


def wrapped(angle_rad: Any) -> Any:
    return (angle_rad + math.pi) % (2 * math.pi) - math.pi


@pytest.mark.parametrize("step_s", [0.004, 0.005, 0.011])
def test_a_known_offset_is_found_whatever_the_time_stamps(step_s: float) -> None:
    """3, 4 and 12 mm make 13 mm; yaw passes half a turn on the way, where its sign jumps."""
    comparison = compare([a_run(), a_run("b", off=0.001, loop="sil", step_s=step_s)])
    [found] = comparison["differences"]
    assert (found["label"], found["to"]) == ("sil", "mil")
    assert found["position_max_m"] == pytest.approx(0.013)
    assert found["position_rms_m"] == pytest.approx(0.013)
    for name, factor in {"roll": 1, "pitch": 2, "yaw": 3}.items():
        for statistic in ("max", "rms"):
            assert found[f"{name}_{statistic}_deg"] == pytest.approx(math.degrees(factor * 0.001))
    for quantity in ("thrust_right_max_N", "thrust_left_rms_N", "torque_right_rms_Nm", "torque_left_max_Nm"):
        assert found[quantity] == pytest.approx(0.001)
    assert comparison["log_hashes_equal"] is False


@pytest.mark.parametrize("jitter_s", [0.0, 0.0005])
def test_differences_against_a_loop_over_all_samples(jitter_s: float) -> None:
    """The slow way: each sample alone, with its neighbours looked up and the command that stood."""
    rng = np.random.default_rng(7)
    first, other = a_run(until_s=0.5), a_run("b", until_s=0.4, step_s=0.007)
    for run in (first, other):
        for stream in ("truth", "command"):
            rows = run.log.rows[stream]
            rows[:, 2:] += rng.normal(0, 0.1, rows[:, 2:].shape)
            rows[:, 0] += rng.uniform(0, jitter_s)
    [found] = differences([first, other])

    truth, others = first.log.rows["truth"], other.log.rows["truth"]
    expected = []
    for row in truth:
        after = next((i for i in range(len(others)) if others[i, 0] >= row[0]), None)
        if after is None or row[0] < others[0, 0]:
            continue
        left, right = others[max(after - 1, 0)], others[after]
        part = (row[0] - left[0]) / (right[0] - left[0]) if after else 0.0
        expected.append([row[0], *(left[2:5] + part * (right[2:5] - left[2:5]) - row[2:5])])
    assert found.t_s.tolist() == [t_s for t_s, *_ in expected]
    np.testing.assert_allclose(found.position_W, [d for _, *d in expected], atol=1e-12)

    def stood(run: Run, t_s: float) -> np.ndarray:
        return next(row[2:] for row in run.log.rows["command"][::-1] if row[0] <= t_s)

    np.testing.assert_array_equal(
        found.command, [stood(other, t_s) - stood(first, t_s) for t_s in found.command_t_s.tolist()]
    )
    assert found.command_t_s[0] >= max(run.log.rows["command"][0, 0] for run in (first, other))


def test_angles_on_either_side_of_half_a_turn_are_close() -> None:
    first, other = a_run(), a_run("b")
    for run, yaw_rad in ((first, math.pi - 0.001), (other, -math.pi + 0.001)):
        run.log.rows["truth"][:, TILTROTOR["truth"].names.index("yaw_rad")] = yaw_rad
    [found] = compare([first, other])["differences"]
    assert found["yaw_max_deg"] == pytest.approx(math.degrees(0.002))


def test_the_largest_difference_is_a_peak_not_a_mean() -> None:
    first, other = a_run(), a_run("b")
    other.log.rows["truth"][500, 2] += 0.02
    [found] = compare([first, other])["differences"]
    assert found["position_max_m"] == pytest.approx(0.02)
    assert found["position_max_at_s"] == pytest.approx(2.0)
    assert found["position_rms_m"] == pytest.approx(0.02 / math.sqrt(len(first.log.rows["truth"])))


def test_equal_flights_differ_by_nothing_at_all() -> None:
    comparison = compare([a_run(), a_run("b", loop="sil")])
    [found] = comparison["differences"]
    assert {value for key, value in found.items() if "_max_" in key or "_rms_" in key} == {0.0}
    assert comparison["log_hashes_equal"] is True
    assert comparison["settings"] == {"loop": ["mil", "sil"]}
    assert comparison["remarks"] == []


def test_three_runs_are_each_held_against_the_first() -> None:
    runs = [a_run(), a_run("b", off=0.001, loop="sil"), a_run("c", off=0.1, loop="pil")]
    comparison = compare(runs)
    assert [found["label"] for found in comparison["differences"]] == ["sil", "pil"]
    assert [found["position_max_m"] for found in comparison["differences"]] == pytest.approx([0.013, 1.3])
    assert [run["ok"] for run in comparison["runs"]] == [True, True, False]
    [check] = [check for check in comparison["checks"] if check["name"] == "pos_max_m"]
    assert [result["ok"] for result in check["results"]] == [True, True, False]
    assert comparison["metrics"]["pos_max_m"] == pytest.approx([0, 0.013, 1.3], abs=1e-9)
    assert comparison["board"] == [None, None, None]


def test_runs_are_called_what_tells_them_apart() -> None:
    assert labels([a_run(), a_run("b", loop="sil")]) == ["mil", "sil"]
    assert labels([a_run(), a_run("b")]) == ["a", "b"]
    assert labels([a_run(), a_run()]) == ["1 a", "2 a"]


def test_what_cannot_be_compared_is_said_in_words() -> None:
    first = a_run()
    shorter = a_run("b", until_s=2.0, seed=5)
    mute = a_run("c")
    mute.log.rows["command"] = np.empty((0, 6))
    broken = a_run("d")
    broken.log.rows["truth"][100, 2] = math.nan
    comparison = compare([first, shorter, mute, broken])
    words = " ".join(comparison["remarks"])
    assert "a flew to 6 s and b to 2 s: compared from 0 to 2 s." in words
    assert "b flew with seed 5, a with 1." in words
    assert "c and a had no command at the same time" in words
    assert "d or a contains NaN positions" in words
    short, without, unknown = comparison["differences"]
    assert (short["to_s"], short["position_max_m"]) == (2.0, 0.0)
    assert (without["position_max_m"], without["thrust_right_max_N"]) == (0.0, None)
    assert unknown["position_max_m"] is None and unknown["position_rms_m"] is None
    json.dumps(comparison, allow_nan=False)


def test_other_scenarios_ends_and_settings_are_named() -> None:
    other = a_run("b", name="circle", duration_s=7.0)
    broken = Run("c", other.scenario, replace(other.log, truncated=True), {**other.summary, "exit_code": EXIT_LINK})
    comparison = compare([a_run(), broken])
    words = " ".join(comparison["remarks"])
    assert "c flew circle, but a flew line." in words
    assert "The log of c is truncated." in words
    assert "c did not complete its flight: completed." in words
    assert comparison["settings"] == {"name": ["line", "circle"], "duration_s": [6.0, 7.0]}


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        (lambda: [a_run()], "two or more runs"),
        (
            lambda: [a_run(), Run("b", a_run().scenario, Log.empty(STREAMS), a_run().summary)],
            "b: its log holds no flight",
        ),
        (lambda: [a_run(), later(a_run("b"))], "b flew from 100 to 106 s .* no common time"),
    ],
)
def test_nothing_to_compare_is_one_sentence(runs: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        compare(runs())


def later(run: Run) -> Run:
    run.log.rows["truth"][:, 0] += 100
    return run


def with_statistics(run: Run) -> Run:
    fill(run.log, "cpu", np.arange(1.0, 7.0), use_pct=23.5, stack_used_B=912, stack_size_B=4096)
    return Run(run.name, run.scenario, run.log, summarise(run.scenario, run.log, outcome=FLOWN))


def test_page_has_every_picture_and_fetches_nothing() -> None:
    runs = [a_run(), a_run("b", off=0.001, loop="sil"), with_statistics(a_run("<b>c</b>", off=0.002, loop="pil"))]
    html = compare_page.render(runs, compare(runs))
    pictures = ("trajectory", "top-and-altitude", "position-difference", "position", "attitude", "commands", "cpu-use")
    for name in pictures:
        assert html.count(f'id="{name}"') == 1
    assert html.count("<svg") == len(pictures)
    assert "was at most <b>13 mm</b> from mil" in html and "at most <b>26 mm</b>" in html
    assert "The log hashes differ." in html
    assert html.count('<span class="passed">passed</span>') >= 3
    assert "31.25 million instructions per second" in html and "never silicon time" in html
    assert "<b>c</b>" not in html and "&lt;b&gt;c&lt;/b&gt;" in html
    assert html.count("<script") == 1 and "src=" not in html
    assert html == compare_page.render(runs, compare(runs))


def test_page_of_equal_runs_says_so_and_needs_no_board() -> None:
    runs = [a_run(), a_run("b", loop="sil")]
    html = compare_page.render(runs, compare(runs))
    assert "<b>sil</b> flew exactly where <b>mil</b> did." in html
    assert "All log hashes are equal" in html
    assert 'id="cpu-use"' not in html and 'id="board"' not in html


def folder_of(parent: Path, run: Run) -> Path:
    """The run's folder, as a flight leaves it."""
    folder = parent / run.name
    results.make_folder(folder, run.scenario)
    writer = LogWriter(folder / results.LOG, logged(STREAMS))
    for stream in STREAMS:
        for row in run.log.rows.get(stream.name, np.empty((0, 0))).tolist():
            writer.write(stream, tuple(row))
    writer.close()
    results.write_summary(folder, run.scenario, run.log, FLOWN)
    return folder


@pytest.fixture
def drawn_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_page, "pictures", lambda _runs: [])


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    runs = (a_run("spiral-mil", until_s=1.0), a_run("spiral-sil", until_s=1.0, off=0.001, loop="sil"))
    return [str(folder_of(tmp_path, run)) for run in runs]


def command(*arguments: str) -> tuple[int, str, str]:
    outcome = CliRunner().invoke(cli.app, ["compare", *arguments])
    if isinstance(outcome.exception, AeroloopError):  # cli.main makes a sentence and an exit code of it
        return outcome.exception.exit_code, outcome.stdout, str(outcome.exception)
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exception
    return outcome.exit_code, outcome.stdout, outcome.stderr


@pytest.mark.usefixtures("drawn_quickly")
def test_the_command_shows_a_table_and_writes_the_page_beside_the_first_run(folders: list[str], tmp_path: Path) -> None:
    code, shown, _ = command(*folders)
    assert code == EXIT_OK
    assert "position_max_m" in shown and "0.013" in shown
    assert "sil: spiral-sil, passed" in shown
    assert "log hashes differ" in shown
    page = tmp_path / "compare-spiral-mil-spiral-sil.html"
    assert str(page) in shown and "13 mm" in page.read_text("utf-8")


def test_a_log_of_before_the_streams_had_common_names_is_refused_in_a_sentence(folders: list[str]) -> None:
    log = Path(folders[0]) / results.LOG
    shutil.copy(Path(__file__).parents[1] / "golden" / "log_without_table.mcap", log)
    code, _, said = command(*folders)
    assert code == EXIT_USAGE and said.startswith(f"{log}: written by a version of Aeroloop with other streams (")
    with pytest.raises(ConfigError, match="use that version for its report"):
        results.report_again(log.parent)


@pytest.mark.usefixtures("drawn_quickly")
def test_the_command_fails_where_runs_are_too_far_apart(folders: list[str], tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "c.html"))
    assert command(*folders, *out, "--within", "0.0131")[0] == EXIT_OK
    code, _, said = command(*folders, *out, "--within", "0.0129")
    assert code == EXIT_CHECK_FAILED
    assert "not within 0.0129 m of mil: sil (0.013 m)" in " ".join(said.split())
    assert (tmp_path / "c.html").exists()


@pytest.mark.usefixtures("drawn_quickly")
def test_a_distance_that_is_not_known_is_not_within(folders: list[str], tmp_path: Path) -> None:
    broken = a_run("broken", until_s=1.0)
    broken.log.rows["truth"][10, 2] = math.nan
    code, _, said = command(folders[0], str(folder_of(tmp_path, broken)), "--within", "1000")
    assert code == EXIT_CHECK_FAILED and "unknown distance" in " ".join(said.split())


@pytest.mark.usefixtures("drawn_quickly")
def test_a_distance_known_for_a_part_of_the_flight_is_not_within(folders: list[str], tmp_path: Path) -> None:
    short = folder_of(tmp_path, a_run("short", until_s=0.5))
    for pair in ((folders[0], str(short)), (str(short), folders[0])):
        code, _, said = command(*pair, "--within", "1000")
        assert code == EXIT_CHECK_FAILED and "compared up to 0.5 s of 1 s only" in " ".join(said.split())


@pytest.mark.usefixtures("drawn_quickly")
def test_the_command_prints_json_alone(folders: list[str], tmp_path: Path) -> None:
    code, shown, _ = command(*folders, "--json", "--out", str(tmp_path / "c.html"))
    assert code == EXIT_OK
    assert json.loads(shown)["differences"][0]["position_max_m"] == pytest.approx(0.013)


def test_the_command_refuses_in_a_sentence(folders: list[str], tmp_path: Path) -> None:
    empty = folder_of(tmp_path, Run("empty", a_run().scenario, Log.empty(STREAMS), {}))
    cases = {
        (folders[0],): "two or more runs",
        (folders[0], str(tmp_path / "absent")): "no such run",
        (folders[0], str(empty)): "empty: its log holds no flight",
        (*folders, "--out", str(tmp_path / "c.pdf")): "expected the name of an .html file",
        (*folders, "--out", str(tmp_path / "absent" / "c.html")): "does not exist",
        (*folders, "--out", f"{folders[0]}/report.html"): "is the report of a run",
    }
    for arguments, words in cases.items():
        code, shown, said = command(*arguments)
        assert (code, shown) == (EXIT_USAGE, "")
        assert words in said
    assert not list(tmp_path.glob("*.html"))


def test_many_long_names_still_make_a_file_name(tmp_path: Path) -> None:
    path = results.comparison_path([tmp_path / f"{'long' * 12}-{i}" for i in range(9)])
    assert path.parent == tmp_path.resolve()
    assert path.name == f"compare-{'long' * 12}-0-and-8-more.html"
