"""Flight commands over a line that loses, doubles, delays and reorders; the virtual Pixhawk's services answer."""

from __future__ import annotations

import math
from typing import Any

import pytest
from flight_command_rig import NS, Puppet, SimStation, Weather
from hypothesis import given, settings
from hypothesis import strategies as st
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.controllers.pixhawk.types import FlightMode, MissionItem, Refusal
from aeroloop.ground.commands import CommandError, InvalidError, NoAnswerError, Patience, RefusedError
from aeroloop.ground.commands.commands import Command, CommandTransaction
from aeroloop.ground.commands.hub import GROUND, Hub
from aeroloop.ground.commands.mission_transfer import MissionDownload, MissionUpload
from aeroloop.ground.commands.texts import Text
from aeroloop.ground.missions import Item
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn
from peers.fake_brain import ORIGIN

ARM = mavlink.MAV_CMD_COMPONENT_ARM_DISARM
ACCEPTED, LATER, DENIED, UNSUPPORTED, FAILED, IN_PROGRESS, LONG_ONLY = 0, 1, 2, 3, 4, 5, 7

storms = st.builds(
    Weather,
    seed=st.integers(0, 2**32),
    loss=st.sampled_from((0.0, 0.2, 0.5)),
    twice=st.sampled_from((0.0, 0.3)),
    latest_s=st.sampled_from((0.0, 0.1, 0.4)),
)
no_doubles = storms.map(lambda weather: Weather(weather.seed, weather.loss, 0.0, weather.latest_s))


def test_a_whole_flight() -> None:
    station = SimStation()
    vehicle, logic = station.vehicle, station.bench.logic
    vehicle.arm()
    vehicle.takeoff(5.0)
    up = vehicle.wait(lambda s: s.landed == "in_air" and s.armed, 10)
    assert (up.armed, up.mode, up.height_m, up.alt_m) == (True, "hold", 5.0, ORIGIN.alt_m + 5)
    vehicle.go_to(47.3980001, 8.5460002, 500.25, yaw_deg=270)
    vehicle.set_mode("position")
    vehicle.hold()
    vehicle.return_home()
    assert vehicle.wait(lambda s: s.mode == "return", 3).armed
    vehicle.land()
    vehicle.wait(lambda s: not s.armed, 10)
    vehicle.disarm(force=True)
    said = [call for call in logic.calls if call[0] != "sticks"]
    assert said == [
        ("arm", False),
        ("take_off", pytest.approx(5.0, abs=1e-3)),
        ("go_to", 47.3980001, 8.5460002, 500.25, pytest.approx(-math.pi, abs=1e-6)),
        ("set_mode", FlightMode.POSITION),
        ("set_mode", FlightMode.HOLD),
        ("set_mode", FlightMode.RETURN),
        ("set_mode", FlightMode.LAND),
        ("disarm", True),
    ]


def test_sticks_have_the_pilots_signs() -> None:
    station = SimStation()
    station.vehicle.sticks(forward=0.5, left=0.25, up=-1.0, yaw=1.0)
    (hands,) = [call[1] for call in station.bench.logic.calls if call[0] == "sticks"]
    assert (hands.pitch, hands.roll, hands.thrust, hands.yaw) == (0.5, -0.25, 0.0, -1.0)
    with pytest.raises(InvalidError, match="expected -1 to 1"):
        station.vehicle.sticks(0.0, 0.0, math.nan, 0.0)


def test_a_refusal_tells_the_autopilots_own_words_however_long() -> None:
    station = SimStation()
    reason = "Preflight Fail: " + "heading estimate is not stable and the compass disagrees, " * 2
    station.bench.logic.refusal = Refusal(reason.strip())
    with pytest.raises(RefusedError) as refused:
        station.vehicle.arm()
    assert str(refused.value) == f"arm: the autopilot refused: {reason.strip()}"
    assert refused.value.exit_code == 1


def test_a_refusal_without_words_names_the_result() -> None:
    station = SimStation()
    station.bench.logic.refusal = Refusal("")
    with pytest.raises(RefusedError, match="arm: the autopilot refused: temporarily rejected"):
        station.vehicle.arm()


