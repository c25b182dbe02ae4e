"""The plant's end of our boards: link, impairments, and the batons of a board that owns its timer."""

from __future__ import annotations

from collections.abc import Callable

from aeroloop.controllers.law.period_tables import PeriodScenario, waits
from aeroloop.controllers.law.request_tables import RequestScenario
from aeroloop.core.scenario import Scenario
from aeroloop.core.signals import NS
from aeroloop.core.tables import offered
from aeroloop.exchanges import board_period, board_request
from aeroloop.exchanges.barriers import BatonBarrier, BoardBaton, GroundBaton
from aeroloop.exchanges.board_period import BoardPeriod, Errand
from aeroloop.exchanges.board_request import BoardRequest
from aeroloop.exchanges.line_faults import LineFaults
from aeroloop.flight.seat import Seat
from aeroloop.links.base import Link
from aeroloop.links.impair import Impaired
from aeroloop.links.lasting import LastingServer
from aeroloop.links.open import open_link
from aeroloop.links.relay import Relayed
from aeroloop.protocols.framing import FrameCutter
from aeroloop.realtime.lockstep import Baton, StampedLink
from aeroloop.sensors.collect import Readings


def request(seat: Seat) -> BoardRequest:
    link: Link = open_link(seat.orders.link_server)
    if seat.orders.relay_references:
        link = Relayed(link, LastingServer(seat.orders.reference_server))
    board = ground = None
    if seat.scenario.lockstep:
        board = Baton(seat.batons["board"], "board")
        ground = Baton(seat.batons["ground"], "ground") if "ground" in seat.batons else None
    return request_behind(seat, link, board, ground)


def request_behind(seat: Seat, bare: Link, board: BoardBaton | None, ground: GroundBaton | None) -> BoardRequest:
    """The board that owns its timer behind this link, in lockstep with its batons."""
    scenario: RequestScenario = seat.scenario
    settings = board_request.Settings(
        bounds=offered(scenario.kind, "command_bounds"),
        first_command=seat.vehicle.command,
        period_ns=round(scenario.controller.control.period_s * NS),
        end_ns=scenario.end_ns,
        silence_ns=round(scenario.link.silence_s * scenario.speed * NS),
        speed=scenario.speed,
        wanted_image=seat.orders.image_id,
        board="emulated board" if scenario.loop == "pil" else "board",
    )
    barrier, link = None, bare
    if board is not None:
        link = stamped = StampedLink(bare, lambda: seat.vehicle.t_ns)
    impaired = impair(link, scenario, lambda: seat.vehicle.t_ns)
    if board is not None:
        period_ns, end_ns = settings.period_ns, settings.end_ns
        barrier = BatonBarrier(stamped, impaired, board, ground, period_ns=period_ns, end_ns=end_ns)
    line = LineFaults(impaired, scenario.link)
    return BoardRequest(seat.vehicle, impaired, settings, seat.publish, line=line, bare=bare, barrier=barrier)


def period(seat: Seat) -> BoardPeriod:
    return period_behind(seat, open_link(seat.orders.link_server))


def period_behind(seat: Seat, bare: Link) -> BoardPeriod:
    """The board that works by the plant's clock behind this link."""
    scenario: PeriodScenario = seat.scenario
    link, line = bare, None
    if not waits(scenario):
        link = impaired = impair(bare, scenario, lambda: seat.vehicle.t_ns)
        line = LineFaults(impaired, scenario.link)
    settings = board_period.Settings(
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


def impair(link: Link, scenario: Scenario, clock_ns: Callable[[], int]) -> Impaired:
    """The link with the scenario's impairments on; their clock is the vehicle's at every pace."""
    return Impaired(
        link,
        inbound=scenario.link.to_plant,
        outbound=scenario.link.to_board,
        clock_ns=clock_ns,
        seed=scenario.seed,
        cut=FrameCutter,
    )
