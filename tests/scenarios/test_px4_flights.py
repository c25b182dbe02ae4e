"""Whole flights with a PX4 that nobody commands but the scenario: telemetry in log, summary and report, commands at
their simulated times, and a link that ends when the log is complete."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from pymavlink.dialects.v20 import common as dialect
from quad_runs import FLIGHT_GUARD_S, Run, collect, command, free_port

from aeroloop.controllers.pixhawk.types import FlightMode
from aeroloop.core.scenario_files import find
from aeroloop.recording.log import MAGIC, read
from peers.px4_standin import StandIn

END_S = 35.0
TIMES_S = {"10.0": 6.0, "11.0": 6.5, "20.0": 12.0}
"""Of the commands: as the scenario has them, and as they are flown here, where nobody waits for a real PX4's start."""
LEFT_OUT = ("[12.0, 12.0, 8.0]", "[0.0, 12.0, 6.0]")
"""Waypoints."""


def free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


OLD_ORDER = """
import sys, time
from pathlib import Path
from aeroloop.cli import main
from aeroloop.flight.supervisor import Flight

judged = Path(sys.argv.pop(1))
take_down, end = Flight._take_down, Flight._end

def link_first(self):
    plant = self._children["plant"]
    received = plant.received
    plant.received = lambda kind: None if kind == "done" else received(kind)
    take_down(self)

def end_when_px4_has_noticed(self, children, *args, **options):
    if any(child.role.name == "recorder" for child in children):
        deadline_s = time.monotonic() + 60
        while not judged.exists() and time.monotonic() < deadline_s:
            time.sleep(0.01)
    end(self, children, *args, **options)

Flight._take_down, Flight._end = link_first, end_when_px4_has_noticed
main()
"""
"""The plant, and with it the link, ends before the recorder; PX4 is given the time to notice."""


@dataclass
class Flown:
    run: Run
    px4: StandIn


def unfinished(log: Path) -> list[str]:
    """What a bench that lets go of PX4 must have done before; a log begins and ends with the same bytes."""
    written = log.read_bytes() if log.exists() else b""
    lacking = [] if written.endswith(MAGIC) else ["flight.mcap has no end"]
    if not lacking and "recorder" not in read(log).metadata:
        lacking.append("flight.mcap has no count of its rows")
    return lacking


def shortened(folder: Path) -> Path:
    text = find("quad-px4-mission").read_text()
    for before, after in TIMES_S.items():
        text = text.replace(f"at_s = {before}", f"at_s = {after}")
    for waypoint in LEFT_OUT:
        text = text.replace(f"[[pilot.waypoints]]\npos_m = {waypoint}\n", "")
    (folder / "short.toml").write_text(text)
    return folder / "short.toml"


def fly(folder: Path, *changes: str, program: Sequence[str] = ()) -> Flown:
    """`program` in place of the command's own, with the file that exists once PX4 has noticed the end of its link."""
    hil, telemetry, run = free_port(), free_udp_port(), folder / "run"
    noticed = folder / "noticed"

    def finished() -> list[str]:
        try:
            return unfinished(run / "flight.mcap")
        finally:
            noticed.touch()

    px4 = StandIn(hil, telemetry, finished=finished)
    px4.start()
    link = ("--link", f"tcp://127.0.0.1:{hil}?listen", "--set", f"telemetry.url=udp://127.0.0.1:{telemetry}?listen")
    sets = [word for change in (*changes, "link.start_timeout_s=60") for word in ("--set", change)]
    words = command(str(shortened(folder)), *link, *sets, out=run)
    if program:
        words = [*program, str(noticed), *words[words.index("fly") :]]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=FLIGHT_GUARD_S,
        check=False,
    )
    px4.stop()
    return Flown(collect(run, done.returncode, done.stdout + done.stderr), px4)


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flown]:
    yield fly(tmp_path_factory.mktemp("px4"), f"duration_s={END_S}")


def test_it_arms_takes_off_flies_its_mission_and_lands_with_nobody_there(flown: Flown) -> None:
    run = flown.run
    assert run.exit_code == 0, run.said
    assert all(check["ok"] for check in run.summary["checks"])
    assert [event["value"] for event in run.events("WAYPOINT_REACHED")] == [1, 2, 3]
    assert run.metrics["height_max_m"] == pytest.approx(6.0, abs=0.6)
    assert not flown.px4.pixhawk.status.armed


