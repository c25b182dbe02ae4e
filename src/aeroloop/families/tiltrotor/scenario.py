"""Scenario tables of the tilt-rotor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from aeroloop.actuators.lagged import Actuators
from aeroloop.controllers.law.request_tables import RequestTables
from aeroloop.core import scenario_files
from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import Offer, of_actuators, of_sensor
from aeroloop.core.fleet import seed_of
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import FamilyTables, Scenario, narrowed, with_value
from aeroloop.ground.trajectories import moved
from aeroloop.sensors.fault_offers import of_sensors_and_lines
from aeroloop.sensors.fitted import fitted_out
from aeroloop.sensors.state import TiltrotorSensors
from aeroloop.sensors.suite import SensorSet
from aeroloop.world.config import CommonWorld
from aeroloop.world.feet import Damping, Stiffness
from aeroloop.world.terrain import Level, TerrainConfig
from aeroloop.world.wind import WindConfig

ROTORS, SERVOS = ("rotor_right", "rotor_left"), ("tilt_right", "tilt_left")
"""The actuators in the order of a command, as named in faults. A servo's command is its torque."""


def _factor(of: str) -> Any:
    return meta("-", f"factor on {of}", ge=0.1, le=10.0)


class Scale(Config, frozen=True):
    """The simulated aircraft over its parameter set. The law is designed for the set, and does not know of it."""

    mass: Annotated[float, _factor("the masses of fuselage and pods")] = 1.0
    inertia: Annotated[float, _factor("their inertias")] = 1.0
    thrust_right: Annotated[float, _factor("the right rotor's thrust and torque")] = 1.0
    thrust_left: Annotated[float, _factor("the left rotor's thrust and torque")] = 1.0


class Rotors(Config, frozen=True):
    """What the paper's rotors do not have."""

    inertia_kgm2: Annotated[
        float,
        meta("kg m2", "inertia of a rotor about its axis; 0: no angular momentum, as in the paper", ge=0, le=1e-2),
    ] = 0.0
    drag_Ns2_m: Annotated[
        float,
        meta(
            "N s2/m",
            "drag of a rotor across its axis, over its speed (rad/s) and that through the air; with the airframe's",
            ge=0,
            le=1e-2,
        ),
    ] = 0.0
    designed: Annotated[
        bool, note("the law's design model has the angular momentum too; that of the published gain has none")
    ] = False

    @property
    def designed_kgm2(self) -> float:
        """Of the design model."""
        return self.inertia_kgm2 if self.designed else 0.0


class Legs(Config, frozen=True):
    """The four legs on the ground."""

    stiffness_N_m: Stiffness = None
    damping_Ns_m: Damping = None

    def __post_init__(self) -> None:
        if (self.stiffness_N_m is None) != (self.damping_Ns_m is None):
            raise ValueError("stiffness_N_m: expected together with damping_Ns_m, or neither")


class Vehicle(Config, frozen=True):
    """The aircraft of the flight."""

    kind: Annotated[Literal["tiltrotor"], note("family of aircraft")] = "tiltrotor"
    parameters: Annotated[str, note("parameter set in the vehicle's `params.toml`")] = "cad"
    scale: Annotated[Scale, note("the simulated aircraft over its parameter set")] = Scale()
    legs: Annotated[Legs, note("springs of its feet on the ground")] = Legs()
    rotors: Annotated[Rotors, note("angular momentum and drag of the rotors")] = Rotors()
    count: Annotated[int, meta("-", "number of aircraft, each with its own board and link", ge=1, le=16)] = 1
    spacing_m: Annotated[
        float, meta("m", "distance between them and between their references, in a line to the east", gt=0, le=1000)
    ] = 5.0


