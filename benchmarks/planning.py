"""Planning over hills: the multiresolution planner against A* on the full grid, our own and scikit-image's.

A unit of the map is a fine cell here, so that the full grid has as many cells as the map. A round is one way across the
map. What is flown is what counts: the vehicle plans, flies half of the fine cells, plans again, under the turn rule;
the full grid's way is the cheapest there is, without it. Times are of the board's C, compiled for this machine.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeVar

import numpy as np
from skimage.graph import route_through_array
from tests.peers.c_planner import CPlanner, build
from tests.peers.cell_flights import FINEST_STEP, cost_of, fly

from aeroloop.planning.cells import Cell, Resolution
from aeroloop.planning.elevation import Elevation
from aeroloop.planning.plan import Plan
from aeroloop.planning.planner import Planner, PlannerSettings
from aeroloop.world.terrain_generator import generate
from benchmarks.measure import Aim, Outcome, row


class Trial(NamedTuple):
    ways: int
    """Tried on this map: on the large ones the full grid takes its time."""
    reach: int
    """Cells of each level around the vehicle that are split."""


TRIALS = {128: Trial(9, 4), 512: Trial(9, 8), 2048: Trial(5, 8), 4096: Trial(3, 8)}
"""By cells a side. With a reach of 4 one way over 2048 cells costs 12 % more than the full grid's."""
QUICK_TRIALS = {128: Trial(2, 4)}
UNIT_M = 75.0
COARSEST = 3
SAFE, BLOCKED = 0.2, 0.85
"""Shares of the map that are safe, and that are not blocked."""
REPEATS = 9
"""Of one plan: it takes so little that a moment of somebody else's would be all of it."""
RISK_WEIGHT = 4.0
COST_AIM = Aim(1.1, at_least=False)
SEED = 1


T = TypeVar("T")


class Way(NamedTuple):
    """What one way came to, with ours first."""

    plan_ms: float
    python_ms: float
    flight_ms: float
    full_ms: float
    peer_ms: float
    plans: int
    expanded: int
    full_expanded: int
    cost: int
    full_cost: int


class Field:
    """A map with all the planners on it."""

    def __init__(self, side: int, reach: int, folder: Path) -> None:
        self.elevation = Elevation(generate(side, SEED), UNIT_M)
        order = self.elevation.order
        radii = tuple(reach << (order - level) for level in range(COARSEST, order))
        safe_m, blocked_m = (int(level_m) for level_m in np.quantile(self.elevation.values, (SAFE, BLOCKED)))
        settings = PlannerSettings(
            safe_m=safe_m,
            highest_m=blocked_m,
            blocked_above_m=blocked_m,
            risk_weight=RISK_WEIGHT,
            resolution=Resolution(coarsest=COARSEST, finest=order, radii_units=radii),
        )
        library = build(folder, wide=True)
        self.python = Planner(self.elevation, settings)
        self.ours = CPlanner(library, self.elevation, settings)
        self.full = CPlanner(library, self.elevation, settings.full_grid(), remembers=False)
        self.lift_ms = _timed(self.ours.lift)[1]
        self.prices = self.python.factors(order).astype(float)
        self.prices[self.elevation.values > blocked_m] = -1  # which the peer takes for no way
        self._rng = np.random.default_rng(SEED)

    def ends(self) -> tuple[Cell, Cell]:
        """Two open cells, half the map or more apart."""
        order, side = self.elevation.order, self.elevation.side
        while True:
            start, goal = (Cell(order, *map(int, self._rng.integers(0, side, 2))) for _ in range(2))
            apart = max(abs(start.col - goal.col), abs(start.row - goal.row)) >= side // 2
            if apart and not self.python.blocked(start) and not self.python.blocked(goal):
                return start, goal

    def way(self) -> Way:
        """The next of the seed's ways that there is one for."""
        # Each planner has been in its memory once before it is timed.
        start, goal = self.ends()
        while not self.full.plan(self.elevation.centre_m(start), self.elevation.centre_m(goal)).found:
            start, goal = self.ends()
        ends_m = self.elevation.centre_m(start), self.elevation.centre_m(goal)
        full, full_ms = _timed(lambda: self.full.plan(*ends_m))
        peer_ms = self._peer(start, goal, full)
        self.ours.forget()
        first = self.ours.plan(*ends_m)
        plan_ms = median(_timed(lambda: self.ours.plan(*ends_m))[1] for _ in range(REPEATS))
        python, python_ms = _timed(lambda: self.python.plan(*ends_m))
        if python != first:
            raise RuntimeError("Python and C found different ways")
        flight, flight_ms = _timed(
            lambda: fly(self.ours, self.elevation, start, goal, most_cells=20 * self.elevation.side)
        )
        if not flight.arrived:
            raise RuntimeError(f"the vehicle did not get from {start} to {goal}")
        cost = cost_of(flight.cells, self.python, self.elevation)
        return Way(
            plan_ms,
            python_ms,
            flight_ms,
            full_ms,
            peer_ms,
            flight.plans,
            first.expanded,
            full.expanded,
            cost,
            full.cost,
        )

    def _peer(self, start: Cell, goal: Cell, ours: Plan) -> float:
        (_, cost), peer_ms = _timed(
            lambda: route_through_array(self.prices, start[:0:-1], goal[:0:-1], fully_connected=False, geometric=False)
        )
        if round(cost - self.prices[start.row, start.col]) * FINEST_STEP != ours.cost:
            raise RuntimeError(f"scikit-image found a way of cost {cost}, our full grid one of {ours.cost}")
        return peer_ms


