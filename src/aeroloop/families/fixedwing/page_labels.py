"""Descriptions of the fixed wing's mission: its steps with the paper's letters, and the results of path searches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aeroloop.core.wing_signals import LETTERS, PlanStatus, Step
from aeroloop.dashboard.store import Store
from aeroloop.dashboard.theme import Severity

STEP_WORDS: dict[Step, str] = {
    Step.LOITER: "loitering, no goal yet",
    Step.PLAN: "loitering, planning",
    Step.LEAVE: "leaving the circle",
    Step.FOLLOW: "following the path",
    Step.REPLAN: "following the path, replanning",
    Step.TRANSIENT: "joining the next path",
    Step.APPROACH: "approaching the goal",
    Step.ARRIVE: "joining the circle at the goal",
    Step.ARRIVED: "loitering at the goal",
    Step.STRANDED: "no path found: loitering, will replan",
}
STATUS_WORDS: dict[PlanStatus, str] = {
    PlanStatus.FOUND: "found",
    PlanStatus.UNREACHABLE: "no path to the goal",
    PlanStatus.START_OUTSIDE: "start off the map",
    PlanStatus.GOAL_OUTSIDE: "goal off the map",
    PlanStatus.NO_PATH: "no flyable path",
    PlanStatus.TOO_LATE: "plan too late",
}
MOST_NUMBER = 1e6
"""Of a plan; more are none."""
ALL_LETTERS = "ABCDEFGHI"
AGAIN = "F"
"""What the paper calls every replanning after the first."""


def step_of(number: float) -> Step | None:
    try:
        return Step(int(number))
    except (ValueError, OverflowError):
        return None


def status_of(number: float) -> PlanStatus | None:
    try:
        return PlanStatus(int(number))
    except (ValueError, OverflowError):
        return None


def letters(numbers: Iterable[float]) -> list[str]:
    """The paper's letter for each of a flight's steps in turn; a dash for steps it does not have."""
    told, replanned = [], False
    for number in numbers:
        step = step_of(number)
        again = step == Step.REPLAN and replanned
        replanned = replanned or step == Step.REPLAN
        told.append(AGAIN if again else LETTERS[step].replace("-", "–") if step else "–")
    return told


def current_step(store: Store) -> tuple[Step, str] | None:
    """The mission's step and the paper's letter for it. Guidance reports the step too, for late viewers."""
    numbers = store.columns("mission_step", "step")[:, 0].tolist()
    guidance = store.latest("guidance")
    if not numbers and guidance:
        numbers = [guidance["step"]]
    step = step_of(numbers[-1]) if numbers else None
    return None if step is None else (step, letters(numbers)[-1])


def step_notice(values: Mapping[str, float], numbers: Sequence[float]) -> tuple[Severity, str] | None:
    """A row of mission_step as a notice, given all steps so far; None for an unknown step."""
    step = step_of(values["step"])
    if step is None:
        return None
    severity: Severity = "bad" if step == Step.STRANDED else "ok" if step == Step.ARRIVED else "info"
    return severity, f"step {letters(numbers)[-1]}: {STEP_WORDS[step]}"


def plan_notice(values: Mapping[str, float], _numbers: Sequence[float]) -> tuple[Severity, str] | None:
    """A row of plan as a notice."""
    status = status_of(values["status"])
    if status is None or not 0 <= values["plan"] < MOST_NUMBER:
        return None
    told = f"plan {values['plan']:.0f}: {STATUS_WORDS[status]}"
    if status != PlanStatus.FOUND:
        return "warn", told
    return "info", f"{told}, {values['fine']:.6g} cells of channel after {values['t_s'] - values['began_s']:.3g} s"
