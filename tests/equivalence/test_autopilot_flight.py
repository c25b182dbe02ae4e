"""A whole flight of the quadrotor for a strict PX4 in lockstep: every stage, every byte, and not one complaint."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hil_flight import (
    HANG_S,
    HOME,
    IRIS,
    STEP_NS,
    Spoiling,
    Wire,
    prepare,
    quad_sensors,
    watch,
)
from msgspec import structs
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.core.errors import LinkError
from aeroloop.core.faults import PlannedFault
from aeroloop.core.signals import NS, Event, RigidState
from aeroloop.exchanges.mavlink_hil import wall_timing
from aeroloop.families.multirotor import airframe
from aeroloop.links.open import open_link
from aeroloop.links.url import ends, parse
from aeroloop.sensors.imu import ImuSample
from aeroloop.sensors.magnetometer import MagnetometerSample
from aeroloop.sensors.suite import SensorSet, preset
from aeroloop.sim.loop import run
from aeroloop.world.atmosphere import Atmosphere, Day
from peers.hil_loop import AsTheyAnswer
from peers.px4_peer import Expected, Px4Peer


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


def test_two_aircraft_fly_together_without_a_complaint() -> None:
    flights = [prepare(seed=seed, armed_s=(1.0, 100.0)) for seed in (1, 2)]
    alone = prepare(seed=2, armed_s=(1.0, 100.0))
    crafts = [flight.loop.craft(10 * NS) for flight in flights]
    assert run(crafts, AsTheyAnswer(), lambda: False) == "completed"
    alone.loop.fly(10 * NS)
    assert [flight.peer.finish() for flight in flights] == [[], []]
    assert flights[1].wire.sent.hexdigest() == alone.wire.sent.hexdigest(), "as if it had been alone"