def run(quick: bool) -> Outcome:
    outcome = Outcome()
    growth: dict[int, tuple[float, ...]] = {}
    trials = QUICK_TRIALS if quick else TRIALS
    for side, trial in trials.items():
        with tempfile.TemporaryDirectory() as folder:
            field = Field(side, trial.reach, Path(folder))
            ways = [field.way() for _ in range(trial.ways)]
        _report(outcome, side, field, ways)
        growth[side] = (
            median(way.plan_ms for way in ways),
            median(way.full_ms for way in ways),
            field.ours.memory_bytes,
            field.full.memory_bytes,
            field.ours.search_bytes,
        )
    small, large = min(growth), max(growth)
    if large > small:
        plan, full, memory, full_memory, search_memory = (
            b / a for a, b in zip(growth[small], growth[large], strict=True)
        )
        outcome.notes.append(
            f"from {small} to {large} cells a side the map grows {(large // small) ** 2:,} times; a plan, with a "
            f"reach of {trials[small].reach} and {trials[large].reach} cells, takes "
            f"{plan:,.1f} times as long and the full grid {full:,.0f} times, with {memory:,.0f} and {full_memory:,.0f} "
            f"times the memory; of ours, what the search itself works in grows {search_memory:.1f} times"
        )
    return outcome


def _report(outcome: Outcome, side: int, field: Field, ways: list[Way]) -> None:
    def taken(of: Callable[[Way], float]) -> list[float]:
        return [float(of(way)) for way in ways]

    full_ms = taken(lambda way: way.full_ms)
    plan_ms = taken(lambda way: way.plan_ms)
    peer_ms = taken(lambda way: way.peer_ms)
    mine, theirs = (planner.memory_bytes / 1e6 for planner in (field.ours, field.full))
    outcome.rows += [
        row(f"{side} a side, a plan", "ms", plan_ms, "full grid", full_ms),
        row(f"{side} a side, the same plan", "ms", plan_ms, "scikit-image", peer_ms),
        row(f"{side} a side, all plans of a flight", "ms", taken(lambda way: way.flight_ms), "full grid", full_ms),
        row(f"{side} a side, full grid", "ms", full_ms, "scikit-image", peer_ms),
        row(f"{side} a side, a plan in Python", "ms", taken(lambda way: way.python_ms), "C", plan_ms),
        row(
            f"{side} a side, taken up in a plan",
            "states",
            taken(lambda way: way.expanded),
            "full grid",
            taken(lambda way: way.full_expanded),
        ),
        row(f"{side} a side, memory", "MB", [mine] * len(ways), "full grid", [theirs] * len(ways)),
        row(
            f"{side} a side, cost of the way flown",
            "units",
            taken(lambda way: way.cost / 4096),
            "full grid",
            taken(lambda way: way.full_cost / 4096),
            COST_AIM,
        ),
    ]
    plans = median(way.plans for way in ways)
    outcome.notes.append(
        f"{side} a side: the map is transformed in {field.lift_ms:.3g} ms, once; a flight takes {plans:.0f} plans; "
        f"{sum(way.cost > COST_AIM.bound * way.full_cost for way in ways)} of {len(ways)} ways cost over "
        f"{COST_AIM.bound - 1:.0%} more than the full grid's"
    )


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    began_s = time.perf_counter()
    result = work()
    return result, (time.perf_counter() - began_s) * 1e3
