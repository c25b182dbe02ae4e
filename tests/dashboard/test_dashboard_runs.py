"""Past runs on the page: whole, broken or missing, none is an error; and only reports of runs are served."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the dashboard is an extra: pip install 'aeroloop[dash]'")

from aeroloop.core.errors import AeroloopError
from aeroloop.dashboard import page_runs
from aeroloop.dashboard.past_runs import PastRuns, read_run

SUMMARY: dict[str, Any] = {
    "scenario": "quad-hover",
    "loop": "mil",
    "pace": "real",
    "ok": True,
    "exit_code": 0,
    "checks": [{"name": "pos_rms_m", "value": 0.3, "limit": "< 1", "ok": True}],
    "metrics": {"flown_s": 52.0, "pos_rms_m": 0.338, "pos_max_m": None},
}


def make(folder: Path, name: str, summary: Any = SUMMARY, at_s: int = 1000, report: bool = True) -> Path:
    run = folder / name
    run.mkdir()
    (run / "scenario.toml").write_text("")
    (run / "summary.json").write_text(summary if isinstance(summary, str) else json.dumps(summary))
    if report:
        (run / "report.html").write_text("<p>report</p>")
    for path in run.iterdir():
        os.utime(path, (at_s, at_s))
    return run


def test_runs_are_listed_newest_first_with_verdict_and_numbers(tmp_path: Path) -> None:
    make(tmp_path, "old", at_s=1000)
    failed = {**SUMMARY, "ok": False, "exit_code": 1, "checks": [{"name": "pos_rms_m", "value": 3.0, "ok": False}]}
    make(tmp_path, "new", failed, at_s=2000, report=False)
    make(tmp_path, "cut", {**SUMMARY, "ok": False, "exit_code": 3, "checks": []}, at_s=1500)
    (tmp_path / "something-else").mkdir()
    (tmp_path / "compare-a-b.html").write_text("")
    new, cut, old = PastRuns(tmp_path).list()
    assert (new.name, new.verdict, new.severity, new.numbers) == ("new", "failed", "bad", "pos_rms_m 3")
    assert not new.has_report and old.has_report
    assert (cut.name, cut.verdict) == ("cut", "aborted")
    assert (old.name, old.verdict, old.flown_s, old.numbers) == ("old", "passed", 52.0, "pos_rms_m 0.338")
    assert old.scenario == "quad-hover" and old.loop == "mil" and old.pace == "real"


@pytest.mark.parametrize(
    "summary",
    ["", '{"scenario', "[]", "null", "\x00", "[" * 100_000, "{}", '{"scenario": 5}', "x" * 5_000_000],
    ids=["empty", "cut", "list", "null", "nul", "deep", "none", "number", "huge"],
)
def test_a_broken_summary_is_shown_as_such(tmp_path: Path, summary: str) -> None:
    make(tmp_path, "bad", summary)
    (run,) = PastRuns(tmp_path).list()
    assert run.verdict == "unreadable" and not run.has_summary


@pytest.mark.parametrize(
    "odd",
    [
        {"metrics": None},
        {"metrics": {"flown_s": "long", "pos_rms_m": True}},
        {"checks": {"a": 1}, "metrics": []},
        {"checks": [None, {"ok": False}], "ok": False},
        {"loop": None, "pace": 4, "ok": "yes"},
        {"metrics": {"flown_s": float("nan")}},
    ],
)
def test_odd_values_in_a_summary_are_left_out(tmp_path: Path, odd: dict[str, Any]) -> None:
    make(tmp_path, "odd", {**SUMMARY, **odd})
    (run,) = PastRuns(tmp_path).list()
    assert run.scenario == "quad-hover"
    assert page_runs.as_row(run)["name"] == "odd"


def test_a_run_without_summary_and_a_folder_that_is_not_there(tmp_path: Path) -> None:
    run = make(tmp_path, "now")
    (run / "summary.json").unlink()
    assert PastRuns(tmp_path).list()[0].verdict == "no summary"
    assert PastRuns(tmp_path / "none").list() == []
    assert read_run(tmp_path / "none").verdict == "no summary"


def test_a_changed_summary_is_read_again(tmp_path: Path) -> None:
    run = make(tmp_path, "one", "{}")
    runs = PastRuns(tmp_path)
    assert runs.list()[0].verdict == "unreadable"
    (run / "summary.json").write_text(json.dumps(SUMMARY))
    assert runs.list()[0].verdict == "passed"


@pytest.mark.parametrize("name", ["..", ".", "", "/etc", "../runs/one", "one/..", "one/", "ONE", "one\x00", "secret"])
def test_only_names_in_the_listing_have_a_report(tmp_path: Path, name: str) -> None:
    runs_dir = tmp_path / "runs"
    runs_dir.mkdir()
    make(runs_dir, "one")
    secret = make(tmp_path, "secret")
    (runs_dir / "link").symlink_to(secret)
    runs = PastRuns(runs_dir)
    assert runs.report("one") == runs_dir / "one" / "report.html"
    assert runs.report(name) is None
    assert runs.report("link") is None


def test_a_report_that_is_a_link_is_not_served(tmp_path: Path) -> None:
    run = make(tmp_path, "one", report=False)
    secret = tmp_path / "secret.html"
    secret.write_text("secret")
    (run / "report.html").symlink_to(secret)
    assert PastRuns(tmp_path).report("one") is None


def test_what_a_command_of_ours_refuses_is_told(tmp_path: Path) -> None:
    with pytest.raises(AeroloopError, match="no such run"):
        asyncio.run(page_runs.aeroloop("report", str(tmp_path / "none")))


def test_names_are_quoted_in_addresses(tmp_path: Path) -> None:
    make(tmp_path, "a b?x#y")
    (run,) = PastRuns(tmp_path).list()
    assert page_runs.as_row(run)["report"] == "/runs/a%20b%3Fx%23y/report.html"


def test_names_and_numbers_that_no_page_could_show_spoil_nothing(tmp_path: Path) -> None:
    make(tmp_path, "good")
    make(
        tmp_path, "<img src=x onerror=alert(1)>", {**SUMMARY, "metrics": {"flown_s": 10**400, "pos_rms_m": -(10**400)}}
    )
    (tmp_path / "bad-\udcff").mkdir()  # a name that is no UTF-8
    (tmp_path / "bad-\udcff" / "summary.json").write_text("{}")
    rows = {row["name"]: row for row in map(page_runs.as_row, PastRuns(tmp_path).list())}
    assert set(rows) == {"good", "<img src=x onerror=alert(1)>"}
    hostile = rows["<img src=x onerror=alert(1)>"]
    assert hostile["flown"] == "" and "<" not in hostile["report"]


def test_a_summary_that_is_a_pipe_or_a_link_is_not_waited_for(tmp_path: Path) -> None:
    for name in ("pipe", "link"):
        (make(tmp_path, name) / "summary.json").unlink()
    os.mkfifo(tmp_path / "pipe" / "summary.json")
    (tmp_path / "other.json").write_text(json.dumps(SUMMARY))
    (tmp_path / "link" / "summary.json").symlink_to(tmp_path / "other.json")
    assert {run.verdict for run in PastRuns(tmp_path).list()} == {"unreadable"}


def test_no_run_is_an_option_of_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, "--help")
    monkeypatch.chdir(tmp_path)
    path = PastRuns(Path()).path("--help")
    assert path is not None and str(path) == str(tmp_path / "--help")


def test_a_report_can_neither_command_nor_reach_anything() -> None:
    policy = page_runs.SANDBOX["content-security-policy"]
    assert "sandbox" in policy and "default-src 'none'" in policy
    for word in (
        "allow-same-origin",
        "allow-top-navigation",
        "allow-popups-to-escape-sandbox",
        "allow-forms",
        "connect-src",
    ):
        assert word not in policy


def test_a_run_that_goes_on_is_said_to_fly(tmp_path: Path) -> None:
    (make(tmp_path, "now") / "summary.json").unlink()
    (run,) = PastRuns(tmp_path).list()
    assert page_runs.as_row(run)["verdict"] == "no summary"
    assert page_runs.as_row(run, "now")["verdict"] == "flying"
