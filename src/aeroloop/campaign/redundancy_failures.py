"""The failures of the matrix of several boards: what fails, what that asks of the boards, which boards are faulty."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from aeroloop.core.faults import BOARDS

Kind = Literal["silent", "liar", "refused", "harmless", "two silent", "silent and liar"]
"""What a failure asks of the boards: `silent`: any two must survive it; `liar`: three that vote; `two silent`: three;
`silent and liar`: nothing, the cell shows what happens."""


class Failure(NamedTuple):
    name: str
    kind: Kind
    faults: tuple[dict[str, Any], ...]  # as in `[[faults]]`, without their time
    boards: tuple[int, ...] = (0,)  # that are faulty


def _board(kind: str, value: float = 0.0, number: int = 0) -> dict[str, Any]:
    return {"target": BOARDS[number], "kind": kind, "value": value}


def _link(kind: str, value: float, number: int = 0, target: str = "to_plant") -> dict[str, Any]:
    return {"target": target, "kind": kind, "value": value, "channel": BOARDS[number]}


def _lost(number: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """A link, in both directions."""
    return _link("loss", 1.0, number), _link("loss", 1.0, number, "to_board")


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
    Failure("wrong image", "refused", (_board("wrong_image"),)),
    Failure("link lost", "silent", _lost()),
    Failure("link to the board lost", "silent", _lost()[1:]),
    Failure("link 20 ms late", "silent", (_link("delay_s", 0.02),)),
    Failure("link corrupt", "silent", (_link("corrupt", 0.5),)),
    Failure("cross link lost", "harmless", (_board("unaligned"),), ()),
    Failure("link and cross link lost", "silent", (*_lost(), _board("unaligned"))),
    Failure("sensor bias of 0.2 m", "liar", (_board("sensor_bias", 0.2),)),
    Failure("reference 0.5 m off", "liar", (_board("reference_bias", 0.5),)),
    Failure("both links lost", "two silent", (*_lost(), *_lost(1)), (0, 1)),
    Failure("two dead", "two silent", (_board("dead"), _board("dead", number=1)), (0, 1)),
    Failure("one dead, one wrong", "silent and liar", (_board("dead"), _board("bias", 1.0, 1)), (0, 1)),
)
BY_NAME = {failure.name: failure for failure in (NONE, *FAILURES)}
COMBINATIONS = (("standby", 2), ("standby", 3), ("vote", 2), ("vote", 3))
TIMES_S = (2.0, 4.0, 6.0)
"""Each at another phase of a control period of 12 ms."""


class Cell(NamedTuple):
    """A flight of the matrix."""

    mode: str
    boards: int
    failure: str
    at_s: float  # when the failure begins; of an undisturbed flight it means nothing


def cells(names: tuple[str, ...] = (), times_s: tuple[float, ...] = TIMES_S) -> list[Cell]:
    """Of the named failures, or of all; the undisturbed flights come first."""
    chosen = [failure for failure in FAILURES if not names or failure.name in names]
    found = [Cell(*each, NONE.name, 0.0) for each in COMBINATIONS]
    for failure in chosen:
        starts_s = (0.0,) if failure.kind == "refused" else times_s
        found += [Cell(*each, failure.name, at_s) for each in COMBINATIONS for at_s in starts_s]
    return found


def planned(cell: Cell) -> list[dict[str, Any]]:
    """The cell's faults as in a scenario's `[[faults]]`."""
    return [{**fault, "from_s": cell.at_s} for fault in BY_NAME[cell.failure].faults]
