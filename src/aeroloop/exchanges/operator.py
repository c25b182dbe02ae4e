"""The ground's side of user commands: sends them one at a time, repeats an unanswered one, and logs both.

Planned commands are sent in the first control period at or after their time. Those of the page and the command line
wait in the same queue and are logged alike: planned at the times of their rows, they give the same flight. An answer
names its command's number, so that a lost one is asked for again and never counts twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from aeroloop.core.errors import ConfigError
from aeroloop.core.operator import Console, OperatorCommand, PlannedOperatorCommand
from aeroloop.core.signals import NS
from aeroloop.core.wing_signals import UserAnswer, UserCommand
from aeroloop.protocols.wing import NUMBERS, UserMessage

AGAIN_NS = NS
MOST_SENT = 3
"""How often a command is sent before it counts as unanswered."""
MOST_WAITING = 16
MOVING = (UserCommand.GOAL, UserCommand.LOITER, UserCommand.RETURN, UserCommand.RESUME)
NUMBER, ANSWER = 0, 3  # columns of an answer


def _ignored(t_ns: int) -> None: ...


@dataclass(slots=True)
class _Sent:
    message: UserMessage
    first_ns: int
    last_ns: int
    times: int = 1


class OperatorLine:
    """Rows go to `user_command` and `user_answer`."""

    def __init__(
        self,
        console: Console | None,
        planned: Sequence[PlannedOperatorCommand],
        publish: Mapping[str, Callable[..., None]],
    ) -> None:
        if planned and console is None:
            raise ConfigError("operator: this aircraft's board takes no user commands; expected no [[operator]]")
        self._console, self._publish = console, publish
        # Stable: commands of one time keep the order of the file.
        self._planned = deque(sorted(planned, key=lambda order: order.at_s))
        self._waiting: deque[tuple[OperatorCommand, Callable[[int], None]]] = deque()
        self._sent: _Sent | None = None
        self._count = 0
        self.moved = False
        """The board has accepted a command that decides where it flies: the mission's own goal is no longer sent."""

    def add(self, order: OperatorCommand, sent: Callable[[int], None] = _ignored) -> None:
        """A command by hand; `sent` is called with the time at which it is sent. ConfigError if it cannot be."""
        if self._console is None:
            raise ConfigError("this aircraft's board takes no user commands")
        self._console.check(order)
        if len(self._waiting) >= MOST_WAITING:
            raise ConfigError(f"{MOST_WAITING} user commands wait for their answers; command not sent")
        self._waiting.append((order, sent))

    def due(self, t_ns: int) -> UserMessage | None:
        """The message to send at the beginning of this control period."""
        while self._planned and round(self._planned[0].at_s * NS) <= t_ns:
            self._waiting.append((self._planned.popleft(), _ignored))
        sent = self._sent
        if sent is not None:
            if t_ns < sent.last_ns + AGAIN_NS:
                return None
            if sent.times < MOST_SENT:
                sent.times, sent.last_ns = sent.times + 1, t_ns
                return sent.message
            message = sent.message
            self._log(t_ns, (message.number, message.command, message.parameter, UserAnswer.NO_ANSWER, 0.0, 0.0))
        if not self._waiting:
            return None
        order, told = self._waiting.popleft()
        told(t_ns)
        return self._first(t_ns, order)

    def _first(self, t_ns: int, order: OperatorCommand) -> UserMessage:
        assert self._console is not None
        command = UserCommand[order.command.upper()]
        x, y = order.position_m or (order.value or 0.0, 0.0)
        parameter = self._console.number(order.parameter) if command == UserCommand.SET else 0
        self._count += 1
        message = UserMessage(self._count % NUMBERS, command, parameter, x, y)
        self._sent = _Sent(message, t_ns, t_ns)
        self._publish["user_command"](t_ns / NS, message.number, command, parameter, x, y)
        return message

    def restarted(self, t_ns: int) -> None:
        """The board has restarted: with its defaults, which are read once it has a position, and without a goal."""
        self.moved = False
        if self._count:
            self._planned.appendleft(PlannedOperatorCommand(at_s=(t_ns + AGAIN_NS) / NS, command="read"))

    def take(self, t_ns: int, row: Sequence[float]) -> None:
        """An answer of the board; a second one to the same command is ignored."""
        sent = self._sent
        if sent is None or row[NUMBER] != sent.message.number:
            return
        self.moved = self.moved or (row[ANSWER] == UserAnswer.ACCEPTED and sent.message.command in MOVING)
        self._log(t_ns, row)

    def _log(self, t_ns: int, row: Sequence[float]) -> None:
        assert self._sent is not None
        latency_s, self._sent = (t_ns - self._sent.first_ns) / NS, None
        self._publish["user_answer"](t_ns / NS, *row, latency_s)
