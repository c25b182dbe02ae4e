"""The keys that a helicopter adds to a scenario file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from aeroloop.core.config import Config, meta, note
from aeroloop.core.fleet import seed_of
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import FamilyTables, Scenario, with_value
from aeroloop.families.helicopter.channels import HelicopterChannels
from aeroloop.families.helicopter.reference import Reference
from aeroloop.ground.trajectories import moved
from aeroloop.sensors.fitted import FittedSensors, fitted_out
from aeroloop.sensors.noise import Errors
from aeroloop.sensors.schedule import Name
from aeroloop.sensors.suite import SensorSet
from aeroloop.world.config import CommonWorld
from aeroloop.world.earth import Home
from aeroloop.world.terrain import Level, TerrainConfig


class Vehicle(Config, frozen=True):
    """Which helicopter."""

    kind: Annotated[Literal["helicopter"], note("family of aircraft")]
    airframe: Annotated[str, note("an included helicopter (`xcell60`), or a file of your own (.toml)")] = "xcell60"
    count: Annotated[int, meta("-", "number of aircraft, each with its own board and link", ge=1, le=16)] = 1
    spacing_m: Annotated[
        float, meta("m", "distance between them and between their references, in a line to the east", gt=0, le=1000)
    ] = 30.0


class World(CommonWorld, frozen=True):
    """The simulated world."""

    step_s: Annotated[float, meta("s", "integration step; its error is of second order", ge=1e-4, le=0.004)] = 0.002
    terrain: Annotated[TerrainConfig, note("the ground")] = Level()
    start_offset_m: Annotated[Vec3, meta("m", "start, hovering, from the first setpoint: east, north, up")] = (
        0.0,
        0.0,
        0.0,
    )
    bound_m: Annotated[
        float, meta("m", "the flight ends as diverged farther than this from the origin, or upside down", gt=0)
    ] = 500.0


NEEDED: tuple[Name, ...] = ("imu", "magnetometer", "barometer", "gnss")
"""Sensors that the navigation filter needs."""


class StateErrors(Errors, frozen=True):
    """Errors of one channel of a helicopter's measured state, in the channel's SI unit."""


class Sensors(FittedSensors, frozen=True):
    """Errors of what is measured once a control period, and a set of sensors beside it."""

    position: Annotated[StateErrors, note("place, m")] = StateErrors(white_std=0.02)
    velocity: Annotated[StateErrors, note("velocity, m/s")] = StateErrors(white_std=0.02)
    attitude: Annotated[StateErrors, note("rotation of the measured attitude, rad")] = StateErrors(white_std=0.001)
    rate: Annotated[StateErrors, note("body rates, rad/s")] = StateErrors(white_std=0.005)
    rotor_speed: Annotated[StateErrors, note("main rotor speed, rad/s")] = StateErrors(white_std=0.2)
    state: Annotated[
        Literal["measured", "estimated"],
        note(
            "input of the board: `measured`, the true state with the errors above; `estimated`: position, velocity, "
            "attitude and rates from the navigation filter, which uses only the fitted sensors"
        ),
    ] = "measured"
    fitted: Annotated[
        tuple[Name, ...], note("which of the preset's sensors the aircraft has; an estimated state needs four")
    ] = ()

    @property
    def lacking(self) -> tuple[str, ...]:
        """Sensors that the navigation filter needs and does not have."""
        return tuple(name for name in NEEDED if name not in self.fitted) if self.state == "estimated" else ()


class Control(Config, frozen=True):
    """The board's control period."""

    period_s: Annotated[float, meta("s", "control period", ge=0.002, le=0.02)] = 0.01


class HelicopterTables(FamilyTables, frozen=True, kw_only=True):
    """A helicopter with main and tail rotor."""

    FILES: ClassVar[Mapping[str, str]] = {
        "vehicle.airframe": "airframe.toml",
        "world.terrain.file": "terrain.csv",
        "reference.route.file": "waypoints.csv",
    }

    vehicle: Annotated[Vehicle, note("which helicopter")]
    world: Annotated[World, note("the simulated world")] = World()
    sensors: Annotated[Sensors, note("the sensors")] = Sensors()
    control: Annotated[Control, note("the board's control period")] = Control()
    reference: Annotated[Reference, note("where to fly; with an external autopilot: where to start")] = Reference()
    channels: Annotated[HelicopterChannels, note("channels of an external autopilot")] = HelicopterChannels()

    def __post_init__(self) -> None:
        if lacking := self.sensors.lacking:
            raise ValueError(f"sensors.fitted: an estimated state needs {', '.join(NEEDED)}; {lacking[0]} is missing")

    @classmethod
    def filled_in(cls, table: dict[str, Any]) -> dict[str, Any]:
        return fitted_out(table, Sensors())

    @property
    def aboard(self) -> SensorSet:
        """The sensors that are fitted beside those of the state."""
        return self.sensors.flown

    def files(self) -> dict[str, str]:
        named = super().files()
        if not self.vehicle.airframe.endswith(".toml"):
            named.pop("vehicle.airframe", None)  # it is an included one, by its name
        return named

    @property
    def count(self) -> int:
        return self.vehicle.count

    @property
    def home(self) -> Home:
        return self.world.home

    def start_m(self, number: int) -> tuple[float, float]:
        """Place of an aircraft on the ground, with an external autopilot: east and north."""
        x, y, _ = self.reference.pos_W
        return x + number * self.vehicle.spacing_m, y


HelicopterScenario = Scenario[HelicopterTables]


def each(scenario: HelicopterScenario, number: int) -> HelicopterScenario:
    """Scenario of aircraft `number` of several: beside the first one, with its own random streams."""
    table, east_m = scenario.aircraft.reference, number * scenario.aircraft.vehicle.spacing_m
    own = with_value(scenario, "seed", seed_of(scenario.seed, number))
    if table.route is not None:
        return with_value(own, "reference.route", moved(table.route, east_m))
    x, y, z = table.pos_W
    return with_value(own, "reference.pos_W", (x + east_m, y, z))
