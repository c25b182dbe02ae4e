"""What the virtual Pixhawk sends on its ground links, and how often; pymavlink is the ground station."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pixhawk_acks import ACCEPTED, DENIED, LATER, UNSUPPORTED, told
from pymavlink import mavutil
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.controllers.pixhawk import px4_modes
from aeroloop.controllers.pixhawk.telemetry import STREAMS
from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode, SensorHealth
from aeroloop.core.frames import quat_from_euler
from aeroloop.core.signals import Setpoint
from peers.fake_brain import ORIGIN, level
from peers.ground_peer import Bench


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
