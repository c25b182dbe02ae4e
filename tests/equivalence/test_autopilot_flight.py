"""A whole flight of the quadrotor for a strict PX4 in lockstep: every stage, every byte, and not one complaint."""

from __future__ import annotations

import hashlib
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from failing_sensors import FailingSuite
from msgspec import structs
from pymavlink.dialects.v20 import common as mavlink
from quad_pilot import BRISK, Pilot

from aeroloop.actuators.motors import Motors, RotorEffort
from aeroloop.codegen.evaluate import Evaluator
from aeroloop.core.errors import LinkError
from aeroloop.core.faults import PlannedFault
from aeroloop.core.frames import Vec3
from aeroloop.core.signals import NS, Air, Event, RigidState
from aeroloop.exchanges.mavlink_hil import Timing, wall_timing
from aeroloop.families.multirotor import airframe
from aeroloop.links.lasting import LastingServer
from aeroloop.links.open import open_link
from aeroloop.links.url import ends, parse
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.suite import SensorSet, preset
from aeroloop.sim.loop import run
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.earth import Earth, Home
from aeroloop.world.wind import Wind, WindConfig
from peers.hil_loop import AsTheyAnswer, HilLoop
from peers.px4_peer import Expected, Px4Peer

STEP_NS = 4_000_000
HANG_S = 120.0
HOME = Home(lat_deg=47.397742, lon_deg=8.545594, alt_m=488.0, date=date(2026, 6, 1))
IRIS = airframe.load("iris")
LIGHT_WIND = WindConfig(steady_W=(1.5, -0.5, 0.0))
EXPECTED = Expected(sensor_Hz=250.0, magnetometer_Hz=50.0, barometer_Hz=50.0, gnss_Hz=10.0)


def quad_sensors() -> SensorSet:
    """PX4's set, as a multirotor has it."""
    px4 = preset("px4")
    return SensorSet(imu=px4.imu, magnetometer=px4.magnetometer, barometer=px4.barometer, gnss=px4.gnss)


def goal_W(t_s: float) -> Vec3:
    """Up to 20 m, three wide circles a minute apart, and down again."""
    if t_s < 260.0:
        angle = 2.0 * np.pi * max(0.0, t_s - 30.0) / 60.0
        return (15.0 * float(np.sin(angle)), 15.0 * (1.0 - float(np.cos(angle))), min(20.0, 1.5 * max(0.0, t_s - 8.0)))
    return (0.0, 0.0, max(-0.5, 20.0 - 1.0 * (t_s - 260.0)))


class Wire:
    """A link whose far end answers while it is being written to."""

    url = "memory"

    def __init__(self, peer: Px4Peer) -> None:
        self._peer = peer
        self._back = peer.connect()
        self.sent = hashlib.sha256()

    def send(self, data: bytes) -> None:
        self.sent.update(data)
        self._back += self._peer.receive(data)

    def poll(self) -> bytes:
        back, self._back = self._back, b""
        return back


@dataclass
class Flight:
    loop: HilLoop
    peer: Px4Peer
    wire: Any


def prepare(
    seed: int,
    armed_s: tuple[float, float],
    wire: Callable[[Px4Peer], Any] = Wire,
    timing: Timing | None = None,
    sensors: SensorSet | None = None,
    expected: Expected = EXPECTED,
    step_ns: int = STEP_NS,
    faults: tuple[PlannedFault, ...] = (),
    load: Callable[[RotorEffort, Air], tuple[float, float]] | None = None,
    before: Callable[[], None] = lambda: None,
) -> Flight:
    # By the truth, so that the flight is one a good autopilot would fly: what is judged here is the bench.
    pilot = Pilot(IRIS, STEP_NS, BRISK)
    flight: list[Flight] = []

    def command(t_us: int) -> tuple[bool, tuple[float, ...]]:
        t_s = t_us / 1e6
        if not armed_s[0] <= t_s < armed_s[1]:
            return False, ()
        return True, pilot.controls(flight[0].loop.state, goal_W(t_s))

    peer = Px4Peer(command=command, expected=expected, home_deg=(HOME.lat_deg, HOME.lon_deg), year=2026.4)
    streams = Streams(seed)
    link = wire(peer)
    loop = HilLoop(
        motors=Motors(IRIS.motors, IRIS.rotors.count),
        world=airframe.world(IRIS, step_ns / NS),
        earth=Earth(HOME),
        atmosphere=Atmosphere(Day()),
        wind=Wind(LIGHT_WIND, streams.generator("wind"), Evaluator),
        sensors=FailingSuite(sensors or quad_sensors(), streams, faults),
        link=link,
        timing=timing or Timing(readable=lambda timeout_s: False),
        rotors=IRIS.rotors.count,
        step_ns=step_ns,
        load=load,
        before=before,
    )
    flight.append(Flight(loop, peer, link))
    return flight[0]


