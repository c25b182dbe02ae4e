"""Twins: whatever comes, the firmware's application and the Python board do and say the same, to the bit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from host_build import HostProcess
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain import PERIOD_NS, twin
from words import AT_REST, HELLO, MS, STRANGER, Message, answer, messages

from aeroloop.boards.steps import Step
from aeroloop.core.signals import Event
from aeroloop.protocols import interface
from aeroloop.protocols.framing import encode

STEP_OF_CHANGE = 0.0625  # small enough for any sensor in one cycle
# On a grid where that matters: a bound such as 3.2 is not quite the same number in single precision.
numbers = st.floats(width=32).map(lambda value: round(value * 64) / 64 if abs(value) < 4000 else value)
walks = st.lists(st.sampled_from([-STEP_OF_CHANGE, 0.0, STEP_OF_CHANGE]), min_size=16, max_size=16).map(tuple)


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """Near where the aircraft is, or with one value that may be anything, or no number for the law."""
    row = [value + change for value, change in zip(AT_REST, draw(walks), strict=True)]
    kind = draw(st.sampled_from(["near"] * 6 + ["odd", "far", "no number"]))
    if kind == "odd":
        row[draw(st.integers(0, 15))] = draw(numbers)
    elif kind == "far":
        row[draw(st.integers(0, 15))] += draw(st.sampled_from([-8.0, -1.0, 1.0, 8.0]))
    elif kind == "no number":
        row[13] = 1.0
    return encode(interface.ANSWER.pack(*row))


@st.composite
def references(draw: st.DrawFn) -> bytes:
    t_ms = draw(st.one_of(st.integers(0, 60), st.integers(0, 2**32 - 1)))
    z_m, vx_m_s = draw(st.sampled_from([3.0, 3.25, 3.5, 9.0])), draw(st.sampled_from([0.0, 0.5]))
    row = [1.0, -2.0, z_m, 0.5, vx_m_s, 0.0, 0.0, 0.0]
    if draw(st.integers(0, 9)) == 0:
        row[draw(st.integers(0, 7))] = draw(numbers)
    return encode(interface.REFERENCE.pack(t_ms, *row))


@st.composite
def damaged(draw: st.DrawFn, frames: st.SearchStrategy[bytes]) -> bytes:
    frame = draw(frames)
    at = draw(st.integers(0, len(frame) - 1))
    kind = draw(st.sampled_from(["change", "drop", "insert", "cut"]))
    byte = bytes([draw(st.sampled_from([0x00, 0x20, 0x5D, 0x5E, 0x7D, 0x7E, 0xFF]))])
    return {
        "change": frame[:at] + byte + frame[at + 1 :],
        "drop": frame[:at] + frame[at + 1 :],
        "insert": frame[:at] + byte + frame[at:],
        "cut": frame[:at],
    }[kind]


garbage = st.one_of(
    st.binary(max_size=40),
    st.integers(60, 300).map(lambda size: b"\x7d\x5e" * size),
    st.integers(100, 300).map(lambda size: b"\x41" * size),
    st.sampled_from([encode(b"\x81"), encode(bytes(7)), encode(bytes(36)), encode(bytes(63)), encode(bytes(65))]),
)
frames = st.one_of(
    answers(), answers(), answers(), references(), st.just(HELLO), damaged(answers()), damaged(references()), garbage
)
strangers = st.integers(0, 40).map(lambda turn: STRANGER if turn == 0 else b"")
chunks = st.lists(frames, min_size=1, max_size=2).map(b"".join)


@st.composite
def cycles(draw: st.DrawFn) -> tuple[int, list[tuple[str, bytes]]]:
    """Periods until the timer, and what then comes on which line, one step each."""
    periods = draw(st.sampled_from([1] * 12 + [3, 30]))
    stream = draw(st.sampled_from(["nothing", "answer", "chopped", "twice", "anything", "anything"]))
    happenings: list[tuple[str, bytes]] = []
    if stream == "answer":
        happenings.append(("link", draw(answers())))
    elif stream == "chopped":
        frame = draw(answers())
        cut = draw(st.integers(0, len(frame)))
        happenings += [("link", frame[:cut]), ("link", frame[cut:])]
    elif stream == "twice":
        frame = draw(answers())
        happenings += draw(st.sampled_from([[("link", frame + frame)], [("link", frame)] * 2]))
    elif stream == "anything":
        happenings += [("link", chunk) for chunk in draw(st.lists(chunks, max_size=3))]
    if draw(st.integers(0, 2)) == 0:
        some = st.one_of(references(), references(), damaged(references()), garbage)
        happenings.insert(draw(st.integers(0, len(happenings))), ("ground", draw(some)))
    happenings.append(("link", draw(strangers)))
    return periods, [(line, chunk) for line, chunk in happenings if chunk]


class Twins:
    """Both boards, stepped together."""

    def __init__(self, board: HostProcess) -> None:
        self.board = board
        self.said: list[tuple[Event, float]] = []
        self.python = twin(lambda _, event, value: self.said.append((event, value)))
        self.told: list[Message] = []

    def step(self, step: Step) -> None:
        reply = self.board.step(step)
        done = self.python.step(step.t_ns, step.ground, step.timer_ns, step.link)
        assert (reply.mode, reply.answered) == (self.python.mode, done.answered)
        now, opening = reply.sent
        sent, told = _sorted(now)
        assert sent == done.now
        assert _without_identity(opening) == _without_identity(done.opening)
        for name, values in told:
            self.told.append((name, values))
            if name == "counters":
                self._compare_counters(values)

    def part(self, cycle: int) -> None:
        """Lets the board tell what it has not told yet, its counters last."""
        for periods in [1, 90, *[1] * 10]:
            cycle += periods
            self.step(Step(cycle * PERIOD_NS, cycle * PERIOD_NS))
        assert self.events() == [(event, pytest.approx(value, rel=2e-7)) for event, value in self.said]
        assert [values[1] for name, values in self.told if name == "counters"][-2:] == [0, 1]
        assert [values[0] for _, values in self.told] == [number % 256 for number in range(len(self.told))]

    def events(self) -> list[tuple[Event, float]]:
        return [(Event(int(values[1])), values[2]) for name, values in self.told if name == "event"]

    def _compare_counters(self, values: tuple[float, ...]) -> None:
        link = (self.python.link, self.python.references)[int(values[1])]
        names = [name for name, _ in interface.COUNTERS.fields[2:]]
        outward = ("frames_out", "bytes_out")  # the Python board does not tell of itself
        mine = {name: value for name, value in zip(names, values[2:], strict=True) if name not in outward}
        assert mine == {name: getattr(link.counters, name) for name in mine}


def _sorted(stream: bytes) -> tuple[bytes, list[Message]]:
    """The bytes that the Python board would send as well, and what the firmware tells of itself."""
    pieces = [b"\x7e" + body + b"\x7e" for body in stream.split(b"\x7e") if body]
    assert b"".join(pieces) == stream
    telling = [messages(piece)[0][0] not in ("actuators", "start", "request") for piece in pieces]
    sent = b"".join(piece for piece, tells in zip(pieces, telling, strict=True) if not tells)
    return sent, [messages(piece)[0] for piece, tells in zip(pieces, telling, strict=True) if tells]


def _without_identity(stream: bytes) -> list[Message]:
    """Two boards differ in their image and in why they started."""
    return [
        (name, values[1:3] + values[4:]) if name == "start" else (name, values) for name, values in messages(stream)
    ]


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(cycles(), min_size=6, max_size=40))
def test_firmware_and_python_board_are_twins(
    board_process: HostProcess, script: list[tuple[int, list[tuple[str, bytes]]]]
) -> None:
    board_process.restart()
    twins = Twins(board_process)
    cycle = 0
    twins.step(Step(0, 0))
    for periods, happenings in script:
        for turn, (line, chunk) in enumerate(happenings):
            t_ns = cycle * PERIOD_NS + (turn + 1) * MS
            twins.step(Step(t_ns, None, **{line: chunk}))
        cycle += periods
        twins.step(Step(cycle * PERIOD_NS, cycle * PERIOD_NS))
    twins.part(cycle)


def answered(changed: dict[int, float] | None = None, *, at_ms: int = 1) -> Callable[[int], Step]:
    return lambda t_ns: Step(t_ns + at_ms * MS, None, link=answer(changed))


def referred(t_ms: int, z_m: float = 3.0) -> Callable[[int], Step]:
    row = (1.0, -2.0, z_m, 0.5, 0.25, 0.0, 0.0, 0.0)
    return lambda t_ns: Step(t_ns + MS, None, ground=encode(interface.REFERENCE.pack(t_ms % 2**32, *row)))


def heard(*frames: bytes) -> Callable[[int], Step]:
    return lambda t_ns: Step(t_ns + MS, None, link=b"".join(frames))


EDGES: dict[str, list[list[Callable[[int], Step]]]] = {
    "yaw wraps": [[answered({5: 3.125})], [answered({5: -3.125})], [answered({5: 3.0})], [answered({5: 0.0})]],
    **{
        f"surplus after {kept} kept cycles": [[answered()], [], *[[answered()]] * kept, [answered(), answered(at_ms=2)]]
        for kept in (0, 7, 8, 9, 10)
    },
    **{f"last sensors {at_ms} ms after their timer": [[answered(at_ms=at_ms)], [], [], []] for at_ms in (5, 6, 7)},
    **{
        f"a reference {behind_ms} ms behind": [[referred(5000)], [referred(5000 - behind_ms, 3.5)], [answered()]]
        for behind_ms in (0, 1, 1999, 2000, 2001, 2**31)
    },
    "a reference that goes on being far away": [[referred(t_ms, z_m=5.5), answered()] for t_ms in range(5)],
    "a reference far away for the first time": [
        [referred(1)],
        *[[referred(t_ms, z_m=5.5), answered()] for t_ms in (2, 3, 4)],
    ],
    "sensors that go on being far away": [[answered()], *[[answered({0: 2.0})]] * 5],
    "a number that says hello and is none": [[heard(encode(bytes(7))), answered()], [answered()]],
    "refused in flight": [[answered()], [heard(STRANGER), answered()], *[[answered()]] * 6],
    "refused behind an answer": [[heard(answer(), STRANGER)], [answered()], [answered()]],
    "a reference by the board link": [
        [answered()],
        [heard(encode(interface.REFERENCE.pack(9, 1, -2, 3.5, 0.5, 1, 0, 0, 0)), answer())],
    ],
}


@pytest.mark.parametrize("edge", EDGES)
def test_twins_at_the_edges(board: HostProcess, edge: str) -> None:
    twins = Twins(board)
    for cycle, happenings in enumerate(EDGES[edge]):
        t_ns = cycle * PERIOD_NS
        twins.step(Step(t_ns, t_ns))
        for happening in happenings:
            twins.step(happening(t_ns))
    twins.part(len(EDGES[edge]) - 1)
