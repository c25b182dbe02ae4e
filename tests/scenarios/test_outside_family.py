"""A family from a folder outside the package: flown over links and inline, judged, reported and shown on a page."""

from __future__ import annotations

import json
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_fly_dash import address, answer

from aeroloop.recording.log import read
from conftest import HANG_S, Bench, until

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "aircraft"


@pytest.fixture
def sled(bench: Bench) -> Path:
    """A copy of the example, where no package is."""
    shutil.copytree(EXAMPLE, bench.folder / "mine", ignore=shutil.ignore_patterns("__pycache__"))
    return bench.folder / "mine" / "sled.toml"


def summary(bench: Bench, run: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((bench.folder / run / "summary.json").read_text())
    return told


@pytest.mark.soak  # short: tests/features
def test_it_flies_with_one_hash_over_every_link_and_inline(bench: Bench, sled: Path) -> None:
    ways = {
        "mil": (),
        "sil": ("--loop", "sil"),
        "pty": ("--link", "pty://"),
        "udp": ("--link", "udp://127.0.0.1:0"),
        "inline": ("--link", "memory://"),
    }
    for run, way in ways.items():
        ended = bench.run("fly", "mine/sled.toml", "--no-report", "--set", "duration_s=4", *way, "--out", run)
        assert ended.code == 0, ended.err
    assert len({summary(bench, run)["log_sha256"] for run in ways}) == 1
    bench.assert_clean()


def test_its_law_flies_as_firmware_too(bench: Bench, sled: Path) -> None:
    """In single precision, which is all that parts it from mil, and to the bit again; with the board's statistics."""
    ways = {"mil": (), "pil": ("--loop", "pil"), "pty": ("--loop", "pil", "--link", "pty://")}
    for run, way in ways.items():
        ended = bench.run("fly", "mine/sled.toml", "--no-report", "--set", "duration_s=4", *way, "--out", run)
        assert ended.code == 0, ended.err
    assert summary(bench, "pil")["log_sha256"] == summary(bench, "pty")["log_sha256"]
    mil, pil = (read(bench.folder / run / "flight.mcap") for run in ("mil", "pil"))
    for column, tolerance in {"x_m": 1e-7, "vx_m_s": 1e-7}.items():
        np.testing.assert_allclose(pil.column("truth", column), mil.column("truth", column), rtol=0, atol=tolerance)
    board = summary(bench, "pil")["board"]
    assert board["clock"] == "instruction-count"
    assert board["tasks"].keys() == {"receive", "law", "tell"}
    assert 0 < board["tasks"]["law"]["worst_s"] < board["worst_cycle_s"] < 0.02
    assert 0 < board["stack_used_B"] < board["stack_size_B"]
    bench.assert_clean()


def test_it_gets_a_verdict_and_a_report(bench: Bench, sled: Path) -> None:
    check = 'checks=[{metric="truth_x_m_last", above=4.9}]'
    ended = bench.run("fly", "mine/sled.toml", "--out", "run")
    assert ended.code == 0, ended.err
    names = summary(bench, "run")["metrics"]
    assert {"diverged", "flown_s"} <= set(names)
    page = (bench.folder / "run" / "report.html").read_text()
    assert "Truth. x_m" in page and "push_N" in page and page.count("<svg") >= 2
    stopped_at_m = read(bench.folder / "run" / "flight.mcap").column("truth", "x_m")[-1]
    assert stopped_at_m == pytest.approx(5.0, abs=0.1)
    ended = bench.run("fly", "mine/sled.toml", "--no-report", "--set", check, "--out", "again")
    assert ended.code == 2
    assert "truth_x_m_last" in ended.sentence(), "a metric that does not exist is named"


def test_off_its_rail_it_has_diverged(bench: Bench, sled: Path) -> None:
    ended = bench.run("fly", "mine/sled.toml", "--no-report", "--set", "goal.x_m=50.0", "--out", "run")
    assert ended.code == 1
    assert summary(bench, "run")["ended"] == "diverged"


@pytest.mark.soak  # short: test_fly_dash.py, and test_new_aircraft.py for a family outside the package
def test_it_has_a_page(bench: Bench, sled: Path) -> None:
    flight = bench.start(
        "fly", "mine/sled.toml", "--no-report", "--set", "duration_s=600", "--dash", "--dash-port", "0", "--out", "run"
    )
    flight.says("dashboard: ")
    url = address(flight.err)
    for page in ("", "fly", "charts", "links", "faults"):
        until(lambda page=page: "sled" in answer(f"{url}{page}")[1], HANG_S, f"the flight on page /{page}")
    flight.process.send_signal(signal.SIGINT)
    assert flight.wait().code == 130
    bench.assert_clean()


def test_code_that_raises_in_flight_is_one_sentence_and_what_was_flown_is_kept(bench: Bench, sled: Path) -> None:
    path = sled.parent / "sled" / "build.py"
    path.write_text(path.read_text().replace("dt_s = dt_ns / NS", "dt_s = dt_ns / NS / (self._x_m < 2.0)"))
    ended = bench.run("fly", "mine/sled.toml", "--out", "run")
    assert ended.code == 2, ended.err
    assert re.search(r"sled/build\.py, line \d+: ZeroDivisionError: float division by zero$", ended.sentence())
    told = summary(bench, "run")
    assert "ZeroDivisionError" in told["error"] and not told["ok"]
    assert read(bench.folder / "run" / "flight.mcap").column("truth", "x_m")[-1] == pytest.approx(2.0, abs=0.05)
    assert "ZeroDivisionError" in (bench.folder / "run" / "report.html").read_text()
    bench.assert_clean()


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("law.py", "STIFFNESS_N_m * error_m", "1 / 0 * error_m", r"sled\.law:law.*ZeroDivisionError"),
        ("family.py", 'law="sled.law:law",', "", r"sled: its row names no law"),
        ("family.py", "rows:VALUES", "rows:NOTHING", r"rows.*no attribute 'NOTHING'"),
        (
            "build.py",
            "start_m: float) -> None:",
            "start_m: float) -> None:\n        raise ValueError('no rail')",
            "no rail",
        ),
    ],
)
def test_what_is_wrong_in_the_folder_is_one_sentence(
    bench: Bench, sled: Path, file: str, old: str, new: str, says: str
) -> None:
    path = sled.parent / "sled" / file
    path.write_text(path.read_text().replace(old, new))
    ended = bench.run("fly", "mine/sled.toml", "--no-report", "--out", "run")
    assert ended.code in (2, 3), ended.err
    assert re.search(says, ended.err), ended.err
    assert "Traceback" not in ended.err
    bench.assert_clean()
