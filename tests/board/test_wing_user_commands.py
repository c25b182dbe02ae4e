"""User commands in the fixed wing's firmware, on this machine with sanitizers: answers, repetitions, any bytes."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest
from wing_words import WingProcess, board_file, goal, messages, named, sensors

from aeroloop.core.wing_signals import BoardParameter, UserAnswer, UserCommand
from aeroloop.families.fixedwing.images import scenario_of
from aeroloop.families.fixedwing.operating import console
from aeroloop.protocols.framing import encode
from aeroloop.protocols.interface import USER


def user(number: int, command: int, parameter: int = 0, x: float = 0.0, y: float = 0.0) -> bytes:
    return encode(USER.pack(number, command, parameter, x, y))


@pytest.fixture
def board() -> Iterator[WingProcess]:
    with WingProcess(board_file()) as process:
        yield process


def answers(board: WingProcess, cycle: int, *commands: bytes) -> list[tuple[float, ...]]:
    """What the board says within two periods of these."""
    told = board.step(sensors(cycle), b"".join(commands)).comm + board.step(sensors(cycle + 1)).comm
    return named(told, "answer")


def test_before_the_first_position_no_command_is_taken(board: WingProcess) -> None:
    board.step(sensors(0, fix=False), user(1, UserCommand.LOITER))
    ((*_, how, _x, _y),) = named(board.step(sensors(1, fix=False)).comm, "answer")
    assert how == UserAnswer.NOT_READY
    (late,) = answers(board, 2, user(1, UserCommand.LOITER))
    assert late[3] == UserAnswer.ACCEPTED, "under the same number: it was not executed then"


def test_a_repeated_command_is_answered_again_and_executed_once(board: WingProcess) -> None:
    board.step(sensors(0))
    faster = user(1, UserCommand.SET, BoardParameter.AIRSPEED, 21.0)
    (first,) = answers(board, 1, faster)
    assert first == (1, UserCommand.SET, BoardParameter.AIRSPEED, UserAnswer.ACCEPTED, 21.0, 0.0)
    told = board.step(sensors(3), faster).comm + board.step(sensors(4)).comm
    assert named(told, "answer") == [first]
    assert not named(told, "parameter")
    (refused,) = answers(board, 5, user(2, UserCommand.SET, BoardParameter.AIRSPEED, 90.0))
    assert refused[3:5] == (UserAnswer.OUTSIDE_LIMITS, 21.0), "with the value that stays"


def test_all_parameters_are_read_with_their_defaults(board: WingProcess) -> None:
    board.step(sensors(0))
    told = board.step(sensors(1), user(1, UserCommand.READ)).comm + board.step(sensors(2)).comm
    specs = console(scenario_of()).parameters
    assert named(told, "parameter") == [(number, pytest.approx(spec.default)) for number, spec in enumerate(specs)]


def test_a_goal_of_the_flight_and_a_command_of_one_period_both_count(board: WingProcess) -> None:
    board.step(sensors(0))
    (answer,) = answers(board, 1, goal(3000.0, 3000.0), user(1, UserCommand.READ))
    assert answer[4:] == (3000.0, 3000.0)


def test_any_command_with_any_numbers_is_answered_or_counted(board: WingProcess) -> None:
    board.step(sensors(0))
    rng = random.Random(8)
    odd = (math.nan, math.inf, -1e30, 1e6, -1e6, 0.0, 4649.0)
    cycle = 1
    for number in range(1, 200):
        x, y = (rng.choice([rng.uniform(-6000, 6000), rng.choice(odd)]) for _ in "xy")
        command, parameter = rng.choice([*UserCommand, 0, 77, 255]), rng.choice([*BoardParameter, 8, 255])
        told = answers(board, cycle, user(number, command, parameter, x, y), bytes(rng.randbytes(rng.randrange(4))))
        cycle += 2
        plausible = abs(x) <= 1e6 and abs(y) <= 1e6
        assert [row[0] for row in told] == ([number] if plausible else [])
        if told and command not in set(UserCommand):
            assert told[0][3] == UserAnswer.UNKNOWN
        assert all(math.isfinite(value) for row in told for value in row)
    assert len(named(board.step(sensors(cycle)).hils, "servos")) == 1, "it still flies"
    assert messages(board.step(sensors(cycle + 1)).comm)
