"""Ground contact of an aircraft on its feet: the touchdown, and the load of feet on springs."""

from __future__ import annotations

from collections.abc import Callable

from aeroloop.core.signals import NS, Event
from aeroloop.core.stream import Publish
from aeroloop.sim.vehicle import Placed, TouchDown
from aeroloop.world.feet import Feet

LOAD_NS = NS // 4
"""Time after a touchdown in which its load counts."""


def touch_down(
    touching: Callable[[], bool], feet: Feet | None, log_event: Publish
) -> Callable[[int, Placed], str | None]:
    """The stage `contact` of a flight that continues on the ground."""
    touched = TouchDown(touching).contact
    return touched if feet is None else LoadedTouchDown(touched, feet, log_event).contact


class LoadedTouchDown:
    """Logs the largest load after each touchdown."""

    def __init__(self, touched: Callable[[int, Placed], str | None], feet: Feet, log_event: Publish) -> None:
        self._touched, self._feet, self._log_event = touched, feet, log_event
        self._until_ns = -1  # below 0: nothing to log
        self._load = 0.0

    def contact(self, t_ns: int, state: Placed) -> str | None:
        met = self._touched(t_ns, state)
        if met is not None and self._until_ns < 0:
            self._until_ns, self._load = t_ns + LOAD_NS, 0.0
        if self._until_ns >= 0:
            self._load = max(self._load, self._feet.load)
            if t_ns >= self._until_ns:
                self._log_event(t_ns / NS, Event.TOUCHDOWN_LOAD, self._load)
                self._until_ns = -1
        return met
