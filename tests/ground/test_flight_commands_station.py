"""The ground station with its thread on real links, with the virtual Pixhawk's services and a pymavlink aircraft."""

from __future__ import annotations

import json
import math
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pymavlink import mavutil
from pymavlink.dialects.v20 import common as mavlink
from typer.testing import CliRunner

from aeroloop.cli import flight_command_line
from aeroloop.controllers.pixhawk.types import FlightMode, Refusal
from aeroloop.core.errors import AeroloopError
from aeroloop.ground.commands import NoAnswerError, Patience, RefusedError, Station, Vehicle
from aeroloop.ground.commands import vehicle as vehicle_module
from aeroloop.ground.missions import Item, read_plan
from aeroloop.links.open import open_link
from peers.fake_autopilot import FakeAutopilot

LONG_S = 30.0  # never waited for where all is well


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def autopilot() -> Iterator[tuple[FakeAutopilot, str]]:
    port = free_port()
    with FakeAutopilot(port) as fake:
        fake.services.links[0].rates.set_interval(mavlink.MAVLINK_MSG_ID_HEARTBEAT, 20_000, 0)  # found at once
        yield fake, f"udp://127.0.0.1:{port}?listen"


def test_arming_waits_until_the_autopilot_is_ready(
    autopilot: tuple[FakeAutopilot, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, url = autopilot
    monkeypatch.setattr(vehicle_module, "RETRY_S", LONG_S)  # it is told by the autopilot, and does not just ask again
    fake.logic.refusal = Refusal("No position: wait for satellites")
    fake.logic.change(ready_to_arm=False)
    fake.services.links[0].rates.set_interval(mavlink.MAVLINK_MSG_ID_SYS_STATUS, 20_000, 0)
    told: list[str] = []

    def tell(why: str) -> None:
        told.append(why)
        vehicle.wait(lambda state: state.ready is False, LONG_S)
        fake.logic.refusal = None
        fake.logic.change(ready_to_arm=True)

    with Vehicle.connect(url, timeout_s=LONG_S) as vehicle:
        vehicle.arm_when_ready(LONG_S, tell)
    assert fake.logic.status.armed
    assert len(told) == 1 and "No position: wait for satellites" in told[0]


def test_arming_gives_up_after_its_time(autopilot: tuple[FakeAutopilot, str]) -> None:
    fake, url = autopilot
    fake.logic.refusal = Refusal("No position: wait for satellites")
    with Vehicle.connect(url, timeout_s=LONG_S) as vehicle, pytest.raises(RefusedError, match=r"within 0\.01 s"):
        vehicle.arm_when_ready(0.01)


def test_a_flight_over_udp_from_several_threads(autopilot: tuple[FakeAutopilot, str]) -> None:
    fake, url = autopilot
    with Vehicle.connect(url, timeout_s=LONG_S) as vehicle, ThreadPoolExecutor(6) as pool:
        read = [pool.submit(vehicle.parameter, name) for name in ("MPC_XY_CRUISE", "NAV_DLL_ACT", "MPC_XY_CRUISE")]
        listed, uploaded = (
            pool.submit(vehicle.parameters),
            pool.submit(vehicle.upload_mission, [Item(16, 47.0, 8.0, 5.0)]),
        )
        vehicle.arm()
        vehicle.takeoff(3.0)
        vehicle.wait(lambda s: s.landed == "in_air" and s.armed and s.mode == "hold", LONG_S)
        assert [future.result(LONG_S) for future in read] == [5.0, 2, 5.0]
        assert len(listed.result(LONG_S)) == len(fake.parameters)
        uploaded.result(LONG_S)
        assert len(vehicle.download_mission()) == 1
        vehicle.land()
        vehicle.wait(lambda s: not s.armed, LONG_S)
        fake.logic.refusal = Refusal("Preflight Fail: not level")
        with pytest.raises(RefusedError, match="arm: the autopilot refused: Preflight Fail: not level"):
            vehicle.arm()
    assert fake.logic.grounds >= 1, "a ground station's heartbeat"


def test_nobody_there() -> None:
    with pytest.raises(NoAnswerError, match="connect: no HEARTBEAT received on udp"):
        Vehicle.connect(f"udp://127.0.0.1:{free_port()}?listen", timeout_s=0.05)


def test_another_system_than_the_one_there(autopilot: tuple[FakeAutopilot, str]) -> None:
    with Station.connect(autopilot[1], LONG_S) as station:
        assert station.systems() == (1,)
        with pytest.raises(NoAnswerError, match="system 9 not received"):
            station.vehicle(9, timeout_s=0.05)
        assert station.vehicle().system == 1


def listener() -> tuple[socket.socket, str]:
    server = socket.create_server(("127.0.0.1", 0))
    return server, f"tcp://127.0.0.1:{server.getsockname()[1]}"


def test_who_waits_is_told_when_the_link_goes() -> None:
    server, url = listener()
    with server, Station(open_link(url), patience=Patience(answer_s=LONG_S)) as station:
        peer = server.accept()[0]
        peer.sendall(_heartbeat())
        vehicle = station.vehicle(timeout_s=LONG_S)
        with ThreadPoolExecutor(2) as pool:
            waiting = [pool.submit(vehicle.arm), pool.submit(vehicle.disarm)]  # the second waits for the first
            while b"\x90\x01" not in peer.recv(4096):  # COMPONENT_ARM_DISARM
                pass
            peer.close()
            for future in waiting:
                with pytest.raises(NoAnswerError, match=r"the link was lost: tcp.*disconnected"):
                    future.result(LONG_S)
        with pytest.raises(NoAnswerError, match="the link was lost"):
            vehicle.sticks(0.0, 0.0, 0.0, 0.0)


def test_closing_tells_who_waits() -> None:
    server, url = listener()
    with server:
        station = Station(open_link(url), patience=Patience(answer_s=LONG_S))
        peer = server.accept()[0]
        peer.sendall(_heartbeat())
        vehicle = station.vehicle(timeout_s=LONG_S)
        with peer, ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(vehicle.arm)
            while b"\x90\x01" not in peer.recv(4096):
                pass
            station.close()
            station.close()
            with pytest.raises(NoAnswerError, match=r"arm: the link to tcp.* was closed"):
                waiting.result(LONG_S)


def _heartbeat() -> bytes:
    message = mavlink.MAVLink_heartbeat_message(mavlink.MAV_TYPE_QUADROTOR, mavlink.MAV_AUTOPILOT_PX4, 0, 0, 3, 3)
    wire: bytes = message.pack(mavlink.MAVLink(None, srcSystem=1, srcComponent=1))
    return wire


class MavutilAircraft(threading.Thread):
    """Nothing of ours: pymavlink's connection, parser and packer play a small PX4."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._link = mavutil.mavlink_connection(f"udpout:127.0.0.1:{port}", dialect="common")
        self._link.mav = mavlink.MAVLink(self._link, srcSystem=42, srcComponent=1)  # version 2
        self._link.mav.robust_parsing = True
        self.gain = 1.5
        self.heard: list[Any] = []
        self.over = threading.Event()

    def run(self) -> None:
        mav = self._link.mav
        while not self.over.is_set():
            mav.heartbeat_send(mavlink.MAV_TYPE_QUADROTOR, mavlink.MAV_AUTOPILOT_PX4, 0x81, 3 << 16, 4)
            mav.global_position_int_send(0, 470000000, 80000000, 500000, 0, 0, 0, 0, 0)
            while (message := self._link.recv_match(blocking=True, timeout=0.02)) is not None:
                self.heard.append(message)
                self._answer(mav, message)
        self._link.close()

    def _answer(self, mav: Any, message: Any) -> None:
        kind = message.get_type()
        to = message.get_srcSystem(), message.get_srcComponent()
        if kind == "COMMAND_LONG" and message.command == mavlink.MAV_CMD_NAV_TAKEOFF:
            mav.command_ack_send(message.command, mavlink.MAV_RESULT_IN_PROGRESS, 50, 0, *to)
            mav.command_ack_send(message.command, mavlink.MAV_RESULT_ACCEPTED, 0, 0, *to)
        elif kind == "COMMAND_LONG":
            mav.statustext_send(mavlink.MAV_SEVERITY_CRITICAL, b"Arming denied: throttle above center")
            mav.command_ack_send(message.command, mavlink.MAV_RESULT_DENIED, 0, 0, *to)
        elif kind == "COMMAND_INT":
            mav.command_ack_send(message.command, mavlink.MAV_RESULT_ACCEPTED)
        elif kind in ("PARAM_REQUEST_READ", "PARAM_SET"):
            if kind == "PARAM_SET":
                self.gain = message.param_value
            mav.param_value_send(b"GAIN", self.gain, mavlink.MAV_PARAM_TYPE_REAL32, 1, 0)


def test_an_aircraft_of_pymavlink_understands_and_is_understood() -> None:
    port = free_port()
    aircraft = MavutilAircraft(port)
    aircraft.start()
    try:
        with Vehicle.connect(f"udp://127.0.0.1:{port}?listen", timeout_s=LONG_S) as vehicle:
            assert (vehicle.system, vehicle.state.mode, vehicle.state.armed) == (42, "position", True)
            vehicle.takeoff(10.0)
            vehicle.go_to(47.1234567, 8.7654321, 512.5)
            with pytest.raises(RefusedError, match="arm: the autopilot refused: Arming denied: throttle above center"):
                vehicle.arm()
            assert vehicle.parameter("GAIN") == 1.5
            assert vehicle.set_parameter("GAIN", 2.25) == 2.25 == aircraft.gain
    finally:
        aircraft.over.set()
        aircraft.join()
    commands = {message.command: message for message in aircraft.heard if message.get_type().startswith("COMMAND_")}
    assert commands[mavlink.MAV_CMD_NAV_TAKEOFF].param7 == 510.0
    place = commands[mavlink.MAV_CMD_DO_REPOSITION]
    assert (place.x, place.y, place.z, place.frame) == (471234567, 87654321, 512.5, mavlink.MAV_FRAME_GLOBAL)
    assert place.param2 == mavlink.MAV_DO_REPOSITION_FLAGS_CHANGE_MODE and math.isnan(place.param4)
    beats = [message for message in aircraft.heard if message.get_type() == "HEARTBEAT"]
    assert beats and beats[0].type == mavlink.MAV_TYPE_GCS


def say(url: str, *words: str) -> tuple[int, str]:
    """As the command line does: exit code, and what was said."""
    result = CliRunner().invoke(flight_command_line.app, [*words, "--link", url])
    if isinstance(result.exception, AeroloopError):
        return result.exception.exit_code, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_the_command_line(autopilot: tuple[FakeAutopilot, str], tmp_path: Path) -> None:
    fake, url = autopilot
    assert say(url, "takeoff", "4") == (0, "not armed: will take off once it is, to 4 m\n")
    assert say(url, "arm") == (0, "armed\n")
    assert say(url, "takeoff", "4", "--wait", "30") == (0, "takes off to 4 m\n")
    code, words = say(url, "goto", "-33.8", "151.2", "-1.5")
    assert code == 0 and words.startswith("goes to -33.8000000 151.2000000, -1.5 m")
    assert fake.logic.calls[-1] == ("go_to", -33.8, 151.2, -1.5, None)
    plan = tmp_path / "square.plan"
    flight_command_line.write_plan(plan, [Item(16, 47.0, 8.0, 5.0), Item(21, 47.0, 8.0)], None)
    assert say(url, "mission", "upload", str(plan)) == (0, "2 mission items uploaded\n")
    copy = tmp_path / "copy.plan"
    assert say(url, "mission", "download", str(copy))[0] == 0
    assert str(read_plan(copy)) == str(read_plan(plan)), "as text, since NaN is no equal of itself"
    here = Item(mavlink.MAV_CMD_NAV_LAND, math.nan, math.nan, math.nan)
    flight_command_line.write_plan(plan, [Item(16, 47.0, 8.0, 5.0), here], None)
    assert say(url, "mission", "upload", str(plan)) == (0, "2 mission items uploaded\n")
    assert say(url, "mission", "download", str(copy))[0] == 0
    assert str(read_plan(copy)[-1]) == str(here), "a place left open stays open, there and back"
    assert say(url, "param", "set", "MPC_XY_CRUISE", "3.5") == (0, "MPC_XY_CRUISE 3.5\n")
    assert say(url, "param", "get", "MPC_XY_CRUISE") == (0, "MPC_XY_CRUISE 3.5\n")
    listed = json.loads(say(url, "param", "list", "--json")[1].splitlines()[-1])
    assert listed["MPC_XY_CRUISE"] == 3.5 and len(listed) == len(fake.parameters)
    assert json.loads(say(url, "status", "--json")[1])["mode"] == "hold"
    fake.logic.refusal = Refusal("Not level")
    assert say(url, "disarm") == (1, "disarm: the autopilot refused: Not level")


def test_every_other_word_of_the_command_line_reaches_the_autopilot(autopilot: tuple[FakeAutopilot, str]) -> None:
    fake, url = autopilot
    with Vehicle.connect(url, timeout_s=LONG_S) as vehicle:
        vehicle.upload_mission([Item(16, 47.0, 8.0, 5.0)] * 3)
        vehicle.arm()
    fake.logic.calls.clear()
    for words, mode in (
        (("mode", "position"), FlightMode.POSITION),
        (("hold",), FlightMode.HOLD),
        (("mission", "start"), FlightMode.MISSION),
        (("mission", "pause"), FlightMode.HOLD),
        (("return",), FlightMode.RETURN),
        (("land",), FlightMode.LAND),
        (("land", "--precision"), FlightMode.PRECLAND),
    ):
        code, told = say(url, *words)
        assert code == 0, told
        asked = [call[1] for call in fake.logic.calls if call[0] == "set_mode"]
        assert asked[-1:] == [mode] or fake.logic.status.mode is mode, words
        fake.logic.calls.clear()
    assert say(url, "mission", "clear")[0] == 0
    assert fake.logic.mission == ()


def test_watch_shows_the_state_until_somebody_interrupts_or_the_link_goes(
    autopilot: tuple[FakeAutopilot, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, url = autopilot
    naps: list[float] = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) > 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(flight_command_line.time, "sleep", nap)
    code, shown = say(url, "watch")
    assert (code, len(naps)) == (0, 4)
    assert "system" in shown and "disarmed" in shown
    monkeypatch.setattr(flight_command_line.time, "sleep", lambda seconds: None)
    server, url = listener()
    with server, ThreadPoolExecutor(1) as pool:
        watching = pool.submit(say, url, "watch")
        with server.accept()[0] as peer:
            peer.sendall(_heartbeat())
            peer.recv(1)
        code, words = watching.result(LONG_S)
        assert code == 3 and words.startswith("watch: link lost: tcp")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("arm", "--timeout", "0.1"), 3),
        (("mode", "warp"), 2),
        (("takeoff", "high"), 2),
        (("mission", "upload", "no-such.plan"), 2),
        (("fly",), 2),
    ],
)
def test_exit_codes_without_an_aircraft(words: tuple[str, ...], code: int) -> None:
    assert say(f"udp://127.0.0.1:{free_port()}?listen", *words)[0] == code


def test_the_running_flights_own_line_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    class Flight:
        dash_link = ""

    one, two, none = Flight(), Flight(), object()
    one.dash_link, two.dash_link = "udp://127.0.0.1:5", "udp://127.0.0.1:6"
    for flights, link in (([], ""), ([none, Flight()], ""), ([one, none], one.dash_link)):
        monkeypatch.setattr(flight_command_line.running, "flights", lambda flights=flights: flights)
        assert flight_command_line.running_link() == link
    monkeypatch.setattr(flight_command_line.running, "flights", lambda: [one, two])
    with pytest.raises(AeroloopError, match="choose one with --link"):
        flight_command_line.running_link()
