"""The plant's end of an external autopilot's link, and of the simulated time for its telemetry process."""

from __future__ import annotations

import os
from collections.abc import Callable

from aeroloop.controllers.pixhawk.exchange import behind, plant_link
from aeroloop.controllers.pixhawk.tables import SAME_LINK
from aeroloop.controllers.px4.launch import TELEMETRY
from aeroloop.controllers.px4.time_link import TimeOut
from aeroloop.exchanges.mavlink_hil import MavlinkHil
from aeroloop.flight.exchange_context import ExchangeContext
from aeroloop.links.lasting import LastingServer


def exchange(context: ExchangeContext) -> MavlinkHil:
    link = LastingServer(plant_link(context), shown=context.launch.vehicle_links[context.number][0])
    same_link = context.scenario.controller.telemetry_url(context.scenario) == SAME_LINK
    clock = time_out(context, link.send if same_link else None)
    if clock is None:
        return behind(context, link)
    if not same_link:
        return behind(context, link, settled=clock.tell)
    return behind(context, link, settled=clock.tell, others=lambda frame: clock.forward(frame.wire))


def time_out(context: ExchangeContext, send: Callable[[bytes], None] | None = None) -> TimeOut | None:
    """What tells the telemetry process the time; the first aircraft of a part does it for all."""
    if context.number or TELEMETRY not in context.batons:
        return None
    awaited = context.scenario.lockstep and context.scenario.controller.commanded
    return TimeOut(os.dup(context.batons[TELEMETRY]), context.notify, awaited=awaited, send=send)
