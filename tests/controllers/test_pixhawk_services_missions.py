"""The mission protocol with pymavlink as ground station: whole transfers, and every way in which one goes wrong."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pymavlink import mavwp
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.controllers.pixhawk.limits import MAX_ITEMS
from aeroloop.controllers.pixhawk.types import FlightMode, MissionItem, Refusal
from peers.ground_peer import Bench, Peer

RELATIVE = mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT
WAYPOINT = mavlink.MAV_CMD_NAV_WAYPOINT
ACCEPTED, ERROR, UNSUPPORTED, NO_SPACE, DENIED, CANCELLED = 0, 1, 3, 4, 14, 15
NAN = math.nan


def item(seq: int, **changes: Any) -> Any:
    fields = {
        "target_system": 1,
        "target_component": 1,
        "seq": seq,
        "frame": RELATIVE,
        "command": WAYPOINT,
        "current": 0,
        "autocontinue": 1,
        "param1": 1.0,
        "param2": 2.0,
        "param3": 0.0,
        "param4": NAN,
        "x": 473_977_420 + seq * 1000,
        "y": 85_455_940,
        "z": 10.0 + seq,
        "mission_type": 0,
    }
    return mavlink.MAVLink_mission_item_int_message(**{**fields, **changes})


def upload(peer: Peer, count: int) -> int:
    """As a ground station does it: an item for every request."""
    peer.mav.mission_count_send(1, 1, count)
    for _ in range(count):
        request = peer.only("MISSION_REQUEST_INT")
        assert (request.target_system, request.target_component) == (255, 190)
        peer.mav.send(item(request.seq))
    return int(peer.only("MISSION_ACK").type)


def test_up_and_down_again() -> None:
    bench = Bench()
    peer = bench.peers[0]
    assert upload(peer, 5) == ACCEPTED
    assert len(bench.logic.mission) == 5
    third = bench.logic.mission[2]
    assert (third.command, third.frame, third.params[:3], third.autocontinue) == (WAYPOINT, RELATIVE, (1, 2, 0), True)
    assert math.isnan(third.params[3])
    assert (third.lat_deg, third.lon_deg, third.alt_m) == (47.397942, 8.545594, 12.0)
    peer.waypoint_request_list_send()
    assert peer.only("MISSION_COUNT").count == 5
    for seq in range(5):
        peer.mav.mission_request_int_send(1, 1, seq)
        got, sent = peer.only("MISSION_ITEM_INT"), item(seq)
        for name in ("seq", "frame", "command", "param1", "x", "y", "z"):
            assert getattr(got, name) == getattr(sent, name)
        assert got.current == (seq == 0)
    peer.mav.mission_ack_send(1, 1, 0)
    assert peer.arrived == b""


def test_pymavlinks_waypoint_loader_by_the_old_messages() -> None:
    """mavwp and mavutil's helpers speak MISSION_ITEM and MISSION_REQUEST."""
    bench = Bench()
    peer = bench.peers[0]
    loader = mavwp.MAVWPLoader(1, 1)
    for number in range(3):
        loader.add_latlonalt(47.3977 + number * 1e-4, 8.5456, 500.0)
    peer.waypoint_count_send(loader.count())
    for _ in range(3):
        peer.mav.send(loader.wp(peer.only("MISSION_REQUEST_INT").seq))
    assert peer.only("MISSION_ACK").type == ACCEPTED
    assert [round(i.lat_deg, 4) for i in bench.logic.mission] == [47.3977, 47.3978, 47.3979]
    peer.waypoint_request_list_send()
    assert peer.only("MISSION_COUNT").count == 3
    peer.waypoint_request_send(2)
    assert peer.only("MISSION_ITEM").x == pytest.approx(47.3979, abs=1e-5)
    peer.waypoint_set_current_send(2)
    assert peer.only("MISSION_CURRENT").seq == 2
    peer.waypoint_clear_all_send()
    assert peer.only("MISSION_ACK").type == ACCEPTED
    assert bench.logic.mission == ()


