"""The tables of a fixed wing that finds its own way over terrain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from aeroloop.controllers.law.period_tables import PeriodTables
from aeroloop.core.config import Config, meta, note
from aeroloop.core.fault_offers import Offer
from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.core.scenario import FamilyTables, Scenario
from aeroloop.planning.planner import PlannerSettings
from aeroloop.sensors.aboard import Aboard, fitted_out
from aeroloop.sensors.fault_offers import of_sensors_and_lines
from aeroloop.sensors.schedule import Name
from aeroloop.sensors.suite import SensorSet
from aeroloop.world.atmosphere import Day
from aeroloop.world.earth import Home
from aeroloop.world.elevation_map import ElevationConfig, JacksboroMap
from aeroloop.world.wind import WindConfig

Metres2 = tuple[float, float]
MOST_BANK_RAD = math.radians(30.0)
LEAST_BOUND_M = 8000.0
BEYOND_CORNERS_M = 1200.0
NEEDED: tuple[Name, ...] = ("imu", "magnetometer", "barometer", "gnss", "airspeed")
"""What the estimation on the board works with."""


class FixedWing(Config, frozen=True):
    """Which aircraft flies."""

    kind: Annotated[Literal["fixedwing"], note("family of aircraft")] = "fixedwing"
    airframe: Annotated[str, note("`aerosonde`, `anaconda`, or the path of a parameter file of your own (.toml)")] = (
        "aerosonde"
    )


class Country(Config, frozen=True):
    """The simulated world. The origin of W is the middle of the map, at sea level."""

    step_s: Annotated[float, meta("s", "integration step (Runge-Kutta 4)", ge=1e-4, le=0.02)] = 0.004
    home: Annotated[Home, note("where on earth the middle of the map is; its height is 0")] = Home(
        lat_deg=36.366, lon_deg=-84.346117, alt_m=0.0
    )
    day: Annotated[Day, note("the air at sea level")] = Day()
    wind: Annotated[WindConfig, note("wind")] = WindConfig()
    terrain: Annotated[ElevationConfig, note("the ground")] = JacksboroMap()
    bound_m: Annotated[
        float,
        meta(
            "m",
            "farther than this from the middle of the map the flight counts as diverged and ends; "
            "0: 1200 m beyond the map's corners, and 8000 m at least",
            ge=0,
            le=4e5,
        ),
    ] = 0.0

    @property
    def reach_m(self) -> float:
        """Where the flight counts as diverged."""
        if self.bound_m > 0.0:
            return self.bound_m
        corner_m = self.terrain.side_units * self.terrain.unit_m / math.sqrt(2.0)
        return max(LEAST_BOUND_M, corner_m + BEYOND_CORNERS_M)


class WingAboard(Aboard, frozen=True):
    """The sensors: a preset, and what is different from it."""

    fitted: Annotated[tuple[Name, ...], note("which of the preset's sensors the aircraft has; it needs all five")] = (
        NEEDED
    )


class Mission(Config, frozen=True):
    """Loiter, find a way, fly it, loiter at the goal."""

    start_m: Annotated[
        Metres2 | None, meta("m", "centre of the first loiter circle, east and north; without it, drawn from the seed")
    ] = None
    goal_m: Annotated[Metres2 | None, meta("m", "where to fly, east and north; without it, drawn from the seed")] = None
    apart_m: Annotated[float, meta("m", "how far apart start and goal are drawn, at least", ge=0, le=1e5)] = 4500.0
    height_m: Annotated[float, meta("m", "height of the flight above mean sea level", ge=0, le=8000)] = 660.0
    airspeed_m_s: Annotated[float, meta("m/s", "airspeed of the flight", ge=5, le=100)] = 20.0
    loiter_radius_m: Annotated[float, meta("m", "radius of both loiter circles", ge=20, le=1000)] = 150.0
    command_at_s: Annotated[float, meta("s", "when the ground sends the goal", ge=0, le=86400)] = 10.0
    linger_s: Annotated[
        float, meta("s", "how long it loiters at the goal before the flight is over", ge=0, le=86400)
    ] = 30.0


class FixedWingTables(FamilyTables, frozen=True):
    """What a flight of a fixed wing adds that plans its way over terrain while it flies."""

    FILES: ClassVar[Mapping[str, str]] = {"vehicle.airframe": "airframe.toml", "world.terrain.file": "terrain"}

    vehicle: Annotated[FixedWing, note("which aircraft")] = FixedWing()
    world: Annotated[Country, note("the simulated world")] = Country()
    sensors: Annotated[WingAboard, note("the sensors")] = WingAboard()
    planner: Annotated[PlannerSettings, note("how a way is found")] = PlannerSettings()
    mission: Annotated[Mission, note("from where to where")] = Mission()

    def __post_init__(self) -> None:
        missing = [name for name in NEEDED if name not in self.sensors.fitted or getattr(self.sensors, name) is None]
        if missing:
            raise ValueError(f"sensors.fitted: the board needs {', '.join(NEEDED)}; {missing[0]} is missing")
        if self.world.home.alt_m != 0.0:
            raise ValueError(
                f"world.home.alt_m: heights are above mean sea level, so the origin's is 0, "
                f"not {self.world.home.alt_m:g}"
            )
        self._check_mission()

    def _check_mission(self) -> None:
        mission = self.mission
        tightest_m = mission.airspeed_m_s**2 / (GRAVITY_M_S2 * math.tan(MOST_BANK_RAD))
        if mission.loiter_radius_m < tightest_m:
            raise ValueError(
                f"mission.loiter_radius_m: at {mission.airspeed_m_s:g} m/s and 30 degrees of bank a circle has "
                f"a radius of {tightest_m:.0f} m at least, not {mission.loiter_radius_m:g}"
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
                    f"mission.{key}: expected a place on the map with room for its circle, so within {half_m:g} m "
                    f"of the middle to each side, not {place[0]:g}, {place[1]:g}"
                )
            if place is not None and math.hypot(*place) >= self.world.reach_m:
                raise ValueError(
                    f"mission.{key}: expected a place within world.bound_m ({self.world.reach_m:g} m) of the middle, "
                    f"not {place[0]:g}, {place[1]:g}"
                )

    @classmethod
    def filled_in(cls, table: dict[str, Any]) -> dict[str, Any]:
        return fitted_out(table, WingAboard())

    def files(self) -> dict[str, str]:
        named = super().files()
        if not self.vehicle.airframe.endswith(".toml"):
            named.pop("vehicle.airframe", None)  # it is one of the project's, by its name
        return named

    @property
    def aboard(self) -> SensorSet:
        """The sensors that are fitted."""
        return self.sensors.flown


FixedWingScenario = Scenario[FixedWingTables, PeriodTables]
"""Flown by a board that works by the plant's clock."""


def fault_offers(scenario: FixedWingScenario) -> tuple[Offer, ...]:
    """The faults that can be switched in a flight of this family."""
    return of_sensors_and_lines(scenario.aircraft.aboard, lockstep=scenario.lockstep)
