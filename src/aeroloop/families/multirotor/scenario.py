"""The tables of multirotors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from aeroloop.controllers.pixhawk.tables import AutopilotTables
from aeroloop.core.config import Config, meta, note
from aeroloop.core.fault_offers import Offer
from aeroloop.core.scenario import FamilyTables, Scenario
from aeroloop.sensors.aboard import Aboard, fitted_out
from aeroloop.sensors.fault_offers import of_sensors_and_lines
from aeroloop.sensors.suite import SensorSet
from aeroloop.world.atmosphere import Day
from aeroloop.world.earth import Home
from aeroloop.world.terrain import Level, TerrainConfig
from aeroloop.world.wind import WindConfig


class Multirotor(Config, frozen=True):
    """Which aircraft fly."""

    kind: Annotated[Literal["quadrotor"], note("family of aircraft")] = "quadrotor"
    airframe: Annotated[str, note("`iris`, `hexarotor`, or the path of a parameter file of your own (.toml)")] = "iris"
    count: Annotated[int, meta("-", "how many, each with an autopilot of its own", ge=1, le=16)] = 1
    spacing_m: Annotated[float, meta("m", "how far apart they start, in a line to the east", gt=0, le=1000)] = 5.0


class Outdoors(Config, frozen=True):
    """The simulated world."""

    step_s: Annotated[float, meta("s", "integration step (Runge-Kutta 4)", ge=1e-4, le=0.02)] = 0.004
    home: Annotated[Home, note("where on earth the flight starts")] = Home()
    day: Annotated[Day, note("the air at sea level")] = Day()
    wind: Annotated[WindConfig, note("wind")] = WindConfig()
    terrain: Annotated[TerrainConfig, note("the ground")] = Level()
    bound_m: Annotated[
        float, meta("m", "farther than this from the origin the flight counts as diverged and ends", gt=0)
    ] = 2000.0


class MultirotorTables(FamilyTables, frozen=True):
    """What a flight of multirotors adds."""

    FILES: ClassVar[Mapping[str, str]] = {"vehicle.airframe": "airframe.toml", "world.terrain.file": "terrain.csv"}

    vehicle: Annotated[Multirotor, note("which aircraft")] = Multirotor()
    world: Annotated[Outdoors, note("the simulated world")] = Outdoors()
    sensors: Annotated[Aboard, note("the sensors")] = Aboard()

    @classmethod
    def filled_in(cls, table: dict[str, Any]) -> dict[str, Any]:
        return fitted_out(table, Aboard())

    def files(self) -> dict[str, str]:
        named = super().files()
        if not self.vehicle.airframe.endswith(".toml"):
            del named["vehicle.airframe"]  # it is one of the project's, by its name
        return named

    @property
    def aboard(self) -> SensorSet:
        """The sensors that are fitted."""
        return self.sensors.flown

    @property
    def home(self) -> Home:
        return self.world.home

    @property
    def count(self) -> int:
        return self.vehicle.count

    def start_m(self, number: int) -> tuple[float, float]:
        """Where vehicle `number` stands at first, east and north of home."""
        return number * self.vehicle.spacing_m, 0.0


QuadrotorScenario = Scenario[MultirotorTables, AutopilotTables]
"""Each flown by an autopilot over MAVLink HIL: PX4's, or the virtual Pixhawk."""


def fault_offers(scenario: QuadrotorScenario) -> tuple[Offer, ...]:
    """The faults that can be switched in a flight of this family."""
    return of_sensors_and_lines(scenario.aircraft.aboard, lockstep=scenario.lockstep)