@pytest.mark.parametrize(("flown_s", "height_m"), [(80, 15.0), pytest.param(300, 19.0, marks=pytest.mark.soak)])
def test_minutes_in_lockstep_without_a_complaint(flown_s: int, height_m: float) -> None:
    flight = prepare(seed=1, armed_s=(6.0, 285.0))
    highest_m = farthest_m = 0.0
    for until_s in range(1, flown_s + 1):
        flight.loop.fly(until_s * NS)
        x, y, z = flight.loop.state.pos_W
        highest_m, farthest_m = max(highest_m, z), max(farthest_m, float(np.hypot(x, y)))
    assert flight.peer.finish() == []
    assert flight.loop.exchange.lockstep.locked
    assert (flight.loop.exchange.lockstep.timeouts, flight.loop.exchange.lockstep.stray_answers) == (0, 0)
    assert flight.peer.samples == flown_s * 250
    assert height_m < highest_m < 21.5
    assert farthest_m > 25.0
    if flown_s == 300:
        assert flight.loop.state.pos_W[2] == pytest.approx(IRIS.rest_height_m, abs=0.05), "landed"
    assert (
        flight.loop.exchange.counters.bad_checksums
        == flight.loop.exchange.counters.lost
        == flight.loop.exchange.actuators.refused
        == 0
    )


def test_one_seed_is_one_flight_and_another_seed_another() -> None:
    def sent(seed: int) -> str:
        flight = prepare(seed, armed_s=(1.0, 100.0))
        flight.loop.fly(12 * NS)
        return flight.wire.sent.hexdigest()

    first = sent(1)
    assert sent(1) == first
    assert sent(2) != first


class Mute(Wire):
    """An autopilot that falls silent."""

    def send(self, data: bytes) -> None:
        if self._peer.samples < 1000:
            super().send(data)


def test_an_autopilot_that_falls_silent_is_named() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=Mute)
    with pytest.raises(LinkError, match=r"the autopilot on memory has not answered for 60 s \(at 4\.0"):
        flight.loop.fly(60 * NS)


def play_over(port: int, peer: Px4Peer) -> None:
    """PX4's side of a TCP link: it connects, and answers what comes until the simulator leaves."""
    with socket.create_connection(("127.0.0.1", port), timeout=HANG_S) as px4:
        px4.sendall(peer.connect())
        while chunk := px4.recv(65536):
            px4.sendall(peer.receive(chunk))


def test_a_flight_over_a_real_tcp_link() -> None:
    """PX4 connects to us; we run at the wall's pace until it answers, and then as fast as both can."""
    url, client = ends("tcp://127.0.0.1:0", folder=Path(), name="px4")
    link = open_link(url)
    # Before lockstep slower than the wall: a peer in a thread that is kept waiting must not find two samples at once.
    timing = wall_timing(link)
    flight = prepare(
        seed=1, armed_s=(1.0, 100.0), wire=lambda peer: link, timing=timing, before=lambda: time.sleep(0.02)
    )
    px4 = threading.Thread(target=play_over, args=(parse(client or "").port, flight.peer), daemon=True)
    px4.start()
    flight.loop.exchange.await_ready(HANG_S)
    flight.loop.fly(12 * NS)
    link.close()
    px4.join(HANG_S)
    assert not px4.is_alive()
    assert flight.peer.finish() == []
    assert flight.loop.exchange.lockstep.locked
    assert flight.loop.exchange.lockstep.timeouts == 0
    assert flight.loop.state.pos_W[2] > 0.5, "it flies"
    assert flight.peer.samples == 12 * 250


