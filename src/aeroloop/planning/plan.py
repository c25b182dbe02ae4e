"""What planning comes to: the cells on the way, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass

from aeroloop.planning.cells import Cell
from aeroloop.planning.search import Entry
from aeroloop.wing_signals import PlanStatus


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
        obstacles = [name for name, inside in (("start", self.start_blocked), ("goal", self.goal_blocked)) if inside]
        return "; ".join((self._outcome(), *(f"the {name} lies inside an obstacle" for name in obstacles)))

    def _outcome(self) -> str:
        match self.status:
            case PlanStatus.START_OUTSIDE:
                return "no plan: the start lies outside the map"
            case PlanStatus.GOAL_OUTSIDE:
                return "no plan: the goal lies outside the map"
            case PlanStatus.FOUND if self.reaches_goal:
                return f"a way of {len(self.cells)} cells, fine all the way to the goal"
            case PlanStatus.FOUND:
                return f"a way of {len(self.cells)} cells, the first {len(self.fine)} of them fine"
            case PlanStatus.UNREACHABLE if self.entry is None:
                return "no plan: every way from the start to the goal is blocked"
        direction, last_turn = (part.name.lower() for part in self.entry or ())
        return (
            "no plan: every way from the start to the goal is blocked, or needs a U turn from the heading flown "
            f"({direction}, last turn {last_turn}); a loiter leaves in any direction"
        )
