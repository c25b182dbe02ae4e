"""The link to a strict PX4 that falls silent, answers late or with nonsense, restarts, or connects again."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hil_flight import (
    HANG_S,
    STEP_NS,
    Spoiling,
    Wire,
    prepare,
    watch,
)
from pymavlink.dialects.v20 import common as mavlink

from aeroloop.core.errors import LinkError
from aeroloop.core.signals import NS, Event
from aeroloop.exchanges.mavlink_hil import Timing, wall_timing
from aeroloop.links.lasting import LastingServer
from aeroloop.links.open import open_link
from aeroloop.links.url import ends, parse
from peers.px4_peer import Px4Peer


class Mute(Wire):
    """An autopilot that falls silent."""

    def send(self, data: bytes) -> None:
        if self._peer.samples < 1000:
            super().send(data)


def test_an_autopilot_that_falls_silent_is_named() -> None:
    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=Mute)
    with pytest.raises(LinkError, match=r"the autopilot on memory has not answered for 60 s \(at 4\.0"):
        flight.loop.fly(60 * NS)


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


def test_actuators_that_are_no_numbers_leave_the_last_command_and_the_clock() -> None:
    def bad(t_us: int) -> Any:
        return mavlink.MAVLink_hil_actuator_controls_message(t_us, [float("nan")] * 16, 129, 1)

    flight = prepare(seed=1, armed_s=(1.0, 100.0), wire=lambda peer: Spoiling(peer, 10_000_000, bad))
    flight.loop.fly(10 * NS + 5 * STEP_NS)
    assert flight.loop.exchange.actuators.refused == 6
    assert flight.loop.exchange.lockstep.locked
    assert flight.loop.exchange.lockstep.stray_answers == 0


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
