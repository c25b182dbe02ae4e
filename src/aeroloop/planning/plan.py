"""The result of planning: the cells of the path, or the reason for failure."""

from __future__ import annotations

from dataclasses import dataclass

from aeroloop.core.wing_signals import PlanStatus
from aeroloop.planning.cells import Cell
from aeroloop.planning.search import Entry

WHY = {
    PlanStatus.UNREACHABLE: "no plan: every path from the start to the goal is blocked",
    PlanStatus.START_OUTSIDE: "no plan: the start lies outside the map",
    PlanStatus.GOAL_OUTSIDE: "no plan: the goal lies outside the map",
    PlanStatus.NO_PATH: "no path: no curve through the cells can be flown",
    PlanStatus.TOO_LATE: "no path: it was ready after its start had been passed",
}


@dataclass(frozen=True, slots=True)
class Plan:
    status: PlanStatus
    cells: tuple[Cell, ...] = ()
    """All leaves on the path, the start's first."""
    fine: tuple[Cell, ...] = ()
    """The leading sequence of fine cells, which is smoothed and flown."""
    reaches_goal: bool = False
    """Whether the fine sequence ends in the goal's own cell."""
    cost: int = 0
    """In 1/4096 of a unit's length over safe ground."""
    expanded: int = 0
    """States that the search expanded."""
    pieces: int = 0
    """Number of bounded pieces of work, which determines a slow computer's planning time."""
    leaves: int = 0
    start_blocked: bool = False
    goal_blocked: bool = False
    entry: Entry | None = None

    @property
    def found(self) -> bool:
        return self.status == PlanStatus.FOUND

    def words(self) -> str:
        """The outcome in a sentence."""
        return "; ".join((self._outcome(), *inside_obstacles(self.start_blocked, self.goal_blocked)))

    def _outcome(self) -> str:
        if self.status == PlanStatus.FOUND:
            how_far = (
                "fine all the way to the goal" if self.reaches_goal else f"the first {len(self.fine)} of them fine"
            )
            return f"a path of {len(self.cells)} cells, {how_far}"
        if self.entry is None or self.status != PlanStatus.UNREACHABLE:
            return WHY[self.status]
        direction, last_turn = (part.name.lower() for part in self.entry)
        return (
            f"{WHY[self.status]}, or needs a U turn from the heading flown ({direction}, last turn {last_turn}); "
            "a loiter leaves in any direction"
        )


def inside_obstacles(start: bool, goal: bool) -> list[str]:
    """Clauses for start and goal if they lie in an obstacle."""
    return [f"the {name} lies inside an obstacle" for name, inside in (("start", start), ("goal", goal)) if inside]
