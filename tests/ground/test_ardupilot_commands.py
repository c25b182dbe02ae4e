"""Commands to ArduPilot: its modes, its take-off in GUIDED, its home as the first item of a mission; by hand and by the
pilot of a scenario."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from flight_command_rig import Puppet, SimStation
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.core.signals import NS
from aeroloop.ground.commands import InvalidError, Patience, RefusedError, Vehicle, VehicleState
from aeroloop.ground.commands.hub import Hub
from aeroloop.ground.commands.transaction import Transaction
from aeroloop.ground.mavlink_pilot import MavlinkPilot
from aeroloop.ground.missions import Item
from aeroloop.ground.pilot_commands import PilotCommand, PilotConfig
from aeroloop.protocols.ardupilot_json import AnswerState, answer
from peers.ardupilot_copter import BRAKE, GUIDED, LAND, RTL, Copter
from peers.ardupilot_peer import ArdupilotPeer

STEP_NS = 1_250_000
T = TypeVar("T")


class PeerStation:
    """What `Vehicle` needs of a station, to an ArduPilot that stands on the ground; time passes while one waits."""

    url, patience = "simulated", Patience(answer_s=0.2)

    def __init__(self, ready_s: float = 0.5) -> None:
        self.peer = ArdupilotPeer(Copter(), ready_s=ready_s)
        self.peer.packet()
        self.hub, self.t_ns = Hub(), 0
        while not self.hub.systems or self.t_ns < NS:
            self.tick()

    @property
    def me(self) -> tuple[int, int]:
        return self.hub.me

    @property
    def vehicle(self) -> Vehicle:
        return Vehicle(self, 1)  # type: ignore[arg-type]

    def tick(self) -> None:
        for _ in range(8):
            self.t_ns += STEP_NS
            still = AnswerState(
                self.t_ns, (0.0,) * 3, (0.0, 0.0, 9.81), (0.0,) * 3, (1.0, 0.0, 0.0, 0.0), (0.0,) * 3, airspeed_m_s=0.0
            )
            self.peer.receive(answer(still))
        for wire in self.hub.step(self.t_ns):
            self.peer.hear(wire)
        self.hub.receive(self.peer.telemetry(), self.t_ns)

    def transact(self, transaction: Transaction[T], watch: Callable[[], None] | None = None) -> T:
        self.hub.begin(transaction, self.t_ns)
        while not transaction.done:
            self.tick()
        return transaction.result

    def state(self, system: int) -> VehicleState:
        return self.hub.state(system)

    wait_for = SimStation.wait_for  # it needs time and ticks only


def test_by_hand_it_changes_its_mode_arms_takes_off_and_lands() -> None:
    station = PeerStation()
    vehicle, copter = station.vehicle, station.peer.craft
    assert vehicle.state.mode == "stabilize"
    vehicle.set_mode("guided")
    assert copter.mode == GUIDED
    vehicle.arm()
    assert copter.armed
    vehicle.set_mode("hold")
    assert copter.mode == BRAKE
    vehicle.takeoff(7.0)
    assert copter.mode == GUIDED and copter.flying, "it takes off in GUIDED"
    assert copter._cascade.target == (0.0, 0.0, -7.0), "a height above home"
    assert vehicle.wait(lambda s: s.mode == "guided" and s.armed, 3).lat_deg == pytest.approx(47.397742)
    vehicle.takeoff()
    assert copter._cascade.target == (0.0, 0.0, -10.0), "without a height of its own"
    vehicle.land()
    assert copter.mode == LAND
    vehicle.set_mode("return")
    assert copter.mode == RTL


def test_a_refusal_tells_its_words() -> None:
    station = PeerStation(ready_s=60.0)
    with pytest.raises(RefusedError, match="arm: the autopilot refused: Arm: Need Position Estimate"):
        station.vehicle.arm()


def test_a_mode_that_it_has_not_is_named_before_anything_is_sent() -> None:
    vehicle = PeerStation().vehicle
    with pytest.raises(InvalidError, match=r"mode orbit: ArduCopter has no such mode; expected one of: manual, .*"):
        vehicle.set_mode("orbit")
    with pytest.raises(InvalidError, match="mode nonsense: unknown mode"):
        vehicle.set_mode("nonsense")


class Listening:
    """Keeps what it is asked to say, and says that it is of this kind."""

    patience, me = Patience(), (254, 1)

    def __init__(self, kind: int, autopilot: int = mavlink.MAV_AUTOPILOT_ARDUPILOTMEGA) -> None:
        self.hub, self.talks = Hub(), list[Any]()
        beat = mavlink.MAVLink_heartbeat_message(kind, autopilot, 81, 0, 3, 3)
        self.hub.receive(Puppet(1).frame(beat).wire, 0)

    def state(self, system: int) -> VehicleState:
        return self.hub.state(system)

    def transact(self, transaction: Any, watch: Any = None) -> Any:
        transaction.begin(0)
        self.talks.append([m for m in transaction.step(0) if m.get_type() != "HEARTBEAT"])
        return (Item(16), Item(22)) if "ownload" in type(transaction).__name__ else None

    @property
    def commands(self) -> list[tuple[float, ...]]:
        flat = [message for talk in self.talks for message in talk if hasattr(message, "command")]
        return [(m.command, m.param1, m.param2, m.param3, m.param7) for m in flat]


def test_a_mission_begins_with_its_home_and_starts_without_a_number() -> None:
    station = Listening(mavlink.MAV_TYPE_QUADROTOR)
    vehicle = Vehicle(station, 1)  # type: ignore[arg-type]
    vehicle.upload_mission([Item(22), Item(16)])
    (count,) = station.talks.pop()
    assert count.count == 3
    assert vehicle.download_mission() == (Item(22),), "without its home"
    station.talks.clear()
    vehicle.start_mission()
    vehicle.start_mission(2)
    start, jump = mavlink.MAV_CMD_MISSION_START, mavlink.MAV_CMD_DO_SET_MISSION_CURRENT
    assert [command[:2] for command in station.commands] == [(start, 0.0), (jump, 3.0), (start, 0.0)]


def test_arduplane_takes_off_in_its_own_mode() -> None:
    station = Listening(mavlink.MAV_TYPE_FIXED_WING)
    vehicle = Vehicle(station, 1)  # type: ignore[arg-type]
    vehicle.takeoff()
    vehicle.set_mode("offboard")
    assert [command[:3] for command in station.commands] == [
        (mavlink.MAV_CMD_DO_SET_MODE, 1, 13),
        (mavlink.MAV_CMD_DO_SET_MODE, 1, 15),
    ]


def test_a_vehicle_whose_modes_are_not_known_is_not_commanded_by_them() -> None:
    rover = Vehicle(Listening(mavlink.MAV_TYPE_GROUND_ROVER), 1)  # type: ignore[arg-type]
    for deed in (lambda: rover.set_mode("hold"), lambda: rover.takeoff(5.0), rover.hold):
        with pytest.raises(InvalidError, match="system 1 reports autopilot ARDUPILOTMEGA and vehicle type 10; only"):
            deed()
    assert rover.state.mode == "custom 0"


# The pilot of a scenario.


def said_by_pilot(kind: int, *orders: PilotCommand, items: tuple[Item, ...] = (), until_s: float = 1.0) -> list[Any]:
    pilot = MavlinkPilot(PilotConfig(commands=orders), items, 1)
    beat = mavlink.MAVLink_heartbeat_message(kind, mavlink.MAV_AUTOPILOT_ARDUPILOTMEGA, 81, 0, 3, 3)
    pilot.receive(Puppet(1).frame(beat).wire, 0)
    parser = mavlink.MAVLink(None)
    said: list[Any] = []
    for t_ns in range(0, round(until_s * NS), NS // 50):
        said += parser.parse_buffer(bytearray(pilot.step(t_ns))) or []
    assert not [given_up for given_up in pilot.given_up if given_up.reason == "no answer"]
    return [m for m in said if m.get_type() != "HEARTBEAT"]


def test_the_pilots_take_off_is_guided_and_a_height_above_home() -> None:
    said = said_by_pilot(mavlink.MAV_TYPE_QUADROTOR, PilotCommand(at_s=0.0, do="takeoff", value=10.0), until_s=0.4)
    assert [(m.command, m.param2, m.param7) for m in said] == [
        (mavlink.MAV_CMD_DO_SET_MODE, 4.0, 0.0),
        (mavlink.MAV_CMD_NAV_TAKEOFF, 0.0, 10.0),
    ]
    plane = said_by_pilot(mavlink.MAV_TYPE_FIXED_WING, PilotCommand(at_s=0.0, do="takeoff", value=50.0), until_s=0.4)
    assert (plane[0].param_id, plane[0].param_value) == ("TKOFF_ALT", 50.0)
    assert (plane[1].command, plane[1].param2) == (mavlink.MAV_CMD_DO_SET_MODE, 13.0)


@pytest.mark.parametrize(("do", "copter", "plane"), [("hold", 17, 12), ("return", 6, 11), ("guided", 4, 15)])
def test_the_pilots_modes_have_the_numbers_of_the_vehicle(do: Any, copter: int, plane: int) -> None:
    for kind, number in ((mavlink.MAV_TYPE_QUADROTOR, copter), (mavlink.MAV_TYPE_FIXED_WING, plane)):
        (mode,) = said_by_pilot(kind, PilotCommand(at_s=0.0, do=do), until_s=0.4)
        assert (mode.command, mode.param1, mode.param2) == (mavlink.MAV_CMD_DO_SET_MODE, 1.0, number)


def test_a_mode_that_the_vehicle_has_not_is_abandoned_with_its_reason() -> None:
    pilot = MavlinkPilot(PilotConfig(commands=(PilotCommand(at_s=0.0, do="land", give_up_s=1.0),)), (), 1)
    beat = mavlink.MAVLink_heartbeat_message(1, mavlink.MAV_AUTOPILOT_ARDUPILOTMEGA, 81, 0, 3, 3)
    pilot.receive(Puppet(1).frame(beat).wire, 0)
    for t_ns in range(0, 3 * NS, NS // 50):
        pilot.step(t_ns)
    (given_up,) = pilot.given_up
    assert given_up.reason == "ArduPlane has no mode land"


def test_the_pilots_mission_begins_with_home() -> None:
    said = said_by_pilot(mavlink.MAV_TYPE_QUADROTOR, items=(Item(22), Item(16)), until_s=0.4)
    assert said[0].count == 3


def test_the_pilot_reads_whole_numbers_as_ardupilot_sends_them() -> None:
    order = PilotCommand(at_s=0.0, do="set", parameter="FRAME_CLASS", value=1.0)
    pilot = MavlinkPilot(PilotConfig(commands=(order,)), (), 1)
    puppet = Puppet(1)
    beat = mavlink.MAVLink_heartbeat_message(2, mavlink.MAV_AUTOPILOT_ARDUPILOTMEGA, 81, 0, 3, 3)
    pilot.receive(puppet.frame(beat).wire, 0)
    pilot.step(0)
    value = mavlink.MAVLink_param_value_message(b"FRAME_CLASS", 1.0, mavlink.MAV_PARAM_TYPE_INT32, 1, 0)
    pilot.receive(puppet.frame(value).wire, 0)
    assert pilot.done
