"""`fly --dash`: a flight brings its dashboard along, and takes it away again."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from aeroloop.cli import app as cli
from aeroloop.cli import dash_commands
from conftest import HANG_S, Bench, until

HOVER = ("quad-hover", "--no-report", "--out", "run", "--set", "checks=[]")


def answer(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=HANG_S) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, ""
    except OSError:
        return 0, ""


def address(said: str) -> str:
    found = re.search(r"dashboard: (http://127\.0\.0\.1:\d+/)", said)
    assert found, said
    return found[1]


def test_the_page_is_there_while_it_flies_and_gone_afterwards(bench: Bench) -> None:
    flight = bench.start("fly", *HOVER, "--dash", "--dash-port", "0", "--set", "duration_s=600")
    flight.says("dashboard: ")
    url = address(flight.err)
    status, page = until(lambda: (got := answer(url))[0] and got, HANG_S, "an answer of the dashboard")
    assert status == 200
    assert "Aeroloop" in page
    assert answer(f"{url}fly")[0] == 200
    assert answer(f"{url}nowhere")[0] == 404
    assert '\npace = "real"' in "\n" + (bench.folder / "run" / "scenario.toml").read_text()
    flight.process.send_signal(signal.SIGINT)
    assert flight.wait().code == 130
    assert answer(url)[0] == 0
    bench.assert_clean()


def test_a_port_that_is_taken_is_said_before_anything_flies(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = bench.run("fly", *HOVER, "--dash", "--dash-port", str(taken.getsockname()[1]))
    assert ended.code == 2
    assert ended.sentence().endswith("the port is in use; choose another port")
    assert not (bench.folder / "run").exists()
    bench.assert_clean()


def test_a_dashboard_that_is_killed_costs_the_flight_nothing(bench: Bench) -> None:
    flight = bench.start("fly", *HOVER, "--dash", "--dash-port", "0", "--set", "duration_s=4")
    flight.says("dashboard: ")
    os.kill(dashboard_of(flight.process.pid), signal.SIGKILL)
    flight.says("the dashboard was killed by SIGKILL; the flight continues; to restart it: aeroloop dash --flight ")
    assert flight.wait().code == 0, flight.err
    assert (bench.folder / "run" / "summary.json").exists()
    bench.assert_clean()


def test_ctrl_c_while_the_dashboard_starts_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dash_commands, "beside", lambda *_: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(sys, "argv", ["aeroloop", "fly", *HOVER, "--dash"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err.splitlines()[-1] == "aeroloop: interrupted by SIGINT"
    assert not (tmp_path / "run").exists()


def dashboard_of(parent: int) -> int:
    """Process id of the dashboard that a command has started."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # ended meanwhile
            is_child = (folder / "stat").read_text().rpartition(")")[2].split()[1] == str(parent)
            if is_child and "aeroloop.cli.dash_commands" in (folder / "cmdline").read_text():
                return int(folder.name)
    raise AssertionError("no dashboard runs")
