"""The benchmarks run and say what they should. How fast anything is, is never looked at here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aeroloop.batch import gpu
from benchmarks import batch, effects, hil_router, inline, markdown, measure
from benchmarks.command import Flown

ROOT = Path(__file__).resolve().parents[2]
HANG_S = 300

FLIGHTS = ("mil over loopback (its own link)", "sil over pty", "pil over memory (its own link)")
AUTOPILOTS = ("an autopilot that works 300 µs a cycle", "an autopilot that answers at once")
HIL_SIGNALS = ("IMU", "magnetometer", "barometer", "GNSS", "actuators")
UNITS = [unit.name for unit in batch.units_of([])]
ROWS = {
    "flight": (*FLIGHTS, *(f"{flight}, whole command" for flight in FLIGHTS)),
    "start-up": ("one command: processor time", "one command: wall time"),
    "inline": ("quad-mission mil over memory",),
    "campaign-flight": ("1.2 s of flight: processor time",),
    "campaign-report": ("report of 200 flights: processor time",),
    "campaign-spirals": tuple(f"2 spirals of 1.2 s, 2 workers: {time}" for time in ("wall time", "processor time")),
    "hil-simulator": AUTOPILOTS,
    "schedulers": ("3.91 MIPS, preemptive, planning", "3.91 MIPS, slices of 20 ms, planning"),
    "emulated-board": ("31.25 million instructions a second", "125 million instructions a second"),
    "pose-cost": tuple(
        f"{mode}, {step}"
        for mode in ("exact, 108 bytes", "paper, 54 bytes")
        for step in ("decode", "place", "accelerometer", "gyro", "magnetometer", "barometer", "gnss", "all")
    ),
    "plant-step": ("plant step, publishing nothing", "plant step, publishing to the recorder"),
    "vehicle-step": ("quadrotor", "quadrotor in turbulence", "hexarotor", "fixed wing"),
    "effects": (
        *(f"multirotor, {name}" for name in (*effects.OF_MULTIROTOR, "all", "all, and the balance")),
        "multirotor, foot springs, standing",
        *(f"fixed wing, {name}" for name in (*effects.OF_WING, "all", "all, and the balance")),
        *(f"tilt-rotor, {name}" for name in (*effects.OF_TILTROTOR, "all")),
    ),
    "batch-report": (
        "report of 4,096 flights, processor time",
        "draws and store of 4,096 flights, processor time",
    ),
    "batch": (
        *(f"tilt-rotor, {unit}" for unit in UNITS),
        f"tilt-rotor, {UNITS[0]}, {os.cpu_count()} threads",
        *(() if gpu.missing() else ("tilt-rotor, GPU",)),
    ),
    "mppi": ("16 lanes", f"16 lanes, {os.cpu_count()} threads, wall time"),
    "bench-step": ("quadrotor", "tilt-rotor", "fixed wing"),
    "quad-tick": (
        "quadrotor at 500 Hz",
        "quadrotor at 500 Hz, log included",
        "motors, body, earth and atmosphere",
        "wind",
        "sensors",
        "HIL_SENSOR out",
        "publishing",
        "autopilot (the benchmark's)",
        "actuators in",
        "2 aircraft, each",
        "4 aircraft, each",
        "8 aircraft, each",
        "quad-mission mil, virtual Pixhawk",
        "quad-mission sil, virtual Pixhawk",
        *(
            f"Pixhawk: {stage}"
            for stage in ("HIL in", "estimator", "logic", "law", "HIL out", "services and pilot", "log")
        ),
    ),
    "thesis-tables": tuple(
        f"mission, {load}: {signal}"
        for load in ("no load", "every core busy")
        for signal in (
            "IMU at the plant",
            "magnetometer at the plant",
            "barometer at the plant",
            "GNSS at the plant",
            "actuators at the plant",
            "IMU at the autopilot",
            "GNSS at the autopilot",
            "attitude at the autopilot",
            "position at the autopilot",
            "heartbeat at the autopilot",
        )
    ),
    "hil-router": tuple(
        f"TCP, {load}, {what}"
        for load in ("no load", "every core busy")
        for what in (
            *(f"{way}: {signal}, rate received" for way in ("direct", "router") for signal in HIL_SIGNALS),
            *(f"router: {signal}, delay, {of}" for signal in HIL_SIGNALS for of in ("median", "99th percentile")),
        )
    ),
    "video": ("film of 1.2 s: wall time", "film of 1.2 s: processor time"),
    "pty-answer": ("median, ordinary priority", "99th percentile, ordinary priority"),
    "codec": ("answer, there and back", "actuators, there and back"),
    "dataflash-rows": ("rows", "memory"),
    "log-fit": ("fit by commands and setpoints",),
    "slam-frame": ("orb, 0.01 laps", "sift, 0.01 laps", "icp, 0.01 laps"),
    "topics": ("streamed to another process", "one at a time, one process"),
    "planning": tuple(
        f"128 a side, {what}"
        for what in (
            "a plan",
            "the same plan",
            "all plans of a flight",
            "full grid",
            "a plan in Python",
            "taken up in a plan",
            "memory",
            "cost of the way flown",
        )
    ),
    "pairs": tuple(
        f"mil, {what}"
        for what in (
            "arrived",
            "over no blocked cell",
            "10 m above the ground",
            "inside the channel",
            "roll under 30 deg",
            "cross-track RMS under 5 m",
            "height within 10 m",
            "airspeed within 2 m/s",
            "airspeed within 2 m/s, 99 % of the time",
        )
    ),
    "stitches": tuple(
        f"mil, {what}"
        for what in (
            "length of the path",
            "largest curvature",
            "cross-track RMS on channels",
            "cross-track RMS before and on joints",
            "99th percentile of roll",
            "plans",
        )
    ),
    "router": (
        *(
            f"{endpoints}, {what}"
            for endpoints in ("1 endpoint", "4 endpoints")
            for what in (
                "frames",
                "frames, no router",
                "processor time of a frame",
                "added latency, median",
                "latency, median",
                "latency, 99th percentile",
                "latency, no router, median",
                "latency, no router, 99th percentile",
            )
        ),
        "processor time of a frame at one of 4 endpoints",
    ),
}
NOT_RUN_HERE = ("dashboard-timing", "camera-timing", "router-soak")
"""Even its quick run flies twice in real time and starts a dashboard and a browser: tests/web flies with both. Cameras
in real time fly in tests/flight/test_camera_flight.py.
The soak's short version is tests/scenarios/test_router_soak.py."""
FIFO_ROWS = ("median, SCHED_FIFO", "99th percentile, SCHED_FIFO")
AIMS = {
    **{what: {"bound": 0.95, "at_least": True} for what in AUTOPILOTS},
    "mil over loopback (its own link)": {"bound": 30.0, "at_least": True},
    "pil over memory (its own link)": {"bound": 40.0, "at_least": True},
    "quadrotor at 500 Hz, log included": {"bound": 20.0, "at_least": True},
    **{f"{name}, 0.01 laps": {"bound": 1.0, "at_least": False} for name in ("orb", "sift", "icp")},
    "rows": {"bound": 0.5, "at_least": True},
    "memory": {"bound": 2.5, "at_least": False},
    "fit by commands and setpoints": {"bound": 0.5, "at_least": False},
    **{what: {"bound": 0.995, "at_least": True} for what in ROWS["hil-router"] if what.endswith("rate received")},
    "median, ordinary priority": {"bound": 2.0, "at_least": False},
    "median, SCHED_FIFO": {"bound": 2.0, "at_least": False},
    "128 a side, cost of the way flown": {"bound": 1.1, "at_least": False},
    "3.91 MIPS, slices of 20 ms, planning": {"bound": 1.0, "at_least": True},
    "mil, arrived": {"bound": 0.95, "at_least": True},
    "mil, over no blocked cell": {"bound": 1.0, "at_least": True},
    "mil, 10 m above the ground": {"bound": 1.0, "at_least": True},
    "mil, inside the channel": {"bound": 1.0, "at_least": True},
    "16 lanes": {"bound": 5.0, "at_least": True},
    "tilt-rotor, 16 lanes, AVX-512": {"bound": 10.0, "at_least": True},
    "1 endpoint, frames": {"bound": 10.0, "at_least": True},
    "4 endpoints, frames": {"bound": 10.0, "at_least": True},
    "1 endpoint, added latency, median": {"bound": 1.0, "at_least": False},
    "4 endpoints, added latency, median": {"bound": 1.0, "at_least": False},
    "processor time of a frame at one of 4 endpoints": {"bound": 1.0, "at_least": False},
    **{what: {"bound": 1.0, "at_least": False} for what in ROWS["slam-frame"]},
}


