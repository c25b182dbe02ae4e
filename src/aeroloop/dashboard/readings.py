"""What an aircraft is doing now, out of the store's newest rows, alike for tilt-rotors and autopilots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from aeroloop.boards.pixhawk.seam import Failsafe, FlightMode, Landed
from aeroloop.dashboard.store import Rows, Store
from aeroloop.frames import Quat, Vec3, euler_from_quat
from aeroloop.scenario import Scenario, value_at
from aeroloop.signals import Mode
from aeroloop.streams import BY_NAME, MOST_ROTORS

SHOWN_PER_SPEED = 1 / 55
"""Rotors are shown this much slower than they turn: at the real speed a picture 20 to 60 times a second shows noise."""
SHOWN_PER_ROOT_THRUST = 4.5
"""rad/s a root newton, for rotors whose thrust alone is known: it grows with the speed squared."""


@dataclass(frozen=True)
class Pose:
    t_s: float
    pos_W: Vec3
    vel_W: Vec3
    quat_WB: Quat
    tilts_rad: tuple[float, ...]  # of the hinges, in the order of the model

    @property
    def speed_m_s(self) -> float:
        return math.hypot(*self.vel_W[:2])

    @property
    def roll_rad(self) -> float:
        return euler_from_quat(self.quat_WB)[0]

    @property
    def nose_up_rad(self) -> float:
        return -euler_from_quat(self.quat_WB)[1]  # pitch of FLU axes is positive with the nose down

    @property
    def heading_deg(self) -> float:
        """0 north, 90 east."""
        return (90.0 - math.degrees(euler_from_quat(self.quat_WB)[2])) % 360.0


@dataclass(frozen=True)
class Doing:
    """In words; empty where it does not apply."""

    mode: str = ""
    armed: str = ""
    landed: str = ""
    failsafe: str = ""
    battery: float = math.nan  # 0 to 1


def vehicles(scenario: Scenario | None) -> int:
    return int(value_at(scenario, "vehicle.count") or 1) if scenario is not None else 1


def truth_stream(scenario: Scenario) -> str:
    return "truth" if scenario.FAMILY == "board" else "rigid_truth"


def wanted_stream(scenario: Scenario) -> str:
    return "reference" if scenario.FAMILY == "board" else "nav_setpoint"


def pose(store: Store, scenario: Scenario, vehicle: int) -> Pose | None:
    row = store.latest(truth_stream(scenario), vehicle)
    if row is None:
        return None
    pos_W = row["x_m"], row["y_m"], row["z_m"]
    vel_W = row["vx_m_s"], row["vy_m_s"], row["vz_m_s"]
    quat_WB = row["qw"], row["qx"], row["qy"], row["qz"]
    if not all(map(math.isfinite, (*pos_W, *quat_WB))):
        return None
    tilts = tuple(row[name] for name in ("tilt_right_rad", "tilt_left_rad") if name in row)
    return Pose(row["t_s"], pos_W, vel_W, quat_WB, tilts)


def shown_rates(store: Store, scenario: Scenario, vehicle: int, directions: Sequence[float]) -> list[float]:
    """How fast each rotor is drawn turning (rad/s): the true direction, slowed, and still when it is still."""
    if scenario.FAMILY == "board":
        effort = store.latest("effort", vehicle) or {}
        thrusts_N = [effort.get("thrust_right_N", 0.0), effort.get("thrust_left_N", 0.0)]
        rates = [SHOWN_PER_ROOT_THRUST * math.sqrt(max(0.0, thrust)) for thrust in thrusts_N]
    else:
        motors = store.latest("motors", vehicle) or {}
        rates = [SHOWN_PER_SPEED * motors.get(f"speed_{i}_rad_s", 0.0) for i in range(1, MOST_ROTORS + 1)]
    finite = [rate if math.isfinite(rate) else 0.0 for rate in rates]
    return [round(direction * rate, 2) for direction, rate in zip(directions, finite, strict=False)]


def places(store: Store, stream: str, vehicle: int, since_s: float, most: int = 2000) -> list[tuple[float, ...]]:
    """t, x, y, z of rows newer than a time; of very many, some."""
    rows: Rows = store.since(stream, since_s, vehicle)
    names = BY_NAME[stream].names
    columns = [names.index(name) for name in ("t_s", "x_m", "y_m", "z_m")]
    return [tuple(row) for row in rows[:: len(rows) // most + 1, columns].tolist()]


def wind_W(store: Store, vehicle: int) -> Vec3 | None:
    row = store.latest("air", vehicle)
    if row is None:
        return None
    wind = row["wind_x_m_s"], row["wind_y_m_s"], row["wind_z_m_s"]
    return wind if all(map(math.isfinite, wind)) else None


def wanted_height_m(store: Store, scenario: Scenario, vehicle: int) -> float:
    row = store.latest(wanted_stream(scenario), vehicle)
    return row["z_m"] if row else math.nan


def doing(store: Store, scenario: Scenario, vehicle: int) -> Doing:
    if scenario.FAMILY == "board":
        cycle = store.latest("board_cycle", vehicle)
        return Doing(mode=_word(Mode, cycle["mode"]) if cycle else "")
    row = store.latest("autopilot_state", vehicle)
    if row is None:
        return Doing()
    failsafe = _word(Failsafe, row["failsafe"])
    return Doing(
        mode=_word(FlightMode, row["mode"]),
        armed="armed" if row["armed"] else "disarmed",
        landed=_word(Landed, row["landed"]),
        failsafe="" if failsafe == "none" else failsafe,
        battery=row["battery"],
    )


def missed_deadlines(store: Store, scenario: Scenario) -> int | None:
    row = store.latest("pace" if scenario.FAMILY == "board" else "hil_pace")
    return int(row["missed"]) if row and math.isfinite(row["missed"]) else None


def _word(kinds: type[Mode] | type[FlightMode] | type[Landed] | type[Failsafe], number: float) -> str:
    try:
        return kinds(int(number)).name.lower().replace("_", " ")
    except (ValueError, OverflowError):
        return "?"
