"""What planning comes to: the cells on the way, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass

from aeroloop.core.wing_signals import PlanStatus
from aeroloop.planning.cells import Cell
from aeroloop.planning.search import Entry

WHY = {
    PlanStatus.UNREACHABLE: "no plan: every way from the start to the goal is blocked",
    PlanStatus.START_OUTSIDE: "no plan: the start lies outside the map",
    PlanStatus.GOAL_OUTSIDE: "no plan: the goal lies outside the map",
    PlanStatus.NO_PATH: "no path: no curve through the cells can be flown",
    PlanStatus.TOO_LATE: "no path: it was ready when its beginning had been passed",
}


@dataclass(frozen=True, slots=True)
class Plan:
    status: PlanStatus
    cells: tuple[Cell, ...] = ()
    """All leaves on the way, the start's first."""
    fine: tuple[Cell, ...] = ()
    """The leading run of fine cells: what is smoothed and flown."""
    reaches_goal: bool = False
    """Whether the fine run ends in the goal's own cell."""
    cost: int = 0
    """In 1/4096 of a unit's length over safe ground."""
    expanded: int = 0
    """States that the search took up."""
    pieces: int = 0
    """Bounded pieces of work that it took, which a slow computer's planning time follows from."""
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
            return f"a way of {len(self.cells)} cells, {how_far}"
        if self.entry is None or self.status != PlanStatus.UNREACHABLE:
            return WHY[self.status]
        direction, last_turn = (part.name.lower() for part in self.entry)
        return (
            f"{WHY[self.status]}, or needs a U turn from the heading flown ({direction}, last turn {last_turn}); "
            "a loiter leaves in any direction"
        )


def inside_obstacles(start: bool, goal: bool) -> list[str]:
    """Clauses for those of the two that lie in one."""
    return [f"the {name} lies inside an obstacle" for name, inside in (("start", start), ("goal", goal)) if inside]
