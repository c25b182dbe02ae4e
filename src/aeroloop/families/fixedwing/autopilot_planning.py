"""PPLAN and PGEN on the host: what the mission orders, planned as slowly as the computer aboard would.

Planning comes in pieces, each of which costs that computer so much time. The preemptive scheduler gives it all that the
other tasks leave of a control period; the cooperative one a slice. So a plan takes simulated time here as well, and may
come too late. Path generation is done at once when the cells are there.
"""

from __future__ import annotations

import math

from aeroloop.boards.config import Computer
from aeroloop.planning.mission_paths import Country, PathGenerator
from aeroloop.planning.mission_words import Order, Result
from aeroloop.planning.planner import Planner, Planning


def pieces_each_period(computer: Computer) -> int | None:
    """How many pieces of planning the computer does in a control period; none for as many as there are."""
    if computer.piece_s == 0.0:
        return None
    idle_s = computer.period_s - computer.routine_s
    time_s = idle_s if computer.scheduler == "preemptive" else min(computer.slice_s, idle_s)
    return max(1, math.floor(time_s / computer.piece_s + 1e-9))


class SlowPlanning:
    """Works on one order at a time: the mission's newest."""

    def __init__(self, planner: Planner, radius_m: float, pieces: int | None) -> None:
        finest = planner.settings.resolution.finest
        country = Country(planner.elevation, finest, lambda cell: not planner.blocked(cell))
        self._planner = planner
        self._generator = PathGenerator(country, radius_m)
        self._pieces = pieces
        self._order: Order | None = None
        self._planning: Planning | None = None

    def work(self, order: Order | None) -> Result | None:
        """A period's worth; the result, in the period in which it is ready."""
        if order is None or self._order is None or order.number != self._order.number:
            self._take(order)
        if self._order is None or self._planning is None:
            return None
        done = 0
        while not self._planning.step():
            done += 1
            if done == self._pieces:
                return None
        made = self._generator.generate(self._order, self._planning.plan)
        self._planning = None
        return made

    def _take(self, order: Order | None) -> None:
        self._order = order
        self._planning = None
        if order is None:
            return
        if order.fresh:
            self._planner.forget()
        for cell in order.flown:
            self._planner.flown(cell)
        self._planning = self._planner.begin(order.start_m, order.goal_m, order.entry)