def bench(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_S, check=False)


def check_row(row: dict[str, Any]) -> None:
    for part in ("value", "peer", "ratio"):
        assert 0 < row[part]["low"] <= row[part]["median"] <= row[part]["high"], (row["what"], part)
        assert row[part]["rounds"] == row["value"]["rounds"] >= 1
    assert row["unit"]
    assert row["peer_name"]
    assert row["aim"] == AIMS.get(row["what"])
    if row["aim"] is None:
        assert row["met"] is None
    else:
        ratio, bound = row["ratio"]["median"], row["aim"]["bound"]
        assert row["met"] is (ratio >= bound if row["aim"]["at_least"] else ratio <= bound)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "bench-step" else pytest.mark.soak) for name in ROWS]
)
def test_a_quick_run_gives_every_row_with_its_peer_and_ratio(name: str, tmp_path: Path) -> None:
    done = bench(name, "--quick", "--json", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    document = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert document["quick"] is True
    assert set(document["benchmarks"]) == {name}
    result = document["benchmarks"][name]
    found = [row["what"] for row in result["rows"]]
    without_fifo = any("SCHED_FIFO was not measured" in note for note in result["notes"])
    assert found == [*ROWS[name], *(FIFO_ROWS if name == "pty-answer" and not without_fifo else ())]
    for row in result["rows"]:
        check_row(row)
        assert row["what"].partition(",")[0].partition(" (")[0] in " ".join(done.stdout.split())
    for heading in ("what", "value", "peer", "ratio", "aim", "met?"):
        assert heading in done.stdout


def test_flights_that_are_not_the_same_over_both_links_give_no_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    def fly(scenario: str, *options: str) -> Flown:
        return Flown({"real_time_factor": 1.0, "log_sha256": "memory" if "memory://" in options else "link"}, 1.0)

    monkeypatch.setattr(inline, "fly", fly)
    with pytest.raises(RuntimeError, match="not the same flight"):
        inline.run(quick=True)


def test_an_unknown_benchmark_is_refused_with_the_names_there_are() -> None:
    done = bench("speed", "--quick")
    assert done.returncode == 2
    assert "unknown benchmark 'speed'" in done.stderr
    assert all(name in done.stderr for name in (*ROWS, *NOT_RUN_HERE))


def test_a_result_file_that_cannot_be_written_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    done = bench("codec", "--json", tmp_path / "nowhere" / "out.json")
    assert done.returncode == 2
    assert "does not exist" in done.stderr
    assert done.stdout == ""
    done = bench("codec", "--markdown", tmp_path / "nowhere" / "out.md")
    assert done.returncode == 2 and "does not exist" in done.stderr


def test_the_readme_names_every_benchmark() -> None:
    readme = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in readme for name in (*ROWS, *NOT_RUN_HERE))


