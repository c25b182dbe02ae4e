"""What the virtual Pixhawk is told on its ground links, and its answers; pymavlink is the ground station."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pixhawk_acks import ACCEPTED, DENIED, LATER, UNSUPPORTED
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.controllers.pixhawk.types import FlightMode, Refusal, Severity, Sticks
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn
from peers.fake_brain import ORIGIN
from peers.ground_peer import Bench


def test_commands_reach_the_flight_logic() -> None:
    bench = Bench()
    peer, logic = bench.peers[0], bench.logic
    peer.command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)
    peer.command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 0, 21196)
    peer.command(mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, math.nan, math.nan, math.nan, math.nan)
    peer.command(mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, 0, 0, 0, ORIGIN.alt_m + 10)
    peer.command(mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, 0, 0, 0, 10)  # 478 m below the ground
    peer.command(mavlink.MAV_CMD_NAV_LAND)
    peer.command(mavlink.MAV_CMD_NAV_RETURN_TO_LAUNCH)
    peer.command(mavlink.MAV_CMD_DO_SET_MODE, 1, 4, 3)
    peer.command(mavlink.MAV_CMD_DO_SET_MODE, 1, 7, 0)
    peer.command(mavlink.MAV_CMD_DO_PAUSE_CONTINUE, 1)
    assert logic.calls == [
        ("arm", False),
        ("disarm", True),
        ("take_off", None),
        ("take_off", pytest.approx(10)),
        ("take_off", None),
        ("set_mode", FlightMode.LAND),
        ("set_mode", FlightMode.RETURN),
        ("set_mode", FlightMode.HOLD),
        ("set_mode", FlightMode.MANUAL),
        ("set_mode", FlightMode.MISSION),
    ]


def test_take_off_above_home_by_command_int() -> None:
    bench = Bench()
    peer = bench.peers[0]
    relative = mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT
    peer.mav.command_int_send(1, 1, relative, mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, 0, 0, math.nan, 0, 0, 12.0)
    assert peer.only("COMMAND_ACK").result == ACCEPTED
    assert bench.logic.calls == [("take_off", 12.0)]
    peer.mav.command_int_send(1, 1, relative, mavlink.MAV_CMD_NAV_TAKEOFF, 0, 0, 0, 0, 0, math.nan, 0, 0, -3.0)
    assert peer.only("COMMAND_ACK").result == DENIED


def test_reposition() -> None:
    bench = Bench()
    peer, logic = bench.peers[0], bench.logic
    lat, lon = 473_980_000, 85_460_000

    def go(frame: int, flags: float, heading: float, x: int, y: int, z: float) -> int:
        head = (1, 1, frame, mavlink.MAV_CMD_DO_REPOSITION, 0, 0)
        peer.mav.command_int_send(*head, -1, flags, 0, heading, x, y, z)
        return int(peer.only("COMMAND_ACK").result)

    assert go(mavlink.MAV_FRAME_GLOBAL_INT, 1, math.radians(90), lat, lon, 500.0) == ACCEPTED
    assert logic.calls.pop() == ("go_to", 47.398, 8.546, 500.0, pytest.approx(0.0, abs=1e-6))  # east
    assert go(mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT, 1, math.nan, lat, lon, 20.0) == ACCEPTED
    assert logic.calls.pop() == ("go_to", 47.398, 8.546, pytest.approx(508.0), None)
    open_ = 2**31 - 1
    assert go(mavlink.MAV_FRAME_GLOBAL_INT, 1, math.nan, open_, open_, math.nan) == ACCEPTED
    here = (pytest.approx(ORIGIN.lat_deg), pytest.approx(ORIGIN.lon_deg), pytest.approx(488.0))
    assert logic.calls.pop() == ("go_to", *here, None)
    logic.change(mode=FlightMode.MISSION)
    assert go(mavlink.MAV_FRAME_GLOBAL_INT, 0, math.nan, lat, lon, 500.0) == LATER  # without its flag
    assert go(mavlink.MAV_FRAME_GLOBAL_INT, 1, math.nan, 950_000_000, lon, 500.0) == DENIED
    assert go(mavlink.MAV_FRAME_GLOBAL_INT, 1, math.nan, lat, lon, 1e9) == DENIED
    assert go(mavlink.MAV_FRAME_GLOBAL_INT, 1, 1e6, lat, lon, 500.0) == DENIED
    assert logic.calls == []
    blind = Bench(knows_place=False)
    assert blind.peers[0].command(mavlink.MAV_CMD_DO_REPOSITION, -1, 1, 0, math.nan, 47.0, 8.0, 500.0) == LATER


@pytest.mark.parametrize(
    ("refusal", "result"),
    [
        (Refusal("Not now"), LATER),
        (Refusal("Never", temporary=False), DENIED),
        (Refusal("What?", temporary=False, supported=False), UNSUPPORTED),
    ],
)
def test_a_refusal_is_an_ack_and_a_sentence(refusal: Refusal, result: int) -> None:
    bench = Bench()
    bench.logic.refusal = refusal
    assert bench.peers[0].command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1) == result
    assert bench.peers[0].texts() == refusal.reason


@pytest.mark.parametrize(
    ("command", "params", "result"),
    [
        (mavlink.MAV_CMD_COMPONENT_ARM_DISARM, (2.0,), DENIED),
        (mavlink.MAV_CMD_COMPONENT_ARM_DISARM, (math.nan,), DENIED),
        (mavlink.MAV_CMD_NAV_TAKEOFF, (0, 0, 0, 0, 0, 0, math.inf), DENIED),
        (mavlink.MAV_CMD_NAV_LAND, (0, 0, 0, 0, -math.inf), DENIED),
        (mavlink.MAV_CMD_NAV_TAKEOFF, (0, 0, 0, 0, 0, 0, 1e9), DENIED),
        (mavlink.MAV_CMD_DO_SET_MODE, (1, 5, 0), DENIED),  # acro
        (mavlink.MAV_CMD_DO_SET_MODE, (1, math.nan, 0), DENIED),
        (mavlink.MAV_CMD_DO_SET_MODE, (1, 4, math.nan), DENIED),
        (mavlink.MAV_CMD_DO_SET_MODE, (16, 4, 3), DENIED),
        (mavlink.MAV_CMD_DO_CHANGE_SPEED, (1, 1e6), DENIED),
        (mavlink.MAV_CMD_DO_CHANGE_SPEED, (1, math.nan), DENIED),
        (mavlink.MAV_CMD_DO_CHANGE_SPEED, (2, 1), DENIED),
        (mavlink.MAV_CMD_DO_SET_MISSION_CURRENT, (3,), DENIED),
        (mavlink.MAV_CMD_PREFLIGHT_REBOOT_SHUTDOWN, (1,), DENIED),
        (mavlink.MAV_CMD_DO_SET_SERVO, (1, 1500), UNSUPPORTED),
    ],
)
def test_what_makes_no_sense_is_refused(command: int, params: tuple[float, ...], result: int) -> None:
    bench = Bench()
    peer = bench.peers[0]
    assert peer.command(command, *params) == result
    assert bench.logic.calls == []
    assert (peer.texts() != "") == (result == DENIED)


def test_speed_is_a_parameter() -> None:
    bench = Bench()
    assert bench.peers[0].command(mavlink.MAV_CMD_DO_CHANGE_SPEED, 1, 7.5) == ACCEPTED
    assert bench.parameters.get("MPC_XY_CRUISE") == 7.5
    assert bench.peers[0].command(mavlink.MAV_CMD_DO_CHANGE_SPEED, 1, -1) == ACCEPTED
    assert bench.parameters.get("MPC_XY_CRUISE") == 7.5


def test_mavutils_helpers() -> None:
    bench = Bench()
    peer = bench.peers[0]
    bench.run(1.0)
    peer.drain()
    peer.arducopter_arm()
    bench.run(1.0)
    peer.drain()
    assert peer.motors_armed()
    peer.set_mode("MISSION")
    peer.set_mode_rtl()
    peer.set_mode_loiter()
    peer.arducopter_disarm()
    assert bench.logic.calls == [
        ("arm", False),
        ("set_mode", FlightMode.MISSION),
        ("set_mode", FlightMode.RETURN),
        ("set_mode", FlightMode.HOLD),
        ("disarm", False),
    ]


def test_set_mode_of_old() -> None:
    bench = Bench()
    bench.peers[0].mav.set_mode_send(1, 1, 4 << 16 | 6 << 24)
    assert bench.logic.calls == [("set_mode", FlightMode.LAND)]
    bench.peers[0].mav.set_mode_send(1, 1, 99 << 16)
    assert bench.peers[0].texts() == "No flight mode 99.0 here"


def test_sticks() -> None:
    bench = Bench()
    peer, logic = bench.peers[0], bench.logic
    peer.mav.manual_control_send(1, 500, -250, 600, 100, 0)
    assert logic.calls.pop() == ("sticks", Sticks(-0.25, 0.5, 0.1, 0.6))
    bench.run(0.6)
    channels = peer.drain("RC_CHANNELS")[-1]
    shown = (channels.chancount, channels.chan1_raw, channels.chan2_raw, channels.chan3_raw, channels.chan4_raw)
    assert shown == (4, 1375, 1750, 1600, 1550)
    bench.run(2.0)
    assert peer.drain("RC_CHANNELS")[-1].chancount == 0
    peer.mav.rc_channels_override_send(1, 1, 1500, 2000, 1000, 1750, 0, 0, 0, 0)
    assert logic.calls.pop() == ("sticks", Sticks(0.0, 1.0, 0.5, 0.0))
    peer.mav.rc_channels_override_send(1, 1, 1500, 65535, 1000, 1750, 0, 0, 0, 0)
    peer.mav.manual_control_send(1, 500, 32767, 600, 100, 0)
    peer.mav.manual_control_send(2, 500, 0, 600, 100, 0)
    assert logic.calls == []
    assert bench.services.links[0].counters.bad_sticks == 2
    assert bench.services.links[0].counters.for_others == 1


def test_only_a_ground_stations_heartbeat_counts() -> None:
    bench = Bench()
    peer = bench.peers[0]
    peer.mav.heartbeat_send(mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 0)
    peer.mav.heartbeat_send(mavlink.MAV_TYPE_QUADROTOR, mavlink.MAV_AUTOPILOT_PX4, 0, 0, 0)
    assert bench.logic.grounds == 1


def test_what_is_meant_for_others_is_counted() -> None:
    bench = Bench(system=2)
    peer = bench.peers[0]
    peer.mav.command_long_send(1, 1, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 0, 1, 0, 0, 0, 0, 0, 0)
    peer.mav.command_long_send(2, 100, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 0, 1, 0, 0, 0, 0, 0, 0)
    peer.mav.param_request_list_send(3, 1)
    assert bench.logic.calls == [] and peer.arrived == b""
    assert bench.services.links[0].counters.for_others == 3
    peer.mav.command_long_send(2, 0, mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 0, 1, 0, 0, 0, 0, 0, 0)
    assert bench.logic.calls == [("arm", False)]
    assert peer.only("COMMAND_ACK").get_srcSystem() == 2


def test_small_talk() -> None:
    bench = Bench()
    bench.t_ns = 7_000_000_000
    peer = bench.peers[0]
    peer.mav.timesync_send(0, 123)
    answer = peer.only("TIMESYNC")
    assert (answer.tc1, answer.ts1) == (7_000_000_000, 123)
    peer.mav.timesync_send(5, 123)
    assert peer.arrived == b""
    peer.mav.ping_send(99, 4, 0, 0)
    pong = peer.only("PING")
    assert (pong.time_usec, pong.seq, pong.target_system, pong.target_component) == (99, 4, 255, 190)
    peer.mav.log_request_list_send(1, 1, 0, 65535)
    assert peer.only("LOG_ENTRY").num_logs == 0
    request = bytearray(251)
    request[:6] = 5, 0, 3, 4, 0, 0  # number 5, session 3, open for reading
    peer.mav.file_transfer_protocol_send(0, 1, 1, list(request))
    payload = peer.only("FILE_TRANSFER_PROTOCOL").payload
    assert (payload[0], payload[2], payload[3], payload[5], payload[12]) == (6, 3, 129, 4, 7)
    peer.mav.vibration_send(0, 0, 0, 0, 0, 0, 0)
    assert bench.services.links[0].counters.unhandled == 1


def test_a_text_is_told_once_to_who_writes_the_log_however_many_links_there_are() -> None:
    bench = Bench(links=2)
    told: list[tuple[int, Severity, str]] = []
    bench.services.on_text = lambda *text: told.append(text)
    bench.logic.texts = [(Severity.INFO, "Armed"), (Severity.WARNING, "Battery low")]
    bench.services.step(7_000)
    assert told == [(7_000, Severity.INFO, "Armed"), (7_000, Severity.WARNING, "Battery low")]


def test_texts_go_to_all_and_long_ones_in_pieces() -> None:
    bench = Bench(links=2)
    bench.logic.texts = [(Severity.INFO, "x" * 50), (Severity.CRITICAL, "A" * 60), (Severity.ERROR, "B" * 100)]
    bench.run(0.004)
    for peer in bench.peers:
        got = [(m.severity, len(m.text), m.id, m.chunk_seq) for m in peer.drain("STATUSTEXT")]
        assert got == [(6, 50, 0, 0), (2, 50, 1, 0), (2, 10, 1, 1), (3, 50, 2, 0), (3, 50, 2, 1), (3, 0, 2, 2)]


def test_what_waits_is_bounded() -> None:
    bench = Bench()
    bench.logic.texts = [(Severity.INFO, str(number)) for number in range(1000)]
    bench.run(0.004)
    told = bench.peers[0].drain("STATUSTEXT")
    assert len(told) == 64
    assert told[-1].text == "999"


def test_a_reached_item_is_told_three_times_on_all_links() -> None:
    bench = Bench(links=2)
    bench.logic.change(mission_reached=4)
    bench.run(6.0)
    for peer in bench.peers:
        assert [m.seq for m in peer.drain("MISSION_ITEM_REACHED")] == [4, 4, 4]
    bench.logic.change(mission_reached=-1)
    bench.run(2.0)
    assert not bench.peers[0].drain("MISSION_ITEM_REACHED")


FIELDS = {
    "float": st.floats(width=32) | st.sampled_from([0.0, 1.0, math.nan, math.inf, 1e30]),
    "double": st.floats(),
    "uint64_t": st.integers(0, 2**64 - 1),
    "int64_t": st.integers(-(2**63), 2**63 - 1),
    "uint32_t": st.integers(0, 2**32 - 1),
    "int32_t": st.integers(-(2**31), 2**31 - 1),
    "uint16_t": st.integers(0, 2**16 - 1) | st.sampled_from([22, 176, 192, 300, 400, 511, 512]),
    "int16_t": st.integers(-(2**15), 2**15 - 1),
    "uint8_t": st.integers(0, 255) | st.sampled_from([0, 1]),
    "int8_t": st.integers(-128, 127),
}


@st.composite
def any_message(draw: Any) -> Any:
    kind = mavlink.mavlink_map[draw(st.sampled_from(sorted(mavlink.mavlink_map)))]
    values = {}
    for name, of_type, length in zip(kind.fieldnames, kind.fieldtypes, kind.array_lengths, strict=True):
        position = kind.ordered_fieldnames.index(name)
        length = kind.array_lengths[position]
        if of_type == "char":
            values[name] = draw(st.binary(max_size=max(1, length)))
        elif name == "target_system" or name == "target_component":
            values[name] = draw(st.sampled_from([0, 1]))
        elif length:
            values[name] = [draw(FIELDS[of_type])] * length
        else:
            values[name] = draw(FIELDS[of_type])
    return kind(**values)


@settings(max_examples=150)
@given(st.lists(any_message(), min_size=1, max_size=4))
def test_no_message_of_the_dialect_does_harm(messages: list[Any]) -> None:
    bench = Bench(links=2)
    sender = mavlink.MAVLink(None, srcSystem=255, srcComponent=1)
    for message in messages:
        try:
            wire = message.pack(sender)
        except Exception:  # what pymavlink cannot pack cannot be sent
            continue
        for frame in MavlinkIn(MavlinkCounters()).feed(wire):
            bench.services.receive(0, frame, bench.t_ns)
        bench.run(0.02)
    silent = len(bench.peers[1].arrived)
    bench.run(1.1)
    assert len(bench.peers[1].arrived) > silent, "it goes on speaking, also to who said nothing"


@settings(max_examples=150)
@given(st.sampled_from(sorted(mavlink.mavlink_map)), st.binary(max_size=255), st.booleans())
def test_no_payload_with_a_good_checksum_does_harm(msg_id: int, payload: bytes, old: bool) -> None:
    """Longer and shorter than the dialect says, with any bytes in texts; as a frame of MAVLink 1 and 2."""
    extra = bytes([mavlink.mavlink_map[msg_id].crc_extra])
    if old:
        head = bytes([0xFE, len(payload), 0, 255, 1, msg_id & 0xFF])
        extra = bytes([mavlink.mavlink_map.get(msg_id & 0xFF, mavlink.mavlink_map[0]).crc_extra])
    else:
        head = bytes([0xFD, len(payload), 0, 0, 0, 255, 1]) + msg_id.to_bytes(3, "little")
    checksum = mavlink.x25crc(head[1:] + payload + extra).crc
    bench = Bench()
    for frame in MavlinkIn(MavlinkCounters()).feed(head + payload + checksum.to_bytes(2, "little")):
        bench.services.receive(0, frame, 0)
    bench.run(0.02)