@settings(max_examples=15)
@given(weather=no_doubles, refused=st.booleans())
def test_no_late_answer_is_taken_for_another_commands(weather: Weather, refused: bool) -> None:
    """Arm and disarm have the same number: an answer to the one must never settle the other."""
    station = SimStation(weather)
    vehicle, logic = station.vehicle, station.bench.logic
    vehicle.arm()
    assert logic.status.armed
    if refused:
        logic.refusal = Refusal("Not now")
        with pytest.raises(RefusedError):
            vehicle.disarm()
    else:
        vehicle.disarm()
        assert not logic.status.armed


@settings(max_examples=15)
@given(weather=storms)
def test_every_command_arrives_in_the_end(weather: Weather) -> None:
    station = SimStation(weather)
    vehicle, logic = station.vehicle, station.bench.logic
    vehicle.arm()
    vehicle.takeoff()
    vehicle.land()
    vehicle.return_home()
    made = [call[0] if call[0] != "set_mode" else call[1] for call in logic.calls]
    assert sorted(set(made), key=made.index) == ["arm", "take_off", FlightMode.LAND, FlightMode.RETURN]


def test_a_command_is_repeated_with_a_growing_confirmation_and_then_given_up() -> None:
    station = SimStation(patience=Patience(answer_s=0.5, tries=4))
    station.down.lose = lambda frame: True
    begin_ns = station.t_ns
    with pytest.raises(NoAnswerError, match="arm: system 1 did not answer after 4 tries") as silent:
        station.vehicle.arm()
    assert [message.confirmation for message in station.heard] == [0, 1, 2, 3]
    assert (station.t_ns - begin_ns) / NS == pytest.approx(2.0, abs=0.1)
    assert silent.value.exit_code == 3


EVERY = {
    "arm": lambda v: v.arm(),
    "disarm": lambda v: v.disarm(),
    "takeoff": lambda v: v.takeoff(),
    "land": lambda v: v.land(),
    "return": lambda v: v.return_home(),
    "hold": lambda v: v.hold(),
    "mode position": lambda v: v.set_mode("position"),
    "go to": lambda v: v.go_to(47.0, 8.0, 500.0),
    "mission start": lambda v: v.start_mission(),
    "mission pause": lambda v: v.pause_mission(),
    "mission upload": lambda v: v.upload_mission([Item(16, 47.0, 8.0, 5.0)]),
    "mission download": lambda v: v.download_mission(),
    "mission clear": lambda v: v.clear_mission(),
    "parameter MPC_XY_CRUISE": lambda v: v.parameter("MPC_XY_CRUISE"),
    "set": lambda v: v.set_parameter("MPC_XY_CRUISE", 3.0),
    "parameters": lambda v: v.parameters(),
}


@pytest.mark.parametrize("what", EVERY)
def test_each_command_ends_though_nobody_answers_and_says_which_it_was(what: str) -> None:
    station = SimStation(patience=Patience(answer_s=0.5, tries=3))
    station.down.lose = lambda frame: True
    begin_ns = station.t_ns
    words = "parameter MPC_XY_CRUISE" if what == "set" else what  # its old value is asked for first
    with pytest.raises(NoAnswerError, match=f"^{words}: system 1 ") as silent:
        EVERY[what](station.vehicle)
    assert silent.value.exit_code == 3 and len(station.heard) >= 3
    assert (station.t_ns - begin_ns) / NS < 10.0


@pytest.mark.parametrize("what", list(EVERY)[:10])
def test_each_command_that_is_refused_says_which_and_why(what: str) -> None:
    station = SimStation()
    station.bench.logic.refusal = Refusal("Not today")
    with pytest.raises(RefusedError, match=f"^{what}: the autopilot refused: Not today$"):
        EVERY[what](station.vehicle)


class Exchange:
    """One conversation with a puppet, by hand."""

    def __init__(self, patience: Patience | None = None, command: Command | None = None) -> None:
        self.talk = CommandTransaction("arm", command or Command(ARM, (1.0,)), (1, 1), GROUND, patience or Patience())
        self.puppet = Puppet()
        self.talk.begin(0)
        self.sent = self.talk.step(0)

    def step(self, t_s: float) -> list[Any]:
        messages = self.talk.step(round(t_s * NS))
        self.sent += messages
        return messages


