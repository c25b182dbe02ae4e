"""The plant's end of our boards: link, impairments, and the batons of a board with its own timer."""

from __future__ import annotations

from typing import Any

from aeroloop.controllers.law.period_tables import PeriodScenario, by_baton, waits
from aeroloop.controllers.law.request_tables import RequestScenario
from aeroloop.core.operator import Console
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import NS
from aeroloop.core.tables import made, offered
from aeroloop.exchanges import board_period, board_request
from aeroloop.exchanges.barriers import BoardBaton, GroundBaton
from aeroloop.exchanges.board_period import BoardPeriod, MissionRequest
from aeroloop.exchanges.board_request import BoardRequest
from aeroloop.exchanges.operator import OperatorLine
from aeroloop.exchanges.wire import Turn, Wire, impaired_wire
from aeroloop.flight.exchange_context import ExchangeContext, Selected
from aeroloop.links.base import Link
from aeroloop.links.lasting import LastingServer
from aeroloop.links.open import open_link
from aeroloop.links.relay import Relayed
from aeroloop.protocols.framing import FrameCutter
from aeroloop.realtime.lockstep import Baton
from aeroloop.sensors.collect import Readings

NEXT_BOARD = 1_000_003
"""Between the seeds of two boards' links."""


def request(context: ExchangeContext) -> BoardRequest | Selected:
    if context.scenario.controller.redundancy is not None:
        from aeroloop.controllers.law import redundant_boards  # which uses this module

        return redundant_boards.request(context)
    link: Link = open_link(context.launch.link_server)
    if context.launch.relay_references:
        link = Relayed(link, LastingServer(context.launch.reference_server))
    board = ground = None
    if context.scenario.lockstep:
        board = plant_baton(context)
        ground = Baton(context.batons["ground"], "ground") if "ground" in context.batons else None
    return request_behind(context, link, board, ground)


def request_behind(
    context: ExchangeContext, bare: Link, board: BoardBaton | None, ground: GroundBaton | None
) -> BoardRequest:
    """The exchange with a board that has its own timer, in lockstep with its batons."""
    settings = request_settings(context)
    turn = None
    if board is not None:
        turn = Turn(board, ground=ground, period_ns=settings.period_ns, end_ns=settings.end_ns)
    return BoardRequest(context.vehicle, framed_wire(context, bare, turn), settings, context.publish)


def request_settings(context: ExchangeContext) -> board_request.Settings:
    scenario: RequestScenario = context.scenario
    return board_request.Settings(
        bounds=offered(scenario.kind, "command_bounds"),
        first_command=context.vehicle.command,
        period_ns=round(scenario.controller.control.period_s * NS),
        end_ns=scenario.end_ns,
        silence_ns=round(scenario.link.silence_s * scenario.speed * NS),
        speed=scenario.speed,
        expected_image=context.launch.image_id,
        board="emulated board" if scenario.loop == "pil" else "board",
        notify=context.notify,
    )


def period(context: ExchangeContext) -> BoardPeriod:
    bare = open_link(context.launch.link_server)
    return period_behind(context, bare, plant_baton(context) if by_baton(context.scenario) else None)


def period_behind(context: ExchangeContext, bare: Link, board: BoardBaton | None = None) -> BoardPeriod:
    """The exchange with a board on the plant's clock; the plant waits for its baton, or for its messages."""
    scenario: PeriodScenario = context.scenario
    in_band = waits(scenario) and board is None
    wire = Wire.plain(bare) if in_band else framed_wire(context, bare, Turn(board) if board is not None else None)
    settings = board_period.Settings(
        period_ns=round(scenario.controller.board.period_s * NS),
        end_ns=scenario.end_ns,
        waits=in_band,
        paced=not scenario.lockstep,
        silence_ns=round(scenario.link.silence_s * scenario.speed * NS),
        expected_image=context.launch.image_id,
        board="emulated board" if scenario.loop == "pil" else "board",
    )
    mission_request: MissionRequest = offered(scenario.kind, "mission", scenario)
    first = context.vehicle.sensed()
    operator = OperatorLine(console_of(scenario), scenario.controller.operator, context.publish)
    return BoardPeriod(context.vehicle, wire, settings, mission_request, Readings(first), context.publish, operator)


def console_of(scenario: Scenario[Any, Any]) -> Console | None:
    """What an operator can change in this flight."""
    reference = scenario.family.operator
    found: Console | None = made(reference, scenario) if reference else None
    return found


def plant_baton(context: ExchangeContext) -> Baton:
    """The plant's end of its baton with the board."""
    return Baton(context.batons["board"], "board")


def framed_wire(context: ExchangeContext, bare: Link, turn: Turn | None, number: int = 0) -> Wire:
    """The link of a board with our frames, with the scenario's impairments; `number` of several has its own draws."""
    vehicle, scenario = context.vehicle, context.scenario
    seed = scenario.seed + number * NEXT_BOARD
    return impaired_wire(bare, scenario.link, lambda: vehicle.t_ns, seed, turn=turn, cut=FrameCutter)
