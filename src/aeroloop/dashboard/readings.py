"""What an aircraft is doing now, out of the store's newest rows, alike for every family of flights.

`FAMILIES` is the one place that knows where each family keeps what.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aeroloop.controllers.pixhawk.seam import Failsafe, FlightMode, Landed
from aeroloop.core.frames import Quat, Vec3, euler_from_quat
from aeroloop.core.scenario import Scenario, value_at
from aeroloop.core.signals import Mode
from aeroloop.core.wing_signals import SURFACES, Step
from aeroloop.dashboard.store import Rows, Store
from aeroloop.dashboard.way_words import STEP_WORDS, letters, step_of
from aeroloop.families.fixedwing.shape import deflections_rad
from aeroloop.families.multirotor.streams import MOST_ROTORS
from aeroloop.families.streams import BY_NAME

SHOWN_PER_SPEED = 1 / 55
"""Rotors are shown this much slower than they turn: at the real speed a picture 20 to 60 times a second shows noise."""
SHOWN_PER_ROOT_THRUST = 4.5
"""rad/s a root newton, for rotors whose thrust alone is known: it grows with the speed squared."""


SHOWN_PER_THROTTLE = 16.0
"""rad/s at full throttle, for a propeller whose throttle alone is known."""


@dataclass(frozen=True)
class Pose:
    t_s: float
    pos_W: Vec3
    vel_W: Vec3
    quat_WB: Quat
    hinges_rad: tuple[float, ...]  # in the order of the model
    airspeed_m_s: float = math.nan
    ground_m: float = math.nan  # how high the ground below is

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


@dataclass(frozen=True)
class Track:
    """A stream of places: columns of east, north and height; a height that is no column stands in the scenario."""

    stream: str
    east: str = "x_m"
    north: str = "y_m"
    height: str = "z_m"


@dataclass(frozen=True)
class Family:
    """Where the flights of one family keep what a page wants to know."""

    truth: Track
    wanted: Track
    estimate: Track | None
    air: str
    pace: str
    doing: Callable[[Store, int], Doing]
    rates: Callable[[Store, int], list[float]]  # of the rotors, as they are shown
    hinges: Callable[[Store, int], tuple[float, ...]] = lambda _store, _vehicle: ()


def vehicles(scenario: Scenario | None) -> int:
    return int(value_at(scenario, "vehicle.count") or 1) if scenario is not None else 1


def family(scenario: Scenario) -> Family:
    return FAMILIES[scenario.FAMILY]


def pose(store: Store, scenario: Scenario, vehicle: int) -> Pose | None:
    kept = family(scenario)
    row = store.latest(kept.truth.stream, vehicle)
    if row is None:
        return None
    pos_W = row["x_m"], row["y_m"], row["z_m"]
    vel_W = row["vx_m_s"], row["vy_m_s"], row["vz_m_s"]
    quat_WB = row["qw"], row["qx"], row["qy"], row["qz"]
    if not all(map(math.isfinite, (*pos_W, *quat_WB))):
        return None
    hinges = tuple(angle if math.isfinite(angle) else 0.0 for angle in kept.hinges(store, vehicle))
    extra = row.get("airspeed_m_s", math.nan), row.get("ground_m", math.nan)
    return Pose(row["t_s"], pos_W, vel_W, quat_WB, hinges, *extra)


def shown_rates(store: Store, scenario: Scenario, vehicle: int, directions: Sequence[float]) -> list[float]:
    """How fast each rotor is drawn turning (rad/s): the true direction, slowed, and still when it is still."""
    rates = family(scenario).rates(store, vehicle)
    finite = [rate if math.isfinite(rate) else 0.0 for rate in rates]
    return [round(direction * rate, 2) for direction, rate in zip(directions, finite, strict=False)]


def places(
    store: Store, scenario: Scenario, track: Track, vehicle: int, since_s: float, most: int = 2000
) -> list[tuple[float, float, float, float]]:
    """t, x, y, z of rows newer than a time; of very many, some."""
    rows: Rows = store.since(track.stream, since_s, vehicle)
    rows = rows[:: len(rows) // most + 1]
    names = BY_NAME[track.stream].names
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


def wind_W(store: Store, scenario: Scenario, vehicle: int) -> Vec3 | None:
    row = store.latest(family(scenario).air, vehicle)
    if row is None:
        return None
    wind = row["wind_x_m_s"], row["wind_y_m_s"], row["wind_z_m_s"]
    return wind if all(map(math.isfinite, wind)) else None


def ground_m(store: Store, scenario: Scenario, vehicle: int) -> float:
    """How high the ground below the aircraft is; NaN where nobody tells."""
    kept = family(scenario)
    for stream in (kept.air, kept.truth.stream):
        row = store.latest(stream, vehicle)
        if row is not None and "ground_m" in row:
            return row["ground_m"]
    return math.nan


def wanted_height_m(store: Store, scenario: Scenario, vehicle: int) -> float:
    track = family(scenario).wanted
    row = store.latest(track.stream, vehicle)
    if row is None:
        return math.nan
    return row[track.height] if track.height in row else float(value_at(scenario, track.height))


def doing(store: Store, scenario: Scenario, vehicle: int) -> Doing:
    return family(scenario).doing(store, vehicle)


def missed_deadlines(store: Store, scenario: Scenario) -> int | None:
    row = store.latest(family(scenario).pace)
    return int(row["missed"]) if row and math.isfinite(row["missed"]) else None


def _board_doing(store: Store, vehicle: int) -> Doing:
    cycle = store.latest("board_cycle", vehicle)
    return Doing(mode=_word(Mode, cycle["mode"]) if cycle else "")


def _board_rates(store: Store, vehicle: int) -> list[float]:
    effort = store.latest("effort", vehicle) or {}
    thrusts_N = [effort.get("thrust_right_N", 0.0), effort.get("thrust_left_N", 0.0)]
    return [SHOWN_PER_ROOT_THRUST * math.sqrt(max(0.0, thrust)) for thrust in thrusts_N]


def _board_hinges(store: Store, vehicle: int) -> tuple[float, ...]:
    row = store.latest("truth", vehicle) or {}
    return row.get("tilt_right_rad", 0.0), row.get("tilt_left_rad", 0.0)


def _autopilot_doing(store: Store, vehicle: int) -> Doing:
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


def _autopilot_rates(store: Store, vehicle: int) -> list[float]:
    motors = store.latest("motors", vehicle) or {}
    return [SHOWN_PER_SPEED * motors.get(f"speed_{i}_rad_s", 0.0) for i in range(1, MOST_ROTORS + 1)]


def wing_step(store: Store) -> tuple[Step, str] | None:
    """The mission's step and the paper's letter for it. Guidance tells the step too, to who comes late."""
    numbers = store.rows("wing_step")[:, 1].tolist()
    guidance = store.latest("wing_guidance")
    if not numbers and guidance:
        numbers = [guidance["step"]]
    step = step_of(numbers[-1]) if numbers else None
    return None if step is None else (step, letters(numbers)[-1])


def _wing_doing(store: Store, _vehicle: int) -> Doing:
    now = wing_step(store)
    return Doing() if now is None else Doing(mode=f"{now[1]} {STEP_WORDS[now[0]]}")


def _wing_rates(store: Store, _vehicle: int) -> list[float]:
    effort = store.latest("wing_effort") or {}
    return [SHOWN_PER_THROTTLE * effort.get("throttle", 0.0)]


def _wing_hinges(store: Store, _vehicle: int) -> tuple[float, ...]:
    effort = store.latest("wing_effort") or {}
    return deflections_rad(tuple(effort.get(name if name == "throttle" else f"{name}_rad", 0.0) for name in SURFACES))


FAMILIES: dict[str, Family] = {
    "tiltrotor": Family(
        truth=Track("truth"),
        wanted=Track("reference"),
        estimate=None,
        air="air",
        pace="pace",
        doing=_board_doing,
        rates=_board_rates,
        hinges=_board_hinges,
    ),
    "quadrotor": Family(
        truth=Track("rigid_truth"),
        wanted=Track("nav_setpoint"),
        estimate=Track("nav_estimate"),
        air="air",
        pace="hil_pace",
        doing=_autopilot_doing,
        rates=_autopilot_rates,
    ),
    "fixedwing": Family(
        truth=Track("wing_truth"),
        wanted=Track("wing_guidance", "path_x_m", "path_y_m", "mission.height_m"),
        estimate=Track("wing_estimate"),
        air="wing_air",
        pace="wing_pace",
        doing=_wing_doing,
        rates=_wing_rates,
        hinges=_wing_hinges,
    ),
}
"""By the scenario's FAMILY."""


def _word(kinds: type[Mode] | type[FlightMode] | type[Landed] | type[Failsafe], number: float) -> str:
    try:
        return kinds(int(number)).name.lower().replace("_", " ")
    except (ValueError, OverflowError):
        return "?"
