"""The plant's end of a board that works by the plant's clock."""

from __future__ import annotations

from aeroloop.controllers.law.period_tables import PeriodScenario, waits
from aeroloop.controllers.law.request_exchange import impair
from aeroloop.core.signals import NS
from aeroloop.core.tables import offered
from aeroloop.exchanges.board_period import BoardPeriod, Errand, Settings
from aeroloop.exchanges.line_faults import LineFaults
from aeroloop.flight.seat import Seat
from aeroloop.links.base import Link
from aeroloop.links.open import open_link
from aeroloop.sensors.collect import Readings


def exchange(seat: Seat) -> BoardPeriod:
    return behind(seat, open_link(seat.orders.link_server))


def behind(seat: Seat, bare: Link) -> BoardPeriod:
    """The board behind this link."""
    scenario: PeriodScenario = seat.scenario
    link, line = bare, None
    if not waits(scenario):
        link = impaired = impair(bare, scenario, lambda: seat.vehicle.t_ns)
        line = LineFaults(impaired, scenario.link)
    settings = Settings(
        period_ns=round(scenario.controller.board.period_s * NS),
        end_ns=scenario.end_ns,
        waits=waits(scenario),
        paced=not scenario.lockstep,
        silence_ns=round(scenario.link.silence_s * scenario.speed * NS),
        wanted_image=seat.orders.image_id,
        board="emulated board" if scenario.loop == "pil" else "board",
    )
    errand: Errand = offered(scenario.kind, "mission", scenario)
    first = seat.vehicle.sensed()
    return BoardPeriod(seat.vehicle, link, settings, errand, Readings(first), seat.publish, line=line, bare=bare)
