"""The board's logic, driven by a fake clock and a trivial law: who sends what when, and what is said about it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aeroloop.boards.config import Board as Config
from aeroloop.boards.host import Behaviour, HostBoard
from aeroloop.core.signals import NS, Command, Event, Mode, Reference, Sensors
from aeroloop.families.tiltrotor.design import Plausible
from aeroloop.protocols import interface
from aeroloop.protocols.board import HELLO_FRAME, Actuators, FromBoard, PlantEnd, Request, Start
from aeroloop.protocols.framing import encode
from aeroloop.protocols.handshake import host_claim
from aeroloop.protocols.reference import encode_reference

PERIOD_NS = 12_000_000
HOVER: Command = (10.0, 10.5, 0.0, 0.25)
SAFE: Command = (9.0, 9.5, 0.0, 0.0)
FIRST_SEEN = Reference(0, (5.0, 0.0, 0.0), 0.0, (0.0, 0.0, 0.0), 0.0)
CONFIG = Config(sensor_hold_s=0.06, reference_timeout_s=0.5)


@dataclass
class Bench:
    """A board, the plant's end of its link, and a law that sends back its first sensor value in each element."""

    config: Config = CONFIG
    said: list[tuple[int, Event, float]] = field(default_factory=list)
    seen: list[Reference] = field(default_factory=list)
    law_output: Command | None = None
    t_ns: int = 0

    def __post_init__(self) -> None:
        behaviour = Behaviour(
            period_ns=PERIOD_NS,
            hover_command=HOVER,
            safe_command=SAFE,
            bounds=Plausible((-1000.0,) * 16, (1000.0,) * 16, (2000.0,) * 16),
            config=self.config,
        )
        self.board = HostBoard(self.law, behaviour, lambda *event: self.said.append(event))
        self.plant = PlantEnd(Plausible((-1e3,) * 4, (1e3,) * 4, (2e3,) * 4), lambda index: None)

    def law(self, sensors: Sensors, reference: Reference) -> Command:
        self.seen.append(reference)
        return self.law_output if self.law_output is not None else (sensors[0],) * 4

    def timer(self) -> list[FromBoard]:
        """The next timer: what the plant understands of the bytes that the board sends."""
        self.t_ns = self.board.next_timer_ns
        closing, opening = self.board.on_timer(self.t_ns)
        return self.plant.receive(closing + opening)

    def answer(self, value: float) -> list[FromBoard]:
        """Sensors, 1 ms after the timer."""
        self.t_ns += 1_000_000
        return self.plant.receive(self.board.on_link(self.plant.answer((value, *[0.0] * 15)), self.t_ns))

    def refer(self, reference: Reference) -> None:
        self.board.get_references(encode_reference(reference), self.t_ns)

    def fly(self, cycles: int, value: float = 5.0) -> None:
        for _ in range(cycles):
            self.timer()
            assert self.answer(value) == [Actuators((value,) * 4)]

    def events(self) -> list[Event]:
        return [event for _, event, _ in self.said]


def test_the_timer_keeps_to_the_grid_from_zero() -> None:
    bench = Bench()
    times = []
    for _ in range(5):
        bench.timer()
        times.append(bench.t_ns)
    assert times == [k * PERIOD_NS for k in range(5)]
    assert bench.board.cycle == 4


def test_each_cycle_is_one_request_and_one_actuator_message() -> None:
    bench = Bench()
    assert bench.timer() == [Start(host_claim(interface.TILTROTOR, 0)), Request()]
    assert bench.answer(1.0) == [Actuators((1.0,) * 4)]
    for value in (2.0, 3.0, 4.0):
        assert bench.timer() == [Request()]
        assert bench.answer(value) == [Actuators((value,) * 4)]
    assert bench.said == [(1_000_000, Event.STARTED, 0)]
    assert bench.board.mode is Mode.FLYING


def test_the_answer_may_come_in_pieces_and_twice() -> None:
    bench = Bench()
    bench.timer()
    frame = bench.plant.answer((7.0, *[0.0] * 15))
    sent = [bench.board.on_link(frame[i : i + 1], bench.t_ns) for i in range(len(frame))]
    assert sent[:-1] == [b""] * (len(frame) - 1)
    assert bench.plant.receive(sent[-1]) == [Actuators((7.0,) * 4)]
    assert bench.board.on_link(frame + frame, bench.t_ns) == b""
    assert bench.board.link.counters.duplicates == 2
    assert len(bench.seen) == 1, "the law has a memory: it runs once a cycle"


def test_sensors_before_the_first_timer_are_not_flown_on() -> None:
    bench = Bench()
    assert bench.answer(7.0) == []
    assert bench.seen == []


