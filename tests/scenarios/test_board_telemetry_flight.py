"""A ground station that nobody here wrote (pymavlink's own) hears a tilt-rotor and a fixed wing, each by its router."""

from __future__ import annotations

import socket
import time
from typing import Any

from pymavlink import mavutil
from pymavlink.dialects.v20 import common as dialect

from scenarios.conftest import HANG_S, Bench

FLEET = """
name = "heard"
pace = "real"
[[aircraft]]
name = "tilt"
scenario = "tiltrotor-spiral"
checks = []
[[aircraft.router.endpoints]]
name = "ground"
url = "udp://127.0.0.1:{port}"
role = "command"
[[aircraft]]
name = "wing"
scenario = "fixedwing-loiter"
checks = []
[[aircraft.router.endpoints]]
name = "ground"
url = "udp://127.0.0.1:{port}"
role = "command"
"""
WANTED = {"HEARTBEAT", "ATTITUDE", "LOCAL_POSITION_NED", "GLOBAL_POSITION_INT", "VFR_HUD", "SYS_STATUS"}
TYPES = {1: dialect.MAV_TYPE_VTOL_TILTROTOR, 2: dialect.MAV_TYPE_FIXED_WING}


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_ground_station_hears_both_and_is_refused_by_both(bench: Bench) -> None:
    port = free_port()
    (bench.folder / "heard.toml").write_text(FLEET.format(port=port))
    ground = mavutil.mavlink_connection(f"udpin:127.0.0.1:{port}", source_system=255)
    flight = bench.start("fly", "heard.toml", "--no-report", "--out", "run", "--set", "duration_s=5")
    heard: dict[int, dict[str, Any]] = {1: {}, 2: {}}
    refused: set[int] = set()
    deadline_s = time.monotonic() + HANG_S
    try:
        while time.monotonic() < deadline_s and not (
            refused == {1, 2} and all(set(h) >= WANTED for h in heard.values())
        ):
            message = ground.recv_match(blocking=True, timeout=1.0)
            if message is None or message.get_srcSystem() not in heard:
                continue
            system, kind = message.get_srcSystem(), message.get_type()
            heard[system][kind] = message
            if kind == "GLOBAL_POSITION_INT" and system not in refused:
                ground.mav.command_long_send(system, 1, dialect.MAV_CMD_COMPONENT_ARM_DISARM, 0, 1, 0, 0, 0, 0, 0, 0)
            if kind == "COMMAND_ACK" and message.result == dialect.MAV_RESULT_UNSUPPORTED:
                refused.add(system)
        ended = flight.wait()
    finally:
        ground.close()
    assert ended.code == 0, ended.err
    assert refused == {1, 2}
    for system, messages in heard.items():
        assert set(messages) >= WANTED, system
        assert messages["HEARTBEAT"].type == TYPES[system]
    wing = heard[2]["GLOBAL_POSITION_INT"]
    assert wing.relative_alt > 100_000, "it is high above the ground"
    assert heard[2]["VFR_HUD"].airspeed > 10.0
    rows = bench.log().rows
    assert len(rows["tilt/router_link"]) > 0
    assert len(rows["wing/router_message"]) > 0
