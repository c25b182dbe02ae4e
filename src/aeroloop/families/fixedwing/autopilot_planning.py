"""PPLAN and PGEN on the host: handle the mission's requests with the planning time of the onboard computer.

Planning consists of pieces, each with an execution time on that computer. The preemptive scheduler gives it all that
the other tasks leave of a control period; the cooperative one a slice. So a plan takes simulated time here as well, and
may be too late. Path generation follows at once when the cells are known.
"""

from __future__ import annotations

from aeroloop.planning.mission_messages import PathRequest, Result
from aeroloop.planning.mission_paths import PathGenerator, PathTerrain
from aeroloop.planning.planner import Planner, Planning


class SlowPlanning:
    """Handles one request at a time: the mission's newest."""

    def __init__(self, planner: Planner, radius_m: float, pieces: int | None) -> None:
        finest = planner.settings.resolution.finest
        country = PathTerrain(planner.elevation, finest, lambda cell: not planner.blocked(cell))
        self._planner = planner
        self._generator = PathGenerator(country, radius_m, transient_stitch=planner.settings.stitch == "transient")
        self._pieces = pieces
        self._order: PathRequest | None = None
        self._planning: Planning | None = None

    @property
    def radius_m(self) -> float:
        """Of circles around goals."""
        return self._generator.radius_m

    @radius_m.setter
    def radius_m(self, radius_m: float) -> None:
        self._generator.radius_m = radius_m

    def work(self, order: PathRequest | None) -> Result | None:
        """Work of one period; returns the result in the period in which it is ready."""
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

    def _take(self, order: PathRequest | None) -> None:
        self._order = order
        self._planning = None
        if order is None:
            return
        if order.fresh:
            self._planner.forget()
        for cell in order.flown:
            self._planner.flown(cell)
        self._planning = self._planner.begin(order.start_m, order.goal_m, order.entry)