def test_start_is_repeated_until_the_first_answer_and_not_after() -> None:
    bench = Bench()
    assert bench.timer() == [Start(host_claim(interface.TILTROTOR, 0)), Request()]
    for cycle in range(1, 21):
        assert bench.timer() == [Actuators(HOVER), Start(host_claim(interface.TILTROTOR, 12 * cycle)), Request()]
    assert bench.board.mode is Mode.WAITING
    assert bench.said == []
    bench.answer(1.0)
    assert bench.events() == [Event.STARTED]
    for _ in range(20):  # also not when sensors are lost again
        assert not any(isinstance(message, Start) for message in bench.timer())


def test_without_sensors_the_last_command_is_held_then_the_safe_one_and_both_are_said() -> None:
    bench = Bench()
    bench.fly(3)
    last_ns = bench.t_ns
    bench.timer()
    commands, modes = [], []
    for _ in range(9):
        closing, request = bench.timer()
        assert isinstance(closing, Actuators)
        assert request == Request()
        commands.append(closing.command)
        modes.append(bench.board.mode)
    # The last sample came at 25 ms; the timer of cycle 8 at 96 ms is the first one more than 60 ms after it.
    assert commands == [(5.0,) * 4] * 4 + [SAFE] * 5
    assert modes == [Mode.HOLDING] * 4 + [Mode.SAFE] * 5
    safe_ns = 8 * PERIOD_NS
    assert bench.said[1:] == [
        (4 * PERIOD_NS, Event.SENSORS_LOST, 3),
        (safe_ns, Event.SAFE_COMMAND, (safe_ns - last_ns) / NS),
    ]


@pytest.mark.parametrize("hold_s", [0.0, 0.02, 0.5])
def test_the_hold_time_is_the_configured_one(hold_s: float) -> None:
    bench = Bench(Config(sensor_hold_s=hold_s))
    bench.fly(1)
    heard_ns = bench.t_ns
    bench.timer()
    while Actuators(SAFE) not in bench.timer():
        assert bench.t_ns - heard_ns <= hold_s * NS
    assert hold_s * NS < bench.t_ns - heard_ns <= hold_s * NS + 2 * PERIOD_NS


@pytest.mark.parametrize("missed", [1, 3, 30])
def test_flight_resumes_when_sensors_return_and_it_is_said_once(missed: int) -> None:
    bench = Bench()
    bench.fly(2)
    silent_from_ns = bench.t_ns
    for _ in range(missed):
        bench.timer()
    bench.timer()
    assert bench.answer(6.0) == [Actuators((6.0,) * 4)]
    assert bench.board.mode is Mode.FLYING
    assert bench.said[-1] == (bench.t_ns, Event.SENSORS_BACK, (bench.t_ns - silent_from_ns) / NS)
    bench.fly(3)
    assert bench.events().count(Event.SENSORS_LOST) == 1
    assert bench.events().count(Event.SENSORS_BACK) == 1
    assert bench.events().count(Event.SAFE_COMMAND) == (missed > 5)


def test_an_absurd_sensor_value_is_said_and_not_flown_on() -> None:
    bench = Bench()
    bench.fly(1)
    bench.timer()
    assert bench.answer(math.nan) == []
    assert bench.answer(1e9) == []
    assert bench.said[1:] == [
        (PERIOD_NS + 1_000_000, Event.IMPLAUSIBLE_SENSORS, 0),
        (PERIOD_NS + 2_000_000, Event.IMPLAUSIBLE_SENSORS, 0),
    ]
    assert bench.timer() == [Actuators((5.0,) * 4), Request()]


def test_the_law_follows_the_newest_reference_and_before_it_stays_where_it_was_first_seen() -> None:
    bench = Bench()
    bench.fly(1)
    moving = Reference(12, (1.0, 2.0, 4.0), 0.25, (0.5, 0.0, 1.0), 0.125)
    bench.refer(moving)
    bench.fly(2)
    assert bench.seen == [FIRST_SEEN, moving, moving]


def test_reference_loss_is_said_once_and_stops_the_feed_forward_where_it_is() -> None:
    bench = Bench()
    bench.fly(2)
    moving = Reference(12, (1.0, 2.0, 4.0), 0.25, (0.5, 0.0, 1.0), 0.125)
    bench.refer(moving)
    heard_ns = bench.t_ns
    bench.fly(100)
    lost = [(t_ns, value) for t_ns, event, value in bench.said if event is Event.REFERENCE_LOST]
    assert len(lost) == 1
    assert heard_ns + 0.5 * NS < lost[0][0] <= heard_ns + 0.5 * NS + PERIOD_NS
    assert lost[0][1] == (lost[0][0] - heard_ns) / NS
    still = Reference(12, (1.0, 2.0, 4.0), 0.25, (0.0, 0.0, 0.0), 0.0)
    followed = bench.seen[2:]
    assert followed == [moving] * followed.count(moving) + [still] * followed.count(still)
    # The cycle of the event already flies without it.
    assert followed.count(still) == 102 - lost[0][0] // PERIOD_NS


