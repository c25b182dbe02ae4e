"""The failure matrix of several boards: every failure against standby and vote of two and three boards, flown inline.

A cell compares its flight with the undisturbed one of the same boards: how far command and aircraft differ, how long
a command was held, and which boards were blamed. Two boards cannot tell which of them lies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from aeroloop.analysis.checks import evaluate
from aeroloop.analysis.family import metrics_of
from aeroloop.analysis.statistics import Array
from aeroloop.analysis.track import ANGLES, POSITION
from aeroloop.campaign.pooled import in_processes
from aeroloop.core.config import convert
from aeroloop.core.errors import LinkError
from aeroloop.core.fault_offers import check_planned
from aeroloop.core.faults import BOARDS, PlannedFault
from aeroloop.core.redundancy import Redundancy
from aeroloop.core.scenario import Scenario, value_at, with_value
from aeroloop.core.scenario_files import find, load
from aeroloop.core.signals import Event
from aeroloop.flight.inline import fly_inline
from aeroloop.recording.log import Log

Kind = Literal["silent", "liar", "refused", "harmless", "several"]
"""What a failure asks of the boards: `silent`: any two must survive it; `liar`: three that vote; `several`: two boards
fail, which three survive if one is left."""
AT_S, LASTS_S = 4.0, 6.0
CONTINUOUS_N, HELD, APART_M, APART_RAD = 0.1, 1, 1e-3, np.radians(0.1)
BAND = (0.5, 0.5, 0.02, 0.02)
"""Of a scenario without its own: narrow enough for a sensor that is 0.2 m off, which changes tilt torques alone."""
LOST_CYCLES = 10
"""A command held for more control periods than this: no board flies."""
NEAR_CYCLES = 5
"""Control periods after the failure in which the command is compared."""


class Failure(NamedTuple):
    name: str
    kind: Kind
    faults: tuple[dict[str, Any], ...]
    boards: tuple[int, ...] = (0,)  # that are to be blamed


def _board(kind: str, value: float = 0.0, number: int = 0, at_s: float = AT_S) -> dict[str, Any]:
    return {"target": BOARDS[number], "kind": kind, "value": value, "from_s": at_s}


def _link(kind: str, value: float) -> dict[str, Any]:
    return {"target": "to_plant", "kind": kind, "value": value, "channel": BOARDS[0], "from_s": AT_S}


NONE = Failure("none", "harmless", (), ())
FAILURES = (
    Failure("dead", "silent", (_board("dead"),)),
    Failure("hang", "silent", (_board("hang"),)),
    Failure("reset", "silent", (_board("reset"),)),
    Failure("slow", "silent", (_board("slow", 0.02),)),
    Failure("babbling", "silent", (_board("babbling"),)),
    Failure("stuck command", "liar", (_board("stuck"),)),
    Failure("bias of 1 N", "liar", (_board("bias", 1.0),)),
    Failure("NaN", "silent", (_board("nan"),)),
    Failure("wrong image", "refused", (_board("wrong_image", at_s=0.0),)),
    Failure("link lost", "silent", (_link("loss", 1.0),)),
    Failure("link 20 ms late", "silent", (_link("delay_s", 0.02),)),
    Failure("link corrupt", "silent", (_link("corrupt", 0.5),)),
    Failure("cross link lost", "harmless", (_board("unaligned"),), ()),
    Failure("sensor bias of 0.2 m", "liar", (_board("sensor_bias", 0.2),)),
    Failure("reference 0.5 m off", "liar", (_board("reference_bias", 0.5),)),
    Failure("two dead", "several", (_board("dead"), _board("dead", number=1)), (0, 1)),
    Failure("one dead, one lies", "several", (_board("dead"), _board("bias", 1.0, 1)), (0, 1)),
)
COMBINATIONS = (("standby", 2), ("standby", 3), ("vote", 2), ("vote", 3))


class Cell(NamedTuple):
    mode: str
    boards: int
    failure: str


@dataclass(frozen=True)
class Flown:
    """What is compared of a flight."""

    cell: Cell
    refused: str  # why it did not start
    ended: str
    command: Array  # (n, 1 + m) cycle and thrusts
    truth: Array  # (n, 7) time, position, angles
    held: float
    blamed: tuple[int, ...]
    disagreed: bool
    checks_pass: bool


@dataclass(frozen=True)
class Result:
    cell: Cell
    outcome: str
    jump_N: float
    held: float
    apart_m: float
    apart_deg: float
    checks_pass: bool
    blamed: tuple[int, ...]
    ok: bool  # as good as these boards can be


def cells(failures: Sequence[str] = ()) -> list[Cell]:
    """Those of the named failures, or of all; the undisturbed flights come first."""
    names = [failure.name for failure in (NONE, *FAILURES) if not failures or failure.name in (NONE.name, *failures)]
    return [Cell(mode, boards, name) for name in names for mode, boards in COMBINATIONS]


def scenario_of(cell: Cell, name: str, loop: str, seed: int) -> Scenario:
    plan = load(find(name), (f"loop={loop}", f"seed={seed}"))
    table: dict[str, Any] = {"boards": cell.boards, "mode": cell.mode, "band": BAND}
    given: Redundancy | None = value_at(plan, "redundancy")
    if given is not None:
        table |= {"sensors": given.sensors, "band": given.band, "align": given.align}
    plan = with_value(plan, "faults", ())
    plan = with_value(plan, "redundancy", convert(table, Redundancy, "redundancy"))
    plan = with_value(plan, "duration_s", AT_S + LASTS_S)
    failure = next(each for each in (NONE, *FAILURES) if each.name == cell.failure)
    plan = with_value(plan, "faults", tuple(convert(fault, PlannedFault, cell.failure) for fault in failure.faults))
    check_planned(plan)
    return plan


def fly(cell: Cell, name: str, loop: str, seed: int) -> Flown:
    plan = scenario_of(cell, name, loop, seed)
    try:
        flight = fly_inline(plan)
    except LinkError as error:
        nothing = np.empty((0, 0))
        return Flown(cell, str(error), "refused", nothing, nothing, 0.0, (), disagreed=False, checks_pass=False)
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
        _blamed(log),
        disagreed=bool(numbers["boards_disagreed"]),
        checks_pass=flight.ended == "completed" and all(result.ok for result in evaluate(own, numbers)),
    )


_OF_FAILURE = ("switchovers", "cycles_held_max", "command_jump_max_N", "boards_voted_out", "board_restarts")
"""Checks of a scenario that fit its own failure alone."""


def _command(log: Log, plan: Scenario) -> Array:
    period_s = plan.controller.control_period_s
    assert period_s is not None, "a board with a control period"
    forces = [name for name in log.columns["command"] if name.endswith("_N")]
    cycle = np.floor(log.column("command", "t_s") / period_s + 1e-6)
    return np.column_stack([cycle, *(log.column("command", name) for name in forces)])


def _blamed(log: Log) -> tuple[int, ...]:
    numbers = log.column("event", "value")[log.column("event", "code") == Event.BOARD_OUT]
    return tuple(sorted({int(number) - 1 for number in numbers}))


def fly_all(
    wanted: Sequence[Cell], name: str, loop: str, seed: int, *, workers: int | None, told: Callable[[Cell], None]
) -> list[Flown]:
    return in_processes(fly, wanted, (name, loop, seed), workers=workers, told=told)


def judged(flown: Sequence[Flown]) -> list[Result]:
    """Every flight but the undisturbed ones, against the undisturbed one of the same boards."""
    calm = {one.cell[:2]: one for one in flown if one.cell.failure == NONE.name}
    return [judge(one, calm[one.cell[:2]]) for one in flown if one.cell.failure != NONE.name]


def judge(one: Flown, calm: Flown) -> Result:
    failure = next(each for each in FAILURES if each.name == one.cell.failure)
    if one.refused:
        named = tuple(n for n, board in enumerate(BOARDS) if f"{board}:" in one.refused)
        right = failure.kind == "refused" and named == failure.boards
        outcome = "refused at start" if failure.kind == "refused" else "every board lost"
        lost = failure.kind == "several" and one.cell.boards == 2
        return Result(one.cell, outcome, 0.0, 0.0, 0.0, 0.0, checks_pass=False, blamed=named, ok=right or lost)
    count = min(len(one.truth), len(calm.truth))
    apart = np.abs(one.truth[:count, 1:] - calm.truth[:count, 1:])
    apart_m, apart_rad = float(apart[:, :3].max()), float(apart[:, 3:].max())
    jump_N = _jump_N(one.command, calm.command, one)
    near = apart_m <= APART_M and apart_rad <= APART_RAD
    expected = tuple(n for n in failure.boards if n < one.cell.boards)
    outcome = _outcome(one, expected, near=near)
    good = near and jump_N <= CONTINUOUS_N and one.held <= HELD and one.checks_pass
    numbers = jump_N, one.held, apart_m, float(np.degrees(apart_rad))
    fits = _fits(failure, one.cell, outcome, good=good)
    return Result(one.cell, outcome, *numbers, checks_pass=one.checks_pass, blamed=one.blamed, ok=fits)


def _jump_N(command: Array, calm: Array, one: Flown) -> float:
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
        return "lost"
    if one.held > LOST_CYCLES:
        return "every board lost"
    if one.blamed == expected and expected:
        return "resolved"
    if set(one.blamed) - set(expected):
        return "wrong board blamed"
    if one.disagreed:
        return "detected, not resolved"
    if expected and one.blamed:
        return "resolved in part"
    return "no effect" if near else "not noticed"


def _fits(failure: Failure, cell: Cell, outcome: str, *, good: bool) -> bool:
    if outcome == "wrong board blamed":
        return False
    if failure.kind in ("silent", "harmless"):
        return good and outcome in ("resolved", "no effect")
    if failure.kind == "liar":
        if cell.mode == "vote" and cell.boards == 3:
            return good and outcome in ("resolved", "no effect")
        return outcome in ("detected, not resolved", "resolved", "no effect")
    if failure.name == "two dead" and cell.boards == 3:
        return good and outcome == "resolved"
    return True  # fewer boards are left than are needed: the cell shows what happens
