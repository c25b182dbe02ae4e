"""Scenario tables of a fixed wing that plans its path over terrain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from aeroloop.actuators.power import BatteryTable
from aeroloop.controllers.law.period_tables import PeriodTables
from aeroloop.controllers.pixhawk.tables import AutopilotTables
from aeroloop.core.config import Config, meta, note
from aeroloop.core.fault_offers import Offer, of_actuators
from aeroloop.core.fleet import seed_of
from aeroloop.core.frames import GRAVITY_M_S2, Vec3
from aeroloop.core.scenario import FamilyTables, Scenario, with_value
from aeroloop.core.wing_signals import SURFACES
from aeroloop.families.fixedwing.channels import Channels
from aeroloop.planning.planner import PlannerSettings
from aeroloop.sensors.fault_offers import of_sensors_and_lines
from aeroloop.sensors.fitted import FittedSensors, fitted_out
from aeroloop.sensors.schedule import Name
from aeroloop.sensors.suite import SensorSet
from aeroloop.world.config import CommonWorld
from aeroloop.world.earth import Home
from aeroloop.world.elevation_map import ElevationConfig, JacksboroMap

Metres2 = tuple[float, float]
MOST_BANK_RAD = math.radians(30.0)
LEAST_BOUND_M = 8000.0
BEYOND_CORNERS_M = 1200.0
LEAST_SCALE, MOST_SCALE = 0.1, 10.0
NEEDED: tuple[Name, ...] = ("imu", "magnetometer", "barometer", "gnss", "airspeed")
"""Sensors that the estimation on the board needs."""
*SERVOS, PROPELLER = SURFACES
ROTORS = (PROPELLER,)
"""Actuator names of faults: by their index in a command."""


def _factor(of: str) -> Any:
    return meta("-", f"factor on {of}", ge=LEAST_SCALE, le=MOST_SCALE)


class Scale(Config, frozen=True):
    """The simulated aircraft over its airframe file. Trim and law are those of the file, and do not know of it."""

    mass: Annotated[float, _factor("the mass")] = 1.0
    inertia: Annotated[float, _factor("the moments of inertia")] = 1.0
    thrust: Annotated[float, _factor("the propeller's thrust")] = 1.0


class FixedWing(Config, frozen=True):
    """The aircraft of the flight."""

    kind: Annotated[Literal["fixedwing"], note("family of aircraft")] = "fixedwing"
    airframe: Annotated[
        str,
        note(
            "`aerosonde-parasitic` (with a realistic drag), `aerosonde` (the published set), `anaconda`, or the path "
            "of your own parameter file (.toml)"
        ),
    ] = "aerosonde-parasitic"
    scale: Annotated[Scale, note("the simulated aircraft over its airframe file")] = Scale()
    count: Annotated[int, meta("-", "number of aircraft, each with its own board and link", ge=1, le=16)] = 1
    spacing_m: Annotated[
        float, meta("m", "distance between their starts and goals, in a line to the east, if given", gt=0, le=1e5)
    ] = 500.0


class FixedWingWorld(CommonWorld, frozen=True):
    """The simulated world. The origin of W is the middle of the map, at sea level."""

    FEELS_GUST_RATES: ClassVar[bool] = True

    home: Annotated[Home, note("position on earth of the map's middle; its height is 0")] = Home(
        lat_deg=36.366, lon_deg=-84.346117, alt_m=0.0
    )
    terrain: Annotated[ElevationConfig, note("the ground")] = JacksboroMap()
    start_offset_W: Annotated[Vec3, meta("m", "added to the start position")] = (0.0, 0.0, 0.0)
    bound_m: Annotated[
        float,
        meta(
            "m",
            "the flight ends as diverged farther than this from the middle of the map; "
            "0: 1200 m beyond the map's corners, and at least 8000 m",
            ge=0,
            le=4e5,
        ),
    ] = 0.0

    @property
    def reach_m(self) -> float:
        """Distance at which the flight counts as diverged."""
        if self.bound_m > 0.0:
            return self.bound_m
        corner_m = self.terrain.side_units * self.terrain.unit_m / math.sqrt(2.0)
        return max(LEAST_BOUND_M, corner_m + BEYOND_CORNERS_M)


class WingFittedSensors(FittedSensors, frozen=True):
    """The sensors: a preset and its changes."""

    fitted: Annotated[tuple[Name, ...], note("sensors of the preset that are fitted; it needs all five")] = NEEDED


class Mission(Config, frozen=True):
    """Loiter, plan a path, fly it, loiter at the goal."""

    start_m: Annotated[
        Metres2 | None, meta("m", "centre of the first loiter circle, east and north; without it, drawn from the seed")
    ] = None
    goal_m: Annotated[Metres2 | None, meta("m", "goal, east and north; without it, drawn from the seed")] = None
    apart_m: Annotated[float, meta("m", "minimum distance of a drawn start and goal", ge=0, le=1e5)] = 4500.0
    height_m: Annotated[float, meta("m", "height of the flight above mean sea level", ge=0, le=8000)] = 660.0
    clearance_m: Annotated[
        float,
        meta("m", "minimum planned height above ground: cells with higher ground are blocked", ge=0, le=8000),
    ] = 30.0
    airspeed_m_s: Annotated[float, meta("m/s", "airspeed of the flight", ge=5, le=100)] = 20.0
    loiter_radius_m: Annotated[float, meta("m", "radius of both loiter circles", ge=20, le=1000)] = 150.0
    command_at_s: Annotated[float, meta("s", "simulated time at which the ground sends the goal", ge=0, le=86400)] = (
        10.0
    )
    linger_s: Annotated[float, meta("s", "loiter time at the goal before the flight ends", ge=0, le=86400)] = 30.0


class Launch(Config, frozen=True):
    """How the flight begins: in the air, or held on a catapult or on its wheels until its motor runs."""

    by: Annotated[
        Literal["", "air", "catapult", "ground"],
        note(
            "`air`: trimmed on the first circle, its own board only; `catapult`: on a rail; `ground`: on the wheels of "
            "its airframe, an external autopilot only; without it air for its own board, catapult for an external "
            "autopilot"
        ),
    ] = ""
    height_m: Annotated[float, meta("m", "height of the aircraft on the catapult above ground", gt=0, le=100)] = 2.0
    heading_deg: Annotated[
        float, meta("deg", "direction of rail or take-off run, clockwise from north", ge=-360, le=360)
    ] = 0.0
    pitch_deg: Annotated[float, meta("deg", "inclination of the rail", ge=0, le=45)] = 12.0
    length_m: Annotated[float, meta("m", "length of the rail", gt=0, le=100)] = 12.0
    speed_m_s: Annotated[
        float, meta("m/s", "speed at the end of the rail; 0: the airspeed of the mission", ge=0, le=100)
    ] = 0.0
    throttle: Annotated[float, meta("-", "throttle at which catapult or chocks release it", gt=0, le=1)] = 0.3


class FixedWingTables(FamilyTables, frozen=True):
    """Scenario tables of a fixed wing that plans its path over terrain in flight."""

    FILES: ClassVar[Mapping[str, str]] = {
        "vehicle.airframe": "airframe.toml",
        "world.terrain.file": "terrain",
        "battery.pack": "battery.toml",
    }

    vehicle: Annotated[FixedWing, note("which aircraft")] = FixedWing()
    channels: Annotated[Channels, note("which channel of an external autopilot moves which surface")] = Channels()
    world: Annotated[FixedWingWorld, note("the simulated world")] = FixedWingWorld()
    sensors: Annotated[WingFittedSensors, note("the sensors")] = WingFittedSensors()
    planner: Annotated[PlannerSettings, note("how a path is planned")] = PlannerSettings()
    mission: Annotated[Mission, note("start, goal and height of the flight")] = Mission()
    battery: Annotated[
        BatteryTable | None, note("battery of the motor; left out: that of the airframe's file, or none")
    ] = None
    launch: Annotated[Launch, note("catapult or take-off from the ground")] = Launch()

    def __post_init__(self) -> None:
        missing = [name for name in NEEDED if name not in self.sensors.fitted or getattr(self.sensors, name) is None]
        if missing:
            raise ValueError(f"sensors.fitted: the board needs {', '.join(NEEDED)}; {missing[0]} is missing")
        if self.world.home.alt_m != 0.0:
            raise ValueError(
                f"world.home.alt_m: heights are above mean sea level; expected 0 for the origin, "
                f"not {self.world.home.alt_m:g}"
            )
        self._check_mission()

    def _check_mission(self) -> None:
        mission = self.mission
        tightest_m = mission.airspeed_m_s**2 / (GRAVITY_M_S2 * math.tan(MOST_BANK_RAD))
        if mission.loiter_radius_m < tightest_m:
            raise ValueError(
                f"mission.loiter_radius_m: at {mission.airspeed_m_s:g} m/s and 30 degrees of bank a circle has "
                f"a radius of at least {tightest_m:.0f} m, not {mission.loiter_radius_m:g}"
            )
        if mission.height_m <= self.planner.blocked_above_m:
            raise ValueError(
                f"mission.height_m: the flight is over ground of up to planner.blocked_above_m "
                f"({self.planner.blocked_above_m} m); expected more than that, not {mission.height_m:g}"
            )
        half_m = self.world.terrain.side_units * self.world.terrain.unit_m / 2 - mission.loiter_radius_m
        if mission.height_m >= self.world.reach_m:
            raise ValueError(
                f"mission.height_m: expected less than world.bound_m ({self.world.reach_m:g} m), "
                f"not {mission.height_m:g}"
            )
        for key in ("start_m", "goal_m"):
            place = getattr(mission, key)
            if place is not None and max(map(abs, place)) > half_m:
                raise ValueError(
                    f"mission.{key}: expected a position on the map with room for its circle, within {half_m:g} m "
                    f"of the middle to each side, not {place[0]:g}, {place[1]:g}"
                )
            if place is not None and math.hypot(*place) >= self.world.reach_m:
                raise ValueError(
                    f"mission.{key}: expected a position within world.bound_m ({self.world.reach_m:g} m) of the "
                    f"middle, not {place[0]:g}, {place[1]:g}"
                )

    @classmethod
    def filled_in(cls, table: dict[str, Any]) -> dict[str, Any]:
        return fitted_out(table, WingFittedSensors())

    def files(self) -> dict[str, str]:
        named = super().files()
        for key in ("vehicle.airframe", "battery.pack"):
            if not named.get(key, "").endswith(".toml"):
                named.pop(key, None)  # it is an included one, by its name
        return named

    @property
    def count(self) -> int:
        return self.vehicle.count

    @property
    def aboard(self) -> SensorSet:
        """The sensors that are fitted."""
        return self.sensors.flown

    @property
    def home(self) -> Home:
        return self.world.home

    def start_m(self, number: int) -> Metres2:
        """Where the catapult of aircraft `number` stands, east and north of the middle of the map."""
        east_m, north_m = self.mission.start_m or (0.0, 0.0)
        return east_m + number * self.vehicle.spacing_m, north_m


FixedWingScenario = Scenario[FixedWingTables, PeriodTables]
"""Flown by a board on the plant's clock."""
PilotedWingScenario = Scenario[FixedWingTables, AutopilotTables]
"""Flown by an external autopilot."""


def fault_offers(scenario: FixedWingScenario) -> tuple[Offer, ...]:
    """The faults that can be switched in a flight of this family."""
    fitted = of_sensors_and_lines(scenario.aircraft.aboard, lines=not scenario.lockstep or scenario.impaired)
    return (*fitted, *of_actuators(ROTORS, SERVOS))


def each(scenario: FixedWingScenario, number: int) -> FixedWingScenario:
    """Scenario of aircraft `number` of several: start and goal beside the first one's or drawn separately, with its own
    random streams."""
    own = with_value(scenario, "seed", seed_of(scenario.seed, number))
    for key in ("start_m", "goal_m"):
        place: Metres2 | None = getattr(scenario.aircraft.mission, key)
        if place is not None:
            own = with_value(own, f"mission.{key}", (place[0] + number * scenario.aircraft.vehicle.spacing_m, place[1]))
    return own
