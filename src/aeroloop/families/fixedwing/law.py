"""The board's functions for an airframe: estimation, inner loops and path following, from the airframe's file alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca

from aeroloop.control.clipping import nan_shown
from aeroloop.control.path_following import PathGains, pfol
from aeroloop.control.wing import cntr
from aeroloop.control.wing_gains import Bandwidths, WingDynamics, design
from aeroloop.core.frames import GRAVITY_M_S2
from aeroloop.estimation.wing import Lift
from aeroloop.estimation.wing_attitude import esti_atti
from aeroloop.estimation.wing_navigation import NavigationGains, esti_nav
from aeroloop.families.fixedwing.airframe import Airframe
from aeroloop.families.fixedwing.modes import linear_model
from aeroloop.families.fixedwing.trim import Trim, trim
from aeroloop.models import fixedwing

PERIOD_S = 0.05
ROLL_MOST_RAD = math.radians(28.0)
"""Largest roll setpoint of the path following; the rest of the 30 degrees is reserved for gusts."""
PATH_GAINS = PathGains(adaptation=10.0, lag_s=0.4, leak_per_s=0.05)
"""In gusts the adaptation must be slower than in still air, and decay."""
BANDWIDTHS = Bandwidths()
TURN_RAD_S = 0.2  # turn rate at which the drag of a turn is measured


@dataclass(frozen=True, slots=True)
class WingLaw:
    """All functions of the board."""

    esti_atti: ca.Function
    esti_nav: ca.Function
    cntr: ca.Function
    pfol: ca.Function
    dynamics: WingDynamics
    path_gains: PathGains
    period_s: float

    @property
    def functions(self) -> tuple[ca.Function, ...]:
        return self.esti_atti, self.esti_nav, self.cntr, self.pfol


@lru_cache(maxsize=8)
def wing_law(
    airframe: Airframe,
    *,
    airspeed_m_s: float | None = None,
    density_kg_m3: float | None = None,
    period_s: float = PERIOD_S,
    bandwidths: Bandwidths = BANDWIDTHS,
    path_gains: PathGains = PATH_GAINS,
    navigation: NavigationGains | None = None,
) -> WingLaw:
    """For the given airspeed and air density; both default to the airframe's cruise.

    `navigation` has the latency of fixes: by default that of the sensor preset px4 and a period of 50 ms.
    """
    d = wing_dynamics(airframe, airspeed_m_s, density_kg_m3)
    felt = lift(d, airframe.cruise.density_kg_m3 if density_kg_m3 is None else density_kg_m3)
    return WingLaw(
        esti_atti(felt, period_s),
        esti_nav(felt, period_s, navigation),
        nan_shown(cntr(design(d, bandwidths), period_s)),
        nan_shown(pfol(period_s, path_gains, tuned=True)),
        d,
        path_gains,
        period_s,
    )


def wing_dynamics(
    airframe: Airframe, airspeed_m_s: float | None = None, density_kg_m3: float | None = None
) -> WingDynamics:
    """Trim and derivatives, by differentiating the model; converted from right and down to left and up."""
    density = airframe.cruise.density_kg_m3 if density_kg_m3 is None else density_kg_m3
    model = linear_model(airframe, airspeed_m_s, density)
    at, A, B = model.trim, model.A, model.B
    speed = at.airspeed_m_s
    turn = trim(airframe, speed, turn_rate_rad_s=TURN_RAD_S, density_kg_m3=density)
    load2 = 1 / math.cos(turn.roll_rad) ** 2
    thrust = float(B[0, 3])
    return WingDynamics(
        airspeed_m_s=speed,
        alpha_rad=at.alpha_rad,
        elevator_rad=at.controls[1],
        throttle=at.controls[3],
        roll_damping_per_s=-float(A[3, 3]),
        roll_aileron_per_s2=float(B[3, 0]),
        roll_yaw_per_s=-float(A[3, 5]),
        pitch_alpha_per_s2=float(A[4, 2]) * speed,
        pitch_rate_per_s=float(A[4, 4]),
        pitch_elevator_per_s2=float(B[4, 1]),
        yaw_rudder_per_s2=-float(B[5, 2]),
        yaw_damping_per_s=-float(A[5, 5]),
        lift_alpha_m_s2=-float(A[2, 2]) * speed,
        thrust_m_s2=thrust,
        induced_m_s2=(turn.controls[3] - at.controls[3]) * thrust / (load2 - 1),
        low=(*airframe.servos.low[:3], _least_throttle(airframe, at, density)),
        high=airframe.servos.high,
    )


def _least_throttle(airframe: Airframe, at: Trim, density_kg_m3: float) -> float:
    """The throttle with the largest propeller drag: below it the propeller stops, which has less drag than
    windmilling."""
    force, state = fixedwing.forces(airframe), at.state()
    low, most = airframe.servos.low[3], at.controls[3]
    tried = [low + i / 20 * (most - low) for i in range(20)]
    return min(
        tried, key=lambda throttle: float(force(state, (*at.controls[:3], throttle), (0, 0, 0), density_kg_m3)[0][0])
    )


def lift(d: WingDynamics, density_kg_m3: float) -> Lift:
    """Relation from which the estimation derives the angle of attack: exact in the trim."""
    pressure_Pa = 0.5 * density_kg_m3 * d.airspeed_m_s**2
    zero_rad = d.alpha_rad - GRAVITY_M_S2 * math.cos(d.alpha_rad) / d.lift_alpha_m_s2
    return Lift(zero_rad, pressure_Pa / d.lift_alpha_m_s2)
