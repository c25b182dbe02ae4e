"""The tables of a board that flies a multirotor along a plan by its own estimate, and the checks before a flight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Protocol

from aeroloop.controllers.law import values_tables
from aeroloop.controllers.law.values_tables import ValuesTables
from aeroloop.core.config import Config, meta, note
from aeroloop.core.scenario import Aircraft, Scenario
from aeroloop.core.signals import NS
from aeroloop.ground.flight_plan import FlightPlan
from aeroloop.sensors.suite import SensorSet
from aeroloop.world.earth import Home

Weight = Annotated[float, meta("-", "not negative", ge=0)]


class GuidedNonlinear(Config, frozen=True):
    """Horizon, bounds and weights of the nonlinear model predictive law."""

    tilt_max_deg: Annotated[float, meta("deg", "bound on the tilt", gt=0, le=85)] = 50.0
    steps: Annotated[int, meta("-", "steps of the horizon", ge=2, le=60)] = 20
    step_s: Annotated[float, meta("s", "one step of the horizon", gt=0, le=0.1)] = 0.025
    state_weights: Annotated[
        tuple[Weight, Weight, Weight, Weight],
        note("weights of position (1/m2), attitude (1/rad2), velocity (s2/m2) and body rates (s2/rad2)"),
    ] = (40.0, 10.0, 5.0, 0.5)
    thrust_weight: Annotated[float, meta("1/N2", "weight of a rotor's thrust from that of hover", gt=0, le=1e6)] = 1.0
    slack_weight: Annotated[float, meta("-", "weight of a tilt beyond its bound: of its cosine", gt=0, le=1e9)] = 1e4
    gap_max: Annotated[
        float,
        meta(
            "-",
            "without a trajectory whose steps join this closely, in the unit of each state, the law falls back",
            gt=0,
            le=1e6,
        ),
    ] = 20.0


class GuidedControl(Config, frozen=True):
    """The control law."""

    law: Annotated[
        Literal["cascade", "nmpc"],
        note(
            "`cascade`: position, velocity, attitude and rates in cascade; `nmpc`: nonlinear model predictive control, "
            "mil and sil (docs/predictive-control.md)"
        ),
    ] = "cascade"
    nmpc: Annotated[GuidedNonlinear, note("horizon, bounds and weights of the law `nmpc`")] = GuidedNonlinear()
    law_file: Annotated[
        str,
        note(
            "Python file with a law of your own, which is executed, relative to the scenario file; empty: `law`; "
            "`--law` overrides"
        ),
    ] = ""
    period_s: Annotated[float, meta("s", "control period of the board", ge=0.001, le=0.02)] = 0.004
    setpoint_hz: Annotated[
        float, meta("Hz", "setpoints a second; between two of them the law holds the last one", ge=1, le=1000)
    ] = 50.0

    @property
    def host_only(self) -> bool:
        """Whether a host law flies, which does not become firmware."""
        return self.law == "nmpc" and not self.law_file


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
    @property
    def starts_in_air(self) -> bool: ...
    def start_m(self, number: int) -> tuple[float, float]: ...


GuidedScenario = Scenario[Sensed, GuidedTables]


def needs(scenario: GuidedScenario) -> str:
    """What does not match; empty: nothing."""
    sensors, period_s = scenario.aircraft.aboard, scenario.controller.control.period_s
    missing = [name for name in ("imu", "magnetometer", "barometer", "gnss") if getattr(sensors, name) is None]
    if missing:
        return f"sensors: the board's estimator needs imu, magnetometer, barometer and gnss; {missing[0]} is not fitted"
    if scenario.controller.control.host_only and scenario.loop in ("pil", "hil"):
        return (
            f"control.law: nmpc needs the host's processor and flies on mil and sil, not on {scenario.loop}; "
            "expected cascade for a board"
        )
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
