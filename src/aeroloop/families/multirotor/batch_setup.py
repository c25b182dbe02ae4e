"""What all parts of a multirotor's batch share: schedule, parameters of a flight, order of the state.

Cycle c of a batch is the step from c to c + 1 times `world.step_s`; sensors and board work at its end, as on the bench.
"""

from __future__ import annotations

from typing import Any

import casadi as ca

from aeroloop.batch.layout import Layout
from aeroloop.control.quad_toolkit import SETPOINT
from aeroloop.controllers.law.guided import TELEMETRY_HZ, designed, field_at, start_W
from aeroloop.estimation import board_filter, ekf
from aeroloop.estimation.board_filter import Field
from aeroloop.estimation.config import NavigationConfig
from aeroloop.families.multirotor import airframe as airframes
from aeroloop.families.multirotor.airframe import Airframe
from aeroloop.families.multirotor.batch_air import LocalAir
from aeroloop.families.multirotor.batch_channels import BatchScenario, noise, schedule
from aeroloop.families.multirotor.stand import Stand
from aeroloop.families.multirotor.step_function import MOTION

HELD = 5
"""Commands that are kept, newest first: the link may delay them by up to four steps."""
GUST_STATES = 7
ARMED, HELD_NOW, AGE, RELEASED = range(SETPOINT, SETPOINT + 4)
COLUMNS = SETPOINT + 4
"""Of the table: the setpoint that the board holds, 1 if its rotors may turn, 1 if the stand holds in this step, steps
since the last telemetry, 1 after the release."""


class Setup:
    """A scenario that a batch can fly."""

    def __init__(self, scenario: BatchScenario) -> None:
        self.scenario, self.schedule, self.noise = scenario, schedule(scenario), noise(scenario)
        self.telemetry_every = max(1, round(1 / (TELEMETRY_HZ * self.schedule.period_s)))
        self.config = NavigationConfig()
        self.step_s = scenario.aircraft.world.step_s
        self.airframe: Airframe = airframes.load(scenario.aircraft.vehicle.airframe)
        self.rotors = self.airframe.rotors.count
        self.air = LocalAir.at(scenario.aircraft.world.home, scenario.aircraft.world.day)
        self.turbulent = scenario.aircraft.world.wind.turbulence.w20_m_s > 0
        self.field: Field = field_at(scenario)
        self.start_W = start_W(scenario)
        self.law: ca.Function = designed(scenario)[1]
        self.tells_attitude = self.law.n_out() > 2
        self.defaults = self._defaults()
        self.params = ca.SX.sym("params", len(self.defaults))
        self._own = dict(zip(self.defaults, ca.vertsplit(self.params), strict=True))
        self.parts = Layout(self._sizes())

    @property
    def needs_current(self) -> bool:
        """Whether the motors' current or thrust disturbs the magnetometer."""
        config = self.scenario.aircraft.aboard.magnetometer
        return config is not None and any((*config.current_B_T_per_A, *config.thrust_B_T_per_N))

    def __getitem__(self, key: str) -> Any:
        """A parameter of the flight."""
        return self._own[key]

    def vector(self, key: str, count: int) -> Any:
        return ca.vertcat(*(self._own[f"{key}[{i}]"] for i in range(count)))

    @property
    def stand(self) -> Stand:
        stand = self.scenario.aircraft.world.stand
        assert stand is not None  # checked before
        return stand

    def _defaults(self) -> dict[str, float]:
        """Parameters of a flight by their keys in the scenario, with the scenario's values."""
        world, scale = self.scenario.aircraft.world, self.scenario.aircraft.vehicle.scale
        factors = scale.rotors or (1.0,) * self.rotors
        found = {f"vehicle.scale.{name}": getattr(scale, name) for name in ("mass", "inertia", "thrust")}
        found |= {f"vehicle.scale.rotors[{i}]": factor for i, factor in enumerate(factors)}
        found |= {f"world.wind.steady_W[{i}]": speed for i, speed in enumerate(world.wind.steady_W)}
        if self.turbulent:
            found["world.wind.turbulence.w20_m_s"] = world.wind.turbulence.w20_m_s
        found["link.to_plant.delay_s"] = self.scenario.link.to_plant.delay_s
        return found | {f"world.stand.pos_W[{i}]": axis for i, axis in enumerate(self.stand.pos_W)}

    def _sizes(self) -> dict[str, int]:
        return {
            "motion": MOTION,
            "speed": self.rotors,
            "mean_speed": self.rotors if self.needs_current else 0,
            "wind": 3,
            "gust": GUST_STATES if self.turbulent else 0,
            **{f"{name}_noise": noise.memory for name, noise in self.noise.items()},
            "commands": self.rotors * HELD,
            "x": ekf.STATES,
            "p": ekf.TRIANGLE,
            "refused": len(board_filter.GATES),
            "sums": 10,
            "ready": 1,
            "down": 1,
            "memory": self.law.size1_in(2),
            "attitude_setpoint": 3,
            "fix": 6 * (1 + self.schedule.gnss_late // self.schedule.gnss_every),
            "told": 13,
            "seen": 8,
            "squares": 8,
            "compared": 1,
            "largest": 4,
            "limited": 1,
            "saturated": 1,
            "flown": 1,
            "alive": 1,
            "contacts": 2,
        }
