"""A fixed wing of a scenario and a PX4 for planes, in the bench's own loop and one process, in lockstep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aeroloop.controllers.pixhawk.exchange import behind
from aeroloop.core import scenario_files
from aeroloop.core.signals import NS
from aeroloop.core.tables import part
from aeroloop.exchanges.mavlink_hil import MavlinkHil, Timing
from aeroloop.flight.exchange_context import ExchangeContext
from aeroloop.flight.inline import KeptRows
from aeroloop.sim.loop import Craft, run
from peers.hil_loop import AsTheyAnswer
from peers.px4_plane import Px4PlanePeer

ARM_S, TAKEOFF_S = 6.0, 6.5


class Wire:
    """A link whose far end answers while it is being written to."""

    url = "memory"

    def __init__(self, peer: Any, altered: Callable[[bytes], bytes]) -> None:
        self._peer, self._altered = peer, altered
        self._back = peer.connect()

    def send(self, data: bytes) -> None:
        self._back += self._peer.receive(self._altered(data))

    def poll(self) -> bytes:
        back, self._back = self._back, b""
        return back

    def close(self) -> None: ...


@dataclass
class PlaneFlight:
    scenario: Any
    peer: Px4PlanePeer
    vehicle: Any
    exchange: MavlinkHil
    log: Any
    ended: str


def fly_plane(
    until_s: float,
    *changes: str,
    peer: Px4PlanePeer | None = None,
    altered: Callable[[bytes], bytes] = lambda data: data,
) -> PlaneFlight:
    """`fixedwing-px4`, armed and sent up by the peer itself; `altered`: what becomes of the bytes on their way."""
    scenario = scenario_files.load(scenario_files.find("fixedwing-px4"), (f"duration_s={until_s}", *changes))
    peer, kept = peer or Px4PlanePeer(), KeptRows(scenario)
    publish = kept.publish(0)
    vehicle = part(scenario.family.vehicle)(scenario, 0, publish)
    seat = ExchangeContext(scenario, None, 0, vehicle, publish, {}, lambda text: None)  # type: ignore[arg-type]
    exchange = behind(seat, Wire(peer, altered), Timing(readable=lambda timeout_s: False))  # type: ignore[arg-type]

    def attend() -> None:
        if vehicle.t_ns >= ARM_S * NS and not peer.wants_arming:
            peer.arm()
        if vehicle.t_ns >= TAKEOFF_S * NS and not peer.pilot.taking_off:
            peer.take_off()

    ended = run([Craft(vehicle, [exchange], round(until_s * NS))], AsTheyAnswer(), lambda: False, attend)
    return PlaneFlight(scenario, peer, vehicle, exchange, kept.log(), ended)
