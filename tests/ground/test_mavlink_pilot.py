"""The pilot at the ground station, and the missions that he brings."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import pytest
from pymavlink.dialects.v20 import common as dialect

from aeroloop.core.errors import ConfigError
from aeroloop.core.signals import NS, Event
from aeroloop.ground.mavlink_pilot import MavlinkPilot
from aeroloop.ground.missions import Item, mission, read_plan
from aeroloop.ground.pilot_commands import PilotCommand, PilotConfig, Waypoint
from aeroloop.ground.stick import Deflection

TICK_NS = NS // 50


def geodetic(pos_m: tuple[float, float, float]) -> tuple[float, float]:
    return 47.0 + pos_m[1] * 1e-5, 8.0 + pos_m[0] * 1e-5


class Desk:
    """The autopilot's end of the pilot's link, with pymavlink: keeps what it was told, and says what a test wants."""

    def __init__(self, pilot: MavlinkPilot) -> None:
        self.pilot = pilot
        self.heard: list[Any] = []
        self.t_ns = 0
        self._mav = dialect.MAVLink(None, srcSystem=1, srcComponent=1)
        self.say(dialect.MAVLink_heartbeat_message(2, 12, 0, 0, 3, 3))

    def say(self, message: Any) -> None:
        self.pilot.receive(message.pack(self._mav), self.t_ns)

    def run(self, until_s: float) -> list[Any]:
        """What comes until then."""
        fresh = []
        while self.t_ns < until_s * NS:
            fresh += self._mav.parse_buffer(bytearray(self.pilot.step(self.t_ns))) or []
            self.t_ns += TICK_NS
        self.heard += fresh
        return fresh


def kinds(messages: list[Any]) -> list[str]:
    return [message.get_type() for message in messages if message.get_type() != "HEARTBEAT"]


def ack(command: int, result: int = dialect.MAV_RESULT_ACCEPTED) -> Any:
    return dialect.MAVLink_command_ack_message(command, result)


def test_nothing_is_said_before_the_autopilot_speaks() -> None:
    pilot = MavlinkPilot(PilotConfig(commands=(PilotCommand(at_s=0.0, do="arm"),)), (), 1)
    assert all(pilot.step(t_ns) == b"" for t_ns in range(0, 2 * NS, TICK_NS))


def test_an_order_is_repeated_until_it_is_granted_and_the_next_waits() -> None:
    orders = (PilotCommand(at_s=1.0, do="arm"), PilotCommand(at_s=1.1, do="takeoff", value=4.0))
    desk = Desk(MavlinkPilot(PilotConfig(commands=orders), (), 1))
    assert kinds(desk.run(0.99)) == []
    first = desk.run(2.4)
    assert kinds(first) == ["COMMAND_LONG"] * 3, "every half second"
    assert {(m.command, m.param1) for m in first if m.get_type() == "COMMAND_LONG"} == {(400, 1.0)}
    desk.say(ack(400, dialect.MAV_RESULT_TEMPORARILY_REJECTED))
    desk.say(ack(22))
    assert kinds(desk.run(2.6)) == ["COMMAND_LONG"], "neither a refusal nor another command's answer is a yes"
    desk.say(ack(400))
    take_off = [m for m in desk.run(2.7) if m.get_type() != "HEARTBEAT"]
    assert kinds(take_off) == ["PARAM_SET", "COMMAND_LONG"]
    assert (take_off[0].param_id, take_off[0].param_value) == ("MIS_TAKEOFF_ALT", 4.0)
    assert take_off[1].command == 22
    desk.say(ack(22))
    assert kinds(desk.run(6.0)) == []
    assert desk.pilot.done


def test_who_is_refused_to_the_end_says_so_and_goes_on() -> None:
    orders = (PilotCommand(at_s=1.0, do="mission", give_up_s=1.0), PilotCommand(at_s=1.5, do="land"))
    desk = Desk(MavlinkPilot(PilotConfig(commands=orders), (), 1))
    desk.run(1.5)
    desk.say(dialect.MAVLink_statustext_message(4, b"No mission"))
    desk.run(5.0)
    (given_up,) = desk.pilot.given_up
    assert (given_up.number, given_up.pilot_command.do, given_up.reason) == (0, "mission", "No mission")
    modes = [(m.param2, m.param3) for m in desk.heard if m.get_type() == "COMMAND_LONG"]
    assert modes[0] == (4.0, 4.0)
    assert modes[-1] == (4.0, 6.0)


def test_a_parameter_is_set_until_it_is_echoed() -> None:
    order = PilotCommand(at_s=0.0, do="set", parameter="RTL_RETURN_ALT", value=12.0)
    desk = Desk(MavlinkPilot(PilotConfig(commands=(order,)), (), 1))
    assert kinds(desk.run(0.9)) == ["PARAM_SET"] * 2
    desk.say(dialect.MAVLink_param_value_message(b"OTHER", 1.0, 9, 2, 0))
    assert not desk.pilot.done
    desk.say(dialect.MAVLink_param_value_message(b"RTL_RETURN_ALT", 12.0, 9, 2, 1))
    assert desk.pilot.done


def test_a_parameter_that_keeps_its_value_was_refused() -> None:
    order = PilotCommand(at_s=0.0, do="set", parameter="RTL_RETURN_ALT", value=1200.0, give_up_s=1.0)
    desk = Desk(MavlinkPilot(PilotConfig(commands=(order,)), (), 1))
    desk.run(0.4)
    desk.say(dialect.MAVLink_param_value_message(b"RTL_RETURN_ALT", 30.0, 9, 2, 1))
    assert not desk.pilot.done
    desk.run(2.0)
    assert [given_up.number for given_up in desk.pilot.given_up] == [0]


def test_a_whole_parameter_is_set_as_one_once_its_kind_is_known() -> None:
    order = PilotCommand(at_s=0.0, do="set", parameter="NAV_DLL_ACT", value=3.0)
    desk = Desk(MavlinkPilot(PilotConfig(commands=(order,)), (), 1))

    def told(value: int) -> Any:
        as_float = struct.unpack("<f", struct.pack("<i", value))[0]
        return dialect.MAVLink_param_value_message(b"NAV_DLL_ACT", as_float, dialect.MAV_PARAM_TYPE_INT32, 2, 1)

    desk.run(0.1)
    desk.say(told(2))
    again = [m for m in desk.run(0.2) if m.get_type() == "PARAM_SET"]
    assert [m.param_type for m in again] == [dialect.MAV_PARAM_TYPE_INT32]
    assert struct.pack("<f", again[0].param_value) == struct.pack("<i", 3)
    desk.say(told(3))
    assert desk.pilot.done


@pytest.mark.parametrize("height_m", [0.2, 100.0])
def test_a_take_off_height_that_would_not_be_obeyed_is_refused(height_m: float) -> None:
    with pytest.raises(ValueError, match=r"0\.5 to 80 m"):
        PilotCommand(at_s=0.0, do="takeoff", value=height_m)


ITEMS = (Item(22, 47.0, 8.0, 5.0), Item(16, 47.1, 8.1, 5.0, params=(2.0, 0.0, 0.0, math.nan)))


def test_the_mission_is_uploaded_before_it_is_flown() -> None:
    config = PilotConfig(commands=(PilotCommand(at_s=0.0, do="mission"),))
    desk = Desk(MavlinkPilot(config, ITEMS, 1))
    counts = [m for m in desk.run(2.1) if m.get_type() == "MISSION_COUNT"]
    assert [m.count for m in counts] == [2, 2, 2], "asked again each second"
    assert "COMMAND_LONG" not in kinds(desk.heard)
    desk.say(dialect.MAVLink_mission_request_int_message(255, 190, 1))
    desk.say(dialect.MAVLink_mission_request_int_message(255, 190, 7))
    (item,) = (m for m in desk.run(2.2) if m.get_type() == "MISSION_ITEM_INT")
    assert (item.seq, item.command, item.x, item.y, item.z) == (1, 16, 471000000, 81000000, 5.0)
    assert item.param1 == 2.0 and math.isnan(item.param4)
    desk.say(dialect.MAVLink_mission_ack_message(255, 190, dialect.MAV_MISSION_ERROR))
    assert "COMMAND_LONG" not in kinds(desk.run(2.4))
    desk.say(dialect.MAVLink_mission_ack_message(255, 190, dialect.MAV_MISSION_ACCEPTED))
    assert kinds(desk.run(2.6)) == ["COMMAND_LONG"]


def test_the_stick_goes_out_twenty_times_a_second_from_its_start_on() -> None:
    config = PilotConfig(stick_start_s=1.0)
    desk = Desk(MavlinkPilot(config, (), 1, lambda t_s: Deflection(forward=0.5, left=0.25, up=min(t_s, 1.0), yaw=-1.0)))
    assert "MANUAL_CONTROL" not in kinds(desk.run(0.98))
    sticks = [m for m in desk.run(2.98) if m.get_type() == "MANUAL_CONTROL"]
    assert len(sticks) == pytest.approx(40, abs=7), "as near as the steps allow"
    assert (sticks[0].x, sticks[0].y, sticks[0].z, sticks[0].r) == (500, -250, 500, 1000)
    assert sticks[-1].z == 1000


def test_the_link_falls_silent_where_the_scenario_says_so() -> None:
    desk = Desk(MavlinkPilot(PilotConfig(heartbeat_until_s=2.5), (), 1))
    assert len(desk.run(2.4)) == 3
    assert desk.run(6.0) == []


def test_waypoints_become_items() -> None:
    points = (Waypoint(pos_m=(0.0, 0.0, 5.0)), Waypoint(pos_m=(100.0, 50.0, 7.0), hold_s=3.0, speed_m_s=2.0))
    items = mission(PilotConfig(waypoints=points), geodetic)
    assert [item.command for item in items] == [22, 16, 178, 16, 20]
    assert items[0].alt_m == 5.0
    assert (items[3].lat_deg, items[3].lon_deg, items[3].alt_m) == (47.0005, 8.001, 7.0)
    assert items[3].params[0] == 3.0
    assert items[2].params[1] == 2.0
    assert [item.command for item in mission(PilotConfig(waypoints=points, ending="land"), geodetic)][-1] == 21
    assert [item.command for item in mission(PilotConfig(waypoints=points, ending="hold"), geodetic)][-1] == 16
    assert mission(PilotConfig(), geodetic) == ()


def plan(tmp_path: Path, *items: dict[str, Any]) -> Path:
    path = tmp_path / "x.plan"
    path.write_text(json.dumps({"fileType": "Plan", "mission": {"items": items}}), encoding="utf-8")
    return path


GOOD = {"type": "SimpleItem", "command": 16, "frame": 3, "params": [1, 0, 0, None, 47.0, 8.0, 20], "autoContinue": True}


def test_a_plan_of_qgroundcontrol_is_read(tmp_path: Path) -> None:
    (item,) = read_plan(plan(tmp_path, GOOD))
    assert (item.command, item.frame, item.lat_deg, item.lon_deg, item.alt_m) == (16, 6, 47.0, 8.0, 20.0)
    assert item.params[0] == 1.0 and math.isnan(item.params[3])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"type": "ComplexItem"}, "mission item 0: expected a SimpleItem, not 'ComplexItem'"),
        ({"params": [1, 2]}, "mission item 0: expected seven params"),
        ({"params": [0, 0, 0, 0, None, 8.0, 2]}, "expected latitude, longitude and altitude as numbers"),
        ({"command": "16"}, "expected command and frame as numbers"),
    ],
)
def test_what_cannot_be_flown_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_plan(plan(tmp_path, {**GOOD, **change}))


def test_a_file_that_is_no_plan_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.plan"
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(ConfigError, match="expected a plan of QGroundControl"):
        read_plan(path)
    with pytest.raises(ConfigError, match="at most 1000"):
        read_plan(plan(tmp_path, *[GOOD] * 1001))


def test_a_place_to_go_to_is_sent_as_whole_numbers_and_what_was_done_is_noted() -> None:
    order = PilotCommand(at_s=1.0, do="goto", pos_m=(5.0, 6.0, 7.0))
    pilot = MavlinkPilot(PilotConfig(commands=(order,)), (), 1, places={0: (47.1234567, 8.7654321, 495.0)})
    desk = Desk(pilot)
    sent = [message for message in desk.run(1.1) if message.get_type() == "COMMAND_INT"]
    assert [(m.command, m.frame, m.x, m.y, m.z) for m in sent] == [
        (dialect.MAV_CMD_DO_REPOSITION, dialect.MAV_FRAME_GLOBAL, 471234567, 87654321, 495.0)
    ]
    assert int(sent[0].param2) == dialect.MAV_DO_REPOSITION_FLAGS_CHANGE_MODE
    assert math.isnan(sent[0].param4), "its heading stays"
    desk.say(ack(dialect.MAV_CMD_DO_REPOSITION))
    assert pilot.done
    assert [(done.event, done.number) for done in pilot.done_so_far] == [
        (Event.COMMAND_SENT, 0),
        (Event.COMMAND_ACCEPTED, 0),
    ]
    assert pilot.done_so_far[0].t_ns == NS


@pytest.mark.parametrize(("do", "pos_m"), [("goto", None), ("land", (1.0, 2.0, 3.0))])
def test_a_place_belongs_to_goto_and_goto_needs_one(do: Any, pos_m: Any) -> None:
    with pytest.raises(ValueError, match="pos_m belongs to `goto`"):
        PilotCommand(at_s=1.0, do=do, pos_m=pos_m)
