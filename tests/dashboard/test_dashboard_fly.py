"""The fly page's decisions: what can be ordered when, what a plan becomes, what a parameter may be."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymavlink.dialects.v20 import common as dialect
from stream_tables import MULTIROTOR
from tiltrotor_scenarios import tiltrotor

from aeroloop.control.flight_gains import GAINS
from aeroloop.controllers.pixhawk.parameters import TABLE
from aeroloop.controllers.routing import BENCH
from aeroloop.core import scenario_files
from aeroloop.core.errors import LinkError
from aeroloop.core.parameter_numbers import by_number
from aeroloop.core.scenario import Scenario
from aeroloop.dashboard import family_page, from_browser
from aeroloop.dashboard.fly_commands import (
    checked,
    connected,
    impossible,
    no_aircraft,
    other_commander,
    take_command,
    takeoff_height,
)
from aeroloop.dashboard.fly_page_state import MOST_ENTRIES, MOST_WAYPOINTS, FlyPageState, state_of
from aeroloop.dashboard.parameters_panel import changes, problem, table_rows
from aeroloop.dashboard.stick_driver import Driver
from aeroloop.dashboard.watched_flight import LinkInfo, WatchedFlight
from aeroloop.families.multirotor.page import COMMANDS, known_parameters
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.ground.commands.state import VehicleState
from aeroloop.protocols.flight_modes import Firmware, modes_of
from aeroloop.router.control import ControlPort
from aeroloop.world.earth import Earth, Home


def _state(*, since_s: float = 0.0, **told: Any) -> VehicleState:
    at_ns = time.monotonic_ns() - round(since_s * 1e9)
    return VehicleState(1, 1, at_ns, at_ns, **told)


@pytest.fixture
def watched(tmp_path: Path) -> WatchedFlight:
    watched = WatchedFlight(tmp_path)
    watched.scenario = _quadrotor()
    watched.running = True
    return watched


def _quadrotor(**table: Any) -> Scenario:
    whole = {"name": "test", "pace": "real", "vehicle": {"kind": "quadrotor"}, **table}
    return scenario_files.of_table(whole, "test")


def test_orders_wait_for_an_aircraft_that_listens(watched: WatchedFlight) -> None:
    assert no_aircraft(watched, _state()) == ""
    assert "no MAVLink" in no_aircraft(watched, None)
    assert "no MAVLink" in no_aircraft(watched, _state(since_s=60.0))
    watched.running = False
    assert no_aircraft(watched, _state()) == "no flight is running"


def test_aircraft_that_take_no_orders_say_why(watched: WatchedFlight) -> None:
    watched.scenario = tiltrotor(name="test")
    assert "sticks" in no_aircraft(watched, None)
    assert "compiled" in family_page.of(watched.scenario).no_parameters
    watched.scenario = _quadrotor(pace="lockstep")
    assert "--pace real" in no_aircraft(watched, None)
    assert family_page.of(watched.scenario).no_parameters == ""


@pytest.mark.parametrize(
    ("order", "told", "why"),
    [
        ("arm", {}, ""),
        ("arm", {"armed": True}, "armed"),
        ("disarm", {}, "not armed"),
        ("takeoff", {}, "arm first"),
        ("takeoff", {"armed": True}, ""),
        ("takeoff", {"armed": True, "landed": "in_air"}, "in the air"),
        ("land", {"armed": True, "landed": "in_air"}, ""),
        ("hold", {}, "arm first"),
        ("goto", {"armed": True}, "click the map"),
        ("mission-upload", {}, "waypoints"),
        ("mission-start", {"mission_count": 0}, "upload"),
        ("set-mode", {}, ""),
    ],
)
def test_a_button_says_why_it_is_grey(order: str, told: dict[str, Any], why: str) -> None:
    said = impossible(order, _state(**told), waypoints=0, target=False)

    assert (why in said) if why else said == ""


def test_a_plan_and_a_target_open_their_orders() -> None:
    state = _state(armed=True, mission_count=3)

    assert impossible("mission-upload", state, waypoints=2, target=False) == ""
    assert impossible("goto", state, waypoints=0, target=True) == ""
    assert impossible("mission-start", state, waypoints=0, target=False) == ""


def test_every_mode_of_the_page_is_one_of_the_autopilots() -> None:
    assert set(COMMANDS.modes) <= set(modes_of(Firmware.PX4))
    # ArduCopter takes off in GUIDED, and every landing of it may be one on a target.
    assert set(COMMANDS.modes) - set(modes_of(Firmware.COPTER)) == {"takeoff", "precland"}


def test_a_heartbeat_ages() -> None:
    assert connected(_state())
    assert not connected(_state(since_s=60.0))
    assert not connected(None)


@settings(max_examples=30)
@given(st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers())
def test_a_typed_height_is_a_number_in_range_or_a_sentence(value: Any) -> None:
    try:
        height_m = takeoff_height(value)
    except ValueError as error:
        assert str(error).startswith("take-off height in m: expected")
    else:
        assert 0.5 <= height_m <= 80.0
        assert not isinstance(value, bool)


def test_bounds_are_named() -> None:
    with pytest.raises(ValueError, match="expected 0 to 5, not 6"):
        checked(6, (0, 5), "hold")


@pytest.mark.parametrize(
    "told",
    [None, "12", [1], [1, 2, 3], [1, math.inf], [1, math.nan], [1, None], [1, True], [1, 11], {"0": 1}, [10**999, 1]],
)
def test_two_numbers_are_two_numbers(told: object) -> None:
    assert from_browser.numbers(told, (0, 10), (0, 10)) is None
    assert from_browser.numbers([1, 2.5], (0, 10), (0, 10)) == (1.0, 2.5)


def test_an_order_stands_in_the_log_from_pending_to_its_outcome() -> None:
    state = FlyPageState()
    entry = state.begin(12.34, "arm")
    assert entry.pending and str(entry) == "12.3 s arm: …"

    before = state.revision
    state.finish(entry, "accepted", "ok")

    assert str(state.log[0]) == "12.3 s arm: accepted"
    assert state.revision > before
    for number in range(2 * MOST_ENTRIES):
        state.begin(float(number), "arm")
    assert len(state.log) == MOST_ENTRIES


def test_a_plan_is_bounded_and_forgives_numbers_that_are_gone() -> None:
    state = FlyPageState()
    for _ in range(MOST_WAYPOINTS):
        assert state.add_waypoint(1.0, 2.0, 3.0)
    assert not state.add_waypoint(1.0, 2.0, 3.0)

    state.remove_waypoint(MOST_WAYPOINTS + 5)
    state.change_waypoint(-1, height_m=9.0)
    assert len(state.plan) == MOST_WAYPOINTS

    state.change_waypoint(0, place=(7.0, 8.0))
    state.change_waypoint(0, hold_s=4.0)
    state.change_waypoint(0, height_m=6.0)
    assert (state.plan[0].pos_m, state.plan[0].hold_s) == ((7.0, 8.0, 6.0), 4.0)
    assert state.plan[1].pos_m == (1.0, 2.0, 3.0)


def test_a_plan_becomes_a_mission_that_takes_off_where_the_aircraft_started() -> None:
    earth = Earth(Home())
    state = FlyPageState()
    state.add_waypoint(20.0, 10.0, 6.0)
    state.change_waypoint(0, hold_s=3.0)
    state.ending = "land"

    takeoff, waypoint, land = state.items(lambda pos_W: earth.geodetic(pos_W)[:2], (5.0, 0.0))

    assert takeoff.command == dialect.MAV_CMD_NAV_TAKEOFF and takeoff.alt_m == 6.0
    assert earth.pos_W(takeoff.lat_deg, takeoff.lon_deg, 488.0)[:2] == pytest.approx((5.0, 0.0), abs=0.01)
    assert waypoint.command == dialect.MAV_CMD_NAV_WAYPOINT and waypoint.params[0] == 3.0
    assert earth.pos_W(waypoint.lat_deg, waypoint.lon_deg, 488.0)[:2] == pytest.approx((20.0, 10.0), abs=0.01)
    assert land.command == dialect.MAV_CMD_NAV_LAND


def test_the_end_of_the_sticks_is_written_once_and_frees_them() -> None:
    class Ended(Driver):
        def drive(self) -> None:
            return

    state = FlyPageState()
    state.hands.take("page")
    state.driver = Ended(state.hands, lambda: True)
    state.driver.start()
    state.driver._thread.join(20)

    state.note_end_of_sticks(3.0)
    state.note_end_of_sticks(4.0)

    assert [str(entry) for entry in state.log] == ["3.0 s sticks: the flight has ended"]
    assert state.hands.holder == ""


def _line(number: float, role: float) -> tuple[float, ...]:
    fields = MULTIROTOR["router_link"].names
    told = {"t_s": 5.0, "link": number, "up": 1.0, "role": role}
    return tuple(told.get(name, 0.0) for name in fields)


def test_another_line_that_commands_is_named(watched: WatchedFlight) -> None:
    names = ("pixhawk-0", "ground", BENCH)
    watched.links = [LinkInfo(number, name, "", "", "mavlink", 0) for number, name in enumerate(names)]
    for number, role in enumerate((0.0, 11.0, 1.0)):
        watched.take(MULTIROTOR["router_link"], _line(number, role))
    assert other_commander(watched) == "ground"

    watched.take(MULTIROTOR["router_link"], _line(1.0, 1.0))
    watched.take(MULTIROTOR["router_link"], _line(2.0, 11.0))
    assert other_commander(watched) == ""


def test_command_is_taken_at_the_flights_router(
    watched: WatchedFlight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LinkError, match="no flight"):
        take_command(watched)

    asked: list[str] = []
    monkeypatch.chdir(tmp_path)  # a socket's name is short
    port = ControlPort(Path())
    watched._launch = LaunchSettings(scenario=_quadrotor(), folder=".", log="", supervisor_pid=1, core_draw=0)
    asking = threading.Thread(target=take_command, args=(watched,))
    asking.start()
    while asking.is_alive():
        port.serve({"take-over": asked.append})
    port.close()

    assert asked == [BENCH]


def test_a_desk_belongs_to_its_flight(watched: WatchedFlight) -> None:
    watched.flight_id = "one"
    first = state_of(watched)
    assert state_of(watched) is first

    watched.flight_id = "two"
    assert state_of(watched) is not first


def test_gains_come_first_and_every_parameter_is_there() -> None:
    names = list(known_parameters())
    gains = {gain.name for gain in GAINS}

    assert set(names) == gains | {row.name for row in TABLE}
    assert set(names[: len(gains)]) == gains


def test_a_search_finds_by_name_and_by_meaning() -> None:
    values = {name: row.default for name, row in known_parameters().items()}

    assert [row["name"] for row in table_rows(COMMANDS, values, "xy_p")] == ["MPC_XY_P"]
    assert "RTL_RETURN_ALT" in [row["name"] for row in table_rows(COMMANDS, values, "return height")]
    assert len(table_rows(COMMANDS, values)) == len(values)


def test_what_differs_from_its_default_is_marked() -> None:
    values = {"MPC_XY_P": 0.95, "MPC_Z_P": 1.5, "SOME_OTHER": 3.0}
    rows = {row["name"]: row for row in table_rows(COMMANDS, values, picked="MPC_Z_P")}

    assert not rows["MPC_XY_P"]["changed"]  # as a float32 has it, too:
    assert not table_rows(COMMANDS, {"MPC_XY_P": 0.949999988079071})[0]["changed"]
    assert rows["MPC_Z_P"]["changed"] and rows["MPC_Z_P"]["picked"]
    assert rows["SOME_OTHER"]["default"] == ""


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("MPC_XY_P", 1.2, ""),
        ("MPC_XY_P", 99.0, "0.1 to 2"),
        ("MPC_XY_P", None, "number"),
        ("MPC_XY_P", math.nan, "number"),
        ("NAV_DLL_ACT", 1.5, "whole"),
        ("NOT_OURS", 5.0, ""),
        ("NOT_OURS", 1e39, "float"),
    ],
)
def test_a_value_that_cannot_be_is_refused_before_it_is_sent(name: str, value: Any, why: str) -> None:
    said = problem(known_parameters().get(name), value)

    assert (why in said) if why else said == ""


def test_changes_of_anybody_are_shown_by_name(watched: WatchedFlight) -> None:
    number = by_number(known_parameters()).index("MPC_XY_P")
    stream = MULTIROTOR["parameter_change"]
    watched.store.add(stream, (3.0, 0.0, float(number), 0.95, 1.2))
    watched.store.add(stream, (4.0, 0.0, 1e6, 0.0, 1.0))

    assert [str(change) for change in changes(watched, known_parameters(), 0)] == ["3.0 s MPC_XY_P 0.95 → 1.2"]
