"""Runs in Python: a flight started from another thread than the main one, its numbers, its log, its figures."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import aeroloop
from aeroloop.api import flying
from aeroloop.api.flying import new_folder
from aeroloop.core.scenario_files import load
from aeroloop.flight.judging import Judged

ROOT = Path(__file__).resolve().parents[2]
SLED = ROOT / "examples/aircraft/sled.toml"
HANG_S = 240


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, aeroloop.Run]:
    """A sled alone, and two sleds at the same time, flown from two threads at once."""
    folder = tmp_path_factory.mktemp("runs")
    fleet = {
        "name": "two",
        "duration_s": 1.0,
        "aircraft": [
            {"scenario": str(SLED), "checks": []},
            {"scenario": str(SLED), "name": "heavy", "vehicle": {"mass_kg": 4.0}, "checks": []},
        ],
    }
    progress: list[float] = []
    with ThreadPoolExecutor(2) as threads:
        alone = threads.submit(
            aeroloop.fly, SLED, seed=7, set={"duration_s": 2}, out=folder / "alone", progress=progress.append
        )
        two = threads.submit(aeroloop.fly, fleet, out=str(folder / "two"))
    assert progress[-1] == pytest.approx(2.0, abs=0.1)
    return {"alone": alone.result(), "two": two.result()}


def test_a_run_has_the_names_of_its_summary(runs: dict[str, aeroloop.Run]) -> None:
    run = runs["alone"]
    summary = json.loads((run.folder / "summary.json").read_text())
    assert run.summary == summary
    for name in ("scenario", "loop", "pace", "seed", "duration_s", "exit_code", "ended", "error", "log_sha256"):
        assert getattr(run, name) == summary[name]
    for name in ("timing", "links", "versions"):
        assert getattr(run, name) == summary[name]
    assert (run.seed, run.duration_s, run.loop) == (7, 2.0, "mil")
    assert [check.name for check in run.checks] == [check["name"] for check in summary["checks"]]
    assert run.passed == summary["ok"] and run.failed == [check for check in run.checks if not check.ok]
    assert run.metrics["flown_s"] == pytest.approx(2.0, abs=0.1)


def test_numbers_that_were_not_measured_are_nan(runs: dict[str, aeroloop.Run]) -> None:
    run = runs["alone"]
    summary = {
        **run.summary,
        "metrics": {"x": None},
        "checks": [{"name": "x", "value": None, "limit": "< 1", "ok": False}],
    }
    copy = aeroloop.Run(run.folder, run.plan, summary)
    assert math.isnan(copy.metrics["x"]) and math.isnan(copy.checks[0].value)
    assert "x nan not < 1" in repr(copy)
    assert "not measured" in copy._repr_html_() and "&lt; 1" in copy._repr_html_()


def test_the_log_is_columns_with_units(runs: dict[str, aeroloop.Run]) -> None:
    truth = runs["alone"].log["truth"]
    assert truth.units["x_m"] == "m" and truth.units["vx_m_s"] == "m/s"
    assert truth["x_m"].shape == truth.t_s.shape == (truth.rows,)
    assert np.all(np.diff(truth.t_s) > 0) and truth.t_s[-1] == pytest.approx(2.0, abs=0.1)
    assert list(truth)[:3] == ["t_s", "vehicle", "x_m"] and len(truth) == truth.array.shape[1]
    assert truth.of_vehicle(0).rows == truth.rows and truth.of_vehicle(1).rows == 0
    assert "truth" in runs["alone"].log and not runs["alone"].log.truncated
    with pytest.raises(KeyError, match="truth has no column 'x'; expected one of: t_s, vehicle, x_m"):
        _ = truth["x"]
    with pytest.raises(KeyError, match="no stream 'thruth'; expected one of: truth"):
        _ = runs["alone"].log["thruth"]


def test_a_table_as_a_data_frame(runs: dict[str, aeroloop.Run]) -> None:
    frame = runs["alone"].log["truth"].to_pandas()
    assert list(frame.columns) == list(runs["alone"].log["truth"])
    assert frame["x_m"].iloc[-1] == runs["alone"].log["truth"]["x_m"][-1]
    assert frame.attrs["units"]["x_m"] == "m"


def test_without_pandas_the_reason_is_one_sentence(
    runs: dict[str, aeroloop.Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(aeroloop.ConfigError, match=r"pandas is not installed; .* pip install pandas"):
        runs["alone"].log["truth"].to_pandas()


def test_a_part_of_a_fleet_is_a_run_of_its_own(runs: dict[str, aeroloop.Run]) -> None:
    two = runs["two"]
    assert list(two.parts) == ["sled", "heavy"] and runs["alone"].parts == {}
    heavy = two.parts["heavy"]
    assert heavy.scenario == "heavy" and heavy.folder == two.folder and heavy.passed
    np.testing.assert_array_equal(heavy.log["truth"].array, two.log["heavy/truth"].array)
    assert heavy.log["truth"].units == two.log["heavy/truth"].units
    assert heavy.metrics["flown_s"] == two.metrics["heavy/flown_s"]
    light, slow = two.parts["sled"].log["truth"]["x_m"], heavy.log["truth"]["x_m"]
    assert light[10] > slow[10] > 0


def test_figures_and_report_are_drawn_when_asked_for(runs: dict[str, aeroloop.Run], tmp_path: Path) -> None:
    run = runs["alone"]
    figure = run.figures["top-and-altitude"]
    assert figure._repr_svg_().startswith("<svg") and figure.title and figure.caption
    assert figure.save(tmp_path / "x.svg").read_text() == figure.svg
    assert not (run.folder / "report.html").exists()
    report = run.report()
    assert report == run.folder / "report.html" and figure.title in report.read_text()
    before = report.stat()
    assert run.report() == report and report.stat() == before


def test_figures_and_report_of_a_fleet_are_those_of_its_parts(runs: dict[str, aeroloop.Run]) -> None:
    two = aeroloop.open_run(runs["two"].folder)
    for name, part in two.parts.items():  # drawn already, by this name
        part.__dict__["figures"] = {"x": aeroloop.Figure("x", name, "", "<svg/>")}
    assert {name: figure.title for name, figure in two.figures.items()} == {"sled/x": "sled", "heavy/x": "heavy"}
    (two.folder / "report.html").write_text("drawn already")
    assert two.parts["heavy"].report() == two.report() == two.folder / "report.html"
    assert two.report().read_text() == "drawn already"


def test_a_run_of_before_is_opened_from_its_folder(runs: dict[str, aeroloop.Run], tmp_path: Path) -> None:
    again = aeroloop.open_run(str(runs["alone"].folder))
    assert again.summary == runs["alone"].summary and again.plan == runs["alone"].plan
    np.testing.assert_array_equal(again.log["truth"].array, runs["alone"].log["truth"].array)
    with pytest.raises(aeroloop.ConfigError, match="no such run"):
        aeroloop.open_run(tmp_path / "nothing")


def test_a_flight_that_cannot_begin_raises_and_leaves_no_folder(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(aeroloop.ConfigError, match="unknown metric 'nothing'"):
        aeroloop.fly(SLED, set={"checks": [{"metric": "nothing", "below": 1.0}]}, out=out)
    with pytest.raises(aeroloop.ConfigError, match="loop: "):
        aeroloop.fly(SLED, loop="nil", out=out)
    with pytest.raises(aeroloop.ConfigError, match="--law: this controller brings its own law"):
        aeroloop.fly("quad-hover", law="my_law.py", out=out)
    with pytest.raises(aeroloop.LinkError, match="/dev/nothing"):
        aeroloop.fly(SLED, loop="hil", link="serial:///dev/nothing", out=out)
    assert not out.exists()


def test_a_verdict_that_cannot_be_written_is_a_storage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = Judged({"exit_code": 0}, 3, errors=["summary.json: cannot be written: the disk is full"])
    monkeypatch.setattr(flying, "carry_out", lambda *_, **__: judged)
    with pytest.raises(aeroloop.StorageError, match="the disk is full"):
        aeroloop.fly(SLED, out=tmp_path / "run")


def test_two_flights_of_one_second_get_two_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = load(SLED)
    assert len({new_folder(plan) for _ in range(3)}) == 3


def test_ctrl_c_ends_a_flight_and_the_script_that_started_it(tmp_path: Path) -> None:
    """A script without a guard; the signal comes when the flight says that it has begun."""
    script = tmp_path / "script.py"
    script.write_text(
        dedent(f"""
        import os, signal
        import aeroloop

        calls = []

        def interrupt_once(flown_s):
            calls.append(flown_s)
            if len(calls) == 1:  # a second signal while the flight is judged would abort it
                os.kill(os.getpid(), signal.SIGINT)

        try:
            aeroloop.fly({str(SLED)!r}, pace="real", set={{"duration_s": 600}}, out="run",
                         progress=interrupt_once)
        except KeyboardInterrupt:
            print("interrupted", signal.getsignal(signal.SIGINT) is signal.default_int_handler)
        """)
    )
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert (done.returncode, done.stdout) == (0, "interrupted True\n"), done.stderr
    run = aeroloop.open_run(tmp_path / "run")
    assert run.exit_code == 130 and not run.passed
