"""The router carries the HIL link: plant, board and ground stations on one router (`router.hil`)."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pymavlink.dialects.v20 import common as dialect
from router_scenes import arm, free_port, heartbeat

import aeroloop
from aeroloop.api.run import Run
from aeroloop.core.errors import ConfigError
from aeroloop.flight.inline import fly_inline
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn, MavlinkOut
from aeroloop.recording.log import MAGIC, log_sha256
from peers.px4_standin import StandIn
from peers.usb_board import UsbBoard

SHORT: dict[str, Any] = {"duration_s": 1.0, "checks": []}


def counted(run: Run, link: int, message: int, *, outbound: bool) -> int:
    """How many the router has counted, at the end."""
    rows = run.log["router_message"]
    chosen = (rows["link"] == link) & (rows["message"] == message) & (rows["outbound"] == outbound)
    return int(max(rows["count"][chosen], default=0))


def test_in_lockstep_the_router_between_plant_and_board_changes_no_bit(tmp_path: Path) -> None:
    routed = aeroloop.fly("quad-mission", link="pty://", set=SHORT | {"router.hil": True}, out=tmp_path / "routed")
    (direct,) = fly_inline(aeroloop.scenario("quad-mission", set=SHORT).plan).logs
    assert routed.log_sha256 == log_sha256(direct)
    sensor, actuators = dialect.MAVLINK_MSG_ID_HIL_SENSOR, dialect.MAVLINK_MSG_ID_HIL_ACTUATOR_CONTROLS
    assert counted(routed, 0, sensor, outbound=True) == counted(routed, 1, sensor, outbound=False) == 500
    assert counted(routed, 0, actuators, outbound=False) == counted(routed, 1, actuators, outbound=True) == 500
    links = routed.log["router_link"]
    assert max(links["lost"]) == max(links["dropped"]) == max(links["bad_checksums"]) == 0


def test_aircraft_of_a_swarm_each_have_their_link_through_one_router(tmp_path: Path) -> None:
    """Two plants' ends and two boards: the endpoints of the router are board 0, board 1, plant 0, plant 1."""
    swarm = SHORT | {"duration_s": 0.5, "vehicle.count": 2}
    routed = aeroloop.fly("quad-mission", set=swarm | {"router.hil": True}, out=tmp_path / "routed")
    (direct,) = fly_inline(aeroloop.scenario("quad-mission", set=swarm).plan).logs
    assert routed.error is None and routed.log_sha256 == log_sha256(direct)
    sensor = dialect.MAVLINK_MSG_ID_HIL_SENSOR
    assert [counted(routed, link, sensor, outbound=link < 2) for link in range(4)] == [250] * 4
    assert [counted(routed, link, sensor, outbound=link >= 2) for link in range(4)] == [0] * 4
    links = routed.log["router_link"]
    assert max(links["lost"]) == max(links["dropped"]) == max(links["bad_checksums"]) == 0


@pytest.mark.soak
@pytest.mark.parametrize("transport", ["pty", "tcp", "udp"])
def test_the_whole_mission_through_the_router_is_that_without_it(transport: str, tmp_path: Path) -> None:
    """66 s; above, its first second over a pty."""
    kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
    url = "pty://" if transport == "pty" else f"{transport}://127.0.0.1:{free_port(kind)}"
    routed = aeroloop.fly("quad-mission", link=url, set={"router.hil": True}, out=tmp_path / "routed")
    (direct,) = fly_inline(aeroloop.scenario("quad-mission").plan).logs
    assert routed.error is None and routed.log_sha256 == log_sha256(direct)
    links = routed.log["router_link"]
    assert max(links["lost"]) == max(links["dropped"]) == max(links["bad_checksums"]) == 0