def test_work_in_progress_extends_the_waiting_but_not_forever() -> None:
    e = Exchange(Patience(answer_s=1.0, tries=2, progress_s=10.0, longest_s=60.0))
    e.talk.handle(e.puppet.ack(ARM, IN_PROGRESS), 0)
    assert e.step(9.0) == [], "no repetition while it is at work"
    e.talk.handle(e.puppet.ack(ARM, IN_PROGRESS), 9 * NS)
    e.step(18.0)
    assert not e.talk.done
    e.talk.handle(e.puppet.ack(ARM, ACCEPTED), 18 * NS)
    assert e.talk.result is None and len(e.sent) == 1

    e = Exchange(Patience(longest_s=60.0))
    for second in range(100):
        e.talk.handle(e.puppet.ack(ARM, IN_PROGRESS), second * NS)
        e.step(second)
    assert e.talk.done and "reported progress, then stopped answering" in str(e.talk.error)


@pytest.mark.parametrize(
    "frame",
    [
        Puppet(system=2).ack(ARM, ACCEPTED),
        Puppet(component=154).ack(ARM, ACCEPTED),
        Puppet().ack(ARM, ACCEPTED, to=(255, 190)),
        Puppet().ack(ARM, ACCEPTED, to=(GROUND[0], 1)),
        Puppet().ack(mavlink.MAV_CMD_NAV_LAND, ACCEPTED),
        Puppet().text(b"Armed"),
    ],
    ids=["another aircraft", "its camera", "to QGroundControl", "to our other half", "another command", "no answer"],
)
def test_answers_that_are_not_ours(frame: Any) -> None:
    e = Exchange()
    e.talk.handle(frame, 0)
    assert not e.talk.done
    e.talk.handle(e.puppet.ack(ARM, ACCEPTED, to=GROUND), 0)
    assert e.talk.done


def test_a_late_answer_to_arm_does_not_settle_disarm() -> None:
    hub, puppet, sent = Hub(), Puppet(), MavlinkIn(MavlinkCounters())
    hub.receive(puppet.heartbeat().wire, 0)

    def commands(t_s: float) -> list[float]:
        frames = sent.feed(b"".join(hub.step(round(t_s * NS))))
        return [frame.message().param1 for frame in frames if frame.msg_id == mavlink.MAVLINK_MSG_ID_COMMAND_LONG]

    arm, disarm = (CommandTransaction("x", Command(ARM, (wish,)), (1, 1), GROUND, Patience()) for wish in (1.0, 0.0))
    hub.begin(arm, 0)
    assert (commands(0.0), commands(1.0)) == ([1.0], [1.0]), "asked twice"
    hub.receive(puppet.ack(ARM, ACCEPTED).wire, NS)
    assert commands(1.0) == [] and arm.done
    hub.begin(disarm, NS)
    assert commands(1.1) == [], "another answer to arm is under way"
    hub.receive(puppet.ack(ARM, ACCEPTED).wire, NS)
    assert commands(1.2) == [0.0] and not disarm.done
    hub.receive(puppet.ack(ARM, DENIED).wire, NS)
    commands(3.0)
    assert isinstance(disarm.error, RefusedError)


def test_the_reason_may_come_behind_the_refusal() -> None:
    e = Exchange()
    e.talk.handle(e.puppet.ack(ARM, DENIED), 0)
    e.step(0.1)
    e.talk.handle_text(Text(0, 2, "Preflight Fail: no compass"))
    e.talk.handle_text(Text(0, 6, "just for information"))
    e.step(0.4)
    assert str(e.talk.error) == "arm: the autopilot refused: Preflight Fail: no compass"