def test_an_autopilot_that_never_speaks_is_waited_for_in_words() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0))
    with pytest.raises(LinkError, match=r"no MAVLink received on memory within 1 s; is the autopilot running\?"):
        flight.loop.exchange.await_ready(1.0)
    assert flight.loop.t_ns == 0


class FakeTime:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000_000_000

    def monotonic_ns(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * NS)


class Noisy(Wire):
    """Garbage, other systems' messages and numbers that are none between the autopilot's answers."""

    def poll(self) -> bytes:
        return b"\xfd\xfe\x00" + super().poll() + b"\xfe\x09junk"


def test_garbage_between_the_answers_does_not_matter() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=Noisy)
    flight.loop.fly(12 * NS)
    assert flight.peer.finish() == []
    assert flight.loop.exchange.counters.skipped_bytes > 1000
    assert flight.loop.state.pos_W[2] > 0.5, "it flies"


class Trailing(Wire):
    """An autopilot that answers each sample only when the next one comes."""

    def __init__(self, peer: Px4Peer) -> None:
        super().__init__(peer)
        self._late = b""

    def send(self, data: bytes) -> None:
        self._back += self._late
        self._late = self._peer.receive(data)


def test_an_autopilot_whose_answers_trail_is_flown_after_three_time_outs() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=Trailing)
    flight.loop.fly(12 * NS)
    assert flight.loop.exchange.lockstep.timeouts == 3
    assert flight.loop.state.pos_W[2] > 0.5, "it flies"


class Spoiling(Wire):
    """Puts something of its own in the place of the autopilot's answers from a time on."""

    def __init__(self, peer: Px4Peer, from_us: int, answer: Callable[[int], Any], system: int = 1) -> None:
        super().__init__(peer)
        self._from_us, self._answer = from_us, answer
        self._sender = mavlink.MAVLink(None, srcSystem=system, srcComponent=1)

    def send(self, data: bytes) -> None:
        super().send(data)
        if self._peer.time_usec >= self._from_us:
            self._back = self._answer(self._peer.time_usec).pack(self._sender)


def test_actuators_that_are_no_numbers_leave_the_last_command_and_the_clock() -> None:
    def bad(t_us: int) -> Any:
        return mavlink.MAVLink_hil_actuator_controls_message(t_us, [float("nan")] * 16, 129, 1)

    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=lambda peer: Spoiling(peer, 10_000_000, bad))
    flight.loop.fly(10 * NS + 5 * STEP_NS)
    assert flight.loop.exchange.actuators.refused == 6
    assert flight.loop.exchange.lockstep.locked
    assert flight.loop.exchange.lockstep.stray_answers == 0


def axes(t_us: int) -> Any:
    return mavlink.MAVLink_hil_controls_message(t_us, 0.02, 0.0, 0.0, 0.7, 0, 0, 0, 0, 129, 0)


def test_axes_are_not_taken_for_motors() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=lambda peer: Spoiling(peer, 10_000_000, axes))
    flight.loop.fly(10 * NS - STEP_NS)
    before = flight.loop.controls
    with pytest.raises(LinkError, match="has not answered"):
        flight.loop.fly(11 * NS)
    assert flight.loop.controls == before
    assert flight.loop.exchange.unmixed == flight.loop.exchange.lockstep.timeouts


def test_axes_are_mixed_by_the_places_of_the_rotors() -> None:
    mix = airframe.mixer(IRIS)
    front_right, rear_left, front_left, _ = range(4)
    roll, pitch, yaw = (np.array(mix((*row, 0.5))) - 0.5 for row in np.eye(3) * 0.1)
    assert {i for i in range(4) if roll[i] > 0} == {rear_left, front_left}
    assert {i for i in range(4) if pitch[i] > 0} == {front_right, front_left}
    assert {i for i in range(4) if yaw[i] > 0} == {front_right, rear_left}, "counter-clockwise ones"
    assert mix((1.0, 0.0, 0.0, 1.0))[front_right] < 1.0 == max(mix((1.0, 0.0, 0.0, 1.0)))


