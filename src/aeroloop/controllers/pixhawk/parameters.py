"""The parameters of the virtual Pixhawk's flight logic, readable and writable by ground stations.

Parameters with PX4's meaning have PX4's name and unit (degrees, mAh, seconds); names that begin with AL_ or SIM_BAT are
specific to Aeroloop, as are the defaults: those of an aircraft of 1 to 2 kg.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from aeroloop.controllers.pixhawk.limits import SPEED
from aeroloop.controllers.pixhawk.types import Refusal

NAME_LENGTH = 16
"""Length of the name in a PARAM_VALUE message."""


@dataclass(frozen=True, slots=True)
class Row:
    """One parameter."""

    name: str
    default: float
    minimum: float
    maximum: float
    kind: Literal["int", "float"]
    unit: str
    meaning: str


class Act(IntEnum):
    """Failsafe action; the numbers are those of NAV_DLL_ACT."""

    WARN = 0
    HOLD = 1
    RETURN = 2
    LAND = 3


def _real(name: str, default: float, minimum: float, maximum: float, unit: str, meaning: str) -> Row:
    return Row(name, default, minimum, maximum, "float", unit, meaning)


def _whole(name: str, default: int, minimum: int, maximum: int, unit: str, meaning: str) -> Row:
    return Row(name, default, minimum, maximum, "int", unit, meaning)


_ACTS = "0 warn, 1 hold, 2 return, 3 land"

TABLE: tuple[Row, ...] = (
    _whole("MAV_SYS_ID", 1, 1, 250, "", "MAVLink system id"),
    _whole("SYS_AUTOSTART", 10016, 0, 9999999, "", "airframe; 10016 is PX4's quadrotor with an external simulator"),
    # take-off, landing and return
    _real("MIS_TAKEOFF_ALT", 2.5, 0.5, 80.0, "m", "default height of a take-off, above home"),
    _real("MIS_DIST_1WP", 900.0, 0.0, 10000.0, "m", "a mission whose first waypoint is farther from home is refused"),
    _real("MPC_TKO_SPEED", 1.5, 0.3, 5.0, "m/s", "climb rate in a take-off"),
    _real("MPC_LAND_SPEED", 0.7, 0.3, 2.0, "m/s", "descent rate near the ground"),
    _real("MPC_LAND_ALT1", 10.0, 0.0, 122.0, "m", "above home: below this a landing slows down"),
    _real("MPC_LAND_ALT2", 5.0, 0.0, 122.0, "m", "above home: below this it descends at MPC_LAND_SPEED"),
    _real("RTL_RETURN_ALT", 30.0, 0.0, 150.0, "m", "height of a return, above home"),
    _real("RTL_MIN_DIST", 5.0, 0.5, 100.0, "m", "nearer to home than this, return does not climb first"),
    _real("LNDMC_Z_VEL_MAX", 0.3, 0.05, 1.0, "m/s", "on the ground the vertical speed is below this"),
    _real("LNDMC_XY_VEL_MAX", 1.5, 0.1, 10.0, "m/s", "on the ground the horizontal speed is below this"),
    _real("LNDMC_ROT_MAX", 20.0, 1.0, 90.0, "deg/s", "on the ground the roll and pitch rates are below this"),
    _real("LNDMC_TRIG_TIME", 1.0, 0.1, 10.0, "s", "time for which the conditions of ground contact must hold"),
    # precision landing
    _real("PLD_BTOUT", 5.0, 0.0, 50.0, "s", "the landing target is lost after this long without one"),
    _real("PLD_HACC_RAD", 0.2, 0.0, 10.0, "m", "north and east error below which the descent starts"),
    _real("PLD_FAPPR_ALT", 0.1, 0.0, 10.0, "m", "above the target: below this it lands without seeing the target"),
    _real("PLD_SRCH_ALT", 10.0, 0.0, 100.0, "m", "height to which a search climbs, above home"),
    _real("PLD_SRCH_TOUT", 10.0, 0.0, 100.0, "s", "a search without a target ends after this long"),
    _whole("PLD_MAX_SRCH", 3, 0, 100, "", "how often a landing that lost its target starts again"),
    _whole("AL_PLD_GATE", 1, 0, 1, "", "1: stiffer hold over the target, and waits until it is over it; 0: as PX4"),
    # speed and acceleration
    _real("MPC_XY_CRUISE", 5.0, SPEED.low, SPEED.high, "m/s", "horizontal speed of missions and of return"),
    _real("MPC_XY_VEL_MAX", 12.0, 0.5, 20.0, "m/s", "maximum horizontal speed"),
    _real("MPC_VEL_MANUAL", 8.0, 0.5, 20.0, "m/s", "horizontal speed at full stick"),
    _real("MPC_Z_VEL_MAX_UP", 3.0, 0.5, 8.0, "m/s", "maximum climb rate"),
    _real("MPC_Z_VEL_MAX_DN", 1.5, 0.5, 4.0, "m/s", "maximum descent rate"),
    _real("MPC_ACC_HOR", 2.0, 0.5, 10.0, "m/s2", "maximum acceleration of the trajectory"),
    _real("MPC_JERK_AUTO", 6.0, 1.0, 80.0, "m/s3", "maximum jerk of the trajectory"),
    _real("MPC_YAWRAUTO_MAX", 45.0, 5.0, 360.0, "deg/s", "maximum yaw rate of the trajectory"),
    _real("NAV_ACC_RAD", 2.0, 0.2, 200.0, "m", "default acceptance radius of a waypoint"),
    # sticks
    _real("MPC_MAN_TILT_MAX", 30.0, 1.0, 70.0, "deg", "tilt at full stick"),
    _real("MPC_MAN_Y_MAX", 120.0, 0.0, 400.0, "deg/s", "yaw rate at full stick"),
    _real("MC_MAN_TILT_TAU", 0.15, 0.0, 2.0, "s", "time constant that smooths the tilt sticks"),
    _real("MPC_HOLD_DZ", 0.1, 0.0, 0.9, "", "dead zone: a stick within this fraction is centred"),
    _real("MPC_THR_HOVER", 0.5, 0.1, 0.9, "", "thrust ratio in hover: the thrust stick's middle in manual"),
    _real("MPC_MANTHR_MIN", 0.08, 0.0, 0.5, "", "thrust ratio at the bottom of the stick in manual, once in the air"),
    # arming
    _real("COM_DISARM_LAND", 2.0, -1.0, 60.0, "s", "disarm this long after touch-down; below zero: never"),
    _real(
        "COM_DISARM_PRFLT", 10.0, -1.0, 600.0, "s", "disarm when armed this long without a take-off; below zero: never"
    ),
    _real("AL_ARM_TILT", 20.0, 1.0, 180.0, "deg", "arm only when tilted less than this"),
    # failsafes
    _real("AL_FLIP_TILT", 110.0, 60.0, 180.0, "deg", "tilted more than this it counts as upside down"),
    _real("AL_FLIP_TIME", 1.0, 0.1, 10.0, "s", "time upside down after which the motors stop"),
    _real("COM_RC_LOSS_T", 0.5, 0.1, 35.0, "s", "sticks are lost after this long without a sample"),
    _real("COM_DL_LOSS_T", 10.0, 1.0, 300.0, "s", "the ground station is lost after this long without a heartbeat"),
    _whole("NAV_DLL_ACT", 2, 0, 3, "", f"when the ground station is lost: {_ACTS}"),
    _whole("NAV_RCL_ACT", 2, 1, 3, "", "when sticks are lost in a mode that needs them: 1 hold, 2 return, 3 land"),
    _real("COM_OF_LOSS_T", 1.0, 0.1, 60.0, "s", "offboard setpoints are lost after this long without one"),
    _whole("COM_OBL_RC_ACT", 5, 3, 5, "", "when offboard setpoints are lost: 3 return, 4 land, 5 hold"),
    _whole("AL_BAT_LOW_ACT", 2, 0, 3, "", f"when the battery is low: {_ACTS}"),
    _whole("AL_BAT_CRIT_ACT", 3, 0, 3, "", f"when the battery is critical: {_ACTS}"),
    _real("BAT_LOW_THR", 0.2, 0.1, 0.5, "", "the battery is low below this fraction of its charge"),
    _real("BAT_CRIT_THR", 0.1, 0.05, 0.4, "", "the battery is critical below this fraction of its charge"),
    # the simulated battery
    _real("BAT1_CAPACITY", 5100.0, 100.0, 100000.0, "mAh", "charge of a full battery"),
    _whole("BAT1_N_CELLS", 3, 1, 16, "", "cells in series"),
    _real("BAT1_V_CHARGED", 4.15, 2.9, 5.4, "V", "voltage of a full cell without load"),
    _real("BAT1_V_EMPTY", 3.5, 2.7, 4.5, "V", "voltage of an empty cell without load"),
    _real("BAT1_R_INTERNAL", 0.015, 0.0, 0.2, "Ohm", "resistance of the whole battery"),
    _real("SIM_BAT_HOVER_A", 20.4, 0.1, 1000.0, "A", "current at the thrust of hover: 15 min with 5100 mAh"),
    _real("SIM_BAT_IDLE_A", 0.6, 0.0, 100.0, "A", "current with the motors at rest"),
    _real(
        "SIM_BAT_START", 100.0, 0.0, 100.0, "%", "charge at power-up; writing it on the ground recharges the battery"
    ),
)


class Parameters:
    """The current values. The order of names never changes: PARAM_VALUE depends on it."""

    def __init__(self, rows: Iterable[Row] = TABLE) -> None:
        self._rows = {row.name: row for row in rows}
        self._values: dict[str, float] = {}
        self.get = self._values.__getitem__
        """The value of a name; an integer for kind int. KeyError for an unknown name."""
        self._watchers: list[Callable[[str], None]] = []
        self.changes = 0  # number of accepted set() calls
        for row in self._rows.values():
            if not 0 < len(row.name) <= NAME_LENGTH:
                raise ValueError(f"parameter {row.name!r}: a name has 1 to {NAME_LENGTH} characters")
            if not row.minimum <= row.default <= row.maximum:
                raise ValueError(f"parameter {row.name}: default {row.default} not in {row.minimum}..{row.maximum}")
            self._values[row.name] = row.default
        self._names = tuple(self._rows)
        self._index = {name: number for number, name in enumerate(self._names)}

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def index(self, name: str) -> int:
        return self._index[name]

    def row(self, name: str) -> Row:
        return self._rows[name]

    def whole(self, name: str) -> int:
        return int(self._values[name])

    def set(self, name: str, value: float) -> Refusal | None:
        row = self._rows.get(name)
        if row is None:
            return Refusal(f"No parameter {name[:NAME_LENGTH]}", temporary=False)
        if not math.isfinite(value):
            return Refusal(f"{name} must be a finite number", temporary=False)
        if row.kind == "int" and value != int(value):
            return Refusal(f"{name} must be a whole number", temporary=False)
        if not row.minimum <= value <= row.maximum:
            return Refusal(f"{name} must be {row.minimum:g} to {row.maximum:g}", temporary=False)
        self._values[name] = int(value) if row.kind == "int" else float(value)
        self.changes += 1
        for watcher in self._watchers:
            watcher(name)
        return None

    def watch(self, watcher: Callable[[str], None]) -> None:
        """Call `watcher` with the name after each change."""
        self._watchers.append(watcher)
