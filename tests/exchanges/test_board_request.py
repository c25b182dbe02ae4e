"""A board that owns its timer, at a wall pace: what has piled up before it was heard, and what piles up in flight."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable

import pytest

from aeroloop.core.errors import LinkError
from aeroloop.core.scenario import Link as LinkConfig
from aeroloop.core.signals import COMMAND_COUNT, NS, SENSOR_COUNT, Event
from aeroloop.exchanges.board_request import BoardRequest, Settings
from aeroloop.exchanges.link_faults import LinkFaults
from aeroloop.exchanges.wire import Wire
from aeroloop.families.tiltrotor.design import Plausible as Bounds
from aeroloop.links.impair import Impaired
from aeroloop.protocols.board import REQUEST_FRAME, BoardEnd
from aeroloop.protocols.framing import Counters, Deframer
from aeroloop.protocols.handshake import host_claim
from aeroloop.protocols.interface import ANSWER, HELLO, TILTROTOR

PERIOD_NS = 12_000_000
WIDE = Bounds(low=(-1e3,) * 16, high=(1e3,) * 16, step=(1e3,) * 16)
ONE_READ = 4096
"""What a pseudo-terminal gives at once."""


def cycle(uptime_ms: int) -> bytes:
    """What a board sends that nobody answers: start and request, in every cycle."""
    return BoardEnd(WIDE, lambda _: None).start(host_claim(TILTROTOR, uptime_ms)) + REQUEST_FRAME


class Line:
    """A link with so many bytes waiting; its descriptor is readable while there are any."""

    url = "line://"

    def __init__(self, waiting: bytes = b"") -> None:
        self._read, self._write = os.pipe()
        self._waiting = b""
        self.sent = b""
        self.add(waiting)

    def add(self, data: bytes) -> None:
        if data and not self._waiting:
            os.write(self._write, b".")
        self._waiting += data

    def fileno(self) -> int:
        return self._read

    def send(self, data: bytes) -> None:
        self.sent += data

    def poll(self) -> bytes:
        chunk, self._waiting = self._waiting[:ONE_READ], self._waiting[ONE_READ:]
        if chunk and not self._waiting:
            os.read(self._read, 1)
        return chunk

    def next_due_ns(self) -> int | None:
        return None

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)

    def answers(self) -> int:
        """Sensor messages that were sent."""
        data = Deframer(256, Counters()).feed(self.sent)
        return sum(len(each) == ANSWER.size for each in data)

    def hellos(self) -> int:
        data = Deframer(256, Counters()).feed(self.sent)
        return sum(len(each) == HELLO.size and each[0] == HELLO.number for each in data)


class Hovering:
    """A vehicle that measures always the same."""

    def __init__(self) -> None:
        self.t_ns, self.ended = 0, ""
        self.events: list[tuple[Event, float]] = []

    def measured(self) -> tuple[float, ...]:
        return (0.0,) * SENSOR_COUNT

    def log_event(self, event: Event, value: float) -> None:
        self.events.append((event, value))


def flown(line: Line, notify: Callable[[str], None] = lambda text: None) -> tuple[BoardRequest, Hovering]:
    vehicle = Hovering()
    settings = Settings(
        bounds=Bounds(low=(-1e3,) * COMMAND_COUNT, high=(1e3,) * COMMAND_COUNT, step=(1e3,) * COMMAND_COUNT),
        first_command=(0.0,) * COMMAND_COUNT,
        period_ns=PERIOD_NS,
        end_ns=60 * NS,
        silence_ns=NS,
        notify=notify,
    )
    config = LinkConfig()
    link = Impaired(line, inbound=config.to_plant, outbound=config.to_board, clock_ns=lambda: vehicle.t_ns, seed=1)
    publish = dict.fromkeys(("sensors", "cycle", "command", "link"), lambda *row: None)
    return BoardRequest(vehicle, Wire(link, line, LinkFaults(link, config)), settings, publish), vehicle


def test_what_a_board_sent_before_it_was_heard_is_not_answered() -> None:
    line = Line(b"".join(cycle(12 * number) for number in range(166)))  # two seconds of them, more than one read
    told: list[str] = []
    exchange, _ = flown(line, told.append)
    exchange.await_ready(5.0, lambda: False)
    assert not told
    assert line.hellos() == 1, "one start is taken, the newest"
    exchange.serve()
    assert line.answers() == 0
    line.add(REQUEST_FRAME)
    exchange.serve()
    assert line.answers() == 1


def test_a_plant_that_was_stopped_while_it_waited_answers_no_stale_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock jumps by a second and a half between two reads, as for a process that gets SIGSTOP and SIGCONT."""
    clock_s = iter(range(1, 10_000))
    monkeypatch.setattr(time, "monotonic", lambda: 1.5 * next(clock_s))
    line = Line(b"".join(cycle(12 * number) for number in range(166)))
    exchange, _ = flown(line)
    exchange.await_ready(1e6, lambda: False)
    exchange.serve()
    assert (line.hellos(), line.answers()) == (1, 0)


def test_of_requests_that_piled_up_in_flight_the_newest_is_answered_and_the_others_counted() -> None:
    line = Line(cycle(0))
    exchange, vehicle = flown(line)
    exchange.await_ready(5.0, lambda: False)
    vehicle.t_ns = 20 * PERIOD_NS
    late = exchange.protocol.counters.late
    line.add(REQUEST_FRAME * 40)
    exchange.serve()
    assert line.answers() == 1
    assert exchange.protocol.counters.late == late + 39


def test_a_board_that_never_falls_silent_flies_all_the_same() -> None:
    class Babbler(Line):
        def poll(self) -> bytes:
            return cycle(0)  # and its descriptor stays readable

    line = Babbler(cycle(0))
    told: list[str] = []
    exchange, _ = flown(line, told.append)
    exchange.await_ready(30.0, lambda: False)
    assert line.hellos() == 1
    (words,) = told
    assert re.search(r"the board on line:// has not paused for half a control period in \d+ bytes \(301 reads\)", words)


def test_a_board_that_only_asks_is_told_apart_from_one_that_says_nothing() -> None:
    with pytest.raises(LinkError, match=r"no start message .* within 0\.05 s; it sends requests, so reset it"):
        flown(Line(REQUEST_FRAME * 3))[0].await_ready(0.05, lambda: False)
    with pytest.raises(LinkError, match=r"no start message .*; is it connected, powered and running\?"):
        flown(Line())[0].await_ready(0.05, lambda: False)


def test_silence_is_counted_in_the_flights_time_not_the_walls() -> None:
    line = Line(cycle(0))
    exchange, vehicle = flown(line)
    exchange.await_ready(5.0, lambda: False)
    exchange.serve()  # however long the plant stood still, its time did not go on
    vehicle.t_ns = NS + 1
    with pytest.raises(LinkError, match=r"the board has sent nothing on line:// for 1 s \(at 1\.00 s of the flight\)"):
        exchange.serve()
