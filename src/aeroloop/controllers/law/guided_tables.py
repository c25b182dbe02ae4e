"""The tables of a board that flies a multirotor along a plan by its own estimate, and the checks before a flight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Protocol

from aeroloop.controllers.law import values_tables
from aeroloop.controllers.law.values_tables import ValuesTables
from aeroloop.core.config import Config, meta, note
from aeroloop.core.scenario import Aircraft, Scenario
from aeroloop.core.signals import NS
from aeroloop.ground.flight_plan import FlightPlan
from aeroloop.sensors.suite import SensorSet
from aeroloop.world.earth import Home


class GuidedControl(Config, frozen=True):
    """The control law."""

    law_file: Annotated[
        str,
        note(
            "Python file with a law of your own, which is executed, relative to the scenario file; empty: the cascade; "
            "`--law` overrides"
        ),
    ] = ""
    period_s: Annotated[float, meta("s", "control period of the board", ge=0.001, le=0.02)] = 0.004
    setpoint_hz: Annotated[
        float, meta("Hz", "setpoints a second; between two of them the law holds the last one", ge=1, le=1000)
    ] = 50.0


class GuidedTables(ValuesTables, frozen=True):
    """Tables of a flight whose board estimates and controls, and receives sensors and setpoints."""

    FILES: ClassVar[Mapping[str, str]] = {
        "control.law_file": "law.py",
        "ground.trajectory.file": "waypoints.csv",
    }

    control: Annotated[GuidedControl, note("the control law")] = GuidedControl()
    ground: Annotated[FlightPlan, note("the flight plan")] = FlightPlan()

    @property
    def control_period_s(self) -> float:
        return self.control.period_s


class Sensed(Aircraft, Protocol):
    """An aircraft with a set of sensors, at a location on the earth."""

    @property
    def aboard(self) -> SensorSet: ...
    @property
    def home(self) -> Home: ...
    def start_m(self, number: int) -> tuple[float, float]: ...


GuidedScenario = Scenario[Sensed, GuidedTables]


def needs(scenario: GuidedScenario) -> str:
    """What does not match; empty: nothing."""
    sensors, period_s = scenario.aircraft.aboard, scenario.controller.control.period_s
    missing = [name for name in ("imu", "magnetometer", "barometer", "gnss") if getattr(sensors, name) is None]
    if missing:
        return f"sensors: the board's estimator needs imu, magnetometer, barometer and gnss; {missing[0]} is not fitted"
    if round(period_s * NS) % round(scenario.aircraft.step_s * NS):
        return (
            f"control.period_s: expected a multiple of world.step_s ({scenario.aircraft.step_s:g} s), not {period_s:g}"
        )
    if sensors.imu is not None and sensors.imu.period_s > period_s * (1 + 1e-9):
        return (
            f"control.period_s: expected at least one sample of the IMU in a period ({sensors.imu.period_s:g} s), "
            f"not {period_s:g}"
        )
    return values_tables.needs(scenario)
