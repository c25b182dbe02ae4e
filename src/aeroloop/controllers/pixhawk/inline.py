"""The virtual Pixhawk in the plant's own process, over a link in memory: the same bytes, without process switches."""

from __future__ import annotations

from functools import partial

from aeroloop.controllers.pixhawk.exchange import behind, by_baton
from aeroloop.controllers.pixhawk.process import Aircraft, companion_turns, turns_of
from aeroloop.exchanges.mavlink_hil import Timing
from aeroloop.flight.exchange_context import ExchangeContext, Inlined
from aeroloop.links.base import Link
from aeroloop.links.memory import memory_pair
from aeroloop.realtime.lockstep import InlineBaton


def pixhawk(context: ExchangeContext) -> Inlined:
    plant_end, board_end = memory_pair()
    if by_baton(context.scenario):
        turns = turns_of(context.scenario, board_end, partial(_aircraft, context))
        return Inlined(behind(context, plant_end, board=InlineBaton(turns)), turns.board.close)
    aircraft = _aircraft(context, board_end)
    board_end.send(aircraft.pixhawk.first_messages())
    board_end.on_data = aircraft.serve
    exchange = behind(context, plant_end, Timing(lambda timeout_s: plant_end.pending))
    return Inlined(exchange, aircraft.close)


def _aircraft(context: ExchangeContext, link: Link) -> Aircraft:
    companion = companion_turns(context.scenario, context.number, context.batons, context.notify)
    return Aircraft(context.scenario, context.number, link, context.publish, context.notify, companion=companion)