def test_an_autopilot_may_ask_for_the_other_form() -> None:
    e = Exchange(command=Command(mavlink.MAV_CMD_DO_REPOSITION, (0,) * 4 + (47.5, math.nan, 9.0), frame=0))
    assert (e.sent[0].get_type(), e.sent[0].x, e.sent[0].y) == ("COMMAND_INT", 475000000, 2**31 - 1)
    e.talk.handle(e.puppet.ack(mavlink.MAV_CMD_DO_REPOSITION, LONG_ONLY), 0)
    (again,) = e.step(0.0)
    assert (again.get_type(), again.param5, again.param7) == ("COMMAND_LONG", 47.5, 9.0)
    e.talk.handle(e.puppet.ack(mavlink.MAV_CMD_DO_REPOSITION, LONG_ONLY), 0)
    e.step(1.0)
    assert "command long only" in str(e.talk.error), "once is enough"


plans = st.lists(
    st.builds(
        Item,
        command=st.sampled_from((mavlink.MAV_CMD_NAV_WAYPOINT, mavlink.MAV_CMD_NAV_LAND)),
        lat_deg=st.integers(-900_000_000, 900_000_000).map(lambda n: n / 1e7),
        lon_deg=st.integers(-1_800_000_000, 1_800_000_000).map(lambda n: n / 1e7),
        alt_m=st.floats(-400, 1000, width=32),
        params=st.tuples(*[st.floats(0, 60, width=32)] * 4),
        autocontinue=st.booleans(),
    ),
    max_size=6,
)


def flown(item: Item) -> MissionItem:
    return MissionItem(item.command, item.frame, item.params, item.lat_deg, item.lon_deg, item.alt_m, item.autocontinue)


@settings(max_examples=15)
@given(weather=storms, items=plans)
def test_a_mission_survives_the_line_both_ways(weather: Weather, items: list[Item]) -> None:
    station = SimStation(weather)
    station.vehicle.upload_mission(items)
    assert station.bench.logic.mission == tuple(map(flown, items))
    assert station.vehicle.download_mission() == tuple(items)
    station.vehicle.clear_mission()
    assert station.bench.logic.mission == ()


def test_a_lost_verdict_is_asked_for_again() -> None:
    station = SimStation()
    lost: list[int] = []
    ack = mavlink.MAVLINK_MSG_ID_MISSION_ACK
    station.down.lose = lambda frame: frame.msg_id == ack and not lost and not lost.append(1)  # type: ignore[func-returns-value]
    station.vehicle.upload_mission([Item(16, 47.0, 8.0, 5.0)] * 3)
    assert lost and len(station.bench.logic.mission) == 3


def test_a_bad_item_is_named_and_the_old_mission_stays() -> None:
    station = SimStation()
    good, bad = (Item(16, lat_deg, 8.0, 5.0, params=(0.0,) * 4) for lat_deg in (47.0, 147.0))
    station.vehicle.upload_mission([good])
    with pytest.raises(RefusedError, match="the autopilot refused: Mission item 1: latitude 147, allowed"):
        station.vehicle.upload_mission([good, bad])
    assert station.bench.logic.mission == (flown(good),)


def test_start_and_pause() -> None:
    station = SimStation()
    with pytest.raises(InvalidError, match="unknown mode; expected one of: manual"):
        station.vehicle.set_mode("warp")
    station.vehicle.upload_mission([Item(16, 47.0, 8.0, 5.0)] * 20)
    station.vehicle.start_mission(first=2)
    assert station.vehicle.wait(lambda s: s.mission_state == "active" and s.armed, 5).mission_count == 20
    station.vehicle.pause_mission()
    at = station.bench.logic.status.mission_current
    assert station.bench.logic.status.mode is FlightMode.HOLD and at >= 2
    station.vehicle.start_mission()
    assert station.bench.logic.status.mode is FlightMode.MISSION
    assert ("set_current", 0) not in station.bench.logic.calls, "it goes on where it was"


def verdict(result: int) -> Frame:
    return Puppet().frame(mavlink.MAVLink_mission_ack_message(*GROUND, result, 0))


