"""Exchange of an aircraft without a controller: it is served once a step, and commands nothing."""

from __future__ import annotations

from typing import Any

from aeroloop.exchanges.direct import Direct
from aeroloop.sim.vehicle import Vehicle


class Unattended(Direct):
    """Implements `sim.exchange.Exchange`."""

    cuts = False

    def __init__(self, vehicle: Vehicle[Any, Any]) -> None:
        super().__init__(vehicle.command)
        self._vehicle = vehicle

    def next_ns(self) -> int:
        return self._vehicle.t_ns + self._vehicle.step_ns
