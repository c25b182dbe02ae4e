"""What the virtual Pixhawk tells and is told on its ground links; pymavlink is the ground station."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymavlink import mavutil
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.controllers.pixhawk import px4_modes
from aeroloop.controllers.pixhawk.telemetry import STREAMS
from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode, Refusal, SensorHealth, Severity, Sticks
from aeroloop.core.frames import quat_from_euler
from aeroloop.core.signals import Setpoint
from aeroloop.protocols.mavlink import MavlinkCounters, MavlinkIn
from peers.fake_brain import ORIGIN, level
from peers.ground_peer import Bench

ACCEPTED, LATER, DENIED, UNSUPPORTED = 0, 1, 2, 3


def counts(messages: list[Any]) -> dict[str, int]:
    kinds = [message.get_type() for message in messages]
    return {kind: kinds.count(kind) for kind in kinds}


def test_every_message_comes_at_its_rate() -> None:
    bench = Bench()
    bench.run(9.996)  # the next ones are due at 10 s sharp
    got = counts(bench.peers[0].drain())
    names = {row.msg_id: mavlink.mavlink_map[row.msg_id].msgname for row in STREAMS}
    expected = {names[row.msg_id]: round(10 * row.rate_Hz) for row in STREAMS if row.rate_Hz}
    assert got == expected


def test_nothing_is_told_that_is_not_known() -> None:
    bench = Bench(knows_place=False)
    bench.run(3.0)
    got = counts(bench.peers[0].drain())
    assert {"HEARTBEAT", "SYS_STATUS", "BATTERY_STATUS"} <= set(got)
    assert not {"ATTITUDE", "GLOBAL_POSITION_INT", "HOME_POSITION", "LOCAL_POSITION_NED"} & set(got)


@pytest.mark.parametrize("armed", [False, True])
@pytest.mark.parametrize("mode", FlightMode)
def test_pymavlink_names_the_mode(mode: FlightMode, armed: bool) -> None:
    bench = Bench()
    bench.logic.change(mode=mode, armed=armed)
    bench.services.step(0)
    bench.peers[0].arrived += bench.services.step(1_000_000_000)[0]
    beat = bench.peers[0].only("HEARTBEAT")
    names = ("MANUAL", "ALTCTL", "POSCTL", "TAKEOFF", "LOITER", "MISSION", "RTL", "LAND", "OFFBOARD")
    names = (*names, "UNKNOWN")  # pymavlink has no name for PX4's precision landing
    expected = dict(zip(FlightMode, names, strict=True))
    assert mavutil.mode_string_v10(beat) == expected[mode]
    assert (beat.type, beat.autopilot) == (mavlink.MAV_TYPE_QUADROTOR, mavlink.MAV_AUTOPILOT_PX4)
    assert bool(beat.base_mode & 128) is armed
    assert px4_modes.from_custom_mode(beat.custom_mode) is mode


def told(bench: Bench, kind: str) -> Any:
    bench.peers[0].drain()
    bench.run(2.0)
    return bench.peers[0].drain(kind)[-1]


def test_attitude_and_velocity_in_the_autopilots_axes() -> None:
    """East, climbing, 10 degrees of roll to the right, nose 20 degrees up, heading 30 degrees: worked out by hand."""
    bench = Bench()
    quat_WB = quat_from_euler(math.radians(10), math.radians(-20), math.radians(60))
    nav = level(0)._replace(pos_W=(3.0, 4.0, 5.0), vel_W=(1.0, 2.0, 0.5), quat_WB=quat_WB, rate_B=(0.1, 0.2, 0.3))
    bench.logic.step = lambda t_ns: None  # type: ignore[method-assign]
    bench.logic.change(estimate=nav, home_W=(0.0, 0.0, 1.0))
    attitude = told(bench, "ATTITUDE")
    angles = [math.degrees(angle) for angle in (attitude.roll, attitude.pitch, attitude.yaw)]
    assert angles == pytest.approx([10, 20, 30], abs=1e-4)
    assert (attitude.rollspeed, attitude.pitchspeed, attitude.yawspeed) == pytest.approx((0.1, -0.2, -0.3))
    local = told(bench, "LOCAL_POSITION_NED")
    assert (local.x, local.y, local.z, local.vx, local.vy, local.vz) == pytest.approx((4, 3, -5, 2, 1, -0.5))
    place = told(bench, "GLOBAL_POSITION_INT")
    assert place.lat == pytest.approx(ORIGIN.lat_deg * 1e7 + 4 / 111_177 * 1e7, abs=2)
    assert place.lon == pytest.approx(ORIGIN.lon_deg * 1e7 + 3 / 75_525 * 1e7, abs=3)
    assert (place.alt, place.relative_alt, place.hdg) == (493_000, 4000, 3000)
    assert (place.vx, place.vy, place.vz) == (200, 100, -50)
    hud = told(bench, "VFR_HUD")
    assert (hud.heading, hud.throttle, hud.climb) == (30, 62, 0.5)
    assert hud.groundspeed == pytest.approx(math.sqrt(5))
    home = told(bench, "HOME_POSITION")
    assert (home.altitude, home.z) == (489_000, -1.0)


def test_targets() -> None:
    bench = Bench()
    bench.logic.step = lambda t_ns: None  # type: ignore[method-assign]
    held = Setpoint((1.0, 2.0, 3.0), (0.0,) * 3, (0.0,) * 3, 0.0, 0.0, 0.0, 0.5, hold_xy=False, hold_z=True)
    bench.logic.change(setpoint=held)
    target = told(bench, "POSITION_TARGET_LOCAL_NED")
    assert target.type_mask == 2048 | 0b011_011_011
    assert target.z == -3.0
    assert target.yaw == pytest.approx(math.pi / 2)
    asked = told(bench, "ATTITUDE_TARGET")
    assert asked.thrust == 0.5
    w, x, y, z = asked.q
    assert math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)) == pytest.approx(0.1)  # roll to the right
    assert math.asin(2 * (w * y - z * x)) == pytest.approx(-0.2)  # pitch: FLU's nose down


def test_health_battery_and_landed_state() -> None:
    bench = Bench()
    bench.logic.change(
        health=SensorHealth(imu=True, magnetometer=False, barometer=True, gnss=False),
        failsafe=Failsafe.BATTERY_LOW,
        ready_to_arm=False,
    )
    status = told(bench, "SYS_STATUS")
    healthy = status.onboard_control_sensors_health
    assert status.onboard_control_sensors_present & 0x2F == 0x2F
    assert healthy & 0x2F == 0x0B
    assert not healthy & mavlink.MAV_SYS_STATUS_PREARM_CHECK
    assert not healthy & mavlink.MAV_SYS_STATUS_SENSOR_BATTERY
    assert (status.voltage_battery, status.current_battery, status.battery_remaining) == (12600, 150, 88)
    battery = told(bench, "BATTERY_STATUS")
    assert (battery.voltages[0], battery.current_consumed, battery.charge_state) == (12600, 120, 2)
    assert told(bench, "EXTENDED_SYS_STATE").landed_state == mavlink.MAV_LANDED_STATE_ON_GROUND
    assert told(bench, "SERVO_OUTPUT_RAW").servo3_raw == 1750
    gps = told(bench, "GPS_RAW_INT")
    assert (gps.fix_type, gps.satellites_visible, gps.h_acc, gps.v_acc) == (3, 10, 300, 400)


def test_intervals_are_the_askers() -> None:
    bench = Bench(links=2)
    asker, other = bench.peers
    attitude = mavlink.MAVLINK_MSG_ID_ATTITUDE
    assert asker.command(mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, attitude, 100_000) == ACCEPTED
    bench.run(4.996)
    assert len(asker.drain("ATTITUDE")) == 50
    assert len(other.drain("ATTITUDE")) == 100
    assert asker.command(mavlink.MAV_CMD_GET_MESSAGE_INTERVAL, attitude) == ACCEPTED
    assert asker.only("MESSAGE_INTERVAL").interval_us == 100_000
    assert asker.command(mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, attitude, -1) == ACCEPTED
    bench.run(5.0)
    assert not asker.drain("ATTITUDE")
    assert asker.command(mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, attitude, 0) == ACCEPTED
    bench.run(4.996)
    assert len(asker.drain("ATTITUDE")) == 100
    assert asker.command(mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, 12345, 1000) == UNSUPPORTED
    assert asker.command(mavlink.MAV_CMD_SET_MESSAGE_INTERVAL, attitude, math.nan) == DENIED


def test_data_streams_of_old() -> None:
    bench = Bench()
    peer = bench.peers[0]
    peer.mav.request_data_stream_send(1, 1, 0, 4, 1)
    bench.run(4.996)
    got = counts(peer.drain())
    assert got["ATTITUDE"] == got["VFR_HUD"] == got["SYS_STATUS"] == 20
    assert got["HEARTBEAT"] == 5
    peer.mav.request_data_stream_send(1, 1, mavlink.MAV_DATA_STREAM_EXTRA1, 4, 0)
    bench.run(5.0)
    assert not {"ATTITUDE", "ATTITUDE_QUATERNION"} & set(counts(peer.drain()))


def test_a_stall_is_not_followed_by_a_burst() -> None:
    bench = Bench()
    bench.run(1.0)
    bench.peers[0].drain()
    bench.t_ns += 60_000_000_000
    bench.run(1.0)
    got = counts(bench.peers[0].drain())
    assert 20 <= got["ATTITUDE"] <= 21
    assert got["HEARTBEAT"] <= 2


def test_a_message_on_request() -> None:
    bench = Bench()
    peer = bench.peers[0]
    assert peer.command(mavlink.MAV_CMD_REQUEST_MESSAGE, mavlink.MAVLINK_MSG_ID_AUTOPILOT_VERSION) == ACCEPTED
    version = peer.only("AUTOPILOT_VERSION")
    assert version.capabilities & mavlink.MAV_PROTOCOL_CAPABILITY_PARAM_ENCODE_BYTEWISE
    assert not version.capabilities & mavlink.MAV_PROTOCOL_CAPABILITY_FTP
    assert version.uid == 1
    assert peer.command(mavlink.MAV_CMD_REQUEST_AUTOPILOT_CAPABILITIES, 1) == ACCEPTED
    assert peer.drain("AUTOPILOT_VERSION")
    assert peer.command(mavlink.MAV_CMD_GET_HOME_POSITION) == ACCEPTED
    assert peer.drain("HOME_POSITION")
    assert peer.command(mavlink.MAV_CMD_REQUEST_MESSAGE, 397) == UNSUPPORTED
    assert peer.command(mavlink.MAV_CMD_REQUEST_MESSAGE, math.nan) == UNSUPPORTED
    blind = Bench(knows_place=False).peers[0]
    assert blind.command(mavlink.MAV_CMD_GET_HOME_POSITION) == LATER


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