def test_loss_delay_and_rate_of_each_signal_of_the_hil_link() -> None:
    """A magnetometer at 50 Hz of which every tenth sample is lost, and 2 ms on the way."""
    sent = {t_us: 1000 * t_us for t_us in range(0, 2_000_000, 20_000)}
    received = {t_us: at + 2_000_000 for t_us, at in sent.items() if t_us % 200_000 != 20_000}
    signals = {"magnetometer": hil_router.Signal(sent, received), "actuators": hil_router.Signal(sent, sent)}
    cells = hil_router.by_signal("UDP", hil_router.Flight(signals, 0, {"magnetometer": 50.0}))
    assert cells[0] == (
        *("UDP", "magnetometer", "50", "50.00", "+0.000", "44.95", "-10.101"),
        *("10 of 100", "2.000", "2.000"),
    )
    assert cells[1][2:] == ("-", "50.00", "-", "50.00", "-", "0 of 100", "0.000", "0.000")
    assert {len(line) for line in cells} == {len(hil_router.COLUMNS)}


def test_delays_with_and_without_the_router_are_a_row_of_the_readme() -> None:
    def delayed(by_ns: int) -> dict[str, hil_router.Signal]:
        sent = {t_us: 1000 * t_us for t_us in range(0, 2_000_000, 20_000)}
        received = {t_us: at + by_ns for t_us, at in sent.items()}
        return {name: hil_router.Signal(sent, received) for name in hil_router.SIGNALS}

    assert hil_router.SIGNALS == HIL_SIGNALS
    assert hil_router.added(delayed(110_000), delayed(12_300_000)) == ["0.11 → 12; 0.11 → 12"] * len(HIL_SIGNALS)


def test_results_as_markdown_have_their_tables_as_paragraphs() -> None:
    outcome = measure.Outcome(
        [measure.row("a step", "µs", [1.0, 3.0, 2.0], "without", [1.0] * 3, measure.Aim(1.5, at_least=False))],
        ["one", *markdown.table(("a", "b"), [("1", "2")]), "two"],
    )
    assert markdown.document({"speed": outcome}).splitlines() == [
        "### speed",
        "",
        "| what | value | peer | ratio | aim | met? |",
        "| --- | --- | --- | --- | --- | --- |",
        "| a step | 2 (1 to 3) µs | without: 1 µs | 2 (1 to 3) | ≤ 1.5 | no |",
        "",
        "- one",
        "",
        "| a | b |",
        "| --- | --- |",
        "| 1 | 2 |",
        "",
        "- two",
    ]
