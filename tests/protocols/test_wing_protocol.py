"""The fixed wing's protocol: both ends understand each other, and nothing that comes can harm them."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stream_tables import FIXED_WING

from aeroloop.core.wing_signals import WING_TASKS, BoardParameter, PlanStatus, Step, UserCommand, WingSensors
from aeroloop.protocols import interface
from aeroloop.protocols.board import BoardReport, MissingReports
from aeroloop.protocols.framing import encode
from aeroloop.protocols.wing import BoardEnd, Done, Goal, PlantEnd, Servos, UserMessage

SENSORS = WingSensors(
    cycle=65_537,
    t_ms=3_276_850,
    gyro_B=(0.5, -0.25, 0.125),
    accel_B=(1.0, -2.0, 9.75),
    field_B=(2**-16, -(2**-15), 2**-14),
    static_Pa=93_500.5,
    dynamic_Pa=225.25,
    fix=True,
    lat_deg=36.6526634,
    lon_deg=-84.3464881,
    alt_m=660.125,
    vel_W=(-12.5, 15.75, 0.5),
)
SINGLE = st.floats(-1e6, 1e6, width=32)


def row_of(stream: str) -> tuple[float, ...]:
    """As many of its columns as the board sends; the plant may add some."""
    known = {"step": Step.REPLAN, "status": PlanStatus.UNREACHABLE, "kind": 2, "task": 12, "code": 9}
    sent = FIXED_WING[stream].names[2 : 1 + len(interface.TELLING[stream].fields)]
    return tuple(float(known.get(name, 3 + at)) for at, name in enumerate(sent))


def test_sensors_arrive_as_they_were_sent_with_their_number_cut_to_sixteen_bits() -> None:
    plant, board = PlantEnd(), BoardEnd()
    (got,) = board.receive(plant.sensors(SENSORS))
    assert isinstance(got, WingSensors)
    assert got == dataclasses.replace(SENSORS, cycle=1)
    assert got.lat_deg == pytest.approx(SENSORS.lat_deg, abs=0.5e-7)


def test_a_goal_and_the_answers_arrive() -> None:
    plant, board = PlantEnd(), BoardEnd()
    assert board.receive(plant.goal(Goal(7, -1500.0, 2250.5))) == [Goal(7, -1500.0, 2250.5)]
    command = UserMessage(255, UserCommand.SET, BoardParameter.KD, 0.015625, 0.0)
    assert board.receive(plant.user(command)) == [command]
    answer = Servos(12, (0.25, -0.5, 0.125, 0.75), 0.015625)
    assert plant.receive(board.servos(answer) + board.done(Done(12, 0.03125))) == [answer, Done(12, 0.03125)]


@pytest.mark.parametrize("stream", interface.TELLING)
def test_what_the_board_tells_is_a_row_of_its_stream(stream: str) -> None:
    row = row_of(stream)
    assert PlantEnd().receive(BoardEnd().report(stream, row)) == [BoardReport(stream, row)]


def test_messages_that_never_came_are_told_and_counted_and_repeated_ones_dropped() -> None:
    plant, board = PlantEnd(), BoardEnd()
    frames = [board.report("board_event", (9.0, float(number))) for number in range(300)]
    for frame in frames[:257]:
        assert len(plant.receive(frame)) == 1
    assert plant.receive(frames[260]) == [MissingReports(3), BoardReport("board_event", (9.0, 260.0))]
    assert plant.counters.lost == 3
    assert plant.receive(frames[260]) == []
    assert plant.receive(frames[259]) == [], "of before: it was counted as lost"
    assert plant.counters.duplicates == 2


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gyro_B", (math.nan, 0.0, 0.0)),
        ("accel_B", (0.0, 1e9, 0.0)),
        ("field_B", (0.0, 0.0, math.inf)),
        ("static_Pa", -1.0),
        ("dynamic_Pa", math.nan),
        ("vel_W", (0.0, 1e30, 0.0)),
        ("lat_deg", 91.0),
    ],
)
def test_sensors_that_cannot_be_are_refused_and_counted(field: str, value: Any) -> None:
    board = BoardEnd()
    assert board.receive(PlantEnd().sensors(dataclasses.replace(SENSORS, **{field: value}))) == []
    assert board.counters.implausible == 1


@pytest.mark.parametrize(
    "values",
    [
        (math.nan, 0.0, 0.0, 0.5, 0.0),
        (0.0, math.inf, 0.0, 0.5, 0.0),
        (0.0, 0.0, 1.6, 0.5, 0.0),
        (0.0, 0.0, 0.0, 1.01, 0.0),
        (0.0, 0.0, 0.0, -0.01, 0.0),
        (0.0, 0.0, 0.0, 0.5, math.nan),
    ],
)
def test_servos_that_cannot_be_are_refused_and_counted(values: tuple[float, ...]) -> None:
    plant = PlantEnd()
    assert plant.receive(encode(interface.SERVOS.pack(1, *values))) == []
    assert plant.counters.implausible == 1


@pytest.mark.parametrize(
    ("stream", "field", "value"),
    [
        ("mission_step", "step", 99.0),
        ("guidance", "cross_m", math.nan),
        ("plan", "status", 200.0),
        ("path", "kind", 4.0),
        ("task", "task", 13.0),
        ("board_event", "code", 0.0),
    ],
)
def test_what_says_nothing_is_refused_and_counted_but_not_taken_for_lost(stream: str, field: str, value: float) -> None:
    plant, board = PlantEnd(), BoardEnd()
    at = FIXED_WING[stream].names.index(field) - 2
    row = row_of(stream)
    assert plant.receive(board.report(stream, (*row[:at], value, *row[at + 1 :]))) == []
    assert plant.counters.implausible == 1
    assert plant.receive(board.report(stream, row)) == [BoardReport(stream, row)]


def test_unknown_and_wrongly_long_messages_are_malformed_at_both_ends() -> None:
    plant, board = PlantEnd(), BoardEnd()
    for data in (b"\xff" * 20, bytes([interface.SERVOS.number or 0]) + b"\0" * 5, b"\0"):
        assert plant.receive(encode(data)) == []
        assert board.receive(encode(data)) == []
    assert plant.counters.malformed == board.counters.malformed == 3


@given(st.binary(max_size=400), st.integers(1, 50))
def test_garbage_harms_nobody_and_what_comes_after_it_is_understood(garbage: bytes, cut: int) -> None:
    plant, board = PlantEnd(), BoardEnd()
    for end in (plant, board):
        for at in range(0, len(garbage), cut):
            end.receive(garbage[at : at + cut])
    # The garbage may have opened a frame, or half escaped one: the first frame after it may be lost, not the second.
    frame = plant.sensors(SENSORS)
    board.receive(frame)
    assert len(board.receive(frame)) == 1
    answer = board.done(Done(3, 0.0))
    plant.receive(answer)
    assert plant.receive(answer) == [Done(3, 0.0)]


@given(st.integers(0, 2**32 - 1))
def test_damaged_frames_are_never_taken_for_others(seed: int) -> None:
    """One byte of a frame replaced: it is refused, or it says what was sent."""
    draw = random.Random(seed)
    sent = Servos(draw.randrange(65_536), (0.1, -0.2, 0.05, 0.5), 0.01)
    frame = bytearray(BoardEnd().servos(sent))
    frame[draw.randrange(len(frame))] ^= 1 << draw.randrange(8)
    got = PlantEnd().receive(bytes(frame))
    assert all(isinstance(message, Servos) and message.cycle == sent.cycle for message in got)


@given(st.tuples(SINGLE, SINGLE))
def test_any_goal_travels_exactly(goal: tuple[float, float]) -> None:
    assert BoardEnd().receive(PlantEnd().goal(Goal(1, *goal))) == [Goal(1, *goal)]


def test_the_tasks_are_those_of_the_papers_table() -> None:
    """Thirteen, with their priorities, of which the smaller number wins."""
    names = "HILS_Tx HILS_Rx COMM_Rx COMM_Proc ESTI_Atti ESTI_Nav CNTR PFOL COMM_Tx PGEN PMAN STAT PPLAN"
    table = [(name.lower(), priority) for priority, name in enumerate(names.split(), start=11)]
    assert [(task.name, task.priority) for task in WING_TASKS] == table
