"""What a controller's exchange is built from, in the plant's process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aeroloop.core.scenario import Scenario
from aeroloop.core.stream import Publish
from aeroloop.flight.processes.common import Orders
from aeroloop.sim.exchange import Exchange
from aeroloop.sim.vehicle import Vehicle


@dataclass(frozen=True)
class Inlined:
    """An exchange whose controller runs in the plant's process."""

    exchange: Exchange
    finish: Callable[[], None]  # the controller's last rows, and its end


@dataclass(frozen=True)
class Seat:
    """The place of one controller in a flight: whose vehicle, over which link, beside whom."""

    scenario: Scenario[Any, Any]  # with the tables that the controller knows
    orders: Orders
    number: int  # of the aircraft
    vehicle: Vehicle[Any, Any]
    publish: Mapping[str, Publish]  # rows of this aircraft, without its number
    batons: Mapping[str, int]  # peer -> descriptor, in lockstep
    notify: Callable[[str], None]  # what somebody who waits should read at once
