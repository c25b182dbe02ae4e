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
from msgspec import structs
from pymavlink.dialects.v20 import common as mavlink
from quad_pilot import BRISK, Pilot

from aeroloop import autopilot_loop
from aeroloop.actuators.motors import Motors, RotorEffort
from aeroloop.autopilot_loop import AutopilotLoop, Timing, wall_timing
from aeroloop.errors import LinkError
from aeroloop.frames import Vec3
from aeroloop.links.open import open_link
from aeroloop.links.url import ends, parse
from aeroloop.sensors.noise import Streams
from aeroloop.sensors.schedule import Fault
from aeroloop.sensors.suite import SensorSet, Suite, preset
from aeroloop.signals import NS, RigidState
from aeroloop.vehicles.quadrotor import airframe
from aeroloop.world.atmosphere import Atmosphere, Day
from aeroloop.world.earth import Earth, Home
from aeroloop.world.wind import Wind, WindConfig
from peers.px4_peer import Expected, Px4Peer

STEP_NS = 4_000_000
HANG_S = 30.0
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
    loop: AutopilotLoop[RotorEffort]
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
    faults: tuple[Fault, ...] = (),
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
    loop = AutopilotLoop(
        motors=Motors(IRIS.motors, IRIS.rotors.count),
        world=airframe.world(IRIS, step_ns / NS),
        earth=Earth(HOME),
        atmosphere=Atmosphere(Day()),
        wind=Wind(LIGHT_WIND, streams.generator("wind")),
        sensors=Suite(sensors or quad_sensors(), streams, faults),
        link=link,
        timing=timing or Timing(until=lambda t_ns: None, readable=lambda timeout_s: False),
        rotors=IRIS.rotors.count,
        step_ns=step_ns,
    )
    flight.append(Flight(loop, peer, link))
    return flight[0]


def test_five_minutes_in_lockstep_without_a_complaint() -> None:
    flight = prepare(seed=1, armed_s=(6.0, 285.0))
    highest_m = farthest_m = 0.0
    for until_s in range(1, 301):
        flight.loop.fly(until_s * NS)
        x, y, z = flight.loop.state.pos_W
        highest_m, farthest_m = max(highest_m, z), max(farthest_m, float(np.hypot(x, y)))
    assert flight.peer.finish() == []
    assert flight.loop.lockstep.locked
    assert (flight.loop.lockstep.timeouts, flight.loop.lockstep.stray_answers) == (0, 0)
    assert flight.peer.samples == 300 * 250
    assert 19.0 < highest_m < 21.5
    assert farthest_m > 25.0
    assert flight.loop.state.pos_W[2] == pytest.approx(IRIS.rest_height_m, abs=0.05), "landed"
    assert flight.loop.counters.bad_checksums == flight.loop.counters.lost == flight.loop.actuators.refused == 0


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
    with pytest.raises(LinkError, match=r"the autopilot on memory has not answered for 10 s \(at 4\.0"):
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
    timing = Timing(until=lambda t_ns: time.sleep(0.02), readable=wall_timing(link).readable)
    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=lambda peer: link, timing=timing)
    px4 = threading.Thread(target=play_over, args=(parse(client or "").port, flight.peer), daemon=True)
    px4.start()
    flight.loop.await_autopilot(HANG_S)
    flight.loop.fly(12 * NS)
    link.close()
    px4.join(HANG_S)
    assert not px4.is_alive()
    assert flight.peer.finish() == []
    assert flight.loop.lockstep.locked
    assert flight.loop.lockstep.timeouts == 0
    assert flight.loop.state.pos_W[2] > 0.5, "it flies"
    assert flight.peer.samples == 12 * 250


def test_an_autopilot_that_never_speaks_is_waited_for_in_words() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0))
    with pytest.raises(LinkError, match=r"no autopilot has spoken on memory within 1 s; is it running\?"):
        flight.loop.await_autopilot(1.0)
    assert flight.loop.t_ns == 0


class FakeTime:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_ns = 1_000_000_000_000

    def monotonic_ns(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * NS)


