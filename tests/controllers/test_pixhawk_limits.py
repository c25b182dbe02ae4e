"""One table of limits: what the MAVLink protocols accept the flight logic accepts too, up to and past every end."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pixhawk_follower import ORIGIN, Follower
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.controllers.pixhawk import limits
from aeroloop.controllers.pixhawk.autopilot import PixhawkAutopilot
from aeroloop.controllers.pixhawk.command_protocol import CommandProtocol
from aeroloop.controllers.pixhawk.limits import Limit
from aeroloop.controllers.pixhawk.mission import FLOWN, OBEYED, SKIPPED, check
from aeroloop.controllers.pixhawk.mission_geodesy import geodetic_from_local
from aeroloop.controllers.pixhawk.mission_protocol import MissionProtocol
from aeroloop.controllers.pixhawk.parameters import TABLE
from aeroloop.controllers.pixhawk.statustext import StatusTexts
from aeroloop.controllers.pixhawk.types import Refusal

ACCEPTED, DENIED = mavlink.MAV_RESULT_ACCEPTED, mavlink.MAV_RESULT_DENIED
ABOVE_SEA, ABOVE_HOME = mavlink.MAV_FRAME_GLOBAL_INT, mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT
GROUND_STATION = (255, 190)
OPEN = 2**31 - 1


def around(limit: Limit) -> st.SearchStrategy[float]:
    """Both ends, their neighbours on either side, and anything else."""
    edges = [edge for end in (limit.low, limit.high) for edge in (end, *_beside(end))]
    return st.sampled_from(edges) | st.floats(2 * limit.low - 1.0, 2 * limit.high + 1.0)


def _beside(value: float) -> tuple[float, float]:
    step = 1e-6 * max(1.0, abs(value))
    return value - step, value + step


class Watched(PixhawkAutopilot):
    """Keeps what the flight logic answered to the last request that reached it."""

    answer: Refusal | str | None = "not asked"

    def take_off(self, height_m: float | None) -> Refusal | None:
        self.answer = super().take_off(height_m)
        return self.answer

    def go_to(self, lat_deg: float, lon_deg: float, alt_m: float, yaw_rad: float | None) -> Refusal | None:
        self.answer = super().go_to(lat_deg, lon_deg, alt_m, yaw_rad)
        return self.answer


def airborne() -> tuple[Watched, CommandProtocol]:
    logic = Watched(Follower().logic.parameters)
    Follower(logic=logic).airborne()
    set_current = MissionProtocol(logic, StatusTexts()).set_current
    return logic, CommandProtocol(logic, logic.parameters, geodetic_from_local, StatusTexts(), {}, set_current)


BRAIN, COMMANDS = airborne()


def ask(number: int, frame: int, *params: float, x: int = 0, y: int = 0, z: float = 0.0) -> tuple[int, str]:
    """The result and the sentence that came with it."""
    BRAIN.answer = "not asked"
    filled = (*params, *[0.0] * (4 - len(params)))
    message = mavlink.MAVLink_command_int_message(1, 1, frame, number, 0, 0, *filled, x, y, z)
    ack, *texts = COMMANDS.handle(message, GROUND_STATION)
    return ack.result, b"".join(text.text.encode() for text in texts).decode()


def holds(limit: Limit, value: float, answered: tuple[int, str]) -> None:
    """Accepted by both within the limit; else refused by the protocol, in words that name what is wrong."""
    result, sentence = answered
    if limit.allows(value):
        assert (result, sentence) == (ACCEPTED, "")
    else:
        assert result == DENIED
        assert BRAIN.answer == "not asked"
        assert sentence.startswith(limit.name.capitalize())
        assert f"allowed {limit.low:g} to {limit.high:g} {limit.unit}" in sentence


@given(around(limits.TAKEOFF_HEIGHT))
def test_take_off(height_m: float) -> None:
    holds(limits.TAKEOFF_HEIGHT, height_m, ask(mavlink.MAV_CMD_NAV_TAKEOFF, ABOVE_HOME, x=OPEN, y=OPEN, z=height_m))


def reposition(heading_rad: float, x: int, y: int, alt_m: float) -> tuple[int, str]:
    return ask(mavlink.MAV_CMD_DO_REPOSITION, ABOVE_SEA, -1.0, 1.0, 0.0, heading_rad, x=x, y=y, z=alt_m)


@given(around(limits.ALTITUDE))
def test_altitude_of_a_place(alt_m: float) -> None:
    holds(limits.ALTITUDE, alt_m, reposition(math.nan, OPEN, OPEN, alt_m))


@given(around(limits.HEADING))
def test_heading_of_a_place(heading_rad: float) -> None:
    holds(limits.HEADING, heading_rad, reposition(heading_rad, OPEN, OPEN, 500.0))


@given(st.integers(-950_000_000, 950_000_000), st.integers(-1_900_000_000, 1_900_000_000))
def test_places_off_the_earth_and_too_far_away(lat_1e7: int, lon_1e7: int) -> None:
    result, sentence = reposition(math.nan, lat_1e7, lon_1e7, 500.0)
    on_earth = limits.LATITUDE.allows(lat_1e7 / 1e7) and limits.LONGITUDE.allows(lon_1e7 / 1e7)
    if not on_earth:
        assert result == DENIED and BRAIN.answer == "not asked" and "allowed" in sentence
    elif result != ACCEPTED:
        assert sentence == f"Target is over {limits.REACH_M / 1000:g} km from home"


@pytest.mark.parametrize(("north_m", "result"), [(0.999 * limits.REACH_M, ACCEPTED), (1.001 * limits.REACH_M, DENIED)])
def test_the_reach_about_home(north_m: float, result: int) -> None:
    lat, lon, _ = geodetic_from_local(ORIGIN, (0.0, north_m, 0.0))
    assert reposition(math.nan, round(lat * 1e7), round(lon * 1e7), 500.0)[0] == result


@given(around(limits.SPEED).filter(lambda speed: speed != -1.0))
def test_speed(speed_m_s: float) -> None:
    holds(limits.SPEED, speed_m_s, ask(mavlink.MAV_CMD_DO_CHANGE_SPEED, ABOVE_SEA, 1.0, speed_m_s))


def test_take_off_without_a_height_is_within_the_limit() -> None:
    (row,) = (row for row in TABLE if row.name == "MIS_TAKEOFF_ALT")
    assert limits.TAKEOFF_HEIGHT.allows(row.minimum) and limits.TAKEOFF_HEIGHT.allows(row.maximum)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "limit", [entry for entry in vars(limits).values() if isinstance(entry, Limit)], ids=lambda limit: limit.name
)
def test_no_limit_allows_what_is_no_number(limit: Limit, value: float) -> None:
    assert limit.problem(value) is not None
    assert limit.problem(limit.low) is None and limit.problem(limit.high) is None


PARAMETER = (
    st.sampled_from([math.nan, math.inf, -1.0, -2.0, 0.0, 1.0, limits.MAX_JUMPS])
    | around(limits.TIME)
    | around(limits.SPEED)
)
ITEM = st.fixed_dictionaries(
    {
        "command": st.sampled_from([*FLOWN, *OBEYED, *SKIPPED]) | st.integers(0, 300),
        "frame": st.sampled_from([0, 3, 5, 6, mavlink.MAV_FRAME_MISSION, mavlink.MAV_FRAME_LOCAL_NED]),
        "param1": PARAMETER,
        "param2": PARAMETER,
        "param4": PARAMETER,
        "x": st.sampled_from([0, OPEN, 900_000_000, 900_000_001, 473_977_420]),
        "y": st.sampled_from([0, OPEN, -1_800_000_000, -1_800_000_001, 85_455_940]),
        "z": around(limits.ALTITUDE) | around(limits.HEIGHT) | st.just(math.nan),
    }
)


@given(st.lists(ITEM, min_size=1, max_size=3))
def test_a_mission_whose_items_are_accepted_is_accepted(fields: list[dict[str, Any]]) -> None:
    """An item is refused when it comes, and never the mission when it is whole."""
    logic = PixhawkAutopilot(BRAIN.parameters)
    protocol = MissionProtocol(logic, StatusTexts())
    answers = protocol.handle(mavlink.MAVLink_mission_count_message(1, 1, len(fields)), GROUND_STATION, 0)
    for seq, chosen in enumerate(fields):
        assert answers is not None and answers[0].get_type() == "MISSION_REQUEST_INT"
        shared = {"target_system": 1, "target_component": 1, "seq": seq, "current": 0, "autocontinue": 1, "param3": 0.0}
        answers = protocol.handle(mavlink.MAVLink_mission_item_int_message(**shared, **chosen), GROUND_STATION, 0)
        assert answers is not None
        if answers[0].get_type() == "MISSION_ACK" and answers[0].type != mavlink.MAV_MISSION_ACCEPTED:
            sentence = b"".join(text.text.encode() for text in answers[1:]).decode()
            assert sentence.startswith(f"Mission item {seq}: ")
            assert logic.mission == ()
            return
    assert len(logic.mission) == len(fields)
    assert check(logic.mission) is None


@pytest.mark.parametrize(
    ("changes", "result", "words"),
    [
        ({"z": 10_001.0}, mavlink.MAV_MISSION_INVALID_PARAM7, "height 10001, allowed -10000 to 10000 m"),
        ({"z": -600.0, "frame": 5}, mavlink.MAV_MISSION_INVALID_PARAM7, "altitude -600, allowed -500 to 10000 m"),
        ({"param1": 1e5}, mavlink.MAV_MISSION_INVALID_PARAM1, "time 100000, allowed 0 to 36000 s"),
        ({"command": 178, "param2": 30.0}, mavlink.MAV_MISSION_INVALID_PARAM2, "speed 30, allowed 0.1 to 20 m/s"),
        ({"frame": mavlink.MAV_FRAME_MISSION}, mavlink.MAV_MISSION_UNSUPPORTED_FRAME, "frame 2 is not supported"),
        ({"command": 82}, mavlink.MAV_MISSION_UNSUPPORTED, "command 82 is not supported"),
    ],
)
def test_an_item_is_refused_with_its_result_and_a_sentence(changes: dict[str, Any], result: int, words: str) -> None:
    protocol = MissionProtocol(PixhawkAutopilot(BRAIN.parameters), StatusTexts())
    protocol.handle(mavlink.MAVLink_mission_count_message(1, 1, 2), GROUND_STATION, 0)
    fields = {"frame": 6, "command": 16, "param1": 0.0, "param2": 1.0, "x": 473_977_420, "y": 85_455_940, "z": 10.0}
    shared = {"target_system": 1, "target_component": 1, "seq": 0, "current": 0, "autocontinue": 1}
    message = mavlink.MAVLink_mission_item_int_message(**shared, param3=0.0, param4=math.nan, **{**fields, **changes})
    ack, *texts = protocol.handle(message, GROUND_STATION, 0) or []
    assert ack.type == result
    assert b"".join(text.text.encode() for text in texts).decode() == f"Mission item 0: {words}"