def test_items_that_are_no_places() -> None:
    bench = Bench()
    peer = bench.peers[0]
    items = [
        item(0, command=mavlink.MAV_CMD_NAV_TAKEOFF, x=2**31 - 1, y=2**31 - 1),
        item(1, command=mavlink.MAV_CMD_DO_CHANGE_SPEED, frame=2, param1=1.0, param2=5.0, x=7, y=0, z=0.0),
        item(2, command=mavlink.MAV_CMD_NAV_RETURN_TO_LAUNCH, frame=2, x=0, y=0, z=NAN),
    ]
    peer.mav.mission_count_send(1, 1, 3)
    for one in items:
        peer.mav.send(one)
    assert peer.only("MISSION_ACK").type == ACCEPTED
    takeoff, speed, home = bench.logic.mission
    assert math.isnan(takeoff.lat_deg) and math.isnan(takeoff.lon_deg) and takeoff.alt_m == 10.0
    assert (speed.params[:2], speed.lat_deg) == ((1.0, 5.0), 7.0)
    assert math.isnan(home.alt_m)
    for seq, sent in enumerate(items):
        peer.mav.mission_request_int_send(1, 1, seq)
        got = peer.only("MISSION_ITEM_INT")
        assert (got.x, got.y) == (sent.x, sent.y)


def test_an_empty_upload_clears() -> None:
    bench = Bench()
    peer = bench.peers[0]
    upload(peer, 2)
    assert upload(peer, 0) == ACCEPTED
    assert bench.logic.mission == ()
    peer.waypoint_request_list_send()
    assert peer.only("MISSION_COUNT").count == 0


def test_a_lost_item_is_asked_for_again() -> None:
    bench = Bench()
    peer = bench.peers[0]
    peer.mav.mission_count_send(1, 1, 2)
    assert peer.only("MISSION_REQUEST_INT").seq == 0
    bench.run(1.1)
    assert [m.seq for m in peer.drain("MISSION_REQUEST_INT")] == [0, 0, 0, 0]
    peer.mav.send(item(0))
    assert peer.only("MISSION_REQUEST_INT").seq == 1
    bench.run(0.3)
    assert peer.only("MISSION_REQUEST_INT").seq == 1
    peer.mav.send(item(1))
    assert peer.only("MISSION_ACK").type == ACCEPTED


def test_an_upload_that_stops_is_given_up_and_the_old_mission_stays() -> None:
    bench = Bench()
    peer = bench.peers[0]
    upload(peer, 4)
    peer.mav.mission_count_send(1, 1, 3)
    peer.mav.send(item(0))
    peer.drain()
    bench.run(4.9)
    assert bench.services.links[0].missions.uploading
    bench.run(0.5)
    assert not bench.services.links[0].missions.uploading
    messages = peer.drain("MISSION_ACK", "STATUSTEXT")
    assert messages[0].type == CANCELLED
    assert "item 1 not received" in messages[1].text
    assert len(bench.logic.mission) == 4
    peer.mav.send(item(1))
    assert peer.arrived == b""


def test_a_slow_sender_is_waited_for() -> None:
    bench = Bench()
    peer = bench.peers[0]
    peer.mav.mission_count_send(1, 1, 3)
    for seq in range(3):
        bench.run(3.0)
        peer.mav.send(item(seq))
    assert peer.only("MISSION_ACK").type == ACCEPTED


def test_wrong_numbers_do_not_confuse() -> None:
    bench = Bench()
    peer = bench.peers[0]
    peer.mav.mission_count_send(1, 1, 3)
    peer.drain()
    for seq in (2, 0, 0, 65535, 1, 0, 2):
        peer.mav.send(item(seq))
    assert peer.drain("MISSION_ACK")[-1].type == ACCEPTED
    assert [i.alt_m for i in bench.logic.mission] == [10.0, 11.0, 12.0]


def test_cancelled_by_its_sender() -> None:
    bench = Bench()
    peer = bench.peers[0]
    peer.mav.mission_count_send(1, 1, 3)
    peer.mav.send(item(0))
    peer.mav.mission_ack_send(1, 1, CANCELLED)
    peer.drain()
    bench.run(6.0)
    assert not peer.drain("MISSION_REQUEST_INT", "MISSION_ACK")
    assert bench.logic.calls == []