def test_an_upload_is_over_when_every_item_was_asked_for_and_not_before() -> None:
    talk = MissionUpload([Item(16)] * 2, (1, 1), GROUND, Patience())
    talk.begin(0)
    talk.handle(verdict(mavlink.MAV_MISSION_ACCEPTED), 0)
    assert not talk.done, "that was an older upload's"
    for number in (0, 1, 0):  # the last one is late
        talk.handle(Puppet().frame(mavlink.MAVLink_mission_request_int_message(*GROUND, number, 0)), 0)
        assert not talk.done
    talk.handle(verdict(mavlink.MAV_MISSION_ACCEPTED), 0)
    assert talk.result is None


def test_the_end_of_an_older_exchange_is_no_refusal() -> None:
    talk = MissionDownload((1, 1), GROUND, Patience(answer_s=1.0, tries=2))
    talk.begin(0)
    talk.handle(verdict(mavlink.MAV_MISSION_OPERATION_CANCELLED), 0)
    talk.handle(Puppet().frame(mavlink.MAVLink_mission_count_message(*GROUND, 0, 0)), 0)
    assert talk.result == ()


def test_an_autopilot_that_asks_forever_is_left_alone() -> None:
    puppet, talk = Puppet(), MissionUpload([Item(16)] * 2, (1, 1), GROUND, Patience())
    talk.begin(0)
    request = puppet.frame(mavlink.MAVLink_mission_request_int_message(*GROUND, 0, 0))
    for number in range(1000):
        talk.handle(request, number)
        talk.step(number)
    assert "requests the same items repeatedly" in str(talk.error)


def test_a_boastful_count_is_not_believed() -> None:
    talk = MissionDownload((1, 1), GROUND, Patience())
    talk.begin(0)
    talk.handle(Puppet().frame(mavlink.MAVLink_mission_count_message(*GROUND, 65535, 0)), 0)
    assert "offers 65535 items" in str(talk.error)


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        (lambda v: v.takeoff(math.nan), "takeoff: expected a height"),
        (lambda v: v.takeoff(-1.0), "takeoff: expected a height"),
        (lambda v: v.go_to(91.0, 0.0, 0.0), "is not a valid position"),
        (lambda v: v.go_to(0.0, math.nan, 0.0), "is not a valid position"),
        (lambda v: v.go_to(0.0, 0.0, 0.0, math.inf), "expected a heading"),
    ],
)
def test_nonsense_is_not_sent(deed: Any, words: str) -> None:
    station = SimStation()
    with pytest.raises(InvalidError, match=words):
        deed(station.vehicle)
    assert station.heard == []


def test_an_autopilot_whose_modes_are_not_known_is_not_asked_for_them() -> None:
    station = SimStation()
    station.hub.receive(Puppet(system=7).heartbeat(mavlink.MAV_AUTOPILOT_GENERIC).wire, station.t_ns)
    other = type(station.vehicle)(station, 7)  # type: ignore[arg-type]
    for deed in (lambda: other.set_mode("hold"), lambda: other.takeoff(5.0), other.hold):
        with pytest.raises(InvalidError, match="system 7 reports autopilot GENERIC and vehicle type 2; only the modes"):
            deed()


def test_takeoff_waits_for_a_place() -> None:
    station = SimStation()
    hub = station.hub = Hub()
    hub.receive(Puppet().heartbeat().wire, station.t_ns)
    station.down.lose = lambda frame: frame.msg_id == mavlink.MAVLINK_MSG_ID_GLOBAL_POSITION_INT
    with pytest.raises(NoAnswerError, match="takeoff: system 1 has sent no position"):
        station.vehicle.takeoff(5.0)


@settings(max_examples=40)
@given(st.lists(st.binary(max_size=300) | st.just(Puppet().ack(ARM, 200).wire), max_size=8))
def test_garbage_does_no_harm(chunks: list[bytes]) -> None:
    hub = Hub()
    hub.receive(Puppet().heartbeat().wire, 0)
    talk = CommandTransaction("arm", Command(ARM, (1.0,)), (1, 1), GROUND, Patience(answer_s=0.5, tries=2))
    hub.begin(talk, 0)
    for number, chunk in enumerate(chunks):
        hub.receive(chunk, number * NS // 10)
        hub.step(number * NS // 10)
    for second in range(1, 5):
        hub.step(second * NS)
    assert talk.done and isinstance(talk.error, CommandError)
