"""The current state of an aircraft from the newest rows, the same for every family: its page names the streams."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from aeroloop.core.frames import Quat, Vec3, euler_from_quat
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.stream import Track
from aeroloop.dashboard import family_page
from aeroloop.dashboard.family_page import Status
from aeroloop.dashboard.store import Rows, Store


@dataclass(frozen=True)
class Pose:
    t_s: float
    pos_W: Vec3
    vel_W: Vec3
    quat_WB: Quat
    hinges_rad: tuple[float, ...]  # in the order of the model
    airspeed_m_s: float = math.nan
    ground_m: float = math.nan  # height of the ground below

    @property
    def speed_m_s(self) -> float:
        return math.hypot(*self.vel_W[:2])

    @property
    def roll_rad(self) -> float:
        return euler_from_quat(self.quat_WB)[0]

    @property
    def nose_up_rad(self) -> float:
        return -euler_from_quat(self.quat_WB)[1]  # pitch in FLU axes is positive with the nose down

    @property
    def heading_deg(self) -> float:
        """0 north, 90 east."""
        return (90.0 - math.degrees(euler_from_quat(self.quat_WB)[2])) % 360.0


def trail(store: Store, vehicle: int, since_s: float) -> Rows:
    """East and north of the positions of an aircraft since a time."""
    return store.columns("truth", "x_m", "y_m", vehicle=vehicle, since_s=since_s)


def vehicles(scenario: Scenario | None) -> int:
    return scenario.aircraft.count if scenario is not None else 1


def pose(store: Store, scenario: Scenario, vehicle: int) -> Pose | None:
    page = family_page.of(scenario)
    row = store.latest("truth", vehicle)
    if row is None:
        return None
    pos_W = row["x_m"], row["y_m"], row["z_m"]
    vel_W = row.get("vx_m_s", math.nan), row.get("vy_m_s", math.nan), row.get("vz_m_s", math.nan)
    quat_WB = row.get("qw", 1.0), row.get("qx", 0.0), row.get("qy", 0.0), row.get("qz", 0.0)
    if not all(map(math.isfinite, (*pos_W, *quat_WB))):
        return None
    hinges = tuple(angle if math.isfinite(angle) else 0.0 for angle in page.hinges(store, vehicle))
    extra = row.get("airspeed_m_s", math.nan), row.get("ground_m", math.nan)
    return Pose(row["t_s"], pos_W, vel_W, quat_WB, hinges, *extra)


def shown_rates(store: Store, scenario: Scenario, vehicle: int, directions: Sequence[float]) -> list[float]:
    """Displayed speed of each rotor (rad/s): the true direction, slowed down, and zero when stopped."""
    rates = family_page.of(scenario).rotor_rates(store, vehicle)
    finite = [rate if math.isfinite(rate) else 0.0 for rate in rates]
    return [round(direction * rate, 2) for direction, rate in zip(directions, finite, strict=False)]


def places(
    store: Store, scenario: Scenario, track: Track, vehicle: int, since_s: float, most: int = 2000
) -> list[tuple[float, float, float, float]]:
    """t, x, y, z of rows newer than a time; thinned if there are many."""
    rows: Rows = store.since(track.stream, since_s, vehicle)
    rows = rows[:: len(rows) // most + 1]
    names = store.names(track.stream)
    if not names:
        return []
    if track.height in names:
        columns = [names.index(name) for name in ("t_s", track.east, track.north, track.height)]
        return [(t_s, x, y, z) for t_s, x, y, z in rows[:, columns].tolist()]
    height_m = float(value_at(scenario, track.height))
    columns = [names.index(name) for name in ("t_s", track.east, track.north)]
    return [(t_s, x, y, height_m) for t_s, x, y in rows[:, columns].tolist()]


def place(store: Store, track: Track, vehicle: int) -> tuple[float, float] | None:
    """The newest, east and north."""
    row = store.latest(track.stream, vehicle)
    return (row[track.east], row[track.north]) if row else None


def wind_W(store: Store, vehicle: int) -> Vec3 | None:
    row = store.latest("air", vehicle)
    if row is None:
        return None
    wind = row["wind_x_m_s"], row["wind_y_m_s"], row["wind_z_m_s"]
    return wind if all(map(math.isfinite, wind)) else None


def ground_m(store: Store, vehicle: int) -> float:
    """Height of the ground below the aircraft; NaN if unknown."""
    for stream in ("air", "truth"):
        row = store.latest(stream, vehicle)
        if row is not None and "ground_m" in row:
            return row["ground_m"]
    return math.nan


def setpoint_height_m(store: Store, scenario: Scenario, vehicle: int) -> float:
    track = family_page.of(scenario).setpoint
    row = store.latest(track.stream, vehicle)
    if row is None:
        return math.nan
    return row[track.height] if track.height in row else float(value_at(scenario, track.height))


def status(store: Store, scenario: Scenario, vehicle: int) -> Status:
    return family_page.of(scenario).status(store, vehicle)


def missed_deadlines(store: Store) -> int | None:
    row = store.latest("pace")
    return int(row["missed"]) if row and math.isfinite(row["missed"]) else None


def word(kinds: type[IntEnum], number: float) -> str:
    """The name of a number that a controller reports."""
    try:
        return kinds(int(number)).name.lower().replace("_", " ")
    except (ValueError, OverflowError):
        return "?"
