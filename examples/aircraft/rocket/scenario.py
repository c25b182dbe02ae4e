"""The keys that a rocket adds to a scenario file."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from aeroloop.core.config import Config, meta, note
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import FamilyTables, Scenario
from aeroloop.sensors.noise import Errors


class Vehicle(Config, frozen=True):
    """Which rocket."""

    kind: Annotated[str, note("this folder")]
    airframe: Annotated[str, note("its parameter file (.toml)")]


class World(Config, frozen=True):
    """Flat ground and steady wind."""

    step_s: Annotated[float, meta("s", "integration step (Runge-Kutta 4)", gt=0, le=0.02)] = 0.004
    wind_W: Annotated[Vec3, meta("m/s", "steady wind to the east, to the north and up")] = (0.0, 0.0, 0.0)
    density_kg_m3: Annotated[float, meta("kg/m3", "density of the air", ge=0, le=10)] = 1.225
    bound_m: Annotated[float, meta("m", "farther than this from the pad it is lost", gt=0, le=1e5)] = 500.0


class Sensors(Config, frozen=True):
    """Errors of what is measured once a control period."""

    position: Annotated[Errors, note("place, m")] = Errors(white_std=0.02)
    velocity: Annotated[Errors, note("velocity, m/s")] = Errors(white_std=0.02)
    attitude: Annotated[Errors, note("rotation of the measured attitude, rad")] = Errors(white_std=0.001)
    rate: Annotated[Errors, note("body rates, rad/s")] = Errors(white_std=0.002)


class Hop(Config, frozen=True):
    """Up, across, and down on another pad."""

    start_s: Annotated[float, meta("s", "when the motor is lit", ge=0, le=1000)] = 1.0
    height_m: Annotated[float, meta("m", "how high", ge=2, le=400)] = 15.0
    goal_m: Annotated[tuple[float, float], meta("m", "the other pad, east and north")] = (10.0, 5.0)
    climb_m_s: Annotated[float, meta("m/s", "fastest climb", ge=0.5, le=50)] = 6.0
    across_m_s: Annotated[float, meta("m/s", "fastest on the way across", ge=0.5, le=20)] = 3.0
    descent_m_s: Annotated[float, meta("m/s", "fastest descent", ge=0.5, le=20)] = 4.0


class RocketTables(FamilyTables, frozen=True, kw_only=True):
    """A rocket on one gimballed motor."""

    FILES: ClassVar[Mapping[str, str]] = {"vehicle.airframe": "airframe.toml"}

    vehicle: Annotated[Vehicle, note("which rocket")]
    world: Annotated[World, note("the simulated world")] = World()
    sensors: Annotated[Sensors, note("the sensors")] = Sensors()
    hop: Annotated[Hop, note("where to")] = Hop()


RocketScenario = Scenario[RocketTables]
