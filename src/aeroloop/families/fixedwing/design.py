"""The inner loops that a scenario flies: the built-in ones, or those of the user's file, designed for the airframe."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np

from aeroloop.control import custom, wing, wing_toolkit
from aeroloop.control.wing_gains import WingDynamics, WingGains
from aeroloop.control.wing_gains import design as gains_of
from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Vec
from aeroloop.core.wing_signals import SURFACES
from aeroloop.families.fixedwing import airframe
from aeroloop.families.fixedwing.law import BANDWIDTHS, WingLaw, wing_law
from aeroloop.families.fixedwing.modes import LinearModel, linear_model
from aeroloop.families.fixedwing.scenario import FixedWingScenario


@dataclass(frozen=True)
class Design:
    """The aircraft in straight and level flight, for the author of its inner loops."""

    dynamics: WingDynamics  # trim and derivatives; nose up and left are positive
    gains: WingGains  # of the built-in loops
    model: LinearModel
    period_s: float

    @property
    def trim(self) -> Vec:
        """(4,) Aileron, elevator, rudder (rad) and throttle."""
        return np.array([0.0, self.dynamics.elevator_rad, 0.0, self.dynamics.throttle])

    @property
    def pitch_rad(self) -> float:
        """Of the trim, as the estimate has it: negative, with the nose up."""
        return -self.dynamics.alpha_rad

    @property
    def low(self) -> Vec:
        """(4,) Lower limit of each servo."""
        return np.array(self.dynamics.low)

    @property
    def high(self) -> Vec:
        return np.array(self.dynamics.high)

    @property
    def A(self) -> Vec:
        """(8, 8) of (u, v, w, p, q, r, phi, theta) in axes forward, right, down."""
        return self.model.A

    @property
    def B(self) -> Vec:
        """(8, 4) of (aileron, elevator, rudder, throttle)."""
        return self.model.B

    def law(self) -> ca.Function:
        """The built-in inner loops."""
        return wing.cntr(self.gains, self.period_s)


def flight_law(scenario: FixedWingScenario) -> WingLaw:
    """All functions of the board, with the inner loops of the scenario."""
    flown = airframe.load(scenario.aircraft.vehicle.airframe)
    speed_m_s, period_s = scenario.aircraft.mission.airspeed_m_s, scenario.controller.board.period_s
    built_in = wing_law(flown, airspeed_m_s=speed_m_s, period_s=period_s)
    name = scenario.controller.control.law_file
    if not name:
        return built_in
    d = built_in.dynamics
    design = Design(d, gains_of(d, BANDWIDTHS), linear_model(flown, speed_m_s), period_s)
    own = custom.load(Path(name), design, wing_toolkit.SHAPE)
    _check_trim(name, own, design, scenario.aircraft.mission.height_m)
    return dataclasses.replace(built_in, cntr=own)


def trim_estimate(d: WingDynamics, height_m: float) -> list[float]:
    """The estimate in straight and level flight to the east."""
    speed = d.airspeed_m_s
    return [0.0, 0.0, height_m, speed, 0.0, 0.0, 0.0, -d.alpha_rad, 0.0, 0.0, 0.0, 0.0, speed, 0.0, speed]


def _check_trim(name: str, law: ca.Function, design: Design, height_m: float) -> None:
    """Refuse a law before the flight if it cannot fly straight."""
    setpoint = [0.0, height_m, design.dynamics.airspeed_m_s]
    command, _ = law(trim_estimate(design.dynamics, height_m), setpoint, ca.DM.zeros(law.size1_in(2)))
    for surface, value in zip(SURFACES, command.full().ravel().tolist(), strict=True):
        if not np.isfinite(value):
            raise ConfigError(
                f"{name}: in straight and level flight the law returns {value:g} for the {surface}; "
                "expected a finite number"
            )