def test_time_that_was_lost_before_lockstep_is_not_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeTime()
    monkeypatch.setattr(autopilot_loop, "time", clock)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        timing = wall_timing(ours)
        timing.until(1_000_000)
        clock.sleep(0.05)
        passed_ns = []
        for step in range(2, 12):
            timing.until(step * 1_000_000)
            passed_ns.append(clock.now_ns)
    assert np.diff(passed_ns).tolist() == [1_000_000] * 9


class Noisy(Wire):
    """Garbage, other systems' messages and numbers that are none between the autopilot's answers."""

    def poll(self) -> bytes:
        return b"\xfd\xfe\x00" + super().poll() + b"\xfe\x09junk"


def test_garbage_between_the_answers_does_not_matter() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=Noisy)
    flight.loop.fly(12 * NS)
    assert flight.peer.finish() == []
    assert flight.loop.counters.skipped_bytes > 1000
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
    assert flight.loop.lockstep.timeouts == 3
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
    assert flight.loop.actuators.refused == 6
    assert flight.loop.lockstep.locked
    assert flight.loop.lockstep.stray_answers == 0


def axes(t_us: int) -> Any:
    return mavlink.MAVLink_hil_controls_message(t_us, 0.02, 0.0, 0.0, 0.7, 0, 0, 0, 0, 129, 0)


def test_axes_are_not_taken_for_motors() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=lambda peer: Spoiling(peer, 10_000_000, axes))
    flight.loop.fly(10 * NS - STEP_NS)
    before = flight.loop._controls
    with pytest.raises(LinkError, match="has not answered"):
        flight.loop.fly(11 * NS)
    assert flight.loop._controls == before
    assert flight.loop.unmixed == flight.loop.lockstep.timeouts


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
    assert flight.loop.counters.other_system == 1
    assert min(flight.loop._controls) > 0.0
    assert flight.loop.lockstep.locked


class Chattering(Mute):
    """Falls silent as an autopilot, but the link does not."""

    def poll(self) -> bytes:
        return super().poll() or b"?"


def test_a_link_that_chatters_does_not_hide_a_silent_autopilot() -> None:
    clock = FakeTime()

    def readable(timeout_s: float) -> bool:
        clock.sleep(0.01)
        return True

    timing = Timing(until=lambda t_ns: None, readable=readable, now_s=lambda: clock.now_ns / NS)
    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=Chattering, timing=timing)
    with pytest.raises(LinkError, match="has not answered for 10 s"):
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
    assert flight.loop.lockstep.ratio == 2
    assert flight.loop.lockstep.timeouts == 1


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
    assert not flight.loop.lockstep.locked
    assert max(flight.loop._controls) == 0.0, "it has not armed yet"
    flight.loop.fly(4 * NS)
    assert flight.loop.lockstep.locked
    assert flight.loop.restarts == 1
    assert flight.loop.lockstep.timeouts == 0


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
    loop._world.reset((0.0, 0.0, 100.0), (1.0, 0.0, 0.0, 0.0), vel_W=(0.0, 0.0, 20.0))
    loop.state = loop._world.state(0)
    sample = loop._sensors.sample

    def watched(state: RigidState, here: Any, place: Any) -> Any:
        felt.append(here.pressure_Pa - air.at(place.alt_m)[0])
        return sample(state, here, place)

    loop._sensors.sample = watched
    for _ in range(5):
        loop.tick()
    assert felt == [0.0] * 5


class Strapped(Wire):
    """Answers no sample without an IMU's data, as PX4's control law does not run on it."""

    def send(self, data: bytes) -> None:
        before = self._back
        super().send(data)
        if self._peer.complaints and self._peer.time_usec < 2_200_000:
            self._back = before


def test_the_clock_goes_on_while_the_imu_is_silent() -> None:
    silent = Fault(sensor="imu", kind="silent", start_s=2.0, end_s=2.2)
    flight = prepare(seed=1, armed_s=(100.0, 101.0), wire=Strapped, faults=(silent,))
    flight.loop.fly(4 * NS)
    assert not [words for words in flight.peer.complaints if "went back" in words]
    assert flight.peer.samples == 4 * 250 - 50 + 3, "one each 50 ms meanwhile"
    assert flight.loop.lockstep.locked
    assert flight.loop.lockstep.timeouts == 0
