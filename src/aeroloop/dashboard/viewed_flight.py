"""The shown flight, for view-only pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from aeroloop.core.faults import Switch
from aeroloop.core.operator import OperatorCommand
from aeroloop.dashboard.roles import ViewOnlyError
from aeroloop.dashboard.theme import Severity
from aeroloop.dashboard.watched_flight import WatchedFlight
from aeroloop.flight.flight_control import FlightControl
from aeroloop.ground.commands import Vehicle

T = TypeVar("T")


class ViewedFlight(WatchedFlight):
    """Shares all state; every command is refused here, on the server, whatever the page shows."""

    may_command = False
    may_choose = may_write = False

    def __init__(self, watched: WatchedFlight) -> None:
        self.__dict__ = watched.__dict__

    @property
    def launch(self) -> None:
        return None

    @property
    def station(self) -> None:
        return None

    async def command(self, action: Callable[[Vehicle], T], vehicle: int = 0) -> T:
        raise ViewOnlyError

    def switch(self, switch: Switch) -> None:
        raise ViewOnlyError

    def operate(self, order: OperatorCommand, vehicle: int = 0) -> None:
        raise ViewOnlyError

    def kill(self, process: str) -> None:
        raise ViewOnlyError

    def end(self) -> None:
        raise ViewOnlyError

    def control(self) -> FlightControl:
        raise ViewOnlyError

    def choose(self, flight_id: str) -> None:
        """It would change for every browser."""
        raise ViewOnlyError

    def notice(self, words: str, severity: Severity = "info", t_s: float | None = None) -> None:
        """The alert line is shared by all."""