def test_the_reference_back_is_said_once_and_followed() -> None:
    bench = Bench()
    bench.fly(60)
    assert bench.events().count(Event.REFERENCE_LOST) == 1
    bench.refer(Reference(5, (0.0, 0.0, 1.0), 0.0, (1.0, 0.0, 0.0), 0.0))
    back_ns = bench.t_ns
    fresh = Reference(6, (0.0, 0.0, 2.0), 0.0, (1.0, 0.0, 0.0), 0.0)
    bench.refer(fresh)
    bench.fly(3)
    assert [e for e in bench.said if e[1] is Event.REFERENCE_BACK] == [(back_ns, Event.REFERENCE_BACK, back_ns / NS)]
    assert bench.seen[-3:] == [fresh] * 3
    bench.fly(60)
    assert bench.events().count(Event.REFERENCE_LOST) == 2


def test_damaged_and_repeated_references_do_not_count_as_references() -> None:
    bench = Bench()
    bench.refer(FIRST_SEEN)
    for _ in range(60):
        bench.fly(1)
        bench.refer(FIRST_SEEN)
        bench.board.get_references(b"\x7e\x01\x02\x03\x7e", bench.t_ns)
    assert bench.events().count(Event.REFERENCE_LOST) == 1
    assert Event.REFERENCE_BACK not in bench.events()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e39, -1e300])
def test_a_law_that_gives_no_sendable_number_gets_the_safe_command_and_is_named(value: float) -> None:
    """1e39 is finite here and infinite on the wire, which is single precision."""
    bench = Bench()
    bench.fly(1)
    bench.law_output = (1.0, 1.0, value, 1.0)
    bench.timer()
    assert bench.answer(1.0) == [Actuators(SAFE)]
    assert bench.said[1:] == [(bench.t_ns, Event.LAW_NOT_FINITE, 2)]
    assert bench.timer() == [Request()]
    assert bench.timer() == [Actuators(SAFE), Request()], "what is held is the safe command, not the law's"
    bench.law_output = None
    assert bench.answer(4.0) == [Actuators((4.0,) * 4)]


@given(st.lists(st.sampled_from(["answer", "silence", "twice", "absurd", "noise"]), max_size=60))
def test_whatever_happens_each_cycle_has_one_request_and_one_finite_command(script: list[str]) -> None:
    bench = Bench()
    bench.timer()
    for happening in script:
        sent = []
        if happening in ("answer", "twice"):
            sent += bench.answer(3.0)
        if happening == "twice":
            sent += bench.answer(4.0)
        if happening == "absurd":
            sent += bench.answer(math.inf)
        if happening == "noise":
            sent += bench.plant.receive(bench.board.on_link(b"\x7d\x7e\x01" * 99, bench.t_ns))
        sent += [message for message in bench.timer() if not isinstance(message, Start)]
        assert len(sent) == 2
        closing, request = sent
        assert isinstance(closing, Actuators)
        assert closing.command in ((3.0,) * 4, HOVER, SAFE)
        assert request == Request()
    assert (bench.plant.counters.lost, bench.plant.counters.duplicates) == (0, 0)


def test_references_may_come_on_the_boards_own_line() -> None:
    bench = Bench()
    bench.fly(1)
    moving = Reference(12, (1.0, 2.0, 4.0), 0.25, (0.5, 0.0, 1.0), 0.125)
    bench.board.on_link(encode_reference(moving), bench.t_ns)
    bench.fly(1)
    assert bench.seen == [FIRST_SEEN, moving]
    assert bench.board.link.counters.malformed == 0


def test_a_bench_of_another_interface_is_not_flown_for() -> None:
    bench = Bench()
    bench.timer()
    assert bench.board.on_link(HELLO_FRAME, bench.t_ns) == b""
    bench.fly(2)
    bench.timer()
    bench.board.on_link(
        encode(interface.HELLO.pack(interface.TILTROTOR.revision, interface.TILTROTOR.hash ^ 1)), bench.t_ns
    )
    assert bench.answer(5.0) == []
    assert bench.timer()[0] == Actuators((5.0,) * 4), "the last command stands, as with sensors that do not come"


def test_a_step_is_references_then_the_timer_then_the_link() -> None:
    bench, twin = Bench(), Bench()
    reference = Reference(0, (1.0, 2.0, 4.0), 0.25, (0.5, 0.0, 1.0), 0.125)
    twin.refer(reference)
    closing, opening = twin.board.on_timer(0)
    out = twin.board.on_link(twin.plant.answer((5.0,) * 16), 0)
    done = bench.board.step(0, encode_reference(reference), 0, bench.plant.answer((5.0,) * 16))
    assert (done.now, done.opening, done.answered) == (closing + out, opening, True)
    assert bench.seen == [reference]
    idle = bench.board.step(6_000_000, b"", None, b"")
    assert (idle.now, idle.opening, idle.answered) == (b"", b"", False)
