"""Our boards in the plant's own process, over a link in memory: the same bytes, the same turns, no process switch."""

from __future__ import annotations

from collections import deque

from aeroloop.controllers.law.exchange import period_behind, request_behind
from aeroloop.controllers.law.ground_process import Windows, build_source
from aeroloop.controllers.law.period_process import PeriodServer, build_board
from aeroloop.controllers.law.request_lockstep import LockstepTurns
from aeroloop.controllers.law.request_shell import Shell
from aeroloop.controllers.law.request_tables import RequestScenario
from aeroloop.core.signals import NS
from aeroloop.flight.seat import Inlined, Seat
from aeroloop.links.memory import memory_pair


class InlineBaton:
    """The board's baton where handing it on is a call."""

    def __init__(self, turns: LockstepTurns) -> None:
        self._turns = turns
        self._reply: tuple[int, ...] = ()

    def pass_on(self, *numbers: int) -> None:
        t_ns, plant_bytes = numbers
        self._reply = self._turns.take(t_ns, plant_bytes)

    def take(self) -> tuple[int, ...]:
        return self._reply

    def close(self) -> None: ...


class InlineGround:
    """The ground's batons, to the plant and to the board."""

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._sent: deque[tuple[int, int]] = deque()

    def pass_on(self, *numbers: int) -> None:
        self._sent.extend(self._windows.grant(numbers[0]))

    def take(self) -> tuple[int, ...]:
        return self._sent.popleft()

    def close(self) -> None: ...


def request(seat: Seat) -> Inlined:
    scenario: RequestScenario = seat.scenario
    shell = Shell(scenario, seat.publish, seat.orders.image, seat.orders.folder_path)
    plant_end, board_end = memory_pair()
    ground_end, references = memory_pair()
    windows = Windows(
        build_source(scenario), ground_end, seat.publish["setpoint"], round(scenario.controller.control.period_s * NS)
    )
    ground = InlineGround(windows)
    turns = LockstepTurns(shell, board_end, references, ground)
    exchange = request_behind(seat, plant_end, InlineBaton(turns), ground)
    return Inlined(exchange, shell.close)


def period(seat: Seat) -> Inlined:
    board = build_board(seat.scenario, seat.orders.image, seat.orders.folder_path)
    plant_end, board_end = memory_pair()
    server = PeriodServer(board, board_end)
    server.greet()
    board_end.on_data = server.serve
    return Inlined(period_behind(seat, plant_end), board.close)
