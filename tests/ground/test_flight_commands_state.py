"""What an aircraft tells, as a snapshot: from the virtual Pixhawk's telemetry, and from texts in pieces."""

from __future__ import annotations

import math
from itertools import permutations

import pytest
from flight_command_rig import NS, Puppet, SimStation
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.controllers.pixhawk.statustext import StatusTexts as Sender
from aeroloop.controllers.pixhawk.types import FlightMode, Landed, MissionItem
from aeroloop.core.frames import quat_from_euler
from aeroloop.ground.commands.hub import Hub
from aeroloop.ground.commands.state import Tracker
from aeroloop.ground.commands.texts import PATIENCE_NS, Texts
from aeroloop.protocols.flight_modes import PX4_MODES, Firmware, mode_name
from peers.fake_brain import ORIGIN, level


def test_a_snapshot_of_everything_the_virtual_pixhawk_tells() -> None:
    """10 degrees of roll to the right, nose 20 degrees up, heading 30 degrees."""
    station = SimStation()
    logic = station.bench.logic
    quat_WB = quat_from_euler(math.radians(10), math.radians(-20), math.radians(60))
    logic.step = lambda t_ns: None  # type: ignore[method-assign]
    nav = level(0)._replace(pos_W=(0.0, 0.0, 5.0), vel_W=(1.0, 2.0, 0.5), quat_WB=quat_WB)
    logic.change(estimate=nav, home_W=(0.0, 0.0, 1.0), armed=True, mode=FlightMode.MISSION, landed=Landed.IN_AIR)
    logic.mission = (MissionItem(16, 6, (0.0,) * 4, 47.0, 8.0, 5.0),) * 3
    logic.change(mission_current=2)
    station.run(4.0)
    s = station.vehicle.state
    assert (s.system, s.component, s.firmware, s.kind) == (1, 1, Firmware.PX4, mavlink.MAV_TYPE_QUADROTOR)
    assert (s.armed, s.mode, s.status, s.landed) == (True, "mission", "active", "in_air")
    assert (s.roll_deg, s.pitch_deg, s.heading_deg) == pytest.approx((10, 20, 30), abs=0.01)
    assert (s.lat_deg, s.lon_deg, s.alt_m) == pytest.approx(
        (ORIGIN.lat_deg, ORIGIN.lon_deg, ORIGIN.alt_m + 5), abs=1e-6
    )
    assert (s.height_m, s.pos_W, s.vel_W) == (4.0, (0, 0, 5), (1, 2, 0.5))
    assert (s.ground_speed_m_s, s.climb_m_s, s.throttle) == (pytest.approx(math.sqrt(5)), 0.5, 0.62)
    assert (s.battery_V, s.battery_A, s.battery_remaining) == (12.6, 1.5, 0.88)
    assert (s.fix_type, s.satellites) == (3, 10)
    assert (s.mission_current, s.mission_count, s.mission_state) == (2, 3, "active")
    assert s.home == pytest.approx((ORIGIN.lat_deg, ORIGIN.lon_deg, ORIGIN.alt_m + 1), abs=1e-6)
    assert not s.silent(station.t_ns) and s.silent(station.t_ns + 4 * NS)


def test_who_is_an_aircraft() -> None:
    hub = Hub()
    ground = mavlink.MAVLink_heartbeat_message(mavlink.MAV_TYPE_GCS, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 4, 3)
    camera = mavlink.MAVLink_heartbeat_message(mavlink.MAV_TYPE_CAMERA, mavlink.MAV_AUTOPILOT_INVALID, 0, 0, 4, 3)
    for frame in (Puppet(255, 190).frame(ground), Puppet(3, 100).frame(camera), Puppet(4).ack(400, 0)):
        hub.receive(frame.wire, 0)
    assert hub.systems == ()
    hub.receive(Puppet(3).heartbeat().wire + Puppet(2).heartbeat().wire, 5)
    assert hub.systems == (3, 2)
    hub.receive(Puppet(3, 100).frame(mavlink.MAVLink_attitude_message(0, 1.0, 0, 0, 0, 0, 0)).wire, 6)
    assert hub.state(3).roll_deg is None, "the camera's attitude is not the aircraft's"


def test_what_is_marked_as_unknown_is_none() -> None:
    puppet, tracker = Puppet(), Tracker((1, 1), 0)
    tracker.handle(puppet.frame(mavlink.MAVLink_sys_status_message(0, 0, 0, 0, 65535, -1, -1, 0, 0, 0, 0, 0, 0)), 1)
    tracker.handle(puppet.frame(mavlink.MAVLink_attitude_message(0, math.nan, 0, 0, 0, 0, 0)), 2)
    tracker.handle(puppet.frame(mavlink.MAVLink_extended_sys_state_message(0, 77)), 3)
    tracker.handle(puppet.frame(mavlink.MAVLink_mission_current_message(4)), 4)
    s = tracker.state
    assert (s.battery_V, s.battery_A, s.battery_remaining, s.roll_deg, s.landed) == (None, None, None, None, "unknown")
    assert (s.mission_current, s.mission_count, s.mission_state) == (4, None, "unknown")


def test_every_px4_mode_has_one_name() -> None:
    for name, (main, sub) in PX4_MODES.items():
        assert mode_name(Firmware.PX4, main << 16 | sub << 24) == name
    assert mode_name(Firmware.PX4, 99 << 16 | 3 << 24) == "99.3"


SENTENCE = "Preflight Fail: " + "the compass and the gyro do not agree with each other, " * 2 + "at all"


def test_pieces_find_together_in_any_order() -> None:
    messages = Sender().messages(4, SENTENCE)
    assert len(messages) == 3
    for order in permutations(messages):
        texts, puppet = Texts(), Puppet()
        told = [text for message in order for text in texts.handle(puppet.frame(message), 7)]
        assert [(text.words, text.severity, text.t_ns) for text in told] == [(SENTENCE, 4, 7)]
        assert texts.next_ns is None


@pytest.mark.parametrize(("lost", "words"), [(0, "..."), (1, SENTENCE[:50] + "..." + SENTENCE[100:]), (2, None)])
def test_a_lost_piece_leaves_a_gap(lost: int, words: str | None) -> None:
    texts, puppet = Texts(), Puppet()
    for place, message in enumerate(Sender().messages(4, SENTENCE)):
        if place != lost:
            assert texts.handle(puppet.frame(message), 0) == []
    assert texts.step(PATIENCE_NS - 1) == []
    (text,) = texts.step(PATIENCE_NS)
    expected = {0: "..." + SENTENCE[50:], 1: words, 2: SENTENCE[:100] + "..."}[lost]
    assert text.words == expected


def test_texts_are_bounded_and_printable() -> None:
    tracker, puppet = Tracker((1, 1), 0), Puppet()
    for number in range(1, 500):
        tracker.handle(puppet.text(b"x" * 50, number), number)
    tracker.handle(puppet.text(b"\x1b[31mred\xff"), 1000)
    assert len(tracker.state.texts) == 20
    assert tracker.state.texts[-1].words == "?[31mred?".replace("d?", "d\N{REPLACEMENT CHARACTER}")
