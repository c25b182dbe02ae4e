"""Attitude, rates and controls with which a free body starts: as given, or trimmed.

A trimmed aircraft flies straight and level at the given velocity: the axes of its place, which turn with the earth and
along its way over it, see it turn and accelerate neither along its track nor vertically. Three unknowns (pitch,
elevator, power), and as many equations: no acceleration along the track, none vertically, none of the pitch rate. Roll,
aileron and rudder are those given; to the side the aircraft drifts, since the turning earth deflects it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import casadi as ca
import msgspec
import numpy as np

from aeroloop.core.errors import ConfigError
from aeroloop.core.frames import Quat, Vec, Vec3, frd_from_flu, quat_from_euler, quat_product
from aeroloop.core.geodesy import radii_m
from aeroloop.families.freebody import loads
from aeroloop.families.freebody.earth import origin
from aeroloop.families.freebody.scenario import FreeBodyTables
from aeroloop.models import free_body
from aeroloop.models.rigid_body import RATE, VEL, rotation
from aeroloop.models.tabulated_aircraft import Controls

RESIDUAL = 1e-10
"""Largest of the three equations' errors (m/s2, rad/s2) in a trim."""
GUESS = (-0.05, -3.0, 15.0)
"""Pitch (rad, nose down), elevator (deg), power (%)."""


class Initial(NamedTuple):
    quat_WB: Quat
    rate_B: Vec3  # relative to inertial space
    controls: Controls
    pitch_deg: float  # nose up


@lru_cache(maxsize=32)
def initial(tables: FreeBodyTables) -> Initial:
    given = tables.start
    if given.trim:
        return _trimmed(tables)
    p, q, r = (math.radians(rate) for rate in given.rates_deg_s)
    # 0 - 0 is 0, whose negative is another number to the bit.
    level = quat_from_euler(math.radians(given.roll_deg), 0.0 - math.radians(given.pitch_deg), _yaw(tables))
    return Initial(level, frd_from_flu((p, q, r)), tables.controls, given.pitch_deg)


def _yaw(tables: FreeBodyTables) -> float:
    return math.pi / 2 - math.radians(tables.start.heading_deg)


def _local_rate_W(tables: FreeBodyTables) -> Vec:
    """East, north, up: how the axes of the place turn relative to the earth."""
    given, world = tables.start, tables.world
    east, north, _ = given.vel_W
    lat = math.radians(given.lat_deg)
    across_m, along_m = radii_m(lat) if world.earth == "wgs84" else (world.radius_m, world.radius_m)
    across = east / (across_m + given.height_m)
    return np.array([-north / (along_m + given.height_m), across, across * math.tan(lat)])


def _trimmed(tables: FreeBodyTables) -> Initial:
    from scipy.optimize import least_squares  # slow to import

    equations = _equations(tables)
    solved = least_squares(
        lambda z: np.array(equations(z)[0]).ravel(),
        np.array(GUESS),
        jac=lambda z: np.array(equations(z)[1]),
        method="lm",
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
        max_nfev=200,
    )
    pitch, elevator_deg, power_percent = (float(value) for value in solved.x)
    errors, _, quat_WB, rate_B = (np.array(value).ravel() for value in equations(solved.x))
    if not (np.abs(errors).max() <= RESIDUAL and 0.0 <= power_percent <= 100.0 and abs(elevator_deg) <= 90.0):
        raise ConfigError(
            "start.trim: the aircraft cannot fly level with this velocity at this height: "
            "expected lift, thrust and pitching moment to balance; no solution found"
        )
    w, x, y, z = quat_WB.tolist()
    p, q, r = rate_B.tolist()
    controls = _with(tables.controls, elevator_deg, power_percent)
    return Initial((w, x, y, z), (p, q, r), controls, -math.degrees(pitch))


def _with(controls: Controls, elevator_deg: Any, power_percent: Any) -> Controls:
    found: Controls = msgspec.structs.replace(controls, elevator_deg=elevator_deg, power_percent=power_percent)
    return found


def _equations(tables: FreeBodyTables) -> ca.Function:
    """z -> errors (3,), derivatives, quat_WB, rate_B; z: pitch, elevator, power."""
    z = ca.SX.sym("z", 3)
    place, given, world = origin(tables), tables.start, tables.world
    turn_E, vel_W = np.array([0.0, 0.0, world.earth_rate_rad_s]), np.array(given.vel_W)
    local_W = _local_rate_W(tables)
    half_roll = math.radians(given.roll_deg) / 2
    heading = quat_from_euler(0.0, 0.0, _yaw(tables))
    pitched: Any = (ca.cos(z[0] / 2), 0.0, ca.sin(z[0] / 2), 0.0)
    attitude: Any = quat_product(quat_product(heading, pitched), (math.cos(half_roll), math.sin(half_roll), 0.0, 0.0))
    w, *axis = place.quat_WE
    towards_E: Any = (w, *(-component for component in axis))
    quat_EB: Any = ca.vertcat(*quat_product(towards_E, attitude))
    rate_B = rotation(quat_EB).T @ (ca.DM(turn_E) + ca.DM(place.R_EW @ local_W))
    state = ca.vertcat(ca.DM(place.pos_E), quat_EB, ca.DM(place.R_EW @ vel_W), rate_B)
    controls = _with(tables.controls, z[1], z[2])
    force_B, moment_B = loads.forces_B(tables, state, controls)
    dot = free_body.state_dot(
        state,
        force_B,
        moment_B,
        loads.mass(tables.vehicle),
        field=world.gravitation,
        earth_rate_rad_s=world.earth_rate_rad_s,
    )
    wrong_W = ca.DM(place.R_EW.T) @ dot[VEL] - ca.DM(np.cross(local_W, vel_W))
    track = vel_W[:2] / math.hypot(*vel_W[:2])
    errors = ca.vertcat(track[0] * wrong_W[0] + track[1] * wrong_W[1], wrong_W[2], dot[RATE][1])
    return ca.Function("trim", [z], [errors, ca.jacobian(errors, z), ca.vertcat(*attitude), rate_B])
