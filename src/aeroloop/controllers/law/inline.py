"""Our boards in the plant's own process, over a link in memory: the same bytes and order of work, without process
switches."""

from __future__ import annotations

from collections import deque

from aeroloop.controllers.law.exchange import period_behind, request_behind
from aeroloop.controllers.law.ground_process import Windows, build_source
from aeroloop.controllers.law.period_process import PeriodServer, build_board, turns
from aeroloop.controllers.law.period_tables import PeriodScenario
from aeroloop.controllers.law.request_lockstep import LockstepTurns
from aeroloop.controllers.law.request_shell import Shell
from aeroloop.controllers.law.request_tables import RequestScenario
from aeroloop.core.signals import NS
from aeroloop.flight.exchange_context import ExchangeContext, Inlined
from aeroloop.links.memory import memory_pair
from aeroloop.realtime.lockstep import InlineBaton


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


def request(context: ExchangeContext) -> Inlined:
    scenario: RequestScenario = context.scenario
    shell = Shell(scenario, context.publish, context.launch.image, context.launch.folder_path)
    plant_end, board_end = memory_pair()
    ground_end, references = memory_pair()
    windows = Windows(
        build_source(scenario),
        ground_end,
        context.publish["setpoint"],
        round(scenario.controller.control.period_s * NS),
    )
    ground = InlineGround(windows)
    baton = InlineBaton(LockstepTurns(shell, board_end, references, ground))
    exchange = request_behind(context, plant_end, baton, ground)
    return Inlined(exchange, shell.close)


def period(context: ExchangeContext) -> Inlined:
    scenario: PeriodScenario = context.scenario
    board = build_board(scenario, context.launch.image, context.launch.folder_path)
    plant_end, board_end = memory_pair()
    if scenario.impaired:
        baton = InlineBaton(turns(board, board_end, scenario.controller.period_ns))
        return Inlined(period_behind(context, plant_end, baton), board.close)
    server = PeriodServer(board, board_end)
    server.send_start()
    board_end.on_data = server.serve
    return Inlined(period_behind(context, plant_end), board.close)