def test_nobody_else_flies_the_aircraft() -> None:
    class Intruded(Wire):
        def send(self, data: bytes) -> None:
            super().send(data)
            if self._peer.time_usec == 10_000_000:
                stop = mavlink.MAVLink_hil_actuator_controls_message(10_000_000, [0.0] * 16, 1, 0)
                self._back += stop.pack(mavlink.MAVLink(None, srcSystem=77, srcComponent=1))

    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=Intruded)
    flight.loop.fly(10 * NS)
    assert flight.loop.exchange.counters.other_system == 1
    assert min(flight.loop.controls) > 0.0
    assert flight.loop.exchange.lockstep.locked


class Chattering(Mute):
    """Falls silent as an autopilot, but the link does not."""

    def poll(self) -> bytes:
        return super().poll() or b"?"


def test_a_link_that_chatters_does_not_hide_a_silent_autopilot() -> None:
    clock = FakeTime()

    def readable(timeout_s: float) -> bool:
        clock.sleep(0.01)
        return True

    timing = Timing(readable=readable, now_s=lambda: clock.now_ns / NS)
    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=Chattering, timing=timing)
    with pytest.raises(LinkError, match="has not answered for 60 s"):
        flight.loop.fly(60 * NS)


class Seldom(Wire):
    """An autopilot that from a time on answers every second sample only."""

    def send(self, data: bytes) -> None:
        before = self._back
        super().send(data)
        if self._peer.samples > 500 and self._peer.samples % 2:
            self._back = before


def test_fewer_answers_than_before_are_learnt() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=Seldom)
    flight.loop.fly(4 * NS)
    assert flight.loop.exchange.lockstep.ratio == 2
    assert flight.loop.exchange.lockstep.timeouts == 3


class Restarting(Wire):
    """The autopilot dies, and another takes its place, which says nothing at first."""

    def send(self, data: bytes) -> None:
        before = self._back
        super().send(data)
        if 500 < self._peer.samples <= 520:
            self._back = before
        if self._peer.samples == 501:
            self._back += self._peer.connect()


def test_an_autopilot_that_starts_anew_is_taken_up_again() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=Restarting)
    flight.loop.fly(501 * STEP_NS)
    assert not flight.loop.exchange.lockstep.locked
    assert max(flight.loop.controls) == 0.0, "it has not armed yet"
    flight.loop.fly(4 * NS)
    assert flight.loop.exchange.lockstep.locked
    assert flight.loop.exchange.restarts == 1
    assert flight.loop.exchange.lockstep.timeouts == 0


def test_a_slow_sample_between_two_of_the_imu_is_not_lost() -> None:
    usual = quad_sensors()
    assert usual.magnetometer is not None
    late = structs.replace(usual, magnetometer=structs.replace(usual.magnetometer, delay_s=0.005))
    flight = prepare(seed=1, armed_s=(100.0, 101.0), sensors=late, step_ns=1_000_000)
    flight.loop.fly(5 * NS)
    assert flight.peer.finish() == []


def test_no_fix_comes_before_the_clock() -> None:
    expected = Expected(sensor_Hz=500.0, magnetometer_Hz=50.0, barometer_Hz=50.0, gnss_Hz=5.0)
    flight = prepare(seed=1, armed_s=(100.0, 101.0), sensors=preset("thesis"), expected=expected, step_ns=2_000_000)
    flight.loop.fly(6 * NS)
    assert flight.peer.finish() == []


