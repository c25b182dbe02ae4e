"""Scenario tables of multirotors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from aeroloop.actuators.power import BatteryTable
from aeroloop.controllers.pixhawk.tables import AutopilotTables
from aeroloop.core.config import Config, meta, note
from aeroloop.core.fleet import seed_of
from aeroloop.core.geodesy import moved
from aeroloop.core.scenario import FamilyTables, Scenario, with_value
from aeroloop.families.multirotor.payload import Payload
from aeroloop.families.multirotor.rotor_tables import MotorsTable, RotorSynchronisation
from aeroloop.families.multirotor.scale import Scale
from aeroloop.families.multirotor.stand import Stand
from aeroloop.sensors.fitted import FittedSensors, fitted_out
from aeroloop.sensors.suite import SensorSet
from aeroloop.world.config import CommonWorld
from aeroloop.world.earth import Home
from aeroloop.world.room_layout import FREE_M, RoomConfig
from aeroloop.world.terrain import Level, TerrainConfig


class Multirotor(Config, frozen=True):
    """The aircraft of the flight."""

    kind: Annotated[Literal["quadrotor", "multirotor"], note("family of aircraft; both names mean the same")] = (
        "quadrotor"
    )
    airframe: Annotated[
        str, note("`iris`, `iris-aero`, `hexarotor`, `rfly`, `rfly-e0`, or the path of your own parameter file (.toml)")
    ] = "iris"
    scale: Annotated[Scale, note("errors of the aircraft's own numbers; controllers are designed without them")] = (
        Scale()
    )
    motor_noise: Annotated[
        float,
        meta("-", "standard deviation of each motor's command over the command, varying within 0.05 s", ge=0, le=0.5),
    ] = 0.0
    count: Annotated[int, meta("-", "number of aircraft, each with its own autopilot", ge=1, le=16)] = 1
    spacing_m: Annotated[float, meta("m", "distance between their starts, in a line to the east", gt=0, le=1000)] = 5.0


class MotorChannels(Config, frozen=True):
    """Servo channels of ArduPilot's motors."""

    motors: Annotated[
        tuple[Annotated[int, Meta(ge=1, le=32)], ...],
        note("channel of each motor, from 1, in the order of the airframe's rotors; without it 1, 2, 3, ..."),
    ] = ()
    trim_us: Annotated[float, meta("us", "pulse of a stopped motor (MOT_PWM_MIN)", ge=800, le=2200)] = 1000.0
    span_us: Annotated[float, meta("us", "from there to full speed (MOT_PWM_MAX - MOT_PWM_MIN)", gt=0, le=1400)] = (
        1000.0
    )

    def __post_init__(self) -> None:
        if len(set(self.motors)) < len(self.motors):
            raise ValueError("channels.motors: expected a channel of its own for each motor")


class Outdoors(CommonWorld, frozen=True):
    """The simulated world."""

    terrain: Annotated[TerrainConfig, note("the ground")] = Level()
    room: Annotated[RoomConfig | None, note("a room around home, with textures and walls; left out: open air")] = None
    stand: Annotated[Stand | None, note("holds the aircraft in the air at first; left out: it is on the ground")] = None
    bound_m: Annotated[float, meta("m", "the flight ends as diverged farther than this from the origin", gt=0)] = 2000.0

    def __post_init__(self) -> None:
        CommonWorld.__post_init__(self)
        if self.stand is not None and not isinstance(self.terrain, Level):
            raise ValueError('stand: it is on level ground; expected terrain.kind = "flat"')
        if self.room is not None and not isinstance(self.terrain, Level):
            raise ValueError('room: its floor is level; expected terrain.kind = "flat"')
        if self.room is not None and not self.room.is_free(0.0, 0.0):
            raise ValueError(
                f"room.centre_m: home is outside the room, or nearer than {FREE_M:g} m to a wall, the block or a box; "
                f"expected another, for example [0.0, 2.4] in a room of 10 x 8 m"
            )


class MultirotorTables(FamilyTables, frozen=True):
    """Scenario tables of a flight of multirotors."""

    FILES: ClassVar[Mapping[str, str]] = {
        "vehicle.airframe": "airframe.toml",
        "world.terrain.file": "terrain.csv",
        "battery.pack": "battery.toml",
    }

    vehicle: Annotated[Multirotor, note("which aircraft")] = Multirotor()
    world: Annotated[Outdoors, note("the simulated world")] = Outdoors()
    sensors: Annotated[FittedSensors, note("the sensors")] = FittedSensors()
    motors: Annotated[MotorsTable, note("differences between the motors")] = MotorsTable()
    synchronisation: Annotated[
        RotorSynchronisation | None, note("law for the rotor speeds; left out: commands reach the motors as they are")
    ] = None
    battery: Annotated[
        BatteryTable | None, note("battery of the motors; left out: that of the airframe's file, or none")
    ] = None
    payload: Annotated[Payload | None, note("what it takes up in flight; left out: nothing")] = None
    channels: Annotated[MotorChannels, note("servo channels, of ArduPilot only")] = MotorChannels()

    @classmethod
    def filled_in(cls, table: dict[str, Any]) -> dict[str, Any]:
        return fitted_out(table, FittedSensors(), without=())

    def files(self) -> dict[str, str]:
        named = super().files()
        for key in ("vehicle.airframe", "battery.pack"):
            if not named.get(key, "").endswith(".toml"):
                named.pop(key, None)  # it is an included one, by its name
        return named

    @property
    def aboard(self) -> SensorSet:
        """The sensors that are fitted."""
        return self.sensors.flown

    @property
    def starts_in_air(self) -> bool:
        return self.world.stand is not None

    @property
    def has_drive(self) -> bool:
        """Whether the motors differ or a law controls their speeds."""
        return self.synchronisation is not None or self.motors != MotorsTable()

    @property
    def home(self) -> Home:
        return self.world.home

    @property
    def count(self) -> int:
        return self.vehicle.count

    def start_m(self, number: int) -> tuple[float, float]:
        """Start position of vehicle `number`, east and north of home."""
        return number * self.vehicle.spacing_m, 0.0


QuadrotorScenario = Scenario[MultirotorTables, AutopilotTables]
"""Each flown by an autopilot over MAVLink HIL: PX4's, or the virtual Pixhawk."""


def each(scenario: QuadrotorScenario, number: int) -> QuadrotorScenario:
    """Scenario of aircraft `number` of several, if each has its own controller: home beside the first one's, its own
    random streams."""
    home, (east_m, north_m) = scenario.aircraft.home, scenario.aircraft.start_m(number)
    lat_deg, lon_deg = moved(home.lat_deg, home.lon_deg, home.alt_m, east_m, north_m)
    own = with_value(scenario, "seed", seed_of(scenario.seed, number))
    return with_value(own, "world.home", msgspec.structs.replace(home, lat_deg=lat_deg, lon_deg=lon_deg))