def test_a_new_count_begins_anew() -> None:
    bench = Bench()
    peer = bench.peers[0]
    peer.mav.mission_count_send(1, 1, 3)
    peer.mav.send(item(0))
    peer.drain()
    assert upload(peer, 2) == ACCEPTED
    assert len(bench.logic.mission) == 2


def test_too_many() -> None:
    bench = Bench()
    peer = bench.peers[0]
    peer.mav.mission_count_send(1, 1, MAX_ITEMS + 1)
    messages = peer.drain()
    assert messages[0].type == NO_SPACE
    assert str(MAX_ITEMS) in messages[1].text
    assert not bench.services.links[0].missions.uploading


def test_a_second_ground_station_waits_its_turn() -> None:
    bench = Bench()
    first = bench.peers[0]
    second = Peer(bench, 0, system=254)
    first.mav.mission_count_send(1, 1, 2)
    second.mav.mission_count_send(1, 1, 5)
    refused = second.only("MISSION_ACK")
    assert (refused.type, refused.target_system) == (ERROR, 254)
    second.mav.send(item(0))
    second.waypoint_clear_all_send()
    assert second.only("MISSION_ACK").type == ERROR
    first.mav.send(item(0))
    first.mav.send(item(1))
    assert first.only("MISSION_ACK").type == ACCEPTED
    assert upload_as(second, 254) == ACCEPTED


def upload_as(peer: Peer, system: int) -> int:
    peer.mav.mission_count_send(1, 1, 1)
    assert peer.only("MISSION_REQUEST_INT").target_system == system
    peer.mav.send(item(0))
    return int(peer.only("MISSION_ACK").type)


@pytest.mark.parametrize(
    ("changes", "result"),
    [
        ({"frame": mavlink.MAV_FRAME_LOCAL_NED}, mavlink.MAV_MISSION_UNSUPPORTED_FRAME),
        ({"frame": mavlink.MAV_FRAME_GLOBAL_TERRAIN_ALT_INT}, mavlink.MAV_MISSION_UNSUPPORTED_FRAME),
        ({"param1": math.inf}, mavlink.MAV_MISSION_INVALID_PARAM1),
        ({"param4": -math.inf}, mavlink.MAV_MISSION_INVALID_PARAM4),
        ({"x": 900_000_001}, mavlink.MAV_MISSION_INVALID_PARAM5_X),
        ({"x": 2**31 - 1}, mavlink.MAV_MISSION_INVALID_PARAM5_X),
        ({"y": -1_800_000_001}, mavlink.MAV_MISSION_INVALID_PARAM6_Y),
        ({"z": NAN}, mavlink.MAV_MISSION_INVALID_PARAM7),
        ({"z": 1e9}, mavlink.MAV_MISSION_INVALID_PARAM7),
        ({"mission_type": 1}, UNSUPPORTED),
    ],
)
def test_an_item_that_cannot_be_flown_ends_the_upload(changes: dict[str, Any], result: int) -> None:
    bench = Bench()
    peer = bench.peers[0]
    peer.mav.mission_count_send(1, 1, 2)
    peer.mav.send(item(0))
    peer.drain()
    peer.mav.send(item(1, **changes))
    assert peer.drain("MISSION_ACK")[-1].type == result
    assert bench.logic.mission == ()


def test_the_flight_logic_may_refuse() -> None:
    bench = Bench()
    peer = bench.peers[0]
    bench.logic.refusal = Refusal("First waypoint too far from home", temporary=False)
    peer.mav.mission_count_send(1, 1, 1)
    peer.drain()
    peer.mav.send(item(0))
    messages = peer.drain()
    assert messages[0].type == DENIED
    assert messages[1].text == "First waypoint too far from home"