def test_the_barometer_feels_the_air_where_the_aircraft_is_now() -> None:
    ideal = preset("ideal")
    flight = prepare(seed=1, armed_s=(100.0, 101.0), sensors=SensorSet(imu=ideal.imu, barometer=ideal.barometer))
    loop: Any = flight.loop
    air, felt = Atmosphere(Day()), []
    loop.world.reset((0.0, 0.0, 100.0), (1.0, 0.0, 0.0, 0.0), vel_W=(0.0, 0.0, 20.0))
    loop.vehicle.state = loop.world.state(0)
    sample = loop.sensors.sample

    def watched(state: RigidState, here: Any, place: Any) -> Any:
        felt.append(here.pressure_Pa - air.at(place.alt_m)[0])
        return sample(state, here, place)

    loop.sensors.sample = watched
    for _ in range(5):
        loop.fly(loop.t_ns + STEP_NS)
    assert felt == [0.0] * 5


class Strapped(Wire):
    """Answers no sample without an IMU's data, as PX4's control law does not run on it."""

    def send(self, data: bytes) -> None:
        before = self._back
        super().send(data)
        if self._peer.complaints and self._peer.time_usec < 2_200_000:
            self._back = before


def test_the_clock_goes_on_while_the_imu_is_silent() -> None:
    silent = PlannedFault(target="imu", kind="silent", from_s=2.0, to_s=2.2)
    flight = prepare(seed=1, armed_s=(100.0, 101.0), wire=Strapped, faults=(silent,))
    flight.loop.fly(4 * NS)
    assert not [words for words in flight.peer.complaints if "went back" in words]
    assert flight.peer.samples == 4 * 250 - 50 + 3, "one each 50 ms meanwhile"
    assert flight.loop.exchange.lockstep.locked
    assert flight.loop.exchange.lockstep.timeouts == 0


class Diary:
    """An observer that keeps what happened, and when."""

    def __init__(self) -> None:
        self.events: list[tuple[float, Event, float]] = []
        self.ticks = 0
        self.samples: list[Any] = []

    def __call__(self, state: RigidState, effort: Any, controls: tuple[float, ...], air: Any, samples: Any, /) -> None:
        self.ticks += 1
        self.samples += samples

    def kinds(self) -> list[Event]:
        return [event for _, event, _ in self.events]


def watch(flight: Flight) -> Diary:
    diary = Diary()
    flight.loop.rows.observer = diary
    return diary


def test_the_observer_is_told_every_tick_and_every_sample() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0))
    diary = watch(flight)
    flight.loop.fly(4 * NS)
    assert diary.ticks == 1000
    assert len([s for s in diary.samples if isinstance(s, ImuSample)]) == 1000
    assert diary.kinds() == [Event.AUTOPILOT_ANSWERED]
    assert diary.events[0][2] == 1.0, "in lockstep"


def test_a_landing_is_told_with_its_speed() -> None:
    flight = prepare(seed=1, armed_s=(100.0, 101.0))
    diary, loop = watch(flight), flight.loop
    loop.world.reset((0.0, 0.0, 0.5), (1.0, 0.0, 0.0, 0.0))
    loop.fly(NS)
    ((_, event, speed_m_s),) = [told for told in diary.events if told[1] is not Event.AUTOPILOT_ANSWERED]
    assert event is Event.GROUND_CONTACT, "once, though it hops a little"
    assert -3.5 < speed_m_s < 0.5


@pytest.mark.parametrize("far_m", [float("nan"), 20_000.0])
def test_an_aircraft_out_of_bounds_ends_the_flight(far_m: float) -> None:
    flight = prepare(seed=1, armed_s=(100.0, 101.0))
    diary, loop = watch(flight), flight.loop
    loop.fly(NS)
    loop.world.reset((far_m, 0.0, 10.0), (1.0, 0.0, 0.0, 0.0))
    loop.fly(2 * NS)
    assert loop.diverged
    assert loop.t_ns == NS + STEP_NS
    assert diary.kinds()[-1] is Event.DIVERGED


def test_refused_actuators_are_told_once_and_not_in_every_tick() -> None:
    def bad(t_us: int) -> Any:
        return mavlink.MAVLink_hil_actuator_controls_message(t_us, [float("nan")] * 16, 129, 1)

    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=lambda peer: Spoiling(peer, 10_000_000, bad))
    diary = watch(flight)
    flight.loop.fly(10 * NS + 20 * STEP_NS)
    assert flight.loop.exchange.actuators.refused == 21
    assert diary.kinds().count(Event.ACTUATORS_REFUSED) == 1


