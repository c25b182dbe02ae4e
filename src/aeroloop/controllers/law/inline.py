"""Our boards in the plant's own process, over a link in memory: the same bytes and order of work, without process
switches."""

from __future__ import annotations

from aeroloop.controllers.law import redundant_boards
from aeroloop.controllers.law.exchange import period_behind, request_behind
from aeroloop.controllers.law.ground_process import InlineGround, Windows, build_source
from aeroloop.controllers.law.period_process import PeriodServer, build_board, turns
from aeroloop.controllers.law.period_tables import PeriodScenario, by_baton
from aeroloop.controllers.law.request_lockstep import LockstepTurns
from aeroloop.controllers.law.request_shell import Shell
from aeroloop.controllers.law.request_tables import RequestScenario
from aeroloop.core.signals import NS
from aeroloop.flight.exchange_context import ExchangeContext, Inlined
from aeroloop.links.memory import memory_pair
from aeroloop.realtime.lockstep import InlineBaton


def request(context: ExchangeContext) -> Inlined:
    scenario: RequestScenario = context.scenario
    if scenario.controller.redundancy is not None:
        return redundant_boards.inline(context)
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
    if by_baton(scenario):
        baton = InlineBaton(turns(board, board_end, scenario.controller.period_ns))
        return Inlined(period_behind(context, plant_end, baton), board.close)
    server = PeriodServer(board, board_end)
    server.send_start()
    board_end.on_data = server.serve
    return Inlined(period_behind(context, plant_end), board.close)
