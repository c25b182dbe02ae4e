"""The tables of the tilt-rotor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from aeroloop.actuators.lagged import Actuators
from aeroloop.controllers.law.request_tables import RequestTables
from aeroloop.core import scenario_files
from aeroloop.core.config import Config, meta, note
from aeroloop.core.errors import ConfigError
from aeroloop.core.fault_offers import Offer, of_links, of_sensor
from aeroloop.core.frames import Vec3
from aeroloop.core.scenario import FamilyTables, Scenario, narrowed
from aeroloop.sensors.state import StateNoise


class Vehicle(Config, frozen=True):
    """Which aircraft flies."""

    kind: Annotated[Literal["tiltrotor"], note("family of aircraft")] = "tiltrotor"
    parameters: Annotated[str, note("parameter set in the vehicle's `params.toml`")] = "cad"


class World(Config, frozen=True):
    """The simulated world."""

    step_s: Annotated[float, meta("s", "integration step (Runge-Kutta 4)", ge=1e-5, le=0.02)] = 0.004
    start_pos_W: Annotated[
        Vec3 | None, meta("m", "where the flight starts, at equilibrium; by default on the reference")
    ] = None
    start: Annotated[
        Literal["rest", "moving"],
        note("`rest`: hovering; `moving`: with the reference's velocity, so that no step upsets the first seconds"),
    ] = "rest"
    start_yaw_rad: Annotated[float, meta("rad", "heading at the start", ge=-3.2, le=3.2)] = 0.0
    bound_m: Annotated[
        float,
        meta("m", "farther than this from the origin, or upside down, the flight counts as diverged and ends", gt=0),
    ] = 200.0


class TiltrotorTables(FamilyTables, frozen=True):
    """What a flight of the tilt-rotor adds."""

    vehicle: Annotated[Vehicle, note("which aircraft")] = Vehicle()
    world: Annotated[World, note("the simulated world")] = World()
    sensors: Annotated[StateNoise, note("sensor noise")] = StateNoise()
    actuators: Annotated[Actuators, note("limits of the actuators")] = Actuators()

    @property
    def start_pos_W(self) -> Vec3 | None:
        """Where it starts; None for the start of its reference."""
        return self.world.start_pos_W

    @property
    def start_yaw_rad(self) -> float:
        return self.world.start_yaw_rad


TiltrotorScenario = Scenario[TiltrotorTables, RequestTables]
"""Flown by a board that speaks docs/board-protocol.md."""


def load_tiltrotor(path: Path, overrides: tuple[str, ...] = ()) -> TiltrotorScenario:
    """For those who can do nothing with another aircraft."""
    scenario = narrowed(scenario_files.load(path, overrides), TiltrotorTables, RequestTables)
    if scenario is None:
        raise ConfigError(f"{path}: expected a scenario of the tilt-rotor, which has a board with our firmware")
    return scenario


def fault_offers(scenario: TiltrotorScenario) -> tuple[Offer, ...]:
    """The faults that can be switched in a flight of this family."""
    return (*of_sensor("state"), *of_links())