class Truthful(Wire):
    """Keeps the messages that the simulator sends."""

    def __init__(self, peer: Px4Peer) -> None:
        super().__init__(peer)
        self._reader = mavlink.MAVLink(None)
        self.messages: list[Any] = []

    def send(self, data: bytes) -> None:
        self.messages += self._reader.parse_buffer(data) or []
        super().send(data)

    def of(self, kind: str) -> list[Any]:
        return [m for m in self.messages if m.get_type() == kind]


def test_ground_truth_is_sent_as_often_as_it_was_asked_for_and_only_in_lockstep() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=Truthful, step_ns=STEP_NS)
    flight.loop.fly(6 * NS)
    truths = flight.wire.of("HIL_STATE_QUATERNION")
    assert flight.peer.finish() == []
    first_us = next(m.time_usec for m in truths)
    assert first_us > 17 * 4000, "not before an answer has shown that this is no board"
    assert len(truths) == pytest.approx((6e6 - first_us) / 5000, abs=2), "every 5 ms, on average, with a step of 4 ms"
    last, state = truths[-1], flight.loop.state
    assert last.lat / 1e7 == pytest.approx(HOME.lat_deg, abs=1e-4)
    assert last.alt / 1e3 == pytest.approx(HOME.alt_m + state.pos_W[2], abs=0.1)
    assert last.vz / 100 == pytest.approx(-state.vel_W[2], abs=0.05)


class OnBoard(Truthful):
    """The same wish, but from an autopilot whose answers carry no lockstep."""

    def send(self, data: bytes) -> None:
        super().send(data)
        answer = mavlink.MAVLink_hil_actuator_controls_message(self._peer.time_usec, [0.0] * 16, 1, 0)
        self._back = answer.pack(mavlink.MAVLink(None, srcSystem=1, srcComponent=1))


def test_a_board_is_never_sent_the_truth() -> None:
    flight = prepare(seed=1, armed_s=(100.0, 101.0), wire=OnBoard)
    flight.loop.fly(2 * NS)
    assert flight.wire.of("HIL_STATE_QUATERNION") == []
    assert len(flight.wire.of("HIL_SENSOR")) == 500


def test_the_range_finder_reaches_the_autopilot_and_knows_the_ground() -> None:
    px4 = preset("px4")
    sensors = structs.replace(quad_sensors(), rangefinder=px4.rangefinder)
    flight = prepare(seed=1, armed_s=(100.0, 101.0), wire=Truthful, sensors=sensors)
    loop: Any = flight.loop
    loop.terrain_m = lambda x, y: -3.0
    flight.loop.fly(2 * NS)
    ranges = [m.current_distance / 100 for m in flight.wire.of("DISTANCE_SENSOR")]
    assert px4.rangefinder is not None
    assert len(ranges) == pytest.approx(2 * px4.rangefinder.rate_hz, abs=2)
    assert np.mean(ranges) == pytest.approx(3.0 + IRIS.rest_height_m, abs=0.1)
    assert flight.peer.finish() == []


def test_the_magnetometer_feels_the_motors() -> None:
    ideal = preset("ideal")
    assert ideal.magnetometer is not None
    bent = structs.replace(ideal.magnetometer, current_B_T_per_A=(1e-6, 0.0, 0.0), thrust_B_T_per_N=(0.0, 2e-6, 0.0))
    fields = []
    for load in (None, lambda effort, air: (10.0, 5.0)):
        flight = prepare(seed=1, armed_s=(100.0, 101.0), sensors=SensorSet(imu=ideal.imu, magnetometer=bent), load=load)
        diary = watch(flight)
        flight.loop.fly(NS // 10)
        fields.append(next(s.field_B_T for s in diary.samples if isinstance(s, MagnetometerSample)))
    assert np.subtract(fields[1], fields[0]) == pytest.approx([1e-5, 1e-5, 0.0], abs=1e-12)


def test_answers_of_a_clock_that_goes_backwards_do_not_fly_the_aircraft() -> None:
    def backwards(t_us: int) -> Any:
        return mavlink.MAVLink_hil_actuator_controls_message(5_000_000, [1.0] * 16, 129, 1)

    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=lambda peer: Spoiling(peer, 6_000_000, backwards))
    flight.loop.fly(6 * NS - STEP_NS)
    before = flight.loop.controls
    with pytest.raises(LinkError, match="has not answered for 60 s"):
        flight.loop.fly(8 * NS)
    assert flight.loop.controls == before
    assert flight.loop.exchange.lockstep.stray_answers > 1


