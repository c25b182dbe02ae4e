"""Does a page make the plant late? Flights in real time, in turns alone and with the dashboard in two browsers.

The browsers show the 3D view and run on the same machine, at ordinary priority, drawing without a graphics card: the
hardest case. Whether a difference means anything is told by the spread of the flights alone.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from aeroloop.flight.results import LOG
from aeroloop.recording.log import Log, read
from benchmarks.measure import Outcome, row, take_turns

ONLOOKER = Path(__file__).resolve().parents[1] / "tests" / "web" / "onlooker.py"
PEER = "no dashboard"
PERIOD_S = 0.012
SETTLED_S = 3.0
"""Measured is from here on: until then processes start and the pages find the flight."""
HANG_S = 120.0

Times = NDArray[np.float64]


@dataclass(frozen=True)
class Kind:
    """A flight, and what its log says of how well time was kept."""

    scenario: str
    measured: dict[str, Callable[[Log], Times]]


@dataclass
class Taken:
    """One number per flight and measurement."""

    times_us: dict[str, list[float]] = field(default_factory=dict)
    missed: list[int] = field(default_factory=list)
    messages: list[int] = field(default_factory=list)  # that came to the browsers, each


def _settled(log: Log, stream: str, name: str) -> Times:
    values = log.column(stream, name)[log.column(stream, "t_s") >= SETTLED_S]
    return values[np.isfinite(values)]


def _off_period(log: Log) -> Times:
    return np.abs(_settled(log, "cycle", "period_s") - PERIOD_S)


KINDS = {
    "quadrotor": Kind(
        "quad-hover",
        {"lateness of a step, worst in 20 ms": lambda log: _settled(log, "pace", "lateness_s")},
    ),
    "tilt-rotor": Kind(
        "tiltrotor-spiral",
        {
            "lateness of a step, worst in 20 ms": lambda log: _settled(log, "pace", "lateness_s"),
            "request period off 12 ms by": _off_period,
        },
    ),
}
PERCENTILES = {"median": 50.0, "99th percentile": 99.0}


def run(quick: bool) -> Outcome:
    """Quick: the tilt-rotor alone, once without and once with one browser."""
    outcome = Outcome()
    if importlib.util.find_spec("playwright") is None:
        outcome.notes.append("not measured: it needs playwright and a browser, which `sh tools/setup.sh dev` installs")
        return outcome
    rounds, duration_s, browsers = (1, SETTLED_S + 0.5, 1) if quick else (4, SETTLED_S + 15.0, 2)
    for name in ("tilt-rotor",) if quick else KINDS:
        alone, watched = Taken(), Taken()
        take_turns(
            {
                PEER: partial(_fly, KINDS[name], duration_s, alone, 0),
                "watched": partial(_fly, KINDS[name], duration_s, watched, browsers),
            },
            rounds,
        )
        for what, times_us in watched.times_us.items():
            outcome.rows.append(row(f"{name}: {what}", "µs", times_us, PEER, alone.times_us[what]))
        outcome.notes += _notes(name, alone, watched)
    return outcome


def _notes(name: str, alone: Taken, watched: Taken) -> list[str]:
    notes = [
        f"{name}: deadlines missed alone {_listed(alone.missed)}, with browsers {_listed(watched.missed)}; "
        f"messages that came to each browser {_listed(watched.messages)}"
    ]
    if len(alone.missed) > 1:  # one flight has no spread
        beyond = [what for what, us in watched.times_us.items() if median(us) > max(alone.times_us[what])]
        verdict = f"beyond it: {', '.join(beyond)}" if beyond else "within it"
        notes.append(f"{name}: held against the spread of the flights alone, the medians with browsers are {verdict}")
    return notes


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _fly(kind: Kind, duration_s: float, taken: Taken, browsers: int) -> float:
    """One flight; its numbers go to `taken`. Returns the deadlines missed."""
    # The path of a Unix socket has room for about 100 characters.
    runtime = tempfile.mkdtemp(prefix="al-", dir="/tmp")
    env = {**os.environ, "XDG_RUNTIME_DIR": runtime}
    try:
        out = Path(runtime) / "run"
        with _onlookers(env, browsers, taken):
            command = [sys.executable, "-m", "aeroloop.cli", "fly", kind.scenario, "--pace", "real", "--no-report"]
            command += ["--set", f"duration_s={duration_s}", "--set", "checks=[]", "--out", str(out)]
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=HANG_S, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"the flight failed with status {done.returncode}\n{done.stdout}{done.stderr}")
        log = read(out / LOG)
    finally:
        shutil.rmtree(runtime, ignore_errors=True)
    for what, measured in kind.measured.items():
        for name, q in PERCENTILES.items():
            taken.times_us.setdefault(f"{what}, {name}", []).append(1e6 * float(np.percentile(measured(log), q)))
    missed = _settled(log, "pace", "missed")
    taken.missed.append(int(missed[-1] - missed[0]))
    return float(taken.missed[-1])


@contextmanager
def _onlookers(env: dict[str, str], browsers: int, taken: Taken) -> Iterator[None]:
    """The dashboard and its browsers, before the flight begins and until it has ended."""
    if not browsers:
        yield
        return
    dash = [
        sys.executable,
        "-m",
        "aeroloop.cli.dash_commands",
        "--port",
        "0",
        "--no-open",
        "--runs",
        env["XDG_RUNTIME_DIR"],
    ]
    with subprocess.Popen(dash, env=env, stdout=subprocess.PIPE, text=True) as dashboard:
        try:
            assert dashboard.stdout is not None
            url = dashboard.stdout.readline().rpartition(" ")[2].strip()
            watch = [sys.executable, str(ONLOOKER), url, str(browsers)]
            with subprocess.Popen(watch, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as onlooker:
                assert onlooker.stdout is not None
                if onlooker.stdout.readline().strip() != "watching":
                    raise RuntimeError("the browsers did not open the dashboard; what they said stands above")
                yield
                told = json.loads(onlooker.communicate(timeout=HANG_S)[0])
        finally:
            dashboard.terminate()
    if told["errors"] or not all(told["canvases"]):
        raise RuntimeError(f"the browsers did not show the flight: {told}")
    taken.messages += told["messages"]
