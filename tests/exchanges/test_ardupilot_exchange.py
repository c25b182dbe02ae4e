"""The JSON exchange against a strict ArduPilot: whole flights without a complaint, and every trap of its interface
sprung once."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import pytest
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.core.errors import EXIT_LINK, LinkError
from aeroloop.core.signals import NS, Event
from aeroloop.families.fixedwing.channels import SurfaceChannel
from aeroloop.protocols.ardupilot_json import AnswerState, answer
from aeroloop.world.wind import WindConfig
from peers.ardupilot_copter import BRAKE, LAND, Copter, euler
from peers.ardupilot_link import PeerLink
from peers.ardupilot_loop import JsonLoop
from peers.ardupilot_peer import ArdupilotPeer
from peers.ardupilot_plane import TAKEOFF, Plane
from peers.ardupilot_reader import BUFFER_B, Reader

EARLY_S = 0.5
"""The start of its estimator, shortened."""
REST = 0.055


def early(**settings: Any) -> ArdupilotPeer:
    return ArdupilotPeer(Copter(), ready_s=EARLY_S, **settings)


class Meddling(PeerLink):
    """Changes what is sent, from the answer of a number on."""

    def __init__(self, peer: ArdupilotPeer, change: Callable[[bytes], bytes], first: int = 20) -> None:
        super().__init__(peer)
        self._change, self._first, self._number = change, first, 0

    def send(self, data: bytes) -> None:
        self._number += 1
        changed = self._change(data) if self._number >= self._first else data
        if changed:
            super().send(changed)


def fly_minutes(until_s: float, *, away_m: float = 20.0, height_m: float = 10.0) -> JsonLoop:
    """Take-off, a place some way off, and a landing, in wind, with an estimator that takes its time."""
    loop = JsonLoop(
        ArdupilotPeer(Copter(), ready_s=2.0), world__wind=WindConfig(steady_W=(3.0, -1.0, 0.0)), duration_s=until_s
    )
    loop.fly(3.0)
    loop.take_off(height_m)
    loop.fly(0.3 * until_s)
    assert loop.vehicle.state.pos_W[2] == pytest.approx(REST + height_m, abs=0.5)
    loop.peer.craft.command(mavlink.MAV_CMD_DO_REPOSITION, (0, 0, 0, 0, 0.0, away_m, 0), loop.peer.motion)
    loop.fly(0.6 * until_s)
    assert loop.vehicle.state.pos_W[0] == pytest.approx(away_m, abs=1.0), "east"
    loop.command(mavlink.MAV_CMD_NAV_LAND)
    loop.fly(until_s)
    return loop


def judge_landed(loop: JsonLoop, until_s: float) -> None:
    assert loop.peer.finish() == []
    assert loop.peer.answers == round(until_s * 800)
    assert (loop.peer.repeated, loop.exchange.repeats, loop.exchange.counters.lost) == (0, 0, 0)
    assert loop.exchange.pulses.refused == 0
    assert not loop.peer.craft.armed
    assert loop.vehicle.state.pos_W[2] == pytest.approx(REST, abs=0.05)
    assert [event for _, event, _ in loop.rows.events if event is not Event.GROUND_CONTACT] == [
        Event.AUTOPILOT_ANSWERED
    ]


def test_a_flight_in_lockstep_without_a_complaint() -> None:
    judge_landed(fly_minutes(30.0, away_m=8.0, height_m=5.0), 30.0)


@pytest.mark.soak
def test_five_minutes_in_lockstep_without_a_complaint() -> None:
    judge_landed(fly_minutes(300.0), 300.0)


def test_one_seed_is_one_flight() -> None:
    def flown(seed: int) -> tuple[Any, ...]:
        loop = JsonLoop(early(), seed=seed)
        loop.fly(1.0)
        loop.take_off(3.0)
        loop.fly(3.0)
        return (*loop.vehicle.state.pos_W, *loop.vehicle.state.quat_WB)

    first = flown(1)
    assert flown(1) == first
    assert flown(2) != first


def test_thirty_two_channels_fly_too() -> None:
    loop = JsonLoop(early(channels=32))
    loop.fly(1.0)
    loop.take_off(3.0)
    loop.fly(5.0)
    assert loop.vehicle.state.pos_W[2] > 2.0
    assert loop.peer.complaints == []


# Traps: what is broken, what ArduPilot makes of it, and whether it ends in an error of ours.

BLANK = lambda data: data.replace(b":", b": ")  # noqa: E731
WIND_FIRST = lambda data: (  # noqa: E731
    data[: data.index(b',"velocity"')] + data[data.index(b',"velocity_wind"') : -2]
    + data[data.index(b',"velocity"') : data.index(b',"airspeed"')]
    + data[data.index(b',"airspeed"') : data.index(b',"velocity_wind"')] + b"}\n"
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (BLANK, "a blank after the colon of gyro"),
        (lambda data: data.replace(b"position", b"place"), "no position"),
        (lambda data: data.replace(b"velocity", b"speed"), "no velocity"),
        (lambda data: data.replace(b"imu", b"ins"), "no imu"),
        (lambda data: data.replace(b"quaternion", b"q"), "neither attitude nor quaternion"),
        (lambda data: data.replace(b"timestamp", b"t"), "no timestamp"),
    ],
)
def test_a_refused_answer_is_repeated_three_times_and_then_named(change: Callable[[bytes], bytes], words: str) -> None:
    loop = JsonLoop(early(), link=lambda peer: Meddling(peer, change))
    with pytest.raises(LinkError, match=r"repeated frame 19 3 times .*at 0\.0.* s of the flight.*restart it") as caught:
        loop.fly(1.0)
    assert caught.value.exit_code == EXIT_LINK
    assert any(words in complaint for complaint in loop.peer.complaints), loop.peer.complaints
    assert loop.exchange.repeats == 3
    assert not loop.peer.reader.deaf, "we stopped long before its buffer was full"
    assert loop.vehicle.t_ns == 20 * loop.period_ns, "a repeat makes no step"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (WIND_FIRST, "position and velocity differ"),
        (lambda data: data[1:], "refused"),
        (lambda data: data[:-1], "refused"),
        (lambda data: data.replace(b'"timestamp":', b'"timestamp":9'), "the first timestamp is 90"),
        (lambda data: data.replace(b'"timestamp":1.', b'"timestamp":7.'), "the clock jumped by 6.001 s"),
        (lambda data: data.replace(b'"timestamp":1.', b'"timestamp":0.'), "Detected physics reset"),
        (lambda data: data.replace(b'"airspeed"', b'"speed"'), "airspeed"),
    ],
)
def test_what_is_silently_misread_is_noticed_by_the_peer(change: Callable[[bytes], bytes], words: str) -> None:
    """The strictness of the peer itself; in flight, where a velocity that stays as it was shows."""
    loop = JsonLoop(early(), link=lambda peer: Meddling(peer, change, first=1500 if change is WIND_FIRST else 1))
    try:
        loop.fly(1.0)
        loop.take_off(3.0)
        loop.fly(4.0)
    except LinkError:
        pass
    assert any(words in complaint for complaint in loop.peer.complaints), loop.peer.complaints


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("rate_B", (0.0, 0.0, 0.5), "attitude and gyro differ"),
        ("accel_B", (0.0, 0.0, -9.81), "at rest accel_body is"),
        ("pos_W", None, "position and velocity differ"),
        ("quat_WB", (1.0, 0.1, 0.0, 0.0), "norm"),
        ("accel_B", (0.0, 0.0, 981.0), "are not rad/s and m/s2"),
    ],
)
def test_the_peer_notices_a_state_that_does_not_fit(field: str, value: Any, words: str) -> None:
    peer = early()
    peer.packet()
    for number in range(1, 1000):
        state = AnswerState(
            number * 1_250_000, (0.0,) * 3, (0.0, 0.0, 9.81), (0.0,) * 3, (1.0, 0.0, 0.0, 0.0), (0.0,) * 3,
            airspeed_m_s=0.0,
        )  # fmt: skip
        changed = value if value is not None else (0.01 * number, 0.0, 0.0)
        peer.receive(answer(state._replace(**{field: changed})))
    assert any(words in complaint for complaint in peer.complaints), peer.complaints


def test_a_nan_ends_arducopter_so_that_none_is_sent() -> None:
    peer = early()
    packet = peer.packet()
    assert packet
    text = answer(AnswerState(1_250_000, (0.0,) * 3, (0.0, 0.0, 9.81), (0.0,) * 3, (1.0, 0.0, 0.0, 0.0), (0.0,) * 3))
    assert peer.receive(text.replace(b"9.81", b"nan")) == b""
    assert "SIGFPE" in peer.aborted
    loop = JsonLoop(early())
    loop.fly(0.1)
    loop.vehicle.state = loop.vehicle.state._replace(vel_W=(math.nan, 0.0, 0.0))
    sent = loop.link.sent
    loop.exchange._next_ns = loop.vehicle.t_ns
    with pytest.raises(LinkError, match="no answer was sent to ArduPilot: NaN or infinity"):
        loop.exchange.serve()
    assert loop.link.sent == sent


def test_some_hundred_refused_answers_make_it_deaf() -> None:
    """The fact that three repeats protect from."""
    reader, short = (
        Reader(),
        b'\n{"timestamp":1,"imu":{"gyro":[0,0,0],"accel_body":[0,0,0]},"position":[0,0,0],"v":0}\n',
    )
    count = 0
    while not reader.deaf:
        assert not reader.receive(short + b" " * 20)
        count += 1
    assert 500 < count < 800
    good = answer(AnswerState(1, (0.0,) * 3, (0.0,) * 3, (0.0,) * 3, (1.0, 0.0, 0.0, 0.0), (0.0,) * 3))
    assert not reader.receive(good)
    assert len(good) < BUFFER_B


def test_an_answer_that_was_lost_is_sent_again_and_the_aircraft_makes_no_step() -> None:
    lost: list[bytes] = []

    def lose_one(data: bytes) -> bytes:
        if not lost:
            lost.append(data)
            return b""
        return data

    loop = JsonLoop(early(), link=lambda peer: Meddling(peer, lose_one, first=50))
    loop.fly(0.5)
    assert loop.link.wall_s >= 1.1, "ArduPilot resends after 1.1 s"
    assert (loop.peer.repeated, loop.exchange.repeats) == (1, 1)
    assert loop.peer.complaints == []
    assert loop.peer.answers == 400


def test_packets_repeated_before_the_first_answer_are_no_repeats() -> None:
    """ArduPilot was there first and sent its packet again and again while the bench started."""
    peer = early()
    loop = JsonLoop(peer)
    for _ in range(30):
        loop.link.put(peer.packet())
    loop.fly(0.5)
    assert loop.exchange.repeats == 0
    assert peer.complaints == []
    assert peer.answers == 400


def test_datagrams_that_are_no_packets_are_counted_and_ignored() -> None:
    loop = JsonLoop(early())
    loop.fly(0.1)
    loop.link.put(b"hello")
    loop.link.put(struct.pack("<HHI16H", 1, 2, 3, *[2000] * 16))
    loop.fly(0.2)
    counters = loop.exchange.counters
    assert (counters.skipped_bytes, counters.unknown) == (5, 1)
    assert loop.exchange.command == (0.0,) * 4
    assert loop.peer.complaints == []


# Restarts.


def restarted(on_restart: str) -> tuple[JsonLoop, ArdupilotPeer]:
    """ArduPilot ends in the air and another starts; its clock begins at 0."""
    loop = JsonLoop(early(), on_restart=on_restart)
    loop.fly(1.0)
    loop.take_off(5.0)
    loop.fly(6.0)
    assert loop.vehicle.state.pos_W[2] > 4.0
    second = early()
    loop.link.peer = second
    loop.link.datagrams()
    loop.link.put(second.packet())
    return loop, second


def test_after_a_restart_the_aircraft_stands_at_its_start() -> None:
    loop, second = restarted("reset")
    loop.fly(6.0 + 2 * loop.period_ns / NS)
    assert loop.vehicle.state.pos_W[2] == pytest.approx(REST, abs=0.01)
    loop.fly(7.0)
    loop.peer = second
    loop.take_off(3.0)
    loop.fly(12.0)
    assert second.complaints == []
    assert second.t_s == pytest.approx(6.0, abs=0.01), "its clock started at 0"
    assert loop.vehicle.state.pos_W[2] == pytest.approx(REST + 3.0, abs=0.3)
    assert (6.0 * NS + loop.period_ns, Event.AUTOPILOT_RESTARTED, 1) in loop.rows.events
    assert "the aircraft is put back to its start" in loop.said[-1]


def test_after_a_restart_the_aircraft_may_stay_where_it_is() -> None:
    loop, second = restarted("continue")
    loop.fly(6.1)
    assert loop.vehicle.state.pos_W[2] > 4.0
    assert loop.exchange.command == (0.0,) * 4, "its motors stop until it commands them"
    assert second.t_s == pytest.approx(0.1, abs=0.01)
    assert "the aircraft stays where it is" in loop.said[-1]


def test_a_restart_may_end_the_flight() -> None:
    loop, _ = restarted("end")
    with pytest.raises(LinkError, match=r"restarted at 6\.00 s of the flight \(frame 0 after 4800\)"):
        loop.fly(6.1)


# Starting and silence.


class Silent(PeerLink):
    """ArduPilot without a ground station on its first serial port."""

    def __init__(self, peer: ArdupilotPeer) -> None:
        super().__init__(peer)
        self.datagrams()
        peer.aborted = "waits for a ground station"


def test_a_silent_port_is_explained_after_ten_seconds_and_an_error_at_the_end() -> None:
    loop = JsonLoop(early(), link=Silent)
    with pytest.raises(LinkError, match=r"no servo packet on memory within 30 s; .*--serial0 udpclient") as caught:
        loop.exchange.await_ready(30.0)
    assert caught.value.exit_code == EXIT_LINK
    (hint,) = loop.said
    assert hint.startswith("no servo packet on memory for 10 s; ArduPilot is not running, or ") and "--serial0" in hint


def test_a_port_with_strange_datagrams_is_explained_by_them() -> None:
    loop = JsonLoop(early(), link=Silent)
    loop.link.put(b"{}")
    with pytest.raises(LinkError, match="1 datagrams were no servo packets"):
        loop.exchange.await_ready(5.0)


def test_an_ardupilot_that_falls_silent_is_named_and_waited_for() -> None:
    loop = JsonLoop(early())
    loop.fly(1.0)
    loop.peer.aborted = "SIGKILL"
    loop.link.datagrams()
    with pytest.raises(LinkError, match=r"has sent nothing for 60 s \(at 1\.00 s of the flight\)"):
        loop.fly(2.0)
    assert "simulated time is stopped for 60 s at most" in loop.said[0]


class Pausing(PeerLink):
    """In a debugger for eight seconds of wall time, after its fiftieth answer."""

    def wait(self, timeout_s: float) -> bool:
        if self.sent == 50 and self.wall_s < 8.0:
            self.wall_s += timeout_s
            return False
        return super().wait(timeout_s)

    def datagrams(self) -> list[bytes]:
        return [] if self.sent == 50 and self.wall_s < 8.0 else super().datagrams()


def test_one_that_comes_back_goes_on() -> None:
    loop = JsonLoop(early(), link=Pausing)
    loop.fly(0.5)
    assert [event for _, event, _ in loop.rows.events][-2:] == [Event.AUTOPILOT_LEFT, Event.AUTOPILOT_BACK]
    assert loop.peer.complaints == []
    assert loop.peer.answers == 400


# Facts of ArduPilot that the bench is built on.


def test_it_does_not_arm_below_1_8_times_its_loop_rate() -> None:
    loop = JsonLoop(ArdupilotPeer(Copter(loop_hz=500.0), ready_s=EARLY_S))
    loop.fly(1.0)
    loop.take_off(3.0)
    assert "Arm: Gyro 0 rate 800Hz < loop ratex1.8 900Hz" in loop.peer.words.texts
    assert not loop.peer.craft.armed


def test_who_answers_with_a_fixed_step_reads_a_rate_one_hertz_nearer_to_the_wish() -> None:
    loop = JsonLoop(early(rate_hz=1200))
    loop.fly(0.5)
    assert loop.exchange.frame_rate_hz == 801


@pytest.mark.parametrize("pulse_us", [5, 3000])
def test_a_pulse_out_of_range_leaves_the_last_one(pulse_us: int) -> None:
    def spoilt(frame: int, pwm: list[int]) -> list[int]:
        return [pulse_us, *pwm[1:]] if 3200 <= frame < 3208 else pwm

    loop = JsonLoop(early(change=spoilt))
    loop.fly(1.0)
    loop.take_off(5.0)
    loop.fly(5.0)
    assert loop.exchange.pulses.refused == 8
    assert [value for _, event, value in loop.rows.events if event is Event.ACTUATORS_REFUSED] == [1]
    assert loop.vehicle.state.pos_W[2] > 3.0, "it flies on"


def test_modes_that_the_tests_need() -> None:
    copter = Copter()
    motion = early().motion
    assert copter.set_mode(BRAKE, motion) == copter.set_mode(LAND, motion) == ""
    assert "not armable" in copter.arm(motion, 0.0)


# A plane: the signs of its channels are the model's answer to the peer's control.


def launched(**settings: Any) -> JsonLoop:
    loop = JsonLoop(ArdupilotPeer(Plane(), ready_s=EARLY_S, rate_hz=250), scenario="fixedwing-ardupilot", **settings)
    loop.fly(1.0)
    loop.peer.craft.parameter("TKOFF_ALT", 30.0)
    loop.command(mavlink.MAV_CMD_DO_SET_MODE, 1, TAKEOFF)
    loop.command(mavlink.MAV_CMD_COMPONENT_ARM_DISARM, 1)
    return loop


def circling(loop: JsonLoop) -> bool:
    """Whether after its climb it circles to the right at its height."""
    start_m = loop.vehicle.state.pos_W[2]
    loop.fly(17.0)
    before = euler(loop.peer.motion.quat)[2]
    loop.fly(19.0)
    roll, _, heading = euler(loop.peer.motion.quat)
    high = abs(loop.vehicle.state.pos_W[2] - start_m - 28.0) < 3.0
    return high and 15.0 < math.degrees(roll) < 25.0 and math.degrees(heading - before) > 10.0


def test_a_plane_leaves_its_catapult_climbs_and_circles_to_the_right() -> None:
    loop = launched()
    assert circling(loop)
    assert loop.peer.finish() == []
    assert loop.exchange.pulses.refused == 0


@pytest.mark.parametrize(("surface", "sign"), [("elevator", 1), ("aileron", -1)])
def test_a_plane_with_a_reversed_surface_does_not(surface: str, sign: Any) -> None:
    assert not circling(launched(**{f"channels__{surface}": SurfaceChannel(sign=sign)}))


def test_after_a_restart_a_plane_stands_on_its_catapult() -> None:
    loop = launched()
    start_W = loop.vehicle.state.pos_W
    loop.fly(4.0)
    assert math.dist(loop.vehicle.state.pos_W, start_W) > 20.0
    second = ArdupilotPeer(Plane(), ready_s=EARLY_S, rate_hz=250)
    loop.link.peer = second
    loop.link.datagrams()
    loop.link.put(second.packet())
    loop.fly(5.0)
    assert loop.vehicle.state.pos_W == start_W
    assert second.complaints == []
