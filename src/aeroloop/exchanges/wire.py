"""The link of an exchange: bare before the flight, then with the scenario's impairments, in lockstep with a baton."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aeroloop.core.scenario import Link as LinkConfig
from aeroloop.exchanges.barriers import BatonBarrier, BoardBaton, GroundBaton
from aeroloop.exchanges.link_faults import LinkFaults
from aeroloop.links.base import Link
from aeroloop.links.impair import Cutter, Impaired, WholeChunks
from aeroloop.realtime.lockstep import StampedLink


@dataclass(frozen=True, slots=True)
class Wire:
    """A link and the objects that change it."""

    link: Link  # in flight
    bare: Link  # without impairments
    faults: LinkFaults | None = None  # impairments that can be switched in flight
    barrier: BatonBarrier | None = None  # without it there is no wait, or one for the messages themselves
    is_impaired: Callable[[], bool] | None = None  # whether messages may be lost or late now; None: never

    @classmethod
    def plain(cls, link: Link) -> Wire:
        return cls(link, link)


@dataclass(frozen=True, slots=True)
class Turn:
    """The participants of lockstep by baton: the board and, if there is one, the ground with its period."""

    board: BoardBaton
    number: int = 0  # of the board in its process
    ground: GroundBaton | None = None
    period_ns: int = 0
    end_ns: int = 0


def impaired_wire(
    bare: Link,
    config: LinkConfig,
    now_ns: Callable[[], int],
    seed: int,
    *,
    turn: Turn | None = None,
    cut: Callable[[], Cutter],
    cut_sent: Callable[[], Cutter] = WholeChunks,
) -> Wire:
    """The link with the scenario's impairments on the vehicle's clock at every pace; a `turn` adds the lockstep by
    baton."""
    stamped = StampedLink(bare, now_ns) if turn is not None else None
    wire: Link = bare if stamped is None else stamped
    impaired = Impaired(
        wire,
        inbound=config.to_plant,
        outbound=config.to_board,
        clock_ns=now_ns,
        seed=seed,
        cut=cut,
        cut_sent=cut_sent,
    )
    barrier = None
    if stamped is not None and turn is not None:
        barrier = BatonBarrier(
            stamped,
            impaired,
            turn.board,
            turn.ground,
            number=turn.number,
            period_ns=turn.period_ns,
            end_ns=turn.end_ns,
        )
    return Wire(impaired, wire, LinkFaults(impaired, config), barrier, lambda: impaired.is_impaired)
