"""The two plants of the synchronisation tables: scenario, controllers, disturbances and columns of each.

A cell of a table is one flight: the plant's scenario with the settings of a controller and of a disturbance. Names and
amplitudes of the disturbances are those of the law's specification.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from aeroloop.control.synchronisation_gains import JOINT, ROTOR
from aeroloop.core.errors import ConfigError
from aeroloop.core.suggest import did_you_mean

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
class Plant:
    key: str
    title: str
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

    @property
    def rows(self) -> dict[str, Settings]:
        """Every disturbance that it can have."""
        return {**self.disturbances, **self.lost}

    @property
    def can_fly(self) -> tuple[str, ...]:
        """Every controller; without feedback only a plant whose table has that column."""
        return tuple(law for law in LAWS if law in self.laws or law != "esc")

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

RRR = Plant(
    key="rrr",
    title="3-RRR robot on a circle",
    scenario="rrr-circle",
    unit="mrad",
    columns=(
        *ERRORS,
        Column("position", "mm", "error of the platform's place, RMS"),
        Column("effort", "N m", "torque command, RMS"),
        Column("chatter", "%", "second difference of the torque commands, RMS, of the largest torque"),
    ),
    metrics={
        "rms": ("joint_rms_rad", 1e3),
        "sync": ("joint_sync_rms_rad", 1e3),
        "max": ("joint_error_max_rad", 1e3),
        "position": ("position_rms_m", 1e3),
        "angle": ("angle_rms_rad", 1e3),
        "effort": ("torque_rms_Nm", 1.0),
        "chatter": ("torque_chatter_pct", 1.0),
    },
    axes=("joints", "error_{}_rad", 3, 1e3),
    laws=("pid", "smc", "smc-sync", FULL, "pid-equal", "pid-high"),
    disturbances={
        kind: {"disturbance.kind": kind} for kind in (NONE, "load", "payload", "friction", "weak", "noise", "all")
    },
    linear={"synchronisation.lam": JOINT.lam, "synchronisation.q": JOINT.k / JOINT.phi},
    lost={
        "capped": {
            "reference.period_s": 0.8,
            "faults": [{"target": "rotor", "kind": "weak", "channel": "motor1", "from_s": 0.0, "value": 0.1}],
        }
    },
    extra=(
        (LINEAR, NONE),
        (LINEAR, "load"),
        (NO_LEARNING, "load"),
        *product(("pid", "smc", FULL, "pid-high"), ("capped",)),
    ),
    start_s=2.0,
    evaluate_from_s=1.0,
    every={"disturbance.start_s": 2.0, "synchronisation.evaluate_from_s": 1.0},
)

START_S, EVALUATE_FROM_S, DURATION_S = 16.0, 12.0, 28.0
"""The helix begins at 6 s. It is blended in for 3 s, with a step of its jerk at the end: what that leaves in the
weights is over at 11.5 s. So everything is 2 s later than in the scenario."""


def _gust(factor: float) -> Settings:
    gust = {"start_s": START_S, "rise_s": 1.5, "amplitude_W": [8.0 * factor, 3.0 * factor, 0.0]}
    return {"world.wind.gusts": [gust]}


def _payload(mass_kg: float) -> Settings:
    return {"payload": {"mass_kg": mass_kg, "offset_B_m": [0.03, 0.02, 0.0], "from_s": START_S}}


def _weak(fraction: float) -> Settings:
    fault = {"target": "rotor", "kind": "effectiveness", "channel": "rotor1", "from_s": START_S, "value": fraction}
    return {"faults": [fault]}


_SINE = {"rotor": 4, "deceleration_rad_s2": 3000.0, "frequency_hz": 2.0, "from_s": START_S}
_CONSTANT = {"rotor": 1, "deceleration_rad_s2": 4000.0, "from_s": START_S}
_NOISE: Settings = {
    "sensors.tachometer.errors.white_std": 5.0,
    "sensors.imu.gyro.errors.white_std": [math.radians(std) for std in (0.67, 0.78, 0.12)],
}

QUAD = Plant(
    key="quad",
    title="Rotors of a quadrotor on a helix",
    scenario="quad-sync",
    unit="rad/s",
    columns=(
        *ERRORS,
        Column("kick", "deg", "largest change of roll or pitch against the flight without a disturbance"),
        Column("effort", "%", "speed setpoint of the ESCs, RMS, of the largest speed"),
        Column("chatter", "%", "second difference of these speeds, RMS, of the largest speed"),
    ),
    metrics={
        "rms": ("rotor_rms_rad_s", 1.0),
        "sync": ("rotor_sync_rms_rad_s", 1.0),
        "max": ("rotor_error_max_rad_s", 1.0),
        "effort": ("rotor_effort_pct", 1.0),
        "chatter": ("rotor_chatter_pct", 1.0),
        "contacts": ("ground_contacts", 1.0),
    },
    axes=("rotor_law", "error_{}_rad_s", 4, 1.0),
    laws=("esc", "pid", "smc", "smc-sync", FULL, "pid-equal"),
    disturbances={
        NONE: {},
        "gust": _gust(1.0),
        "payload": _payload(0.4),
        "weak": _weak(0.8),
        "load": {"motors.loads": [_CONSTANT, _SINE]},
        "noise": _NOISE,
        "all": {**_NOISE, **_gust(0.5), **_payload(0.15), **_weak(0.85), "motors.loads": [_SINE]},
    },
    linear={"synchronisation.lam": ROTOR.lam, "synchronisation.q": ROTOR.k / ROTOR.phi},
    lost={"weak70": _weak(0.70)},
    extra=(
        (LINEAR, NONE),
        (LINEAR, "weak"),
        (NO_LEARNING, "weak"),
        (NO_LEARNING, "load"),
        *product(("esc", "pid", "smc", "smc-sync", FULL, "pid-equal"), ("weak70",)),
    ),
    start_s=START_S,
    evaluate_from_s=EVALUATE_FROM_S,
    every={"duration_s": DURATION_S, "synchronisation.evaluate_from_s": EVALUATE_FROM_S},
)

PLANTS = {plant.key: plant for plant in (RRR, QUAD)}


def selected(keys: Sequence[str], laws: Sequence[str] = (), disturbances: Sequence[str] = ()) -> list[Cell]:
    """The flights of some plants' tables. Of a name that one plant does not have, the others fly their cells."""
    plants = [PLANTS[key] for key in keys]
    known_laws = dict.fromkeys(law for plant in plants for law in plant.can_fly)
    known_rows = dict.fromkeys(name for plant in plants for name in plant.rows)
    _check("--laws", laws, tuple(known_laws))
    _check("--disturbances", disturbances, tuple(known_rows))
    found = []
    for plant in plants:
        own = [law for law in laws if law in plant.can_fly], [name for name in disturbances if name in plant.rows]
        if (own[0] or not laws) and (own[1] or not disturbances):
            found += cells(plant, *own)
    if not found:
        raise ConfigError(f"--laws, --disturbances: {' and '.join(keys)} cannot fly this selection")
    return found


def cells(plant: Plant, laws: Sequence[str] = (), disturbances: Sequence[str] = ()) -> list[Cell]:
    """The whole table with its extra cells; or a selection, with the undisturbed flight of each controller."""
    if not laws and not disturbances:
        whole = (*product(plant.laws, plant.disturbances), *plant.extra)
        return [Cell(plant.key, *cell) for cell in whole]
    rows = tuple(dict.fromkeys((NONE, *disturbances))) if disturbances else tuple(plant.disturbances)
    columns = tuple(dict.fromkeys(laws)) or plant.laws
    return [Cell(plant.key, *cell) for cell in product(columns, rows)]


def _check(option: str, given: Sequence[str], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            like = did_you_mean(name, known)
            raise ConfigError(f"{option} {name}: unknown{like}, expected some of: {', '.join(known)}")
