"""Trim: angles and controls for a constant airspeed, climb and turn rate of a fixed wing.

Seven unknowns (angle of attack, roll, pitch, three surfaces, throttle) and seven equations: no acceleration but the
turn's own (three), no change of the body rates (three), and the required climb. The sideslip is zero, so a turn is
coordinated. Reference: Beard & McLain, Small Unmanned Aircraft, section 5.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import GRAVITY_M_S2, Quat, Vec, Vec3, quat_from_euler
from aeroloop.core.wing_signals import SURFACES, WingCommand
from aeroloop.families.fixedwing.airframe import Airframe
from aeroloop.models import fixedwing, rigid_body

RESIDUAL = 1e-9
"""Largest of the seven equations' errors (m/s2, rad/s2, m/s) in a trim."""


@dataclass(frozen=True, slots=True)
class Trim:
    airspeed_m_s: float
    climb_rad: float
    turn_rate_rad_s: float  # about the vertical; positive: to the left
    alpha_rad: float
    roll_rad: float  # as in frames: positive banks to the right
    pitch_rad: float  # as in frames: positive is nose down
    controls: WingCommand  # aileron, elevator, rudder (rad), throttle
    vel_W: Vec3  # m/s in still air, with the nose to the east (yaw 0)
    rate_B: Vec3
    residual: float

    def quat_WB(self, yaw_rad: float = 0.0) -> Quat:
        return quat_from_euler(self.roll_rad, self.pitch_rad, yaw_rad)

    def state(self, pos_W: Vec3 = (0.0, 0.0, 0.0), yaw_rad: float = 0.0) -> Vec:
        """(13,) The model's state with that heading, in still air."""
        vx, vy, vz = self.vel_W
        cos, sin = math.cos(yaw_rad), math.sin(yaw_rad)
        vel_W = (cos * vx - sin * vy, sin * vx + cos * vy, vz)
        return np.array([*pos_W, *self.quat_WB(yaw_rad), *vel_W, *self.rate_B])


@lru_cache(maxsize=32)
def trim(
    airframe: Airframe,
    airspeed_m_s: float | None = None,
    *,
    climb_rad: float = 0.0,
    turn_rate_rad_s: float = 0.0,
    density_kg_m3: float | None = None,
    gravity_m_s2: float = GRAVITY_M_S2,
) -> Trim:
    """Straight and level at cruise by default; ConfigError names the limit that prevents a trim."""
    from scipy.optimize import least_squares  # slow to import

    speed = airframe.cruise.speed_m_s if airspeed_m_s is None else airspeed_m_s
    density = airframe.cruise.density_kg_m3 if density_kg_m3 is None else density_kg_m3
    asked = f"{speed:g} m/s, climb {math.degrees(climb_rad):.3g} deg, turn {math.degrees(turn_rate_rad_s):.3g} deg/s"
    if not (all(map(math.isfinite, (speed, climb_rad, turn_rate_rad_s))) and speed > 0.0 and abs(climb_rad) < 1.5):
        raise ConfigError(f"trim: expected an airspeed above 0 and a climb within +-85 deg, not {asked}")
    equations = _equations(airframe, speed, climb_rad, turn_rate_rad_s, density, gravity_m_s2)
    guess = _guess(airframe, speed, climb_rad, turn_rate_rad_s, density, gravity_m_s2)
    solved = least_squares(
        lambda z: np.array(equations(z)[0]).ravel(),
        guess,
        jac=lambda z: np.array(equations(z)[1]),
        method="lm",
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
        max_nfev=200,
    )
    z = [float(value) for value in solved.x]
    residual, _, vel_W, rate_B = (np.array(value).ravel() for value in equations(z))
    worst = float(np.abs(residual).max())
    _refuse(airframe, asked, z, worst, 0.5 * density * speed**2)
    return Trim(
        speed,
        climb_rad,
        turn_rate_rad_s,
        z[0],
        z[1],
        z[2],
        (z[3], z[4], z[5], z[6]),
        _vec3(vel_W),
        _vec3(rate_B),
        worst,
    )


def _equations(
    p: fixedwing.Parameters, speed: float, climb: float, turn: float, density: float, gravity: float
) -> ca.Function:
    """z -> errors (7,), derivatives, vel_W, rate_B; z: alpha, roll, pitch, aileron, elevator, rudder, throttle."""
    z = ca.SX.sym("z", 7)
    quat = quat_from_angles(z[1], z[2])
    R_WB = rigid_body.rotation(quat)
    vel_W = R_WB @ ca.vertcat(speed * ca.cos(z[0]), 0, -speed * ca.sin(z[0]))
    turning_W = ca.vertcat(0, 0, turn)
    rate_B = R_WB.T @ turning_W
    state = ca.vertcat(0, 0, 0, quat, vel_W, rate_B)
    dot = fixedwing.state_dot(p)(state, z[3:7], ca.DM.zeros(3), density, gravity)
    errors = ca.vertcat(dot[7:10] - ca.cross(turning_W, vel_W), dot[10:13], vel_W[2] - speed * math.sin(climb))
    return ca.Function("trim", [z], [errors, ca.jacobian(errors, z), vel_W, rate_B])


def quat_from_angles(roll: ca.SX, pitch: ca.SX) -> ca.SX:
    """As frames.quat_from_euler, with the nose to the east."""
    cr, sr, cp, sp = ca.cos(roll / 2), ca.sin(roll / 2), ca.cos(pitch / 2), ca.sin(pitch / 2)
    return ca.vertcat(cr * cp, sr * cp, cr * sp, -sr * sp)


def _guess(airframe: Airframe, speed: float, climb: float, turn: float, density: float, gravity: float) -> Vec:
    """Lift carries the weight and the turn; the elevator holds the angle of attack."""
    bank_left = math.atan(speed * turn / gravity)
    needed = airframe.body.mass_kg * gravity / math.cos(bank_left) / (0.5 * density * speed**2 * airframe.wing.area_m2)
    lift, pitch = airframe.lift, airframe.pitch
    alpha = min(max((needed - lift.zero) / lift.alpha, -0.3), 0.8 * airframe.stall.angle_rad)
    elevator = -(pitch.zero + pitch.alpha * alpha) / pitch.elevator
    # Where a propeller that windmills is clamped, its thrust has no derivative by throttle: start above.
    throttle = 0.6 if airframe.propulsion.advance_range is None else 1.0
    return np.array([alpha, -bank_left, -(alpha + climb), 0.0, elevator, 0.0, throttle])


def _refuse(airframe: Airframe, asked: str, z: list[float], worst: float, pressure_Pa: float) -> None:
    if not worst <= RESIDUAL or abs(z[0]) >= airframe.stall.angle_rad:
        raise ConfigError(
            f"trim: the airframe cannot fly at {asked}: expected lift and thrust to balance; no solution found"
        )
    for name, value, low, high in zip(SURFACES, z[3:], *airframe.servos.reach(pressure_Pa), strict=True):
        if not low <= value <= high:
            raise ConfigError(
                f"trim: the airframe cannot fly at {asked}: it would need {_shown(name, value)} of {name}, "
                f"expected {_shown(name, low)} to {_shown(name, high)}"
            )


def _shown(name: str, value: float) -> str:
    return f"{value:.3g}" if name == "throttle" else f"{math.degrees(value):.1f} deg"


def _vec3(values: Vec) -> Vec3:
    x, y, z = (float(value) for value in values)
    return x, y, z
