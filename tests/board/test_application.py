"""What the firmware's application promises, one reaction each; compiled for this machine with sanitizers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from board_trace import GOLDEN, play, trace_files
from host_build import HostProcess, build
from plain import HOVER, IMAGE_ID, NO_NUMBER, PERIOD_NS, SAFE, TIMER_IN_LAW
from words import HELLO, MS, STRANGER, Message, answer, messages

from aeroloop.boards.steps import Boot, Reply, Step, unpack
from aeroloop.core.errors import LinkError
from aeroloop.core.signals import NS, TASKS, Command, Event, Mode, Reference, ResetCause
from aeroloop.protocols import interface
from aeroloop.protocols.reference import encode_reference


@dataclass
class Flight:
    """A board in flight: the time, and what it told in events."""

    board: HostProcess
    t_ns: int = -PERIOD_NS
    cycle: int = -1
    mode: Mode = Mode.WAITING
    told: list[Message] = field(default_factory=list)

    def step(self, step: Step) -> list[Message]:
        self.t_ns = step.t_ns
        reply = self.board.step(step)
        self.mode = reply.mode
        now, opening = reply.sent
        said = messages(now)
        self.told += [message for message in said if message[0] != "actuators"]
        commands = [message for message in said if message[0] == "actuators"]
        assert len(commands) >= reply.answered
        return commands + messages(opening)

    @property
    def events(self) -> list[tuple[Event, float]]:
        return [(Event(int(code)), value) for name, (_, code, value, *_) in self.told if name == "event"]

    @property
    def sequences(self) -> list[int]:
        """The running numbers of all that the board told of itself."""
        return [int(values[0]) for _, values in self.told]

    def last(self, message: interface.Message, **fields: float) -> dict[str, float]:
        """The newest of these messages whose fields are as given."""
        names = [name for name, _ in message.fields]
        rows = [dict(zip(names, values, strict=True)) for name, values in self.told if name == message.name]
        return [row for row in rows if fields.items() <= row.items()][-1]

    def timer(self, **more: bytes) -> list[Message]:
        self.cycle += 1
        at_ns = self.cycle * PERIOD_NS
        return self.step(Step(at_ns, at_ns, **more))

    def handle(self, link: bytes) -> list[Message]:
        """Bytes from the plant, 1 ms later."""
        return self.step(Step(self.t_ns + MS, None, link=link))

    def refer(self, reference: Reference) -> None:
        assert self.step(Step(self.t_ns, None, ground=encode_reference(reference))) == []

    def fly(self, cycles: int = 1) -> None:
        for _ in range(cycles):
            self.timer()
            assert [name for name, _ in self.handle(answer())] == ["actuators"]
        assert self.mode is Mode.FLYING


@pytest.fixture
def flight(board: HostProcess) -> Flight:
    return Flight(board)


def actuators(command: Command) -> Message:
    return "actuators", command


REQUEST: Message = ("request", ())
A_REPORT = 100
"""Cycles in which the board has told all its statistics once."""
HOVERING = (10.0, 10.0, 0.0, 0.125)
"""What the plain law commands when the aircraft is where it should be."""


def test_until_the_first_answer_the_board_says_what_it_is_and_commands_hover(flight: Flight) -> None:
    for cycle in range(5):
        said = flight.timer()
        assert said[-1] == REQUEST
        claim = (ResetCause.COMMANDED, interface.TILTROTOR.revision, interface.TILTROTOR.hash, IMAGE_ID, cycle * 12)
        assert said[-2] == ("start", claim)
        assert said[:-2] == ([actuators(HOVER)] if cycle else [])
    assert flight.handle(HELLO + answer()) == [actuators(HOVERING)]
    assert flight.timer() == [REQUEST]
    assert flight.events == [(Event.STARTED, 4.0)]


def test_sensor_silence_the_last_command_is_held_then_the_safe_one(flight: Flight) -> None:
    flight.fly(2)
    heard_ns = flight.t_ns
    assert flight.timer() == [REQUEST]
    said, modes = [], []
    for _ in range(4):
        said.append(flight.timer()[0])
        modes.append(flight.mode)
    assert said == [actuators(HOVERING)] * 1 + [actuators(SAFE)] * 3, "30 ms after the last sensors"
    assert modes == [Mode.HOLDING] * 1 + [Mode.SAFE] * 3
    safe_ns = 4 * PERIOD_NS
    silent_s = float(np.float32((safe_ns - heard_ns) / NS))
    assert flight.events[1:] == [(Event.SENSORS_LOST, 2.0), (Event.SAFE_COMMAND, pytest.approx(silent_s))]
    assert flight.handle(answer()) == [actuators(HOVERING)]
    assert flight.mode is Mode.FLYING
    assert flight.events[-1] == (Event.SENSORS_BACK, pytest.approx((flight.t_ns - heard_ns) / NS))


def test_a_corrupted_answer_is_counted_and_as_good_as_none(flight: Flight) -> None:
    flight.fly(1)
    flight.timer()
    frame = answer()
    assert flight.handle(frame[:20] + bytes([frame[20] ^ 0x10]) + frame[21:]) == []
    assert flight.timer() == [actuators(HOVERING), REQUEST]
    assert flight.mode is Mode.HOLDING
    flight.handle(answer())
    flight.fly(A_REPORT)
    assert flight.last(interface.COUNTERS, link=0)["bad_checksums"] == 1


@pytest.mark.parametrize(
    ("index", "value"), [(0, math.nan), (7, math.inf), (2, -1e30), (4, 1.7), (0, 1.5), (15, -121.0)]
)
def test_nan_and_absurd_sensors_are_named_and_not_flown_on(flight: Flight, index: int, value: float) -> None:
    flight.fly(1)
    flight.timer()
    assert flight.handle(answer({index: value})) == []
    assert flight.timer() == [actuators(HOVERING), REQUEST]
    assert (Event.IMPLAUSIBLE_SENSORS, float(index)) in flight.events
    assert flight.handle(answer()) == [actuators(HOVERING)]


def test_a_law_that_gives_no_number_gets_the_safe_command_and_is_named(flight: Flight) -> None:
    flight.fly(1)
    flight.timer()
    assert flight.handle(answer(NO_NUMBER)) == [actuators(SAFE)]
    assert flight.events[1:] == [(Event.LAW_NOT_FINITE, 3.0)]
    flight.fly(1)


def test_a_timer_that_finds_the_last_cycle_at_work_is_skipped_and_counted(flight: Flight) -> None:
    """The timer comes in the middle of the law, which flies on undisturbed; nothing else is sent."""
    flight.timer()
    assert flight.handle(answer(TIMER_IN_LAW)) == [actuators(HOVERING)]
    flight.cycle += 1
    assert flight.timer() == [REQUEST], "the cycle that was skipped has no request, and owes no actuators"
    flight.timer()
    assert flight.events[:2] == [(Event.STARTED, 0.0), (Event.SENSORS_LOST, 2.0)], "its number was used up"


def test_work_that_takes_longer_than_the_period_is_said(plain_board: Path) -> None:
    """Half a millisecond passes whenever the kernel looks at its counter; then eight times as much."""
    with HostProcess(plain_board, "500000") as board:
        flight = Flight(board)
        flight.fly(3)
        assert Event.OVERRUN not in dict(flight.events)
    with HostProcess(plain_board, "4000000") as board:
        flight = Flight(board)
        flight.fly(3)
        overruns = [value for event, value in flight.events if event is Event.OVERRUN]
        assert len(overruns) == 3
        assert min(overruns) > PERIOD_NS / NS
        flight.fly(A_REPORT)
        cpu = flight.last(interface.CPU)
        assert cpu["overruns"] > 80
        assert cpu["worst_cycle_s"] >= max(overruns)


def test_a_bench_that_speaks_another_interface_is_refused(flight: Flight) -> None:
    flight.timer()
    assert flight.handle(STRANGER) == []
    for _ in range(3):
        assert flight.handle(HELLO + answer()) == []
        assert [name for name, _ in flight.timer()] == ["actuators", "start", "request"]
        assert flight.mode is Mode.WAITING
    assert flight.events == []


def test_a_restart_in_flight_says_boot_and_begins_anew(flight: Flight) -> None:
    flight.fly(3)
    assert flight.board.exchange(Step(flight.t_ns, None, fault="reset")) == Boot(ResetCause.COMMANDED)
    start, request = flight.timer()
    assert start[1][0] == ResetCause.COMMANDED
    assert start[1][-1] == 0, "its clock began anew"
    assert request == REQUEST
    assert flight.mode is Mode.WAITING
    assert flight.handle(answer()) == [actuators(HOVERING)]


def test_a_control_task_that_hangs_is_the_watchdogs(flight: Flight) -> None:
    flight.fly(3)
    flight.timer()
    hang = Step(flight.t_ns + MS, None, link=answer(), fault="hang")
    assert flight.board.exchange(hang) == Boot(ResetCause.WATCHDOG)
    start, _ = flight.timer()
    assert start[1][0] == ResetCause.WATCHDOG


def test_without_references_the_last_one_stands_without_its_rates(flight: Flight) -> None:
    flight.fly(1)
    flight.refer(Reference(1, (1.0, -2.0, 3.0), 0.5, (0.75, 0.0, 0.0), 0.0))
    referred_ns = flight.t_ns
    flight.timer()
    assert flight.handle(answer()) == [actuators((10.0, 10.0, 0.75, 0.125))]
    flight.fly(19)
    assert flight.events[1:] == []
    flight.timer()
    lost_ns = flight.t_ns
    assert flight.handle(answer()) == [actuators(HOVERING)]
    assert flight.events[1:] == [(Event.REFERENCE_LOST, pytest.approx((lost_ns - referred_ns) / NS))]
    flight.refer(Reference(280, (1.0, -2.0, 3.0), 0.5, (0.5, 0.0, 0.0), 0.0))
    flight.timer()
    assert flight.handle(answer()) == [actuators((10.0, 10.0, 0.5, 0.125))]
    assert flight.events[-1][0] is Event.REFERENCE_BACK


def test_before_the_first_reference_the_board_stays_where_it_woke_up(flight: Flight) -> None:
    flight.timer()
    assert flight.handle(answer()) == [actuators(HOVERING)]
    flight.timer()
    assert flight.handle(answer({2: 2.75})) == [actuators((10.25, 10.25, 0.0, 0.125))]


def test_events_that_find_no_room_leave_a_gap_in_the_numbers(flight: Flight) -> None:
    flight.fly(1)
    flight.timer()
    for _ in range(2):
        flight.handle(answer({0: math.nan}) * 10)
    flight.timer()
    assert [event for event, _ in flight.events] == [Event.STARTED, *[Event.IMPLAUSIBLE_SENSORS] * 16]
    assert flight.sequences == list(range(17))
    flight.handle(answer())
    # Of 20 implausible answers and the lost sensors, 16 were told; the next that is heard has a number behind the rest.
    assert flight.events[-1][0] is Event.SENSORS_BACK
    assert flight.sequences[-1] == 22


def test_once_a_second_the_board_tells_how_busy_it_was(flight: Flight) -> None:
    """By the definitions of real-time kernels: shares add up to all, and execution times to the use."""
    flight.fly(84)
    assert {name for name, _ in flight.told} == {"event"}, "nothing before the first second is over"
    for name in ["cpu", *["task"] * len(TASKS), *["counters"] * 2]:
        flight.fly()
        assert flight.told[-1][0] == name, "one in each cycle"
    flight.fly(70)
    assert flight.sequences == list(range(len(flight.told)))
    cpu = flight.last(interface.CPU)
    tasks = [flight.last(interface.TASK, task=index) for index in range(len(TASKS))]
    assert cpu["uptime_ms"] == 84 * 12 + 1
    assert sum(task["share_pct"] for task in tasks) == pytest.approx(100, rel=1e-5)
    period_s = PERIOD_NS / NS
    assert cpu["use_pct"] == pytest.approx(100 * sum(task["exec_s"] for task in tasks) / period_s, rel=1e-5)
    assert 0 < cpu["use_pct"] < 1
    runs = {TASKS[index].name: task["runs"] for index, task in enumerate(tasks)}
    assert runs == {
        "cycle": 85,
        "get_references": 0,
        "get_sensors": 85,
        "control": 85,
        "send_actuators": 85,
        "statistics": 84,
    }
    window_s = 84 * period_s + 0.001
    # Into each run and out of it; the sample was taken inside the last run of the statistics task.
    assert cpu["switches_per_s"] * window_s == pytest.approx(2 * sum(runs.values()) + 1, rel=1e-5)
    for task in tasks:
        mean_s = task["exec_s"] * window_s / period_s / (task["runs"] + 1)
        assert mean_s <= task["worst_s"] * (1 + 1e-5) <= 10 * mean_s
    board_link, reference_link = (flight.last(interface.COUNTERS, link=index) for index in range(2))
    assert board_link["frames_in"] == 92
    assert board_link["bytes_in"] == 92 * len(answer())
    assert {value for name, value in reference_link.items() if name not in ("sequence", "link")} == {0}


def test_golden_bytes(tmp_path: Path) -> None:
    with HostProcess(build(trace_files())) as board:
        heard = play(board.exchange)
    (tmp_path / GOLDEN.name).write_text(heard, encoding="utf-8")
    assert heard == GOLDEN.read_text(encoding="utf-8"), f"the bytes of this build are in {tmp_path / GOLDEN.name}"


def test_a_packet_that_is_none_restarts_the_board(board: HostProcess) -> None:
    good = Step(0, 0, link=bytes(10)).pack()
    for broken in (b"\x02" + good[1:], good[:1] + b"\x08" + good[2:], good[:4] + b"\x01\x04" + good[6:]):
        board.write(broken)
        assert board.read() == Boot(ResetCause.FAULT)


@pytest.mark.parametrize("size", [1, 7, 23, 24, 25, 300])
def test_a_packet_may_come_in_pieces_and_the_next_one_with_it(board: HostProcess, size: int) -> None:
    packets = [Step(0, 0).pack(), Step(MS, None, link=answer()).pack(), Step(PERIOD_NS, PERIOD_NS).pack()]
    stream = b"".join(packets)
    for start in range(0, len(stream), size):
        board.write(stream[start : start + size])
    names = []
    for _ in packets:
        record = board.read()
        assert isinstance(record, Reply)
        names.append([name for name, _ in messages(b"".join(record.sent))])
    assert names == [["start", "request"], ["actuators", "event"], ["request"]]


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"\x01" * 19,
        bytes(20),  # of no kind
        b"\x02\x09" + bytes(18),  # a cause that nobody knows
        b"\x01\x00\x07" + bytes(17),  # a mode that nobody knows
        b"\x01\x00\x00\x00\x01\x00" + bytes(14),  # shorter than it says
        bytes([1]) + bytes(20),  # longer than it says
        b"\x01\x00\x00\x00\x01\x09\x00\x00" + bytes(12 + 2305),  # more than there may be
    ],
)
def test_a_reply_that_makes_no_sense_is_a_link_error(record: bytes) -> None:
    with pytest.raises(LinkError, match="answer is invalid"):
        unpack(record)
