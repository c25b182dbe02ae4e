"""What external autopilots report: messages in, rows of the log out; their clocks, links, and what is asked of them."""

from __future__ import annotations

import math
import socket
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.controllers.pixhawk.types import Failsafe, FlightMode, Landed
from aeroloop.controllers.px4 import process
from aeroloop.controllers.px4.autopilot_clock import AutopilotClock
from aeroloop.controllers.px4.launch import telemetry_links
from aeroloop.controllers.px4.message_requests import LOOK_NS, WANTED_HZ, MessageRequests
from aeroloop.controllers.px4.process import Aircraft, links_of
from aeroloop.controllers.px4.reported import Reported
from aeroloop.controllers.px4.telemetry_link import SimulatorLink, UdpTelemetry, open_telemetry
from aeroloop.controllers.px4.time_link import PERIOD_NS, TimeIn, TimeOut
from aeroloop.core import scenario_files
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.frames import quat_from_euler, quat_ned_frd_from_enu_flu
from aeroloop.core.signals import NS, Event
from aeroloop.core.text_rows import text_of
from aeroloop.ground.mavlink_pilot import MavlinkPilot
from aeroloop.ground.pilot_commands import PilotCommand, PilotConfig
from aeroloop.links.lasting import LastingServer
from aeroloop.protocols.mavlink import Frame, MavlinkCounters, MavlinkIn, MavlinkOut
from aeroloop.world.earth import Earth, Home

PX4_MISSION = 4 << 16 | 4 << 24
ARMED = mavlink.MAV_MODE_FLAG_SAFETY_ARMED | mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED
EARTH = Earth(Home())


class Px4:
    """Its messages, and the rows that come of them."""

    def __init__(self, clock: Callable[[int, int], int] = lambda stamp_ns, now_ns: stamp_ns) -> None:
        self.rows: dict[str, list[tuple[float, ...]]] = {}
        self._out = MavlinkOut(MavlinkCounters(), 1, 1)
        self._in = MavlinkIn(MavlinkCounters())
        names = ("estimate", "setpoint", "autopilot_state", "board_event", "status_text", "telemetry_count")
        publish = {name: self._keeper(name) for name in names}
        self.reported = Reported(EARTH, clock, publish)

    def _keeper(self, name: str) -> Callable[..., None]:
        return lambda *row: self.rows.setdefault(name, []).append(row)

    def frames(self, *messages: Any) -> list[Frame]:
        return [frame for message in messages for frame in self._in.feed(self._out.pack(message))]

    def say(self, *messages: Any) -> None:
        for frame in self.frames(*messages):
            self.reported.take(frame, 0)

    def heartbeat(self, custom: int = PX4_MISSION, base: int = ARMED, state: int = 4) -> None:
        self.say(mavlink.MAVLink_heartbeat_message(2, mavlink.MAV_AUTOPILOT_PX4, base, custom, state, 3))

    def place(self, t_ms: int, east: float, north: float, up: float, offset: tuple[float, float, float]) -> None:
        """Where it is, in the plant's frame, whose origin its own frame has at minus `offset`."""
        lat, lon, alt = EARTH.geodetic((east, north, up))
        x, y, z = east - offset[0], north - offset[1], up - offset[2]
        self.say(
            mavlink.MAVLink_local_position_ned_message(t_ms, y, x, -z, 2.0, 1.0, -0.5),
            mavlink.MAVLink_global_position_int_message(
                t_ms, round(lat * 1e7), round(lon * 1e7), round(alt * 1000), 0, 200, 100, -50, 0
            ),
        )

    def attitude(self, t_ms: int, roll: float, pitch: float, yaw: float) -> None:
        quat = quat_ned_frd_from_enu_flu(quat_from_euler(roll, pitch, yaw))
        self.say(mavlink.MAVLink_attitude_quaternion_message(t_ms, *quat, 0.0, 0.0, 0.0))


def test_the_estimate_is_in_the_plants_frame_at_the_time_of_the_attitude() -> None:
    px4 = Px4()
    px4.place(1000, 3.0, 4.0, 5.0, offset=(1.0, -2.0, 0.8))
    px4.attitude(1020, 0.1, -0.2, 0.3)
    ((t_s, *row),) = px4.rows["estimate"]
    assert t_s == 1.02
    assert row[:3] == pytest.approx([3.0 + 0.02, 4.0 + 0.04, 5.0 + 0.01], abs=0.02), "moved on with its velocity"
    assert row[3:6] == pytest.approx([1.0, 2.0, 0.5])
    assert row[6:10] == pytest.approx(quat_from_euler(0.1, -0.2, 0.3), abs=1e-6)