class Station:
    """A ground station on UDP: it notes what comes, and sends a heartbeat and one order to arm."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(60.0)
        self.url = f"udp://127.0.0.1:{self.socket.getsockname()[1]}"
        self.frames: list[Frame] = []
        self._in, self._out = MavlinkIn(MavlinkCounters()), MavlinkOut(MavlinkCounters(), 255, 190)

    def names(self) -> set[str]:
        return {frame.message().get_type() for frame in self.frames}

    def listen(self, wanted: set[str]) -> None:
        """Until it has heard these, and an answer to its order."""
        while not self.names() >= wanted | {"COMMAND_ACK"}:
            chunk, sender = self.socket.recvfrom(65536)
            self.frames += self._in.feed(chunk)
            self.socket.sendto(b"".join(map(self._out.pack, (heartbeat(), arm()))), sender)


@pytest.fixture
def station() -> Iterator[Station]:
    station = Station()
    yield station
    station.socket.close()


def test_a_board_on_one_usb_port_flies_with_a_ground_station_beside_the_plant(tmp_path: Path, station: Station) -> None:
    """In real time; the ground station flies it, and what the board reports comes to the log by the same cable."""
    board = UsbBoard(tmp_path / "ttyACM0")
    board.start()
    heard = set()

    def progress(flown_s: float) -> None:
        if flown_s > 0.2 and not heard:
            station.listen({"HEARTBEAT", "ATTITUDE"})
            heard.update(station.names())

    try:
        run = aeroloop.fly(
            "quad-px4",
            pace="real",
            link=f"serial://{tmp_path / 'ttyACM0'}",
            set={
                "duration_s": 3.0,
                "checks": [],
                "router.hil": True,
                "telemetry.url": "link",
                "autopilot.ground_links": [station.url],
            },
            out=tmp_path / "run",
            progress=progress,
        )
    finally:
        board.stop()
    assert run.error is None and heard >= {"HEARTBEAT", "ATTITUDE", "COMMAND_ACK"}
    assert not any(name.startswith("HIL_") for name in station.names())
    assert dialect.MAVLINK_MSG_ID_COMMAND_LONG in {frame.msg_id for frame in board.heard}
    sensor, actuators = dialect.MAVLINK_MSG_ID_HIL_SENSOR, dialect.MAVLINK_MSG_ID_HIL_ACTUATOR_CONTROLS
    assert counted(run, 0, sensor, outbound=True) == counted(run, 1, sensor, outbound=False) > 250
    assert counted(run, 0, actuators, outbound=False) == counted(run, 1, actuators, outbound=True) > 250
    links = run.log["router_link"]
    assert max(links["lost"][links["link"] <= 1]) == max(links["dropped"][links["link"] <= 1]) == 0
    assert run.links["link"]["lost"] == 0
    assert run.log["autopilot_state"].rows > 0, "its telemetry, through the router"


def test_an_external_autopilot_in_lockstep_keeps_its_link_until_the_log_is_complete(tmp_path: Path) -> None:
    """PX4 spins at full speed once its link has ended."""
    port, log = free_port(socket.SOCK_STREAM), tmp_path / "run" / "flight.mcap"
    px4 = StandIn(port, finished=lambda: [] if log.read_bytes().endswith(MAGIC) else ["flight.mcap has no end"])
    px4.start()
    link = f"tcp://127.0.0.1:{port}?listen"
    try:
        run = aeroloop.fly(
            "quad-px4", link=link, set=SHORT | {"router.hil": True, "telemetry.url": "none"}, out=tmp_path / "run"
        )
    finally:
        px4.stop()
    assert run.error is None and px4.unfinished == []
    answered = [event["value"] for event in run.events if event["event"] == "AUTOPILOT_ANSWERED"]
    assert answered == [1.0], "in lockstep"
    actuators = dialect.MAVLINK_MSG_ID_HIL_ACTUATOR_CONTROLS
    assert counted(run, 0, actuators, outbound=False) == counted(run, 1, actuators, outbound=True) > 200
    assert run.links["link"]["lost"] == 0


@pytest.mark.parametrize(
    ("scenario", "changes", "words"),
    [
        ("quad-mission", {"link.url": "memory://"}, "router.hil: the router is a process"),
        ("quad-noisy-link", {}, "router.hil: in lockstep an impaired link has every byte counted"),
        ("quad-ardupilot", {}, "router.hil: ArduPilot's JSON interface has no MAVLink HIL messages"),
        ("tiltrotor-spiral", {}, "router"),
    ],
)
def test_where_it_cannot_carry_the_link_it_is_refused_in_one_sentence(
    scenario: str, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError, match=words):
        aeroloop.scenario(scenario, set=changes | {"router.hil": True})