def test_fences_and_rally_points_are_empty_and_cannot_be_written() -> None:
    bench = Bench()
    peer = bench.peers[0]
    for kind in (1, 2):
        peer.mav.mission_request_list_send(1, 1, kind)
        answer = peer.only("MISSION_COUNT")
        assert (answer.count, answer.mission_type) == (0, kind)
        peer.mav.mission_count_send(1, 1, 3, kind)
        assert peer.only("MISSION_ACK").type == UNSUPPORTED
        peer.mav.mission_count_send(1, 1, 0, kind)
        assert peer.only("MISSION_ACK").type == ACCEPTED
        peer.mav.mission_clear_all_send(1, 1, kind)
        assert peer.only("MISSION_ACK").mission_type == kind
    peer.mav.mission_request_list_send(1, 1, 77)
    assert peer.only("MISSION_ACK").type == UNSUPPORTED
    peer.mav.mission_write_partial_list_send(1, 1, 0, 1)
    assert peer.only("MISSION_ACK").type == UNSUPPORTED
    assert bench.logic.calls == []


def test_a_number_that_is_not_there() -> None:
    bench = Bench()
    peer = bench.peers[0]
    upload(peer, 2)
    peer.mav.mission_request_int_send(1, 1, 2)
    assert peer.only("MISSION_ACK").type == mavlink.MAV_MISSION_INVALID_SEQUENCE
    peer.waypoint_set_current_send(2)
    assert peer.texts() == "No mission item 2: there are 2"
    assert bench.logic.calls == [("set_mission", 2)]


def test_a_reader_sees_one_mission_even_if_it_changes_meanwhile() -> None:
    bench = Bench()
    peer = bench.peers[0]
    upload(peer, 2)
    peer.waypoint_request_list_send()
    peer.drain()
    bench.logic.mission = (MissionItem(WAYPOINT, RELATIVE, (0, 0, 0, 0), 1.0, 2.0, 99.0),)
    peer.mav.mission_request_int_send(1, 1, 1)
    assert peer.only("MISSION_ITEM_INT").z == 11.0
    peer.mav.mission_ack_send(1, 1, 0)
    peer.mav.mission_request_int_send(1, 1, 0)
    assert peer.only("MISSION_ITEM_INT").z == 99.0


def test_starting_a_mission_arms() -> None:
    bench = Bench()
    peer = bench.peers[0]
    upload(peer, 3)
    bench.logic.calls.clear()
    assert peer.command(mavlink.MAV_CMD_MISSION_START, 1, 2) == ACCEPTED
    assert bench.logic.calls == [("set_current", 1), ("set_mode", FlightMode.MISSION), ("arm", False)]
    assert peer.command(mavlink.MAV_CMD_DO_SET_MISSION_CURRENT, 2) == ACCEPTED
    assert bench.logic.calls[-1] == ("set_current", 2)


def test_progress_is_told() -> None:
    bench = Bench()
    peer = bench.peers[0]
    bench.run(1.0)
    assert peer.drain("MISSION_CURRENT")[-1].mission_state == mavlink.MISSION_STATE_NO_MISSION
    upload(peer, 3)
    bench.run(1.0)
    assert peer.drain("MISSION_CURRENT")[-1].mission_state == mavlink.MISSION_STATE_NOT_STARTED
    peer.command(mavlink.MAV_CMD_MISSION_START)
    bench.run(0.2)
    bench.services.links[0].rates.set_interval(mavlink.MAVLINK_MSG_ID_MISSION_CURRENT, 10_000, bench.t_ns)
    bench.run(0.02)
    messages = peer.drain("MISSION_CURRENT", "MISSION_ITEM_REACHED")
    current = [m for m in messages if m.get_type() == "MISSION_CURRENT"][-1]
    assert (current.mission_state, current.total, current.seq) == (mavlink.MISSION_STATE_ACTIVE, 3, 1)
    bench.run(2.0)
    messages += peer.drain("MISSION_CURRENT", "MISSION_ITEM_REACHED")
    assert [m for m in messages if m.get_type() == "MISSION_CURRENT"][-1].mission_state == 5  # complete
    assert {m.seq for m in messages if m.get_type() == "MISSION_ITEM_REACHED"} == {0, 1, 2}