def test_an_origin_that_px4_moves_does_not_move_the_estimate() -> None:
    px4 = Px4()
    px4.place(1000, 3.0, 4.0, 5.0, offset=(0.0, 0.0, 0.0))
    px4.place(1100, 3.0, 4.0, 5.0, offset=(0.0, 0.0, 0.8))
    px4.attitude(1100, 0.0, 0.0, 0.0)
    assert px4.rows["estimate"][-1][3] == pytest.approx(5.0, abs=0.02)


def test_of_several_sources_one_makes_rows_and_a_lesser_one_serves_where_it_is_alone() -> None:
    px4 = Px4()
    px4.place(1000, 0.0, 0.0, 0.0, offset=(0.0, 0.0, 0.0))
    for t_ms in range(1000, 1100, 20):
        px4.attitude(t_ms, 0.0, 0.0, 0.0)
        px4.say(mavlink.MAVLink_attitude_message(t_ms + 5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    assert len(px4.rows["estimate"]) == 5
    alone = Px4()
    alone.place(1000, 0.0, 0.0, 0.0, offset=(0.0, 0.0, 0.0))
    alone.say(mavlink.MAVLink_attitude_message(1010, 0.1, 0.0, math.pi / 2, 0.0, 0.0, 0.0))
    assert alone.rows["estimate"][0][7:11] == pytest.approx(quat_from_euler(0.1, 0.0, 0.0), abs=1e-6), "heading east"


def test_odometry_serves_as_attitude_and_place() -> None:
    px4 = Px4()
    lat, lon, alt = EARTH.geodetic((0.0, 0.0, 2.0))
    quat = quat_ned_frd_from_enu_flu(quat_from_euler(0.0, 0.0, 0.0))  # nose east
    px4.say(
        mavlink.MAVLink_odometry_message(
            1_000_000,
            1,
            mavlink.MAV_FRAME_BODY_FRD,
            0.0,
            0.0,
            -2.0,
            quat,
            3.0,
            0.0,
            0.0,
            0,
            0,
            0,
            [0.0] * 21,
            [0.0] * 21,
        ),
        mavlink.MAVLink_global_position_int_message(
            1000, round(lat * 1e7), round(lon * 1e7), round(alt * 1000), 0, 0, 300, 0, 0
        ),
        mavlink.MAVLink_odometry_message(
            1_010_000,
            1,
            mavlink.MAV_FRAME_BODY_FRD,
            0.0,
            0.03,
            -2.0,
            quat,
            3.0,
            0.0,
            0.0,
            0,
            0,
            0,
            [0.0] * 21,
            [0.0] * 21,
        ),
    )
    t_s, x, y, z, vx, vy, vz, *_ = px4.rows["estimate"][-1]
    assert (t_s, x, y, z) == pytest.approx((1.01, 0.03, 0.0, 2.0), abs=0.02)
    assert (vx, vy, vz) == pytest.approx((3.0, 0.0, 0.0), abs=1e-6), "of the body, turned into the world"


def test_what_it_wants_counts_while_it_is_armed() -> None:
    px4 = Px4()
    px4.place(1000, 0.0, 0.0, 0.0, offset=(5.0, 0.0, 0.0))
    quat = quat_ned_frd_from_enu_flu(quat_from_euler(0.05, -0.1, 0.2))
    target = mavlink.MAVLink_position_target_local_ned_message(
        1000, 1, 0, 2.0, 1.0, -3.0, 0.5, math.nan, 0.0, *[0.0] * 5
    )
    px4.heartbeat(base=mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED)
    px4.say(target, mavlink.MAVLink_attitude_target_message(1000, 0, quat, 0.0, 0.0, 0.0, 0.6))
    assert all(map(math.isnan, px4.rows["setpoint"][-1][1:]))
    px4.heartbeat()
    px4.say(target, mavlink.MAVLink_attitude_target_message(1020, 0, quat, 0.0, 0.0, 0.0, 0.6))
    t_s, *row = px4.rows["setpoint"][-1]
    assert (t_s, *row[:3]) == pytest.approx((1.02, 6.0, 2.0, 3.0), abs=0.02)
    assert math.isnan(row[3]) and row[4] == 0.5
    assert row[6:] == pytest.approx([0.05, -0.1, 0.2, 0.6], abs=1e-6)
    px4.say(mavlink.MAVLink_attitude_target_message(3000, 0, quat, 0.0, 0.0, 0.0, 0.6))
    assert all(map(math.isnan, px4.rows["setpoint"][-1][1:7])), "the position is of two seconds ago"


def test_mode_arming_failsafe_battery_and_landing_are_told_when_they_change() -> None:
    px4 = Px4()
    px4.heartbeat(base=mavlink.MAV_MODE_FLAG_CUSTOM_MODE_ENABLED, custom=4 << 16 | 3 << 24)
    px4.heartbeat()
    px4.heartbeat()
    px4.heartbeat(state=mavlink.MAV_STATE_CRITICAL, custom=4 << 16 | 5 << 24)
    px4.heartbeat(custom=9 << 16)
    px4.say(mavlink.MAVLink_extended_sys_state_message(0, 2), mavlink.MAVLink_mission_current_message(3))
    px4.say(mavlink.MAVLink_mission_item_reached_message(2), mavlink.MAVLink_mission_item_reached_message(2))
    px4.say(mavlink.MAVLink_sys_status_message(*[0] * 4, 11000, -1, 66, *[0] * 6))
    events = [(Event(code), value) for _, code, value in px4.rows["board_event"]]
    assert events == [
        (Event.ARMED, 0.0),
        (Event.MODE_CHANGED, FlightMode.MISSION),
        (Event.MODE_CHANGED, FlightMode.RETURN),
        (Event.FAILSAFE, Failsafe.UNSPECIFIED),
        (Event.MODE_CHANGED, 0.0),
        (Event.FAILSAFE, Failsafe.NONE),
        (Event.WAYPOINT_REACHED, 2),
    ]
    assert px4.reported.state == (0.0, 1.0, Landed.IN_AIR, Failsafe.NONE, 0.66, 3.0)
    assert px4.rows["autopilot_state"][-1][1:] == px4.reported.state


def test_texts_are_kept_in_words() -> None:
    px4 = Px4()
    px4.say(mavlink.MAVLink_statustext_message(4, b"Preflight Fail: no GPS"))
    ((_, severity, *numbers),) = px4.rows["status_text"]
    assert (severity, text_of(numbers)) == (4, "Preflight Fail: no GPS")


READ = (
    *("heartbeat", "extended_sys_state", "sys_status", "mission_current", "local_position_ned", "global_position_int"),
    *("attitude_quaternion", "attitude", "attitude_target", "position_target_local_ned"),
)
_VALUES = {
    **{f"uint{bits}_t": st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64)},
    **{f"int{bits}_t": st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    "float": st.floats(width=32),
}


@given(data=st.data(), kinds=st.lists(st.sampled_from(READ), max_size=12))
def test_whatever_it_sends_the_rows_are_in_order_and_of_their_length(data: st.DataObject, kinds: list[str]) -> None:
    px4 = Px4(AutopilotClock(NS // 250, lockstep=False).simulated_ns)
    for kind in kinds:
        message = getattr(mavlink, f"MAVLink_{kind}_message")
        px4.say(message(*_drawn(data, message)))
    for name, length in (("estimate", 15), ("setpoint", 11), ("autopilot_state", 7), ("board_event", 3)):
        rows = px4.rows.get(name, [])
        assert all(len(row) == length for row in rows), name
        times_s = [row[0] for row in rows]
        assert times_s == sorted(times_s), name
        assert all(math.isfinite(t_s) and t_s >= 0 for t_s in times_s), name


def _drawn(data: st.DataObject, message: Any) -> list[Any]:
    sizes = dict(zip(message.ordered_fieldnames, message.array_lengths, strict=True))
    values = []
    for name, field in zip(message.fieldnames, message.fieldtypes, strict=True):
        size, value = sizes[name], _VALUES[field]
        values.append(data.draw(st.lists(value, min_size=size, max_size=size)) if size else data.draw(value))
    return values


# Clocks.


def test_in_lockstep_an_autopilots_clock_is_ours_less_the_first_sample_however_late_it_comes() -> None:
    clock = AutopilotClock(4_000_000, lockstep=True)
    assert clock.simulated_ns(10 * NS, 10 * NS) == 10 * NS + 4_000_000
    assert clock.simulated_ns(10 * NS + 1, 17 * NS) == 10 * NS + 4_000_001
    assert not clock.own
    assert clock.simulated_ns(NS // 10, 20 * NS) == 20 * NS, "restarted in flight"
    assert clock.simulated_ns(NS // 10 + NS, 21 * NS) == 21 * NS


def test_a_boards_own_clock_is_known_by_its_quickest_message() -> None:
    clock = AutopilotClock(4_000_000, lockstep=False)
    ahead_ns = 300 * NS
    late_ns = [50_000_000, 8_000_000, 30_000_000]
    found = [clock.simulated_ns(n * NS + ahead_ns, n * NS + late) - n * NS for n, late in enumerate(late_ns)]
    assert clock.own
    assert found[1] == 8_000_000
    assert found[2] == pytest.approx(8_000_000, abs=100_000)


def test_the_plant_waits_for_the_pilot_and_for_nobody_else() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    said: list[str] = []
    plant, reader = TimeOut(ours.detach(), said.append, awaited=True), TimeIn(theirs.detach())
    reader.answer(PERIOD_NS)  # as the answer to the time that comes next
    plant.tell(PERIOD_NS)
    plant.tell(PERIOD_NS + 1)
    assert reader.poll() == [PERIOD_NS], "a packet a period"
    reader.close()
    plant.tell(2 * PERIOD_NS)  # a process that has gone is not waited for
    assert said == []
    plant.close()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    plant, reader = TimeOut(ours.detach(), said.append, awaited=False), TimeIn(theirs.detach())
    for n in range(5000):  # far more than there is room for
        plant.tell(n * PERIOD_NS)
    assert reader.poll()[:3] == [0, PERIOD_NS, 2 * PERIOD_NS]
    plant.close()
    reader.close()


def test_what_a_board_tells_on_the_simulators_link_is_read_there_and_answered_there() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sent: list[bytes] = []
    plant = TimeOut(ours.detach(), lambda words: None, awaited=False, send=sent.append)
    reader = TimeIn(theirs.detach())
    link = SimulatorLink(reader, "serial:///dev/ttyACM0")
    (beat,) = Px4().frames(mavlink.MAVLink_heartbeat_message(2, 12, 0, 0, 3, 3))
    plant.tell(0)
    plant.forward(beat.wire)
    plant.forward(b"\xfd not a frame")
    assert reader.poll() == [0]
    assert [frame.msg_id for frame in link.frames()] == [mavlink.MAVLINK_MSG_ID_HEARTBEAT]
    reader.answer(0)  # which nobody waits for
    link.send(1, beat.wire)
    plant.tell(PERIOD_NS)
    assert sent == [beat.wire]
    plant.close()
    reader.close()


# The link.


def test_several_autopilots_share_a_port_and_each_is_answered() -> None:
    link = open_telemetry(f"udp://127.0.0.1:{_free_port()}?listen")
    assert isinstance(link, UdpTelemetry)
    port = int(link.url.split(":")[-1].split("?")[0])
    beat = mavlink.MAVLink_heartbeat_message(2, 12, 0, 0, 3, 3)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as two,
    ):
        for system, sender in ((1, one), (2, two)):
            sender.sendto(MavlinkOut(MavlinkCounters(), system, 1).pack(beat), ("127.0.0.1", port))
            sender.sendto(b"junk", ("127.0.0.1", port))
            sender.settimeout(30)
        frames: list[Frame] = []
        while len(frames) < 2:
            frames += link.frames()
        assert sorted(frame.system for frame in frames) == [1, 2]
        link.send(2, b"to the second")
        link.send(7, b"to nobody")
        assert two.recv(100) == b"to the second"
    link.close()


def test_a_port_in_use_is_refused_and_a_ground_station_may_share_one_later() -> None:
    port = _free_port()
    url = f"udp://127.0.0.1:{port}?listen"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as station:
        station.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as QGroundControl does
        station.bind(("127.0.0.1", port))
        with pytest.raises(LinkError, match="cannot listen: Address already in use"):
            open_telemetry(url)
    link = open_telemetry(url)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as station:
        station.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        station.bind(("127.0.0.1", port))
    link.close()


def launched(*urls: str, dash_link: str = "") -> Any:
    return SimpleNamespace(telemetry_links=urls, dash_link=dash_link, vehicle_links=[("tcp://127.0.0.1:1?listen", "")])


def test_a_flight_with_a_router_is_read_through_it(tmp_path: Path) -> None:
    router = LastingServer(f"loopback://{tmp_path}/bench.sock?listen")
    no_plant: Any = None
    first, second = links_of(
        launched("", "", dash_link=f"loopback://{tmp_path}/bench.sock"), no_plant, print, commanded=True
    )
    assert first is second is not None
    beat = MavlinkOut(MavlinkCounters(), 2, 1).pack(mavlink.MAVLink_heartbeat_message(2, 12, 0, 0, 3, 3))
    first.send(2, beat)  # and lets the router know that somebody is there
    heard = b""
    while len(heard) < len(beat):
        heard += router.poll()
    router.send(beat)
    frames: list[Frame] = []
    while not frames:
        frames = first.frames()
    assert frames[0].system == 2
    first.close()
    router.close()


def test_the_usual_port_may_be_a_ground_stations_unless_somebody_is_to_be_commanded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no_plant: Any = None
    words: list[str] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as station:
        station.bind(("127.0.0.1", 0))
        usual = "udp://{}:{}?listen".format(*station.getsockname())
        with pytest.raises(LinkError, match="cannot listen"):
            links_of(launched(usual), no_plant, words.append, commanded=False)
        monkeypatch.setattr(process, "GROUND_URL", usual)
        assert links_of(launched(usual), no_plant, words.append, commanded=False) == [None]
        assert "telemetry is not read" in words[0] and "telemetry.url" in words[0]
        with pytest.raises(LinkError, match="cannot listen"):
            links_of(launched(usual), no_plant, words.append, commanded=True)


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_what_comes_too_seldom_is_asked_for_a_few_times() -> None:
    requests = MessageRequests(3)
    enough = mavlink.MAVLINK_MSG_ID_ATTITUDE_QUATERNION
    assert requests.step(0) == []
    asked: list[Any] = []
    t_ns = 0
    for _ in range(6):
        for _ in range(round(WANTED_HZ[enough] * LOOK_NS / NS)):
            requests.count(enough, t_ns)
        t_ns += LOOK_NS
        asked += requests.step(t_ns)
    numbers = [int(message.param1) for message in asked]
    assert enough not in numbers
    assert {numbers.count(number) for number in WANTED_HZ if number != enough} == {3}
    assert (asked[0].target_system, asked[0].command) == (3, mavlink.MAV_CMD_SET_MESSAGE_INTERVAL)


# The pilot.


def test_orders_to_an_autopilot_that_is_never_heard_are_given_up_in_a_sentence() -> None:
    px4, words = Px4(), []
    orders = (PilotCommand(at_s=1.0, do="arm", give_up_s=2.0), PilotCommand(at_s=2.0, do="land", give_up_s=2.0))

    class Nowhere:
        url = "nowhere"

        def send(self, system: int, data: bytes) -> None:
            raise AssertionError("to whom?")

    pilot = MavlinkPilot(PilotConfig(commands=orders), (), 1)
    aircraft = Aircraft(1, px4.reported, Nowhere(), pilot, None, words.append)  # type: ignore[arg-type]
    for n in range(50):
        aircraft.step(n * NS // 10)
    assert [(Event(code), number) for _, code, number in px4.rows["board_event"]] == [
        (Event.COMMAND_REFUSED, 0),
        (Event.COMMAND_REFUSED, 1),
    ]
    assert words[0] == "system 1: the pilot aborted command 0 (arm) at 3.1 s: no telemetry of an autopilot was received"


# The scenario.


def px4_scenario(*changes: str, name: str = "quad-px4-mission") -> Any:
    return scenario_files.load(scenario_files.find(name), changes)


def test_the_onboard_port_is_each_vehicles_own_and_every_other_is_shared() -> None:
    shared = px4_scenario("vehicle.count=2")
    assert telemetry_links(shared) == ["udp://127.0.0.1:14550?listen"] * 2
    own = px4_scenario("vehicle.count=2", 'telemetry.url="udp://127.0.0.1:14540?listen"')
    assert telemetry_links(own) == ["udp://127.0.0.1:14540?listen", "udp://127.0.0.1:14541?listen"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (('telemetry.url="none"',), "telemetry.url: the pilot's commands travel on this link"),
        (('telemetry.url="udp://nowhere"',), "telemetry.url: "),
        (
            ("pilot.waypoints=[]",),
            "pilot.commands: mission: there is none; expected pilot.waypoints or pilot.plan_file",
        ),
    ],
)
def test_what_a_pilot_cannot_do_is_refused_in_a_sentence(changes: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        px4_scenario(*changes)
    assert sentence in str(refused.value)


def test_without_a_pilot_nobody_needs_the_telemetry() -> None:
    assert px4_scenario('telemetry.url="none"', name="quad-px4").controller.telemetry.url == "none"