class Silenced(Wire):
    """A board without lockstep that sends actuators up to a time, and again from another on."""

    def send(self, data: bytes) -> None:
        super().send(data)
        t_us = self._peer.time_usec
        answer = mavlink.MAVLink_hil_actuator_controls_message(t_us, [0.3] * 4 + [0.0] * 12, 129, 0)
        heard = t_us < 2_000_000 or t_us >= 4_000_000
        self._back = answer.pack(mavlink.MAVLink(None, srcSystem=1, srcComponent=1)) if heard else b""


def test_without_lockstep_a_silent_autopilot_stops_the_motors_and_may_come_back() -> None:
    flight = prepare(seed=1, armed_s=(100.0, 101.0), wire=Silenced)
    diary = watch(flight)
    flight.loop.fly(int(2.9 * NS))
    assert max(flight.loop.controls) > 0.0
    flight.loop.fly(int(3.1 * NS))
    assert max(flight.loop.controls) == 0.0
    flight.loop.fly(5 * NS)
    assert max(flight.loop.controls) > 0.0
    told = [(event, value) for _, event, value in diary.events]
    assert told[:2] == [(Event.AUTOPILOT_ANSWERED, 0.0), (Event.AUTOPILOT_LEFT, 1)]
    assert told[2][0] is Event.AUTOPILOT_BACK
    assert told[2][1] == pytest.approx(2.0, abs=0.05)


class Unplugged(Wire):
    """A link that outlives its peer, which goes at a time."""

    departures = 0

    def send(self, data: bytes) -> None:
        if self._peer.samples < 500:
            super().send(data)
        else:
            self.departures = 1


def test_time_stands_still_while_nobody_is_there_and_a_wish_to_stop_is_heard() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=Unplugged)
    diary = watch(flight)
    asked = 0

    def stopped() -> bool:
        nonlocal asked
        asked += flight.wire.departures
        return asked > 5

    flight.loop.fly(60 * NS, stopped)
    assert flight.loop.t_ns == 501 * STEP_NS
    assert diary.kinds() == [Event.AUTOPILOT_ANSWERED], "the rest comes with the next tick"
    assert min(flight.loop.controls) > 0.0, "no time passes in which they could stop"
    with pytest.raises(
        LinkError, match=r"disconnected from memory at 2\.00 s of the flight and has not reconnected for 60 s"
    ):
        flight.loop.exchange.settle()


class Client(threading.Thread):
    """PX4's side of a TCP link that loses its connection once, knocks twice and comes back."""

    def __init__(self, port: int, peer: Px4Peer, leaves_at: int, word: Callable[[], bytes]) -> None:
        super().__init__(daemon=True)
        self._port, self._peer, self._leaves_at, self._word = port, peer, leaves_at, word
        self.refused = False

    def run(self) -> None:
        self._play(self._peer.connect(), self._leaves_at)
        time.sleep(0.3)  # longer than a wait of the simulator
        self._play(self._word(), 10**9)

    def _play(self, word: bytes, until: int) -> None:
        deadline_s = time.monotonic() + HANG_S
        while True:
            try:
                px4 = socket.create_connection(("127.0.0.1", self._port), timeout=HANG_S)
                break
            except ConnectionRefusedError:
                assert time.monotonic() < deadline_s
                time.sleep(0.02)
        with px4:
            px4.sendall(word)
            while self._peer.samples < until:
                chunk = px4.recv(65536)
                if not chunk:
                    return
                px4.sendall(self._peer.receive(chunk))
                if self._peer.samples == 200:
                    self._intrude()

    def _intrude(self) -> None:
        try:
            socket.create_connection(("127.0.0.1", self._port), timeout=HANG_S).close()
        except ConnectionRefusedError:
            self.refused = True


