"""The ground's side of user commands: one at a time, repeated until answered, and every one of them logged."""

from __future__ import annotations

import pytest

from aeroloop.core.errors import ConfigError
from aeroloop.core.operator import Console, OperatorCommand, ParameterSpec, PlannedOperatorCommand
from aeroloop.core.signals import NS
from aeroloop.core.wing_signals import UserAnswer, UserCommand
from aeroloop.exchanges.operator import MOST_WAITING, OperatorLine
from aeroloop.protocols.wing import UserMessage

CONSOLE = Console((ParameterSpec("a", "-", 1.0, 0.0, 2.0, "one"), ParameterSpec("b", "-", 1.0, 0.0, 2.0, "another")))
PERIOD_NS = NS // 20


class Flown:
    def __init__(self, *planned: PlannedOperatorCommand, console: Console | None = CONSOLE) -> None:
        self.commands: list[tuple[float, ...]] = []
        self.answers: list[tuple[float, ...]] = []
        rows = {"user_command": self.commands, "user_answer": self.answers}
        publish = {name: lambda *row, kept=kept: kept.append(row) for name, kept in rows.items()}
        self.line = OperatorLine(console, planned, publish)

    def sent(self, until_s: float) -> list[tuple[float, UserMessage]]:
        periods = ((at, self.line.due(at)) for at in range(0, round(until_s * NS), PERIOD_NS))
        return [(at / NS, message) for at, message in periods if message is not None]


def answer(message: UserMessage, how: UserAnswer = UserAnswer.ACCEPTED) -> tuple[float, ...]:
    return message.number, message.command, message.parameter, how, message.x, message.y


def test_planned_commands_are_sent_in_the_first_period_at_or_after_their_time() -> None:
    flown = Flown(
        PlannedOperatorCommand(at_s=0.12, command="set", parameter="b", value=0.5),
        PlannedOperatorCommand(at_s=0.0, command="goal", position_m=(3.0, 4.0)),
    )
    first = flown.line.due(0)
    assert first == UserMessage(1, UserCommand.GOAL, 0, 3.0, 4.0)
    flown.line.take(0, answer(first))
    assert flown.line.due(2 * PERIOD_NS) is None
    second = flown.line.due(3 * PERIOD_NS)
    assert second == UserMessage(2, UserCommand.SET, 1, 0.5, 0.0)
    flown.line.take(4 * PERIOD_NS, answer(second, UserAnswer.OUTSIDE_LIMITS))
    assert flown.commands == [(0.0, 1, 1, 0, 3.0, 4.0), (0.15, 2, 5, 1, 0.5, 0.0)]
    assert [row[4] for row in flown.answers] == [UserAnswer.ACCEPTED, UserAnswer.OUTSIDE_LIMITS]
    assert [row[-1] for row in flown.answers] == pytest.approx([0.0, 0.05])


def test_an_unanswered_command_is_repeated_under_its_number_then_given_up() -> None:
    flown = Flown(PlannedOperatorCommand(at_s=0.0, command="read"), PlannedOperatorCommand(at_s=0.5, command="loiter"))
    sent = flown.sent(5.0)
    assert [(at_s, message.number) for at_s, message in sent] == [(0.0, 1), (1.0, 1), (2.0, 1), (3.0, 2), (4.0, 2)]
    assert len(flown.commands) == 2, "a repetition is no further command"
    assert flown.answers == [(3.0, 1, UserCommand.READ, 0, UserAnswer.NO_ANSWER, 0.0, 0.0, 3.0)]


def test_an_answer_counts_once_and_only_for_its_own_command() -> None:
    flown = Flown(PlannedOperatorCommand(at_s=0.0, command="return"))
    ((_, message),) = flown.sent(0.5)
    flown.line.take(NS, answer(UserMessage(9, UserCommand.RETURN)))
    assert not flown.answers and not flown.line.moved
    flown.line.take(NS, answer(message))
    flown.line.take(NS, answer(message))
    assert len(flown.answers) == 1
    assert flown.line.moved, "the mission's own goal is no longer sent"


@pytest.mark.parametrize(("command", "how"), [("read", UserAnswer.ACCEPTED), ("loiter", UserAnswer.NO_ROOM)])
def test_the_missions_goal_is_sent_until_a_command_decides_where_to_fly(command: str, how: UserAnswer) -> None:
    flown = Flown(PlannedOperatorCommand(at_s=0.0, command=command))  # type: ignore[arg-type]
    ((_, message),) = flown.sent(0.5)
    flown.line.take(NS, answer(message, how))
    assert not flown.line.moved


def test_a_board_that_restarted_is_asked_for_its_values_and_gets_the_missions_goal_again() -> None:
    flown = Flown(PlannedOperatorCommand(at_s=0.0, command="return"))
    ((_, message),) = flown.sent(0.5)
    flown.line.take(NS, answer(message))
    flown.line.restarted(2 * NS)
    assert not flown.line.moved
    assert flown.line.due(3 * NS - 1) is None
    assert flown.line.due(3 * NS) == UserMessage(2, UserCommand.READ)
    untouched = Flown()
    untouched.line.restarted(2 * NS)
    assert untouched.sent(9.0) == [], "nobody has changed anything"


def test_commands_by_hand_are_checked_bounded_and_named_in_the_log() -> None:
    flown = Flown()
    with pytest.raises(ConfigError, match=r"^parameter: no 'aa' \(did you mean 'a'\?\); expected one of: a, b$"):
        flown.line.add(OperatorCommand(command="set", parameter="aa", value=1.0))
    for _ in range(MOST_WAITING):
        flown.line.add(OperatorCommand(command="loiter"))
    with pytest.raises(ConfigError, match="16 user commands wait"):
        flown.line.add(OperatorCommand(command="loiter"))
    with pytest.raises(ConfigError, match="takes no user commands"):
        Flown(console=None).line.add(OperatorCommand(command="loiter"))
    with pytest.raises(ConfigError, match="takes no user commands"):
        Flown(PlannedOperatorCommand(at_s=0.0, command="loiter"), console=None)
