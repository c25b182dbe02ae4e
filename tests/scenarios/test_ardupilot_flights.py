"""Whole flights with ArduPilot's place taken by the strict peer: real sockets, both orders of starting, several
vehicles, telemetry in log, summary and report, and the exit codes of what fails."""

from __future__ import annotations

import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from quad_runs import FLIGHT_GUARD_S, Run, collect, command

from aeroloop.controllers.pixhawk.types import FlightMode
from aeroloop.core.scenario_files import find, load
from peers.ardupilot_copter import Copter
from peers.ardupilot_heli import Heli
from peers.ardupilot_peer import ArdupilotPeer
from peers.ardupilot_plane import Plane
from peers.ardupilot_standin import StandIn

TIMES_S = {"5.0": 1.2, "46.0": 1.4, "47.0": 1.6, "70.0": 6.0}
"""Of the commands: as the scenario has them, and as they are flown here, where its estimator needs a second."""
END_S, HEIGHT_M, LOOP_HZ, RATE_HZ = 14.0, 2.5, 200.0, 400.0
SLOWER = (f"ardupilot.loop_rate_hz={LOOP_HZ}", f"sensors.imu.rate_hz={RATE_HZ}", f"world.step_s={1 / RATE_HZ}")


def free_udp_port(more: int = 0) -> int:
    """Of a pair: the one `more` after it is free too."""
    while True:
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as first,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as second,
        ):
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                second.bind(("127.0.0.1", (port + more if more else 0)))
            except (OSError, OverflowError):
                continue
            return port


def peer(system: int = 1) -> ArdupilotPeer:
    return ArdupilotPeer(Copter(LOOP_HZ), ready_s=1.0, system=system, rate_hz=round(RATE_HZ))


def shortened(folder: Path) -> Path:
    text = find("quad-ardupilot").read_text()
    for before, after in TIMES_S.items():
        text = text.replace(f"at_s = {before}", f"at_s = {after}")
    text = text.replace("value = 10.0", f"value = {HEIGHT_M}")
    (folder / "short.toml").write_text(text)
    return folder / "short.toml"


def words(port: int, telemetry: str, *changes: str) -> list[str]:
    sets = (*SLOWER, f"telemetry.url={telemetry}", "link.start_timeout_s=60", *changes)
    link = f"udp://127.0.0.1:{port}?listen"
    return ["--link", link, *(word for change in sets for word in ("--set", change))]


def flown(folder: Path, scenario: str, *arguments: str) -> Run:
    run = folder / "run"
    done = subprocess.run(
        command(scenario, *arguments, out=run), capture_output=True, text=True, timeout=FLIGHT_GUARD_S, check=False
    )
    return collect(run, done.returncode, done.stdout + done.stderr)


@dataclass
class Flown:
    run: Run
    ardupilot: StandIn


@pytest.fixture(scope="module")
def flight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flown]:
    """ArduPilot is there first, and sends its packet until the bench answers."""
    folder = tmp_path_factory.mktemp("ardupilot")
    port, telemetry = free_udp_port(), free_udp_port()
    ardupilot = StandIn(peer(), port, telemetry)
    ardupilot.start()
    link = words(port, f"udp://127.0.0.1:{telemetry}?listen", f"duration_s={END_S}")
    run = flown(folder, str(shortened(folder)), *link)
    ardupilot.stop()
    yield Flown(run, ardupilot)


def test_it_takes_off_hovers_and_lands_without_a_complaint(flight: Flown) -> None:
    assert flight.run.exit_code == 0, flight.run.said
    assert flight.ardupilot.peer.finish() == []
    assert flight.ardupilot.peer.answers == END_S * RATE_HZ
    assert not flight.ardupilot.peer.craft.armed
    checks = {check["name"]: check["value"] for check in flight.run.summary["checks"]}
    assert checks["takeoff_height_error_m"] < 0.5
    assert 0.5 < checks["gps_in_use_s"] < 1.0, "a text has the time of the last message with a stamp"
    assert "waits for ArduPilot on udp://127.0.0.1:" in flight.run.said
    assert "arducopter --model JSON:127.0.0.1 -I0 --home 47.39" in flight.run.said


def test_commands_modes_texts_and_estimate_are_in_log_and_summary(flight: Flown) -> None:
    run = flight.run
    sent = {event["value"]: event["t_s"] for event in run.events("COMMAND_SENT")}
    accepted = {event["value"] for event in run.events("COMMAND_ACCEPTED")}
    assert sent == pytest.approx(dict(enumerate(TIMES_S.values())), abs=0.021)
    assert accepted == {0, 1, 2, 3}
    assert [event["value"] for event in run.events("MODE_CHANGED")] == [FlightMode.OFFBOARD, FlightMode.LAND]
    assert {"EKF3 IMU0 is using GPS", "Arming motors"} <= {event["value"] for event in run.events("STATUS_TEXT")}
    assert run.metrics["est_pos_rms_m"] < 0.2
    assert run.metrics["est_attitude_rms_deg"] < 1.0
    assert run.metrics["height_max_m"] == pytest.approx(HEIGHT_M, abs=0.5)
    assert run.metrics["rate_imu_error_pct"] == pytest.approx(0.0, abs=0.5)
    assert run.log.column("link", "frames_in")[-1] == END_S * RATE_HZ + 1, "the first came before the flight"


def test_the_report_says_whose_sensors_were_used(flight: Flown) -> None:
    from aeroloop.flight.results import report_again

    text = report_again(flight.run.folder).read_text()
    assert "magnetometer, barometer, GPS and airspeed sensor are its own" in text
    assert "EKF3 IMU0 is using GPS" in text
    assert "The autopilot is external" not in text


