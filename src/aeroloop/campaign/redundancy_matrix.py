"""The failure matrix of several boards: every failure, at several times, against standby and vote of two and three
boards, flown inline.

Each flight is compared with the undisturbed one of the same boards: how far command and aircraft differ, how long
a command was held, and which boards were identified as faulty. A cell of the matrix is the worst of its times.
Two boards cannot tell which of them is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from aeroloop.analysis.checks import evaluate
from aeroloop.analysis.family import metrics_of
from aeroloop.analysis.statistics import Array
from aeroloop.analysis.track import ANGLES, POSITION
from aeroloop.campaign.identity import edition_of, flight_key
from aeroloop.campaign.pooled import in_processes
from aeroloop.campaign.redundancy_failures import BY_NAME, NONE, Cell, Failure, planned
from aeroloop.campaign.redundancy_flown import Flown, keep, kept
from aeroloop.core.angles import wrap_pi_half_open
from aeroloop.core.config import convert
from aeroloop.core.errors import ConfigError, LinkError
from aeroloop.core.fault_offers import check_planned
from aeroloop.core.faults import BOARDS, PlannedFault
from aeroloop.core.redundancy import Redundancy
from aeroloop.core.scenario import Scenario, value_at, with_value
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event
from aeroloop.exchanges.redundant import ALL_GONE
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log

CONTINUOUS_N, HELD, APART_M, APART_RAD = 0.1, 1, 1e-3, np.radians(0.1)
BAND = (0.5, 0.5, 0.02, 0.02)
"""Of a scenario without its own: narrow enough for a sensor that is 0.2 m off, which changes tilt torques alone."""
LOST_CYCLES = 10
"""A command held for more control periods than this: no board flies."""
NEAR_CYCLES = 5
"""Control periods after the failure in which the command is compared."""
RESOLVED, NO_EFFECT, DETECTED = "resolved", "no effect", "detected, not resolved"
REFUSED, PARTLY, UNNOTICED = "refused at start", "resolved in part", "not noticed"
WRONG, NONE_LEFT, LOST = "wrong board identified", "every board lost", "lost"
DETECTED_LOST, NOT_FLOWN = "detected, flight lost", "not flown"
OUTCOMES = (REFUSED, NO_EFFECT, RESOLVED, DETECTED, PARTLY, UNNOTICED, WRONG, NONE_LEFT, DETECTED_LOST, LOST, NOT_FLOWN)
"""From the best to the worst."""


class Setting(NamedTuple):
    """What all flights of a matrix have in common."""

    scenario: str
    loop: str
    seed: int
    duration_s: float  # of each flight


@dataclass(frozen=True)
class Result:
    """A flight, or the worst of several: then each number is the largest of them."""

    cell: Cell
    outcome: str
    jump_N: float
    held: float
    apart_m: float
    apart_deg: float
    checks_pass: bool  # those that the undisturbed flight passes
    identified: tuple[int, ...]
    right: bool  # the boards that failed were identified, and no other
    ok: bool  # as good as these boards can be
    why: str = ""  # it was refused, or not flown

    @property
    def continuous(self) -> bool:
        return self.jump_N <= CONTINUOUS_N


def scenario_of(cell: Cell, setting: Setting) -> Scenario:
    plan = load(find(setting.scenario), (f"loop={setting.loop}", f"seed={setting.seed}"))
    table: dict[str, Any] = {"boards": cell.boards, "mode": cell.mode, "band": BAND}
    given: Redundancy | None = value_at(plan, "redundancy")
    if given is not None:
        table |= {"sensors": given.sensors, "band": given.band, "align": given.align}
    if not plan.controller.several_boards:
        raise ConfigError(f"{setting.scenario}: has one board; expected a scenario that can have [redundancy]")
    plan = with_value(plan, "faults", ())
    plan = with_value(plan, "redundancy", convert(table, Redundancy, "redundancy"))
    plan = with_value(plan, "duration_s", setting.duration_s)
    plan = with_value(plan, "faults", tuple(convert(fault, PlannedFault, cell.failure) for fault in planned(cell)))
    check_planned(plan)
    return plan


def fly(cell: Cell, setting: Setting, folder: Path | None = None) -> Flown:
    """`folder`: of flights that are not flown again. One that was refused is: a busy machine may have been the
    reason."""
    plan = scenario_of(cell, setting)
    if folder is None:
        return _fly(cell, plan)
    file = folder / f"{flight_key(plan, edition_of(plan))}.npz"
    found = kept(file, cell)
    if found is None:
        found = _fly(cell, plan)
        if not found.refused:
            keep(file, found)
    return found


def _fly(cell: Cell, plan: Scenario) -> Flown:
    try:
        flight = fly_inline(plan)
    except LinkError as error:
        nothing = np.empty((0, 0))
        return Flown(cell, str(error), "refused", nothing, nothing, 0.0, (), disagreed=False, failed=frozenset())
    log = flight.logs[0]
    numbers = metrics_of(plan, log)
    own = tuple(check for check in plan.checks if check.metric not in _OF_FAILURE)
    return Flown(
        cell,
        "",
        flight.ended,
        _command(log, plan),
        np.column_stack([log.column("truth", column) for column in ("t_s", *POSITION, *ANGLES)]),
        numbers["cycles_held_max"],
        _identified(log),
        disagreed=bool(numbers["boards_disagreed"]),
        failed=frozenset(result.name for result in evaluate(own, numbers) if not result.ok),
    )


_OF_FAILURE = ("switchovers", "cycles_held_max", "command_jump_max_N", "boards_voted_out", "board_restarts")
"""Checks of a scenario that fit its own failure alone."""


def _command(log: Log, plan: Scenario) -> Array:
    period_s = plan.controller.control_period_s
    assert period_s is not None, "a board with a control period"
    forces = [name for name in log.columns["command"] if name.endswith("_N")]
    cycle = np.floor(log.column("command", "t_s") / period_s + 1e-6)
    return np.column_stack([cycle, *(log.column("command", name) for name in forces)])


def _identified(log: Log) -> tuple[int, ...]:
    numbers = log.column("event", "value")[log.column("event", "code") == Event.BOARD_OUT]
    return tuple(sorted({int(number) - 1 for number in numbers}))


def fly_all(
    wanted: Sequence[Cell],
    setting: Setting,
    folder: Path | None = None,
    *,
    workers: int | None,
    on_progress: Callable[[Cell], None],
) -> list[Flown]:
    return in_processes(fly, wanted, (setting, folder), workers=workers, on_progress=on_progress)


def judged(flown: Sequence[Flown]) -> list[Result]:
    """Every flight but the undisturbed ones, against the undisturbed one of the same boards."""
    calm = {one.cell[:2]: one for one in flown if one.cell.failure == NONE.name}
    return [judge(one, calm[one.cell[:2]]) for one in flown if one.cell.failure != NONE.name]


def judge(one: Flown, calm: Flown) -> Result:
    failure = BY_NAME[one.cell.failure]
    if one.refused:
        named = tuple(n for n, board in enumerate(BOARDS) if f"{board}:" in one.refused)
        right = named == failure.boards
        outcome = _unflown(failure, one.refused)
        fits = right if outcome == REFUSED else outcome == NONE_LEFT and failure.kind == "two silent"
        fits = fits and (outcome == REFUSED or one.cell.boards == 2)
        nothing = Result(
            one.cell, outcome, 0.0, 0.0, 0.0, 0.0, checks_pass=False, identified=named, right=right, ok=fits
        )
        return replace(nothing, why=one.refused)
    count = min(len(one.truth), len(calm.truth))
    apart = one.truth[:count, 1:] - calm.truth[:count, 1:]
    turned = wrap_pi_half_open(apart[:, 3:])
    apart_m, apart_rad = float(np.abs(apart[:, :3]).max()), float(np.abs(turned).max())
    jump_N = _jump_N(one.command, calm.command)
    near = apart_m <= APART_M and apart_rad <= APART_RAD
    outcome = _outcome(one, failure.boards, near=near)
    checks_pass = one.ended == "completed" and one.failed <= calm.failed
    good = near and jump_N <= CONTINUOUS_N and one.held <= HELD and checks_pass
    return Result(
        one.cell,
        outcome,
        jump_N,
        one.held,
        apart_m,
        float(np.degrees(apart_rad)),
        checks_pass=checks_pass,
        identified=one.identified,
        right=one.identified == failure.boards,
        ok=_fits(failure, one.cell, outcome, good=good),
    )


def _unflown(failure: Failure, why: str) -> str:
    if failure.kind == "refused":
        return REFUSED
    return NONE_LEFT if why == ALL_GONE else NOT_FLOWN


def _jump_N(command: Array, calm: Array) -> float:
    """The largest difference of a thrust in the first control periods after the failure."""
    cycles, first, second = np.intersect1d(command[:, 0], calm[:, 0], return_indices=True)
    apart = np.abs(command[first, 1:] - calm[second, 1:]).max(axis=1)
    differs = np.flatnonzero(apart > 0)
    if not differs.size:
        return 0.0
    since = cycles[differs[0]]
    return float(apart[(cycles >= since) & (cycles < since + NEAR_CYCLES)].max())


def _outcome(one: Flown, expected: tuple[int, ...], *, near: bool) -> str:
    if one.ended != "completed":
        return DETECTED_LOST if one.disagreed else LOST
    if one.held > LOST_CYCLES:
        return NONE_LEFT
    if one.identified == expected and expected:
        return RESOLVED
    if set(one.identified) - set(expected):
        return WRONG
    if one.disagreed:
        return DETECTED
    if expected and one.identified:
        return PARTLY
    return NO_EFFECT if near else UNNOTICED


def _fits(failure: Failure, cell: Cell, outcome: str, *, good: bool) -> bool:
    if outcome == WRONG:
        return False
    match failure.kind:
        case "silent":
            return good and outcome == RESOLVED
        case "harmless":
            return good and outcome == NO_EFFECT
        case "liar" if (cell.mode, cell.boards) == ("vote", 3):
            return good and outcome in (RESOLVED, NO_EFFECT)
        case "liar":
            return outcome in (DETECTED, DETECTED_LOST, RESOLVED, NO_EFFECT)
        case "two silent" if cell.boards == 3:
            return good and outcome == RESOLVED
        case "refused":
            return False
    return True  # fewer boards are left than are needed: the cell shows what happens


def worst(results: Sequence[Result]) -> list[Result]:
    """One for each failure and combination of boards: the outcome and time of its worst flight, and the largest of each
    number."""
    groups: dict[tuple[str, int, str], list[Result]] = {}
    for one in results:
        groups.setdefault(one.cell[:3], []).append(one)
    return [_worst(group) for group in groups.values()]


def _worst(group: Sequence[Result]) -> Result:
    one = max(group, key=lambda each: (not each.ok, OUTCOMES.index(each.outcome), each.apart_m, each.held))
    return Result(
        one.cell,
        one.outcome,
        max(each.jump_N for each in group),
        max(each.held for each in group),
        max(each.apart_m for each in group),
        max(each.apart_deg for each in group),
        checks_pass=all(each.checks_pass for each in group),
        identified=one.identified,
        right=all(each.right for each in group),
        ok=all(each.ok for each in group),
        why=one.why,
    )