class World(CommonWorld, frozen=True):
    """The simulated world. Gravity is the parameter set's, independent of home."""

    drag: Annotated[
        bool | None,
        note("drag of the airframe; by default on with wind, and off in still air as in the paper"),
    ] = None
    terrain: Annotated[TerrainConfig, note("the ground")] = Level()
    start_pos_W: Annotated[Vec3 | None, meta("m", "start position, at equilibrium; by default on the reference")] = None
    start_offset_W: Annotated[Vec3, meta("m", "added to the start position")] = (0.0, 0.0, 0.0)
    start: Annotated[
        Literal["rest", "moving"],
        note("`rest`: hovering; `moving`: with the reference's velocity, so that the flight starts without a step"),
    ] = "rest"
    start_yaw_rad: Annotated[float, meta("rad", "heading at the start", ge=-3.2, le=3.2)] = 0.0
    bound_m: Annotated[
        float,
        meta("m", "the flight ends as diverged farther than this from the origin, or upside down", gt=0),
    ] = 200.0

    @property
    def has_drag(self) -> bool:
        return self.wind != WindConfig() if self.drag is None else self.drag


class TiltrotorTables(FamilyTables, frozen=True):
    """Scenario tables of a flight of the tilt-rotor."""

    FILES: ClassVar[Mapping[str, str]] = {"world.terrain.file": "terrain.csv"}

    vehicle: Annotated[Vehicle, note("which aircraft")] = Vehicle()
    world: Annotated[World, note("the simulated world")] = World()
    sensors: Annotated[TiltrotorSensors, note("the sensors")] = TiltrotorSensors()
    actuators: Annotated[Actuators, note("limits of the actuators")] = Actuators()

    def __post_init__(self) -> None:
        if self.world.drag is False and self.world.wind != WindConfig():
            raise ValueError("world.drag: wind acts only through drag; expected true, or no [world.wind]")
        if self.sensors.problem:
            raise ValueError(f"sensors.{self.sensors.problem}")

    @classmethod
    def filled_in(cls, table: dict[str, Any]) -> dict[str, Any]:
        return fitted_out(table, TiltrotorSensors())

    @property
    def aboard(self) -> SensorSet:
        """The sensors that are fitted beside those of the state."""
        return self.sensors.flown

    @property
    def has_surroundings(self) -> bool:
        """Whether motion or sensors depend on earth, air and ground."""
        return self.world.has_drag or self.world.terrain != Level() or bool(self.sensors.fitted)

    @property
    def count(self) -> int:
        return self.vehicle.count

    @property
    def start_pos_W(self) -> Vec3 | None:
        """Start position; None for the start of its reference."""
        return self.world.start_pos_W

    @property
    def start_yaw_rad(self) -> float:
        return self.world.start_yaw_rad


TiltrotorScenario = Scenario[TiltrotorTables, RequestTables]
"""Flown by a board with the protocol of docs/board-protocol.md."""


def load_tiltrotor(path: Path, overrides: tuple[str, ...] = ()) -> TiltrotorScenario:
    """Load a scenario and refuse other aircraft."""
    scenario = narrowed(scenario_files.load(path, overrides), TiltrotorTables, RequestTables)
    if scenario is None:
        raise ConfigError(f"{path}: expected a scenario of the tilt-rotor, which has a board with our firmware")
    return scenario


def fault_offers(scenario: TiltrotorScenario) -> tuple[Offer, ...]:
    """The faults that can be switched in a flight of this family."""
    fitted = of_sensors_and_lines(scenario.aircraft.aboard, lines=True)
    return (*of_sensor("state"), *fitted, *of_actuators(ROTORS, SERVOS, offset_unit="N m", offset=0.05))


def each(scenario: TiltrotorScenario, number: int) -> TiltrotorScenario:
    """Scenario of aircraft `number` of several: beside the first one, with its own random streams."""
    east_m = number * scenario.aircraft.vehicle.spacing_m
    ground, start_W = scenario.controller.ground, scenario.aircraft.world.start_pos_W
    own = with_value(scenario, "seed", seed_of(scenario.seed, number))
    own = with_value(own, "ground.trajectory", moved(ground.trajectory, east_m))
    if start_W is None:
        return own
    return with_value(own, "world.start_pos_W", (start_W[0] + east_m, *start_W[1:]))
