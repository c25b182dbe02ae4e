"""What the synchronisation tables need of a plant: scenario, controllers, disturbances, columns, and what is checked.

A cell of a table is one flight: the plant's scenario with the settings of a controller and of a disturbance. Names and
amplitudes of the disturbances are those of the law's specification.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Settings = Mapping[str, Any]
"""Keys of a scenario and their values, as for `--set`."""

FULL, NO_LEARNING, LINEAR, NONE = "smc-sync-pidnn", "no-learning", "smc-linear", "none"
LAW = "synchronisation.law"
LAWS: dict[str, Settings] = {
    "esc": {LAW: "none"},
    "pid": {LAW: "pid"},
    "pid-ff": {LAW: "pid-ff"},
    "smc": {LAW: "smc"},
    "smc-sync": {LAW: "smc-sync"},
    FULL: {LAW: FULL},
    "pid-equal": {LAW: "pid-equal"},
    "pid-high": {LAW: "pid-high", "synchronisation.certified": False},
    NO_LEARNING: {LAW: FULL, "synchronisation.eta": 0.0},
    LINEAR: {LAW: "pid-ff"},
}
"""Controllers: `esc` asks the setpoints of the ESCs without feedback; `no-learning` is the network with fixed weights;
`smc-linear` is PID with feed-forward and the gains that `smc` has inside its boundary layer."""
WITHOUT_CHECKS: Settings = {"checks": []}


@dataclass(frozen=True)
class Column:
    """One number of a cell."""

    key: str
    unit: str
    meaning: str


@dataclass(frozen=True)
class Cell:
    """One flight of a table."""

    plant: str
    law: str
    disturbance: str

    def __str__(self) -> str:
        return f"{self.plant} {self.law} {self.disturbance}"


@dataclass(frozen=True)
class Ideal:
    """The same table in a simulation of law and plant alone."""

    numbers: str  # lines of disturbance, controller and the columns' numbers
    within: float  # relative tolerance
    why: str  # the bench differs from it


@dataclass(frozen=True)
class CommonMode:
    """A number in which the law is not better than pid: it acts on differences between axes alone."""

    disturbance: str
    key: str  # of a number; empty: the mean error of all axes
    name: str
    words: str  # with the numbers `full` and `pid`


@dataclass(frozen=True)
class Compared:
    """A ratio of two controllers under one disturbance, with its limits."""

    disturbance: str
    key: str
    words: str  # with the number `ratio`
    least: float = -math.inf
    most: float = math.inf
    ideal: float | None = None


@dataclass(frozen=True)
class Saturated:
    """A disturbance that saturates the first axis: how far that is from its setpoint, and the others at most."""

    disturbance: str
    least: float
    others_most: float


@dataclass(frozen=True)
class Said:
    """What the statements about a plant need of it, see `statements`."""

    common_mode: tuple[CommonMode, ...]
    noise: str  # the beginning of the sentence about noise
    noisy: tuple[Compared, ...]  # of the law over pid
    rms_of_equal: float  # most total error of pid-equal over that of the law
    boundary: str  # disturbance under which smc and smc-linear are compared
    lost: Mapping[str, str]  # words for the disturbances that no controller survives
    paths: tuple[str, ...] = ()  # disturbances under which the aircraft's path is compared
    sync_of_equal: Mapping[str, float] = field(default_factory=dict)  # most sync of pid-equal over the law's
    high_gain: tuple[Compared, ...] = ()  # of pid-high over the law
    saturated: Saturated | None = None


@dataclass(frozen=True)
class Plant:
    key: str
    title: str
    meaning: str  # of errors that are equal, and of differences between them
    scenario: str
    unit: str  # of errors
    columns: tuple[Column, ...]
    metrics: Mapping[str, tuple[str, float]]  # number -> the flight's metric, and its factor
    axes: tuple[str, str, int, float]  # stream and columns of the axes' errors, how many, factor
    laws: tuple[str, ...]  # columns of the table
    disturbances: Mapping[str, Settings]  # rows of the table
    linear: Settings  # the gains that make `pid-ff` what `smc` is inside its boundary layer
    lost: Mapping[str, Settings]  # disturbances that no controller is expected to survive
    extra: tuple[tuple[str, str], ...]  # more cells, of controllers that only a check or a statement needs
    start_s: float  # of the disturbances
    evaluate_from_s: float
    every: Settings  # settings of every flight
    ideal: Ideal
    ratios: tuple[tuple[str, str, float, float], ...]  # pid over the law: disturbance, number, least, ideal
    learning: tuple[tuple[str, float, float], ...]  # sync without learning over with it: disturbance, least, ideal
    said: Said
    sync_most: Mapping[str, float] = field(default_factory=dict)  # of the law over smc-sync where it may be above 1
    not_ordered: tuple[str, ...] = ()  # disturbances under which coupling need not make sync smaller

    @property
    def rows(self) -> dict[str, Settings]:
        """Every disturbance that it can have."""
        return {**self.disturbances, **self.lost}

    @property
    def can_fly(self) -> tuple[str, ...]:
        """Every controller; without feedback only a plant whose table has that column."""
        return tuple(law for law in LAWS if law in self.laws or law != "esc")

    @property
    def differs(self) -> str:
        """What is told where the bench differs from the ideal loop."""
        return f"{self.title}, by more than {100 * self.ideal.within:.0f} %. {self.ideal.why}"

    def has(self, key: str) -> bool:
        """Whether its table has such a column."""
        return any(column.key == key for column in self.columns)

    def settings(self, cell: Cell) -> dict[str, Any]:
        own = self.linear if cell.law == LINEAR else {}
        return {**WITHOUT_CHECKS, **self.every, **LAWS[cell.law], **own, **self.rows[cell.disturbance]}


ERRORS = (
    Column("rms", "", "error of the axes, RMS"),
    Column("sync", "", "synchronisation error, RMS"),
    Column("max", "", "largest error"),
)