def test_the_link_ends_when_the_log_is_complete_and_the_bench_says_that_px4_may_be_stopped(flown: Flown) -> None:
    """An older bench closed the link first: PX4 then spun while the recorder wrote."""
    assert flown.px4.unfinished == []
    assert flown.px4.turns > 0, "a link that ended was noticed"
    assert "the log is complete: the autopilot may be stopped" in flown.run.said


def test_a_link_that_ends_before_the_log_is_noticed(tmp_path: Path) -> None:
    """So that the test above can fail."""
    px4 = fly(tmp_path, "duration_s=1", "checks=[]", program=(sys.executable, "-c", OLD_ORDER)).px4
    assert px4.unfinished == ["flight.mcap has no end"]
    assert px4.turns > 0


def test_each_command_is_sent_at_its_simulated_time_and_acknowledged(flown: Flown) -> None:
    sent = {event["value"]: event["t_s"] for event in flown.run.events("COMMAND_SENT")}
    accepted = {event["value"]: event["t_s"] for event in flown.run.events("COMMAND_ACCEPTED")}
    assert sent == dict(enumerate(TIMES_S.values()))
    assert {number: t_s - sent[number] for number, t_s in accepted.items()} == pytest.approx(
        {0: 0.02, 1: 0.02, 2: 0.02}
    )
    (armed_s,) = flown.px4.commands(dialect.MAV_CMD_COMPONENT_ARM_DISARM)
    assert armed_s == pytest.approx(6.0, abs=0.02), "of PX4's own clock"


def test_what_px4_reports_is_what_it_believed_and_wanted(flown: Flown) -> None:
    run, log = flown.run, flown.run.log
    metrics = run.metrics
    assert metrics["est_pos_rms_m"] < 1.0
    assert metrics["est_attitude_rms_deg"] < 1.0
    assert metrics["pos_rms_m"] < 1.0
    assert metrics["yaw_rms_deg"] < 3.0
    assert metrics["failsafes"] == 0.0
    assert metrics["battery_used_pct"] > 1.0
    assert metrics["armed_s"] == pytest.approx(26.0, abs=2.0)
    modes = [event["value"] for event in run.events("MODE_CHANGED")]
    assert modes[:3] == [FlightMode.TAKEOFF, FlightMode.HOLD, FlightMode.MISSION]
    assert {"Armed", "Take-off done: holding", "Landed"} <= {event["value"] for event in run.events("STATUS_TEXT")}
    for stream in ("estimate", "setpoint", "autopilot_state", "board_event", "status_text"):
        assert np.all(np.diff(log.column(stream, "t_s")) >= 0), stream
    assert log.column("estimate", "t_s")[-1] == pytest.approx(END_S, abs=0.1)


def test_what_px4_reports_is_stamped_with_the_simulated_time_of_its_own_clock(flown: Flown) -> None:
    """PX4 counts from the first sample, which comes 4 ms after the start: between, an estimate moves with the truth."""
    log = flown.run.log
    t_s, x_m = log.column("estimate", "t_s"), log.column("estimate", "vx_m_s")
    true_s, true_x = log.column("truth", "t_s"), log.column("truth", "vx_m_s")
    moving = (t_s > 13) & (t_s < 20)

    def miss(shift_s: float) -> float:
        return float(np.std(x_m[moving] - np.interp(t_s[moving] + shift_s, true_s, true_x)))

    shifts = np.arange(-0.1, 0.101, 0.01)
    assert abs(shifts[np.argmin([miss(shift) for shift in shifts])]) < 0.035


def test_the_report_shows_its_tracking_modes_and_texts(flown: Flown) -> None:
    from aeroloop.flight.results import report_again

    text = report_again(flown.run.folder).read_text()
    assert "The autopilot is external" not in text
    assert "Take-off done: holding" in text
    assert "mode changed" in text.lower()


def test_a_flight_repeats_and_its_telemetry_is_no_part_of_the_hash(flown: Flown, tmp_path: Path) -> None:
    again = fly(tmp_path, "duration_s=8")
    first, second = flown.run.log, again.run.log
    for stream in ("truth", "command", "imu"):
        rows = second.rows[stream]
        assert np.array_equal(first.rows[stream][: len(rows)], rows, equal_nan=True), stream
    told = {stream.name for stream in first.streams if not stream.simulated}
    assert {"estimate", "setpoint", "autopilot_state", "board_event", "status_text"} <= told
    assert "truth" not in told
