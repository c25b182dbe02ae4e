"""The context that a controller's exchange is built from, in the plant's process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aeroloop.core.scenario import Scenario
from aeroloop.core.stream import Publish
from aeroloop.flight.processes.common import LaunchSettings
from aeroloop.sim.exchange import Exchange
from aeroloop.sim.loop import Select
from aeroloop.sim.vehicle import Vehicle


@dataclass(frozen=True)
class Selected:
    """The exchanges of several boards, and the selector of the command that flies."""

    exchanges: Sequence[Exchange]
    select: Select


@dataclass(frozen=True)
class Inlined:
    """An exchange, or several, whose controller runs in the plant's process."""

    exchange: Exchange | Selected
    finish: Callable[[], None]  # logs the controller's last rows and ends it


@dataclass(frozen=True)
class ExchangeContext:
    """What an exchange is built from: scenario, vehicle, launch settings, batons."""

    scenario: Scenario[Any, Any]  # with the controller's own tables
    launch: LaunchSettings
    number: int  # of the aircraft
    vehicle: Vehicle[Any, Any]
    publish: Mapping[str, Publish]  # rows of this aircraft, without its number
    batons: Mapping[str, int]  # peer -> descriptor
    notify: Callable[[str], None]  # message to the user, shown at once