PLANE_SHORTENED = {
    "duration_s = 150.0": "duration_s = 36.0",
    "at_s = 5.0": "at_s = 1.2",
    "at_s = 46.0": "at_s = 1.6",
    "at_s = 90.0": "at_s = 18.0",
    "value = 60.0": "value = 30.0",
}
"""Of the file: a lower climb, and an estimator that needs a second."""


def test_a_plane_is_launched_by_the_pilots_commands_and_passes_its_checks(tmp_path: Path) -> None:
    text = find("fixedwing-ardupilot").read_text()
    for before, after in PLANE_SHORTENED.items():
        assert before in text
        text = text.replace(before, after)
    (tmp_path / "short.toml").write_text(text)
    port, telemetry = free_udp_port(), free_udp_port()
    home = load(find("fixedwing-ardupilot")).aircraft.home
    place = (home.lat_deg, home.lon_deg, home.alt_m)
    ardupilot = StandIn(ArdupilotPeer(Plane(), ready_s=1.0, rate_hz=250, home=place), port, telemetry)
    ardupilot.start()
    link = ("--link", f"udp://127.0.0.1:{port}?listen", "--set", f"telemetry.url=udp://127.0.0.1:{telemetry}?listen")
    run = flown(tmp_path, str(tmp_path / "short.toml"), *link, "--set", "link.start_timeout_s=60")
    ardupilot.stop()
    assert run.exit_code == 0, run.said
    assert ardupilot.peer.finish() == []
    checked = {check["name"] for check in run.summary["checks"]}
    assert checked >= {"takeoff_height_error_m", "held_height_range_m", "clearance_min_m", "gps_in_use_s"}
    assert "arduplane --model JSON:127.0.0.1 -I0 --home 36.36" in run.said


def test_a_helicopter_waits_on_its_skids_and_runs_its_rotor_up(tmp_path: Path) -> None:
    """Streams, metrics and report of a flight with processes; it hovers in tests/exchanges."""
    port = free_udp_port()
    craft = Heli(LOOP_HZ)
    craft.armed = True
    ardupilot = StandIn(ArdupilotPeer(craft, ready_s=0.1, rate_hz=round(RATE_HZ)), port)
    ardupilot.start()
    run = flown(tmp_path, "heli-ardupilot", *words(port, "none", "duration_s=3.0", "open_ended=false"))
    ardupilot.stop()
    assert run.exit_code == 0, run.said
    assert ardupilot.peer.finish() == []
    assert ardupilot.peer.answers == 3.0 * RATE_HZ
    assert "arducopter-heli --model JSON:127.0.0.1 -I0 --home 47.39" in run.said
    assert run.log.column("effort", "rotor_rad_s")[-1] > 20.0
    assert run.log.column("command", "rotor_speed")[-1] == pytest.approx(1.0)
    assert run.log.column("truth", "z_m")[-1] == pytest.approx(0.232, abs=0.005)
    assert {"climb_m", "rotor_speed_low_pct", "actuators_refused", "gps_in_use_s"} <= set(run.metrics)


def test_the_bench_may_be_there_first_and_set_the_pace_for_two(tmp_path: Path) -> None:
    """At a wall pace the bench sets it, by its deadlines; instance 1 has the tenth port after the first."""
    port = free_udp_port(more=10)
    arguments = words(port, "none", "duration_s=1.0", "vehicle.count=2", "pilot.source=external", "checks=[]")
    process = subprocess.Popen(
        command("quad-ardupilot", *arguments, "--pace", "real", out=tmp_path / "run"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        said.append(line)
        if "-I1 --sysid 2" in line:
            break
    fleet = [StandIn(peer(number + 1), port + 10 * number) for number in range(2)]
    for ardupilot in fleet:
        ardupilot.start()
    try:
        rest, _ = process.communicate(timeout=FLIGHT_GUARD_S)
    finally:
        process.kill()
        for ardupilot in fleet:
            ardupilot.stop()
    assert process.returncode == 0, "".join(said) + rest
    for ardupilot in fleet:
        assert ardupilot.peer.finish() == []
        assert ardupilot.peer.answers == RATE_HZ
    assert Run(tmp_path / "run", 0, rest).summary["pace"] == "real"


def test_nobody_there_is_exit_code_3_with_the_usual_reason(tmp_path: Path) -> None:
    arguments = words(free_udp_port(), "none", "link.start_timeout_s=0.5", "pilot.source=external", "checks=[]")
    run = flown(tmp_path, "quad-ardupilot", *arguments)
    assert run.exit_code == 3
    assert "no servo packet on udp://127.0.0.1:" in run.said.replace("\n", " ")
    assert "--serial0 udpclient:127.0.0.1:14550" in " ".join(run.said.split())


class Stuck(threading.Thread):
    """Sends one and the same frame, whatever is answered."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._line.connect(("127.0.0.1", port))
        self._line.settimeout(0.2)
        self.stopped = threading.Event()

    def run(self) -> None:
        packet = struct.pack("<HHI16H", 18458, 400, 812, *[1000] * 16)
        while not self.stopped.is_set():
            try:
                self._line.send(packet)
                self._line.recv(65536)
            except TimeoutError:
                continue
            except ConnectionRefusedError:
                self.stopped.wait(0.2)


def test_a_frame_that_is_stuck_is_exit_code_3(tmp_path: Path) -> None:
    port = free_udp_port()
    stuck = Stuck(port)
    stuck.start()
    run = flown(tmp_path, "quad-ardupilot", *words(port, "none", "pilot.source=external", "checks=[]"))
    stuck.stopped.set()
    assert run.exit_code == 3, run.said
    assert "has repeated frame 812 3 times" in " ".join(run.said.split())