@pytest.mark.parametrize("restarted", [False, True])
def test_a_client_that_disconnects_in_mid_flight_and_comes_back_over_tcp(restarted: bool) -> None:
    url, client_url = ends("tcp://127.0.0.1:0", folder=Path(), name="px4")
    link = LastingServer(url)
    timing = wall_timing(link)
    flight = prepare(
        seed=1, armed_s=(1.0, 100.0), wire=lambda peer: link, timing=timing, before=lambda: time.sleep(0.01)
    )
    diary = watch(flight)
    beat = mavlink.MAVLink_heartbeat_message(mavlink.MAV_TYPE_QUADROTOR, mavlink.MAV_AUTOPILOT_PX4, 1, 0, 3, 3)

    def word() -> bytes:
        if not restarted:
            return flight.peer._pack(beat)
        flight.peer._out.srcSystem = 7  # another takes its place
        return flight.peer.connect()

    client = Client(parse(client_url or "").port, flight.peer, leaves_at=1000, word=word)
    client.start()
    flight.loop.exchange.await_ready(HANG_S)
    flight.loop.fly(12 * NS)
    link.close()
    client.join(HANG_S)
    assert client.refused, "while the first is there, nobody listens for a second"
    assert flight.loop.exchange.lockstep.locked
    assert flight.loop.exchange.departures == 1
    assert flight.loop.exchange.restarts == int(restarted)
    told = [event for event in diary.kinds() if event is not Event.GROUND_CONTACT]
    again = [Event.AUTOPILOT_RESTARTED, Event.AUTOPILOT_ANSWERED] if restarted else []
    assert told == [Event.AUTOPILOT_ANSWERED, Event.AUTOPILOT_LEFT, *again, Event.AUTOPILOT_BACK]
    assert 12 * 250 - flight.peer.samples <= 3, "time stood still: at most what was on its way is lost"
    assert flight.loop.state.pos_W[2] > 0.5, "it flies"


def test_a_first_client_that_only_talks_nonsense_does_not_start_the_flight() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0))
    flight.wire._back = b"GET / HTTP/1.1\r\n\r\n"
    loop: Any = flight.loop
    loop.exchange._timing = Timing(readable=lambda timeout_s: bool(flight.wire._back))
    with pytest.raises(LinkError, match="no MAVLink received"):
        flight.loop.exchange.await_ready(1.0)


def test_two_aircraft_fly_together_without_a_complaint() -> None:
    flights = [prepare(seed=seed, armed_s=(1.0, 100.0)) for seed in (1, 2)]
    alone = prepare(seed=2, armed_s=(1.0, 100.0))
    crafts = [flight.loop.craft(10 * NS) for flight in flights]
    assert run(crafts, AsTheyAnswer(), lambda: False) == "completed"
    alone.loop.fly(10 * NS)
    assert [flight.peer.finish() for flight in flights] == [[], []]
    assert flights[1].wire.sent.hexdigest() == alone.wire.sent.hexdigest(), "as if it had been alone"


def test_an_autopilot_that_waits_for_a_word_over_udp_gets_one() -> None:
    """PX4 with UDP binds and says nothing until a datagram has come."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as px4:
        px4.bind(("127.0.0.1", 0))
        px4.settimeout(HANG_S)
        link = open_link(f"udp://127.0.0.1:{px4.getsockname()[1]}")
        flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=lambda peer: link, timing=wall_timing(link))

        def answer() -> None:
            _, simulator = px4.recvfrom(2048)
            px4.sendto(flight.peer.connect(), simulator)

        waiting = threading.Thread(target=answer, daemon=True)
        waiting.start()
        flight.loop.exchange.await_ready(HANG_S)
        waiting.join(HANG_S)
        link.close()
    assert flight.loop.exchange.counters.frames_in == 2
