"""The virtual Pixhawk in the plant's own process, over a link in memory: the same bytes, no process switch."""

from __future__ import annotations

from aeroloop.controllers.pixhawk.exchange import behind
from aeroloop.controllers.pixhawk.process import Aircraft
from aeroloop.exchanges.mavlink_hil import Timing
from aeroloop.flight.seat import Inlined, Seat
from aeroloop.links.memory import memory_pair


def pixhawk(seat: Seat) -> Inlined:
    plant_end, board_end = memory_pair()
    aircraft = Aircraft(seat.scenario, seat.number, board_end, seat.publish, seat.notify)
    board_end.send(aircraft.pixhawk.greet())
    board_end.on_data = aircraft.serve
    exchange = behind(seat, plant_end, Timing(lambda timeout_s: plant_end.pending))
    return Inlined(exchange, aircraft.close)
