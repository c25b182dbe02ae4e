"""What ground stations hear of an aircraft on one of our boards, read back by pymavlink; and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pymavlink.dialects.v20 import common as dialect

from aeroloop.controllers.law.telemetry import BoardTelemetry
from aeroloop.controllers.law.telemetry_messages import SCHEDULED_MESSAGES, Aircraft
from aeroloop.core.signals import NS, Event, Origin

HOME = Origin(47.0, 8.0, 500.0)
GCS = (255, 190)
TRUTH = ("t_s", "vehicle", "x_m", "y_m", "z_m", "vx_m_s", "vy_m_s", "vz_m_s", "qw", "qx", "qy", "qz", "ground_m")
EAST_10_M = (2.0, 0.0, 10.0, 0.0, 5.0, 3.0, 4.0, 1.0, 1.0, 0.0, 0.0, 0.0, 2.0)  # nose to the east, 3 m above the ground
ANGLES = ("roll_rad", "pitch_rad", "yaw_rad")


class Station:
    """A ground station's end, with pymavlink's own parser and packer."""

    def __init__(self, telemetry: BoardTelemetry) -> None:
        self.telemetry = telemetry
        self.mav = dialect.MAVLink(None, *GCS)
        self.t_ns = 0

    def hears(self) -> dict[str, Any]:
        self.t_ns += NS
        return self._read(self.telemetry.step(self.t_ns))

    def asks(self, message: Any) -> dict[str, Any]:
        return self._read(self.telemetry.receive(message.pack(self.mav), self.t_ns))

    def _read(self, wire: bytes) -> dict[str, Any]:
        return {message.get_type(): message for message in self.mav.parse_buffer(wire) or ()}


@pytest.fixture
def station() -> Station:
    return Station(BoardTelemetry(Aircraft(3, dialect.MAV_TYPE_FIXED_WING, HOME)))


def test_before_the_flight_it_stands_by_and_in_it_is_where_its_rows_say(station: Station) -> None:
    heard = station.hears()
    assert set(heard) == {"HEARTBEAT", "SYS_STATUS"}
    assert heard["HEARTBEAT"].system_status == dialect.MAV_STATE_STANDBY
    station.telemetry.take("truth", TRUTH, EAST_10_M, 0)
    heard = station.hears()
    assert (heard["HEARTBEAT"].type, heard["HEARTBEAT"].get_srcSystem()) == (dialect.MAV_TYPE_FIXED_WING, 3)
    assert heard["HEARTBEAT"].base_mode & dialect.MAV_MODE_FLAG_SAFETY_ARMED
    local, place, hud = heard["LOCAL_POSITION_NED"], heard["GLOBAL_POSITION_INT"], heard["VFR_HUD"]
    assert (local.x, local.y, local.z, local.vx, local.vy, local.vz) == pytest.approx((0, 10, -5, 4, 3, -1))
    assert local.time_boot_ms == 2000
    assert place.lat == pytest.approx(47.0e7, abs=2)
    assert place.lon == pytest.approx(
        8.0e7 + 1e7 * math.degrees(10.0 / (6378137.0 * math.cos(math.radians(47.0)))), abs=5
    )
    assert (place.alt, place.relative_alt, place.hdg) == (505_000, 3_000, 9_000)
    assert (place.vx, place.vy, place.vz) == (400, 300, -100)
    assert (hud.groundspeed, hud.climb, hud.heading) == pytest.approx((5.0, 1.0, 90))
    assert heard["ATTITUDE"].yaw == pytest.approx(math.pi / 2)


def test_an_estimate_comes_before_the_truth(station: Station) -> None:
    station.telemetry.take("truth", TRUTH, EAST_10_M, 0)
    station.telemetry.take(
        "estimate", ("t_s", "vehicle", *TRUTH[2:8], *ANGLES), (2.0, 0.0, 11.0, *EAST_10_M[3:8], 0.1, 0.0, 0.5), 0
    )
    heard = station.hears()
    assert heard["LOCAL_POSITION_NED"].y == pytest.approx(11.0)
    assert heard["ATTITUDE"].roll == pytest.approx(0.1)
    assert heard["ATTITUDE"].yaw == pytest.approx(math.pi / 2 - 0.5)
    station.telemetry.take("estimate", TRUTH, (2.1, 0.0, *(math.nan,) * 11), 0)
    assert station.hears()["LOCAL_POSITION_NED"].y == pytest.approx(10.0), "an estimate that is lost is none"


def test_an_aircraft_without_a_place_on_earth_has_none_to_tell() -> None:
    station = Station(BoardTelemetry(Aircraft(1, 0, None)))
    station.telemetry.take("truth", TRUTH, EAST_10_M, 0)
    assert "GLOBAL_POSITION_INT" not in (heard := station.hears())
    assert heard["VFR_HUD"].alt == pytest.approx(5.0)


def test_rates_are_as_the_table_says_and_as_a_station_asks(station: Station) -> None:
    station.telemetry.take("truth", TRUTH, EAST_10_M, 0)

    def counted() -> dict[int, int]:
        begin_ns, found = station.t_ns, {telling.msg_id: 0 for telling in SCHEDULED_MESSAGES}
        for tick in range(1, 101):
            for message in station.mav.parse_buffer(station.telemetry.step(begin_ns + tick * NS // 100)) or ():
                found[message.get_msgId()] += 1
        station.t_ns = begin_ns + NS
        return found

    counted()
    assert counted() == {telling.msg_id: telling.rate_Hz for telling in SCHEDULED_MESSAGES}
    every = dialect.MAVLink_command_long_message(3, 1, dialect.MAV_CMD_SET_MESSAGE_INTERVAL, 0, 30, 2e4, 0, 0, 0, 0, 0)
    assert station.asks(every)["COMMAND_ACK"].result == dialect.MAV_RESULT_ACCEPTED
    counted()
    assert counted()[30] == 50


def test_commands_parameters_and_missions_are_refused_in_the_protocols_words(station: Station) -> None:
    for command in (dialect.MAV_CMD_COMPONENT_ARM_DISARM, dialect.MAV_CMD_DO_REPOSITION, dialect.MAV_CMD_NAV_TAKEOFF):
        ack = station.asks(dialect.MAVLink_command_long_message(3, 1, command, 0, 1, 0, 0, 0, 0, 0, 0))["COMMAND_ACK"]
        assert (ack.command, ack.result) == (command, dialect.MAV_RESULT_UNSUPPORTED)
        assert (ack.target_system, ack.target_component) == GCS
    assert station.asks(dialect.MAVLink_mission_request_list_message(3, 1))["MISSION_COUNT"].count == 0
    upload = station.asks(dialect.MAVLink_mission_count_message(3, 1, 4))["MISSION_ACK"]
    assert upload.type == dialect.MAV_MISSION_UNSUPPORTED
    error = station.asks(dialect.MAVLink_param_request_read_message(3, 1, b"MPC_XY_P", -1))["PARAM_ERROR"]
    assert (error.param_id, error.error) == ("MPC_XY_P", dialect.MAV_PARAM_ERROR_DOES_NOT_EXIST)
    assert station.asks(dialect.MAVLink_param_request_list_message(3, 1)) == {}
    station.asks(dialect.MAVLink_set_mode_message(3, 1, 0))
    texts = [
        m.text
        for m in station.mav.parse_buffer(station.telemetry.step(station.t_ns + NS))
        if m.get_type() == "STATUSTEXT"
    ]
    assert texts == [
        "this aircraft takes no commands over MAVLink",
        "this board has no parameters: see the scenario",
    ], "each once a second at most"


def test_what_is_meant_for_another_and_what_cannot_be_read_is_left_alone(station: Station) -> None:
    for system in (1, 4):
        arm = dialect.MAVLink_command_long_message(system, 1, dialect.MAV_CMD_COMPONENT_ARM_DISARM, 0, *(0,) * 7)
        assert station.asks(arm) == {}
    nan = dialect.MAVLink_command_long_message(3, 1, dialect.MAV_CMD_REQUEST_MESSAGE, 0, math.nan, *(0,) * 6)
    assert station.asks(nan)["COMMAND_ACK"].result == dialect.MAV_RESULT_UNSUPPORTED
    assert station.telemetry.receive(bytes(range(256)) * 4, 0) == b""


def test_events_are_texts_once_a_second_each(station: Station) -> None:
    names = ("t_s", "vehicle", "code", "value")
    for cycle in range(20):
        station.telemetry.take("event", names, (1.0, 0.0, Event.SENSORS_LOST, cycle), cycle * NS // 10)
    station.telemetry.take("board_event", names, (1.0, 0.0, Event.STARTED, 4.0), NS)
    station.telemetry.take("board_event", names, (1.0, 0.0, 9999.0, 4.0), NS)
    texts = [m for m in station.mav.parse_buffer(station.telemetry.step(2 * NS)) if m.get_type() == "STATUSTEXT"]
    assert [text.text for text in texts] == ["sensors lost (0)", "sensors lost (10)", "started (4)"]
    assert [text.severity for text in texts] == [4, 4, 6]
